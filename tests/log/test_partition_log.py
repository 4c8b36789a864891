"""What a log promises while it is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.log.partition_logs import (
    DIRECTORY,
    END,
    OpenLog,
    append,
    base_offsets,
    batch,
    contents,
    values,
)

from tidelog.core.errors import (
    CorruptMessageError,
    DamagedLogError,
    InvariantError,
    KafkaError,
    MessageTooLargeError,
    OffsetOutOfRangeError,
    StorageError,
)
from tidelog.core.system import SystemDisk
from tidelog.log.partition_log import AppendResult, PartitionLog, ReadResult, delete_log
from tidelog.records.batch import iter_batches
from tidelog.simulation.engine.disk import SimDisk, SimFile
from tidelog.v1 import common_pb2


@pytest.fixture
async def log(open_log: OpenLog) -> PartitionLog:
    return await open_log(segment_bytes=400)


async def test_a_new_log_is_empty(log: PartitionLog) -> None:
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 0, 0)
    assert (log.latest_epoch, log.epoch_end_offset(5)) == (-1, (-1, 0))
    assert log.read(0, max_bytes=100, upper_bound=END) == ReadResult(b"", 0)


async def test_a_leader_gives_offsets_and_its_epoch(log: PartitionLog) -> None:
    result = log.append_as_leader(batch(b"a", b"b") + batch(b"c"), leader_epoch=4)
    assert result == AppendResult(base_offset=0, last_offset=2, log_end_offset=3)
    append(log, b"d", epoch=6)
    assert contents(log) == [(0, 4, b"a"), (1, 4, b"b"), (2, 4, b"c"), (3, 6, b"d")]
    assert log.epoch_end_offset(4) == (4, 3)
    assert log.epoch_end_offset(5) == (4, 3)


async def test_a_bad_batch_among_good_ones_appends_nothing(log: PartitionLog) -> None:
    damaged = bytearray(batch(b"b"))
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessageError):
        log.append_as_leader(batch(b"a") + damaged, leader_epoch=0)
    with pytest.raises(CorruptMessageError):
        log.append_as_leader(b"", leader_epoch=0)
    assert (log.log_end_offset, log.size_in_bytes, log.latest_epoch) == (0, 0, -1)


async def test_a_batch_above_max_message_bytes_is_refused(open_log: OpenLog) -> None:
    log = await open_log(max_message_bytes=100)
    with pytest.raises(MessageTooLargeError):
        append(log, bytes(100))
    assert log.log_end_offset == 0


async def test_only_the_current_or_a_newer_epoch_appends(log: PartitionLog) -> None:
    log.assign_epoch(epoch=3, start_offset=0)
    with pytest.raises(InvariantError):
        append(log, b"a", epoch=2)
    assert log.log_end_offset == 0


async def test_a_follower_copies_byte_for_byte(open_log: OpenLog, log: PartitionLog) -> None:
    for place in range(20):
        append(log, bytes(place), epoch=place // 7)
    follower = await open_log(directory="/data/flights-1")
    while follower.log_end_offset < log.log_end_offset:
        result = log.read(follower.log_end_offset, max_bytes=250, upper_bound=END)
        follower.append_as_follower(result.records)
    assert contents(follower) == contents(log)
    assert follower.size_in_bytes == log.size_in_bytes
    assert [follower.epoch_end_offset(epoch) for epoch in range(4)] == [
        log.epoch_end_offset(epoch) for epoch in range(4)
    ]


@pytest.mark.parametrize(
    "records",
    [
        b"",
        batch(b"x", base_offset=0, epoch=2),
        batch(b"x", base_offset=2, epoch=2),
        batch(b"x", base_offset=1, epoch=1),
        batch(b"x", base_offset=1, epoch=3) + batch(b"y", base_offset=3, epoch=3),
        batch(b"x", base_offset=1, epoch=3) + batch(b"y", base_offset=2, epoch=2),
        batch(b"x", base_offset=1, epoch=2)[:-1],
    ],
)
async def test_a_follower_takes_only_what_continues_its_log(
    log: PartitionLog, records: bytes
) -> None:
    append(log, b"a", epoch=2)
    with pytest.raises(CorruptMessageError):
        log.append_as_follower(records)
    assert contents(log) == [(0, 2, b"a")]
    assert log.epoch_end_offset(9) == (2, 1)


async def test_segments_roll_by_size_and_reads_cross_them(disk: SimDisk, log: PartitionLog) -> None:
    for place in range(40):
        append(log, b"%03d" % place)
    bases = base_offsets(disk, DIRECTORY)
    assert len(bases) > 5
    for base in bases:
        assert disk.open(f"{DIRECTORY}/{base:020d}.log").size() <= 400
    assert values(log) == [b"%03d" % place for place in range(40)]


async def test_a_segment_rolls_when_its_index_is_full(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_index_bytes=24, index_interval_bytes=0)
    for place in range(10):
        append(log, b"%d" % place)
    assert base_offsets(disk, DIRECTORY) == [0, 4, 8]
    assert len(values(log)) == 10


async def test_reads_end_below_the_bound(log: PartitionLog) -> None:
    append(log, b"a", b"b")
    append(log, b"c", b"d")
    assert log.read(0, max_bytes=1000, upper_bound=3).next_offset == 2
    assert log.read(1, max_bytes=1000, upper_bound=4).next_offset == 4
    assert log.read(2, max_bytes=1000, upper_bound=3) == ReadResult(b"", 2)
    assert log.read(3, max_bytes=1000, upper_bound=2) == ReadResult(b"", 3)
    first = log.read(0, max_bytes=0, upper_bound=4)
    assert [header.last_offset for header, _ in iter_batches(first.records)] == [1]


@pytest.mark.parametrize("offset", [-1, 3, END])
async def test_an_offset_outside_the_log_names_both_ends(log: PartitionLog, offset: int) -> None:
    append(log, b"a", b"b")
    with pytest.raises(OffsetOutOfRangeError) as caught:
        log.read(offset, max_bytes=100, upper_bound=END)
    assert (caught.value.log_start_offset, caught.value.log_end_offset) == (0, 2)


@pytest.mark.parametrize("end", range(31))
async def test_truncation_leaves_the_prefix_and_appends_go_on(
    disk: SimDisk, log: PartitionLog, end: int
) -> None:
    for place in range(30):
        append(log, b"%d" % place, epoch=place // 10)
    log.set_high_watermark(25)
    before = contents(log)
    await log.truncate_to(end)
    assert contents(log) == before[:end]
    assert log.high_watermark == min(25, end)
    assert log.latest_epoch == (end - 1) // 10
    append(log, b"new", epoch=5)
    assert contents(log) == [*before[:end], (end, 5, b"new")]
    assert log.epoch_end_offset(4) == ((end - 1) // 10 if end else 4, end)


async def test_the_high_watermark_is_never_above_the_end_while_a_log_truncates(
    log: PartitionLog,
) -> None:
    for _ in range(10):
        append(log, b"a", b"b")
    log.set_high_watermark(20)
    await log.flush()
    await log.checkpoint()
    truncation = asyncio.create_task(log.truncate_to(5))
    while not truncation.done():
        assert log.high_watermark <= log.log_end_offset
        assert log.recovery_point <= log.log_end_offset
        await asyncio.sleep(0)
    assert (log.log_end_offset, log.high_watermark) == (4, 4)


@pytest.mark.parametrize("is_again", [False, True])
async def test_records_behind_a_cut_do_not_pass_for_committed_after_a_start(
    open_log: OpenLog, log: PartitionLog, is_again: bool
) -> None:
    append(log, b"a", b"b")
    log.set_high_watermark(2)
    await log.flush()
    await log.checkpoint()
    await log.truncate_to(0)  # an unclean election chose another leader
    log = await open_log() if is_again else log
    append(log, b"c", b"d")
    assert (await open_log()).high_watermark == 0


async def test_a_cut_within_a_batch_claims_no_more_than_is_left(
    open_log: OpenLog, log: PartitionLog
) -> None:
    append(log, b"a", b"b", b"c", b"d")
    append(log, b"e", b"f", b"g", epoch=1)
    await log.close()
    log = await open_log()
    await log.truncate_to(5)
    assert (log.log_end_offset, log.latest_epoch) == (4, 0)
    again = await open_log()
    assert (again.damage, again.log_end_offset, again.latest_epoch) == (None, 4, 0)


@pytest.mark.parametrize("byte", [0, 8, 12, 16, 17, 24, 61])
async def test_a_log_whose_damage_was_found_by_a_read_is_whole_after_a_cut_to_it(
    disk: SimDisk, log: PartitionLog, byte: int
) -> None:
    for place in range(6):
        append(log, b"%d" % place)
    before = contents(log)
    await log.flush()
    file = disk.open(f"{DIRECTORY}/{0:020d}.log")
    at = 3 * len(batch(b"0")) + byte
    file.write_at(at, bytes([file.read_at(at, 1)[0] ^ 0x11]))
    with pytest.raises(DamagedLogError) as caught:
        contents(log)
    assert caught.value.first_bad_offset == 3
    with pytest.raises(DamagedLogError):
        log.read(0, max_bytes=1, upper_bound=1)
    with pytest.raises(DamagedLogError):
        append(log, b"x")
    with pytest.raises(DamagedLogError):
        await log.truncate_to(4)
    await log.truncate_to(3)
    append(log, b"new")
    assert contents(log) == [*before[:3], (3, 0, b"new")]


async def test_a_cut_below_the_log_start_leaves_an_empty_log_there(
    open_log: OpenLog, log: PartitionLog
) -> None:
    append(log, b"a")
    append(log, b"b", b"c", b"d")
    log.set_high_watermark(4)
    await log.delete_records(2)
    await log.truncate_to(2)
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (2, 2, -1)
    append(log, b"new")
    assert contents(log) == [(2, 0, b"new")]
    again = await open_log()
    assert (again.damage, contents(again)) == (None, [(2, 0, b"new")])


async def test_truncation_to_the_end_drops_an_epoch_without_records(log: PartitionLog) -> None:
    append(log, b"a", epoch=1)
    log.assign_epoch(epoch=5, start_offset=1)
    assert log.latest_epoch == 5
    await log.truncate_to(7)
    assert (log.latest_epoch, log.log_end_offset) == (1, 1)


async def test_the_high_watermark_stays_within_the_log(log: PartitionLog) -> None:
    append(log, b"a", b"b")
    log.set_high_watermark(9)
    assert log.high_watermark == 2
    log.set_high_watermark(-1)
    assert log.high_watermark == 0


async def test_flush_messages_says_when_a_flush_is_due(open_log: OpenLog) -> None:
    log = await open_log(flush_messages=3)
    append(log, b"a", b"b")
    assert not log.is_flush_due
    append(log, b"c")
    assert log.is_flush_due
    await log.flush()
    assert not log.is_flush_due
    assert log.recovery_point == 3


async def test_a_checkpoint_flushes_full_segments_only(log: PartitionLog) -> None:
    for _ in range(20):
        append(log, bytes(50))
    await log.checkpoint()
    assert 0 < log.recovery_point < 20
    await log.flush()
    assert log.recovery_point == 20


async def test_a_failed_write_takes_the_log_out_of_service(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await open_log()
    append(log, b"a")

    def refuse(file: SimFile, offset: int, data: bytes) -> None:
        file._content.change(offset, bytes(data[:30]))
        raise StorageError("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SimFile, "write_at", refuse)
        with pytest.raises(StorageError, match="No space"):
            append(log, b"b")
    assert log.log_end_offset == 1
    with pytest.raises(StorageError, match="reopen it"):
        append(log, b"c")
    await log.close()
    assert contents(await open_log()) == [(0, 0, b"a")]


async def test_a_failed_sync_is_never_tried_again(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = await open_log()
    append(log, b"a")

    async def refuse(file: SimFile) -> None:
        raise StorageError("cannot sync: Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(SimFile, "sync", refuse)
        with pytest.raises(StorageError, match="Input/output"):
            await log.flush()
    with pytest.raises(StorageError, match="reopen it"):
        await log.flush()
    assert log.recovery_point == 0


async def test_a_closed_log_takes_nothing(log: PartitionLog) -> None:
    await log.close()
    with pytest.raises(StorageError):
        append(log, b"a")


async def test_another_topics_folder_is_refused_and_left_alone(
    open_log: OpenLog, log: PartitionLog
) -> None:
    append(log, b"a")
    await log.close()
    with pytest.raises(KafkaError) as caught:
        await open_log(topic_id=bytes(16))
    assert caught.value.code == common_pb2.INCONSISTENT_TOPIC_ID
    assert values(await open_log()) == [b"a"]


async def test_a_deleted_log_leaves_nothing_to_the_next_topic(
    disk: SimDisk, open_log: OpenLog, log: PartitionLog
) -> None:
    append(log, b"a")
    await log.close()
    await delete_log(disk, DIRECTORY)
    assert not disk.exists(DIRECTORY)
    again = await open_log(topic_id=bytes(16))
    assert (again.log_end_offset, again.latest_epoch) == (0, -1)


async def test_it_works_on_the_systems_disk(open_log: OpenLog, tmp_path: Path) -> None:
    system = SystemDisk()
    directory = f"{tmp_path}/data/flights-0"
    log = await open_log(on=system, directory=directory, segment_bytes=5_000)
    for place in range(500):
        append(log, b"%d" % place, epoch=place // 100)
    await log.truncate_to(450)
    await log.flush()
    await log.close()
    again = await open_log(on=system, directory=directory, segment_bytes=5_000)
    assert values(again) == [b"%d" % place for place in range(450)]
    assert again.recovery_point == 450
    await again.close()
    await delete_log(system, directory)
    assert not system.exists(directory)
    system.close()
