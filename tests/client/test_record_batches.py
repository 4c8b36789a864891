"""Batches handed out whole: what they say, what iterating yields, and where the position is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take, turns
from tests.client.real_cluster import RealCluster, encoded, started

from tidelog.client import Consumer, RecordBatch, TopicPartition, errors
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, iter_batches, parse_header, seal
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch, iter_records, rebuild_batch

P0 = TopicPartition("t", 0)


async def batches(c: Consumer, count: int) -> list[RecordBatch]:
    """The next `count` batches."""
    got: list[RecordBatch] = []
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(got) < count:
            got += await c.getbatches(timeout_ms=WAIT_MS)
    assert len(got) == count
    return got


def five(number: int) -> bytes:
    """Batch n of those whose values are their offsets."""
    return encoded([b"%d" % (5 * number + n) for n in range(5)], base_offset=5 * number)


def spoil(
    cluster: RealCluster, base_offset: int, change: Callable[[BatchHeader, bytes], bytes]
) -> None:
    """Have each answer hold a changed batch in place of the broker's."""

    def changed(method: str, answer: Any) -> None:
        for result in answer.partitions if method == "Fetch" else ():
            result.records = b"".join(
                change(header, bytes(batch)) if header.base_offset == base_offset else bytes(batch)
                for header, batch in iter_batches(bytes(result.records))
            )

    cluster.spoil = changed


def flip(_header: BatchHeader, batch: bytes) -> bytes:
    """Damage the last value: only the CRC tells."""
    return batch[:-2] + bytes([batch[-2] ^ 0x01]) + batch[-1:]


async def test_a_batch_says_what_its_header_says_and_yields_what_getmany_returns() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    await state.append(encoded([b"0"]))
    await cluster.move("t", 0, leader_id=2)
    records = [Record(0, 1000 + n, b"k", b"x" * 500, (("h", None),)) for n in range(3)]
    await state.append(encode_batch(records, compression=Codec.ZSTD))
    async with consumer(cluster) as c:
        c.assign([P0])
        expected = await take(c, 4)
        c.seek_to_beginning()
        first, second = await batches(c, 2)
        assert [*first, *second] == expected
        assert await c.position(P0) == 4
    assert (second.topic, second.partition) == P0
    assert (second.base_offset, second.next_offset, second.record_count) == (1, 4, 3)
    assert (second.base_timestamp_ms, second.max_timestamp_ms) == (1000, 1002)
    assert (second.codec, second.leader_epoch) == (Codec.ZSTD, state.image.leader_epoch)
    assert second.size_in_bytes == len(state.batches[1]) < 500
    assert len(second) == 3
    assert list(second) == list(second), "each iteration decodes anew"


async def test_nothing_is_decoded_until_iterated() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    await state.append(encoded([b"0", b"1", b"2"]))

    def junk(header: BatchHeader, _batch: bytes) -> bytes:
        """Records that are none, under a right CRC; then a batch with gaps, as after compaction."""
        with_gaps = header._replace(base_offset=3, last_offset_delta=9)
        return seal(header, b"\xff" * 20) + seal(with_gaps, b"\xff" * 20)

    spoil(cluster, 0, junk)
    async with consumer(cluster) as c:
        c.assign([P0])
        c.seek(P0, 1)
        batch, with_gaps = await batches(c, 2)
        assert (len(batch), len(with_gaps)) == (2, 3)
        with pytest.raises(errors.CorruptMessageError, match=r"t-0 is corrupt .* offset 0"):
            list(batch)
        assert await c.position(P0) == 13


async def test_records_below_the_position_are_neither_yielded_nor_counted() -> None:
    cluster = await started()
    (state,) = (await cluster.create("t")).partitions
    kept = [r for r in iter_records(five(1)) if r.offset in (5, 6, 9)]
    compacted_batch = rebuild_batch(parse_header(five(1)), kept, delete_horizon_ms=77)
    await state.lay([five(0), compacted_batch])
    async with consumer(cluster) as c:
        c.assign([P0])
        c.seek(P0, 3)
        whole, compacted = await batches(c, 2)
        assert ([r.offset for r in whole], len(whole), whole.record_count) == ([3, 4], 2, 5)
        assert ([r.offset for r in compacted], len(compacted)) == ([5, 6, 9], 3)
        assert compacted.base_timestamp_ms is None
        c.seek(P0, 6)
        (late,) = await batches(c, 1)
        assert ([r.offset for r in late], len(late), late.record_count) == ([6, 9], 2, 3)


async def test_batches_begin_where_getmany_stopped_and_getmany_where_they_did() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        assert len(await take(c, 2)) == 2
        (rest,) = await c.getbatches(timeout_ms=WAIT_MS, max_records=3)
        assert [r.offset for r in rest] == [2, 3, 4]
        assert [r.offset for r in await take(c, 2)] == [5, 6]
        assert [r.offset for b in await batches(c, 3) for r in b] == list(range(7, 20))
        assert await c.getbatches() == []


async def test_values_are_those_of_the_records_from_the_position_on() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    await state.append(encode_batch([Record(0, n, b"k", b"%d" % n) for n in range(600)]))
    async with consumer(cluster) as c:
        c.assign([P0])
        c.seek(P0, 300)
        (batch,) = await batches(c, 1)
        assert batch.values() == [r.value for r in batch] == [b"%d" % n for n in range(300, 600)]
        spoil(cluster, 0, lambda header, _: seal(header, b"\xff" * 5000))
        c.seek(P0, 0)
        (damaged,) = await batches(c, 1)
        with pytest.raises(errors.CorruptMessageError, match=r"t-0 is corrupt .* offset 0"):
            damaged.values()


async def test_max_records_bounds_the_batches_but_not_the_first() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, max_poll_records=11) as c:
        c.assign([P0])
        await take(c, 20)
        c.seek_to_beginning()
        assert len(await c.getbatches(timeout_ms=WAIT_MS, max_records=1)) == 1
        assert len(await c.getbatches(timeout_ms=WAIT_MS)) == 2
        assert [b.base_offset for b in await c.getbatches(timeout_ms=WAIT_MS)] == [15]


async def test_max_poll_records_bounds_getmany_unless_told_otherwise() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, max_poll_records=7) as c:
        c.assign([P0])
        assert len(await c.getmany(timeout_ms=WAIT_MS)) == 7
        assert len(await c.getmany(timeout_ms=WAIT_MS, max_records=9)) == 9
    with pytest.raises(ValueError, match="max_poll_records=0"):
        consumer(cluster, max_poll_records=0)


async def test_control_batches_and_empty_ones_are_passed_over() -> None:
    cluster = await started()
    (state,) = (await cluster.create("t")).partitions
    control = seal(parse_header(five(0))._replace(attributes=CONTROL_FLAG), five(0)[61:])
    empty = rebuild_batch(parse_header(five(2)), [], delete_horizon_ms=None)
    await state.lay([control, five(1), empty])
    async with consumer(cluster) as c:
        c.assign([P0])
        (batch,) = await batches(c, 1)
        assert batch.base_offset == 5
        assert await c.getbatches(timeout_ms=1) == []
        assert await c.position(P0) == 15


async def test_a_crc_is_computed_once_though_the_batch_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[int] = []
    monkeypatch.setattr(
        "tidelog.client.consuming.ready_records.check_crc",
        lambda header, _batch: checked.append(header.base_offset),
    )
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        for _ in range(4):
            assert len(await c.getbatches(timeout_ms=WAIT_MS, max_records=5)) == 1
    assert checked == [0, 5, 10, 15]


@pytest.mark.parametrize("check_crcs", [True, False])
async def test_crcs_are_checked_before_a_batch_is_handed_out_if_at_all(check_crcs: bool) -> None:
    cluster = await started()
    await filled(cluster)
    spoil(cluster, 5, flip)
    async with consumer(cluster, check_crcs=check_crcs) as c:
        c.assign([P0])
        if not check_crcs:
            assert len(await batches(c, 4)) == 4
            return
        assert [b.base_offset for b in await c.getbatches(timeout_ms=WAIT_MS)] == [0]
        for _ in range(2):
            with pytest.raises(errors.CorruptMessageError, match=r"t-0 is corrupt .* offset 5"):
                await c.getbatches(timeout_ms=WAIT_MS)
            assert await c.position(P0) == 5
        c.seek(P0, 10)
        assert [b.base_offset for b in await batches(c, 2)] == [10, 15]


async def test_what_comes_before_damage_is_returned_first() -> None:
    """The position is past it: raised away, nobody could get it again."""
    cluster = await started()
    await filled(cluster)
    spoil(cluster, 5, flip)
    async with consumer(cluster) as c:
        c.assign([P0])
        assert [r.offset for r in await c.getmany(timeout_ms=WAIT_MS)] == [0, 1, 2, 3, 4]
        with pytest.raises(errors.CorruptMessageError):
            await c.getmany(timeout_ms=WAIT_MS)


async def test_what_came_of_one_partition_is_returned_before_the_failure_of_another() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([P0, ("t", 1)])
        c.seek(P0, 0)
        c.seek(("t", 1), 99)
        assert await c.getmany() == []
        await turns(50)
        assert [r.offset for r in await c.getmany()] == list(range(20))
        for _ in range(2):
            with pytest.raises(errors.OffsetOutOfRangeError, match="offset 99 of t-1"):
                await c.getmany(timeout_ms=WAIT_MS)


async def test_a_batch_of_an_unknown_codec_stops_reading_until_a_seek() -> None:
    cluster = await started()
    await filled(cluster)
    spoil(cluster, 5, lambda header, batch: seal(header._replace(attributes=7), batch[61:]))
    async with consumer(cluster) as c:
        c.assign([P0])
        await take(c, 5)
        for _ in range(2):
            with pytest.raises(errors.UnsupportedCompressionTypeError):
                await c.getmany(timeout_ms=WAIT_MS)
            assert await c.position(P0) == 5
        (batch, *_) = await c.getbatches(timeout_ms=WAIT_MS)
        with pytest.raises(errors.UnsupportedCompressionTypeError, match="codec 7"):
            _ = batch.codec
        c.seek(P0, 10)
        assert [r.offset for r in await take(c, 1)] == [10]
