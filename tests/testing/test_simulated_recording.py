"""What `sim.check()` has seen: the records of every public method that takes or hands them out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.testing.simulated_runs import passes, send

import tidelog.client
from tidelog.client import Consumer, Producer, errors
from tidelog.client.admin import Admin
from tidelog.client.arrow import TableWriter, decode_range
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.testing import BrokenPromiseError, Simulation

pytestmark = pytest.mark.sim
Values = Iterable[bytes | None]
T0 = ("t", 0)


async def sends(sim: Simulation, do: Callable[[Producer], Awaitable[Any]]) -> None:
    async with Producer(sim.bootstrap) as producer:
        await do(producer)


async def write(sim: Simulation) -> None:
    async with TableWriter(sim.bootstrap) as writer:
        await writer.write("t", pa.record_batch({"value": [b"row"] * 7}))


async def reads(sim: Simulation, do: Callable[[Consumer], Awaitable[list[bytes | None]]]) -> Values:
    async with Consumer(sim.bootstrap) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 1)
        return await do(consumer)


async def getmany(consumer: Consumer) -> list[bytes | None]:
    return [one.value for one in await consumer.getmany(timeout_ms=5_000)]


async def getbatches(consumer: Consumer) -> list[bytes | None]:
    batches = await consumer.getbatches(timeout_ms=5_000)
    return [one.value for batch in batches for one in batch]


async def iterate(consumer: Consumer) -> list[bytes | None]:
    found: list[bytes | None] = []
    async for record in consumer:
        found.append(record.value)
        if len(found) == 2:
            return found
    raise AssertionError


async def chunks(sim: Simulation) -> Values:
    async with RangeReader(sim.bootstrap) as reader:
        (topic,) = (await reader.topics(["t"])).values()
        wanted = OffsetRange("t", topic.topic_id, 0, 1, 3)
        found: list[bytes | None] = []
        async for chunk in reader.chunks(wanted):
            for batch in decode_range(chunk, wanted, columns=["value"]):
                found += batch.column("value").to_pylist()
        return found


Call = Callable[[Simulation], Awaitable[Values | None]]
WRITES: dict[str, Call] = {
    "Producer.send": lambda sim: sends(sim, lambda one: one.send("t", b"v", partition=0)),
    "Producer.submit": lambda sim: sends(sim, lambda one: one.submit("t", b"v", partition=0)),
    "Producer.send_many": lambda sim: sends(sim, lambda one: one.send_many("t", [b"v", b"w"])),
    "Producer.submit_many": lambda sim: sends(sim, lambda one: one.submit_many("t", [b"v"] * 9)),
    "TableWriter.write": write,
}
READS: dict[str, Call] = {
    "Consumer.getmany": lambda sim: reads(sim, getmany),
    "Consumer.getbatches": lambda sim: reads(sim, getbatches),
    "Consumer.__aiter__": lambda sim: reads(sim, iterate),
    "RangeReader.chunks": chunks,
}
TRANSACTIONS = {
    *("abort_transaction", "begin_transaction", "commit_transaction", "hand_over_transaction"),
    *("send_offsets_to_transaction", "transaction"),
}
NO_RECORDS: dict[type, set[str]] = {
    Producer: {*TRANSACTIONS, "close", "flush", "partitions_for", "start", "stop"},
    TableWriter: {*TRANSACTIONS, "close", "flush"},
    Consumer: {
        *("assign", "assignment", "beginning_offsets", "close", "commit", "commit_soon"),
        *("committed", "end_offsets", "extend_poll", "group_metadata", "lag", "offsets_for_times"),
        *("membership_error", "partitions_for", "pause", "paused", "position", "resume", "seek"),
        *("seek_to_beginning", "seek_to_committed", "seek_to_end", "seek_to_time", "start", "stop"),
        *("subscribe", "tail", "unsubscribe"),
    },
    RangeReader: {"all_topics", "as_of_now", "bounds", "close", "offsets_for_times", "topics"},
}
"""Methods by which no record comes or goes: of another one a call belongs above."""


def test_every_public_method_is_known_to_move_records_or_not_to() -> None:
    listed = [*WRITES, *READS, *(f"{of.__name__}.{n}" for of in NO_RECORDS for n in NO_RECORDS[of])]
    public = [
        f"{of.__name__}.{name}"
        for of in NO_RECORDS
        for name in dir(of)
        if not name.startswith("_") or name == "__aiter__"
    ]
    assert sorted(listed) == sorted(public)


def test_records_come_and_go_by_the_observed_modules_alone() -> None:
    client = Path(tidelog.client.__path__[0])
    names = re.compile(r"import .*\b(PRODUCE|FETCH|PRODUCE_STREAM|FETCH_STREAM)\b")
    found = {str(path.relative_to(client)) for path in client.rglob("*.py") if _has(path, names)}
    # streams are the producers' and the consumers', see `_append` and `ReadyRecords`
    assert found == {
        *("producing/produce_stream.py", "consuming/fetch_stream.py", "consuming/range_reader.py"),
    }


def _has(path: Path, names: re.Pattern[str]) -> bool:
    return names.search(path.read_text(encoding="utf-8")) is not None


@pytest.mark.parametrize("name", WRITES)
def test_what_a_method_writes_is_recorded(name: str) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await WRITES[name](sim)
        recorded = [one.value for one in sim.recording.sent]
        assert [one.value for one in await sim.read_all("t")] == recorded
        assert [one.offset for one in sim.recording.sent] == [*range(len(recorded))]
        assert sim.check()["acknowledged"] == len(recorded) > 0
        sim.recording.sent[-1].value = b"other"
        with pytest.raises(BrokenPromiseError):
            sim.check()

    passes(main)


@pytest.mark.parametrize("name", READS)
def test_what_a_method_reads_is_recorded(name: str) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        async with Producer(sim.bootstrap) as producer:
            await producer.send_many("t", [b"a", b"b", b"c"])
        assert list(await READS[name](sim) or ()) == [b"b", b"c"]
        seen = [(one.offset, one.value, one.isolation) for one in sim.recording.seen]
        level = "read_committed" if name.startswith("RangeReader") else "read_uncommitted"
        assert seen == [(1, b"b", level), (2, b"c", level)]
        assert sim.check()["operations"] == 3 + 2 + 1
        sim.recording.seen[-1].value = b"other"
        with pytest.raises(BrokenPromiseError):
            sim.check()

    passes(main)


def test_transactions_that_another_ends_are_recorded() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        async with (
            Admin(sim.bootstrap) as admin,
            Producer(sim.bootstrap, transactional_id="job/1") as producer,
        ):
            await producer.begin_transaction()
            await producer.send("t", value=b"a")
            member = await producer.hand_over_transaction()
            assert member is not None
            await admin.end_transactions("job", iter([member]))
        assert [one.value for one in await sim.read_all("t")] == [b"a"]
        assert sim.check()["transactions_committed"] == 1

    passes(main, brokers=3)


def test_a_client_with_a_transport_of_its_own_is_recorded() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        ports = sim._target.cluster.client
        await send(sim, b"a", transport=ports.transport)
        assert len(sim.recording.sent) == 1

    passes(main)


@pytest.mark.parametrize("by_table", [False, True])
def test_each_record_of_a_batch_has_its_own_outcome(by_table: bool) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t", configs={"cleanup.policy": "compact"})
        keys, values = [b"a", None, b"c"], [b"1", b"2", b"3"]
        if by_table:
            async with TableWriter(sim.bootstrap) as writer:
                await writer.write("t", pa.record_batch({"key": keys, "value": values}))
                with pytest.raises(errors.InvalidRecordError):
                    await writer.flush()
        else:
            async with Producer(sim.bootstrap) as producer:
                assert (await producer.send_many("t", values, keys=keys)).failed == 1
        outcomes = [(one.value, one.outcome, one.offset) for one in sim.recording.sent]
        assert outcomes == [(b"1", "ok", 0), (b"2", "fail", None), (b"3", "ok", 1)]
        assert sim.check()["acknowledged"] == 2

    passes(main)
