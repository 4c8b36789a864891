"""Deserializers: what they are given, what takes the bytes' place, and what a failure leaves."""

from __future__ import annotations

import json
from typing import Any, assert_type

import pytest
from tests.client.consumer_cases import WAIT_MS, filled
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started

from tidelog.client import Consumer, Record, RecordBatch, TopicPartition, errors
from tidelog.records.records import Record as LogRecord
from tidelog.records.records import encode_batch

P0 = TopicPartition("t", 0)


def number(_topic: str, data: bytes | None) -> int:
    return int(data or b"no number")


def parsed(_topic: str, data: bytes | None) -> Any:  # what JSON holds
    return None if data is None else json.loads(data)


def numbers(cluster: RealCluster) -> Consumer[bytes | None, int]:
    c = Consumer(BOOTSTRAP, transport=cluster, value_deserializer=number, fetch_max_wait_ms=20)
    c.assign([P0])
    return c


async def test_key_and_value_are_what_the_callables_return_of_topic_and_bytes() -> None:
    cluster = await started()
    records = [LogRecord(0, 5, b"k", b'{"a": 1}', (("h", b"x"),)), LogRecord(0, 6, None, None)]
    await (await cluster.create("t")).partitions[0].append(encode_batch(records))
    seen: list[tuple[str, bytes | None]] = []

    def noted(topic: str, data: bytes | None) -> tuple[str, bytes | None]:
        seen.append((topic, data))
        return topic, data

    async with Consumer(
        BOOTSTRAP, transport=cluster, key_deserializer=noted, value_deserializer=parsed
    ) as c:
        c.assign([P0])
        got = await c.getmany(timeout_ms=WAIT_MS)
        c.seek_to_beginning()
        (batch,) = await c.getbatches(timeout_ms=WAIT_MS)
        assert list(batch) == got
        assert batch.values() == [record.value for record in got]
    assert got == [
        Record("t", 0, 0, 5, ("t", b"k"), {"a": 1}, (("h", b"x"),)),
        Record("t", 0, 1, 6, ("t", None), None, ()),
    ]
    assert seen == [("t", b"k"), ("t", None)] * 3


async def test_types_follow_the_deserializers_and_are_bytes_without() -> None:
    """Checked by mypy: at run time it only has to be callable."""
    cluster = await started()
    async with Consumer(BOOTSTRAP, transport=cluster) as plain, numbers(cluster) as numbered:
        assert_type(plain, Consumer[bytes | None, bytes | None])
        assert_type(await numbered.getmany(), list[Record[bytes | None, int]])
        assert_type(await numbered.getbatches(), list[RecordBatch[bytes | None, int]])


async def test_without_any_the_bytes_are_left_alone() -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    async with Consumer(BOOTSTRAP, transport=cluster, key_deserializer=parsed) as c:
        c.assign([P0])
        assert [(r.key, r.value) for r in await c.getmany(timeout_ms=WAIT_MS)] == [
            (None, b"%d" % n) for n in range(5)
        ]


@pytest.mark.parametrize("bad_at", [0, 2, 4])
async def test_a_failure_names_the_record_and_the_position_stays_at_it(bad_at: int) -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    values = [b"%d" % n for n in range(5)]
    values[bad_at] = b"bad"
    await state.append(encoded([b"100"]))
    await state.append(encoded(values))
    await state.append(encoded([b"6"]))
    offset = 1 + bad_at
    async with numbers(cluster) as c:
        before = await c.getmany(timeout_ms=WAIT_MS)
        assert [r.value for r in before] == [100, *range(bad_at)]
        for _ in range(2):
            with pytest.raises(
                errors.DeserializationError, match=f"the value of t-0 at offset {offset} could not"
            ) as caught:
                await c.getmany(timeout_ms=WAIT_MS)
            assert await c.position(P0) == offset
        error = caught.value
        assert (error.topic, error.partition, error.offset, error.part) == (*P0, offset, "value")
        assert isinstance(error.__cause__, ValueError)
        c.seek(P0, error.offset + 1)
        expected = [*range(bad_at + 1, 5), 6]
        got: list[int] = []
        while len(got) < len(expected):
            got += [r.value for r in await c.getmany(timeout_ms=WAIT_MS)]
        assert got == expected


async def test_an_iteration_yields_what_comes_before_the_failure() -> None:
    cluster = await started()
    await (await cluster.create("t")).partitions[0].append(encoded([b"0", b"1", b"bad", b"3"]))
    got: list[int] = []

    async def iterate(c: Consumer[bytes | None, int]) -> None:
        async for record in c:
            got.append(record.value)
            if record.value == 3:
                return

    async with numbers(cluster) as c:
        with pytest.raises(errors.DeserializationError, match="offset 2"):
            await iterate(c)
        assert got == [0, 1]
        c.seek(P0, 3)
        await iterate(c)
        assert got == [0, 1, 3]


async def test_a_key_that_fails_is_said_to_be_the_key() -> None:
    cluster = await started()
    await (await cluster.create("t")).partitions[0].append(encoded([b"1"]))
    async with Consumer(
        BOOTSTRAP, transport=cluster, key_deserializer=number, value_deserializer=number
    ) as c:
        c.assign([P0])
        with pytest.raises(errors.DeserializationError, match="the key of t-0") as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        assert caught.value.part == "key"
        (batch,) = await c.getbatches(timeout_ms=WAIT_MS)
        with pytest.raises(errors.DeserializationError, match="the key of t-0 at offset 0"):
            list(batch)
        assert await c.position(P0) == 1, "a batch is behind once it was handed out"
