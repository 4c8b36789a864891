"""The verdict on a seed: what clients were promised, and what the logs hold at the end."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

import pytest
from tests.testing.simulated_runs import error_of, passes, send

from tidelog.client import Consumer, Producer
from tidelog.client.admin import Admin
from tidelog.simulation.cluster.inside import active_controller
from tidelog.testing import BrokenPromiseError, NotSettledError, Simulation
from tidelog.testing.sim.recording import Recording
from tidelog.testing.sim.verdict import COMPLAINTS_SHOWN_MAX

pytestmark = pytest.mark.sim


def lost(recording: Recording) -> None:
    last = recording.sent[-1]
    number = recording.next_number()
    recording.sent.append(dataclasses.replace(last, number=number, value=b"lost", offset=None))


def beyond_the_end(recording: Recording) -> None:
    last = recording.sent[-1]
    number = recording.next_number()
    recording.sent.append(dataclasses.replace(last, number=number, value=b"lost", offset=7))


def twice(recording: Recording) -> None:
    """The log holds `a` at 0 and at 3, of which the producer sent one."""
    del recording.sent[3]
    del recording.seen[3]


def other_value(recording: Recording) -> None:
    recording.sent[1].value = b"other"


def vanished(recording: Recording) -> None:
    last = recording.seen[-1]
    number = recording.next_number()
    recording.seen.append(dataclasses.replace(last, number=number, value=b"ghost", offset=9))


def other_read(recording: Recording) -> None:
    recording.seen[1].value = b"ghost"


def out_of_order(recording: Recording) -> None:
    one, other = recording.sent[0], recording.sent[1]
    one.number, other.number = other.number, one.number


def refused_but_there(recording: Recording) -> None:
    recording.sent[1].outcome, recording.sent[1].offset = "fail", None


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [
        (lost, "lost-write"),
        (beyond_the_end, "unseen"),
        (twice, "duplicate"),
        (other_value, "lost-write"),
        (vanished, "vanished"),
        (other_read, "inconsistent-offsets"),
        (out_of_order, "nonmonotonic-send"),
        (refused_but_there, "G1a"),
    ],
)
def test_each_broken_promise_is_complained_about(
    tamper: Callable[[Recording], None], kind: str
) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"a", b"b", b"c", b"a")
        await sim.read_all("t")
        counts = sim.check()
        assert (counts["acknowledged"], counts["read"], counts["unrecorded"]) == (4, 4, 0)
        tamper(sim.recording)
        with pytest.raises(
            BrokenPromiseError, match=rf"a bug of Tidelog and not of the .*\n.*{kind}:"
        ):
            sim.check()

    passes(main)


def test_of_many_complaints_the_first_are_shown() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, *(b"%d" % number for number in range(9)))
        for one in sim.recording.sent:
            one.value = b"other"
        sim.check()

    error = error_of(main)
    assert isinstance(error, BrokenPromiseError)
    head, *shown = str(error).splitlines()
    assert head.startswith("18 promises of Tidelog were broken")
    assert len(shown) == COMPLAINTS_SHOWN_MAX


def test_equal_values_are_told_apart_by_their_offsets() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, *[b"same"] * 5)
        await sim.read_all("t")
        counts = sim.check()
        assert counts["acknowledged"] == counts["read"] == 5
        assert counts["matched_by_value"] == 0
        sim.recording.sent[4].offset = 9
        with pytest.raises(BrokenPromiseError, match="unseen"):
            sim.check()

    passes(main)


def test_equal_values_that_nobody_can_tell_apart_are_counted() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, *[b"same"] * 3, acks=0)
        await sim.settle()
        await asyncio.sleep(1)
        await sim.read_all("t")
        assert sim.check()["matched_by_value"] == 2

    passes(main)


def test_a_refused_record_is_the_last_that_is_taken_for_one_that_is_there() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"same")
        sent = sim.recording.sent
        sent[0].outcome, sent[0].offset = "unknown", None
        number = sim.recording.next_number()
        sent.insert(0, dataclasses.replace(sent[0], number=number, outcome="fail", offset=None))
        assert sim.check()["matched_by_value"] == 1

    passes(main)


def test_a_record_may_be_twice_there_where_a_producer_without_idempotence_sent_it() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"same")
        await send(sim, b"same", b"same", acks=1)
        sim.recording.sent.pop()
        assert sim.check()["unrecorded"] == 1

    passes(main)


def test_records_that_nobody_recorded_are_counted() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"a", b"b")
        del sim.recording.sent[1]
        assert sim.check()["unrecorded"] == 1

    passes(main)


def test_values_that_a_deserializer_changed_are_known_by_their_offset() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"1", b"2")
        async with Consumer(
            sim.bootstrap, value_deserializer=lambda _, value: int(value or b"")
        ) as consumer:
            await consumer.subscribe(["t"])
            found: list[object] = []
            while len(found) < 2:
                found += [one.value for one in await consumer.getmany(timeout_ms=500)]
        assert found == [1, 2]
        assert sim.check()["read"] == 2

    passes(main)


def test_of_a_deleted_topic_nothing_is_promised() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        await send(sim, b"a")
        await sim.read_all("t")
        async with Admin(sim.bootstrap) as admin:
            await admin.delete_topic("t")
        await sim.until(lambda: "t" not in sim._target.image.topics)
        assert sim.check()["acknowledged"] == 0
        await sim.create_topic("t")
        await send(sim, b"b")
        await sim.read_all("t")
        assert sim.check()["acknowledged"] == 1

    passes(main)


def test_a_compacted_topic_may_drop_records() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t", configs={"cleanup.policy": "compact"})
        await sim.create_topic("kept")
        for topic in ("t", "kept"):
            async with Producer(sim.bootstrap) as producer:
                await producer.send(topic, key=b"k", value=b"a")
        assert sim.check()["lost"] == 0
        ours = next(one for one in sim.recording.sent if one.tp.topic == "t")
        ours.value = b"of which the log knows nothing"
        sim.check()
        kept = next(one for one in sim.recording.sent if one.tp.topic == "kept")
        kept.value = b"of which the log knows nothing"
        with pytest.raises(BrokenPromiseError):
            sim.check()

    passes(main)


async def send_and_fail(producer: Producer) -> None:
    async with producer.transaction():
        await producer.send("t", value=b"b")
        raise ZeroDivisionError


def test_transactions_are_whole_or_not_there() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        async with Producer(sim.bootstrap, transactional_id="orders") as producer:
            async with producer.transaction():
                await producer.send("t", value=b"a")
            with pytest.raises(ZeroDivisionError):
                await send_and_fail(producer)
        assert [one.value for one in await sim.read_all("t")] == [b"a"]
        everything = await sim.read_all("t", isolation_level="read_uncommitted")
        assert [one.value for one in everything] == [b"a", b"b"]
        counts = sim.check()
        assert (counts["transactions_committed"], counts["transactions_aborted"]) == (1, 1)
        assert [one.transaction for one in sim.recording.sent] == [
            one.number for one in sim.recording.transactions
        ]

    passes(main, brokers=3)


def test_a_partition_that_nobody_leads_has_no_verdict() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t", replication_factor=1)
        await send(sim, b"a")
        controller = active_controller(sim._target.cluster)
        if sim.leader("t") != controller:
            sim.kill(sim.leader("t"))
            with pytest.raises(NotSettledError, match=r"t-0 has no leader, so .*settle"):
                sim.check()
            refused.append("a leader")
        for node_id in sim.node_ids:
            sim.kill(node_id)
        with pytest.raises(NotSettledError, match=r"no controller is active, so .*settle"):
            sim.check()
        await sim.settle()
        assert sim.check()["acknowledged"] == 1

    refused: list[str] = []
    passes(main, brokers=3, seeds=range(3))
    assert refused


def test_a_record_without_an_answer_may_be_there_or_not() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        sim.cut(1, "client")
        sending = asyncio.create_task(send(sim, b"a"))
        await asyncio.sleep(0.5)
        sending.cancel()
        await asyncio.wait([sending])
        await sim.settle()
        sim.check()

    passes(main)


async def abort_after(delay_s: float, producer: Producer, value: bytes) -> None:
    """Abort before the record has its answer: the leader may have stored it, or may not."""
    await producer.begin_transaction()
    sending = asyncio.create_task(producer.send("t", value=value, partition=0))
    await asyncio.sleep(delay_s)
    await producer.abort_transaction()
    await asyncio.gather(sending, return_exceptions=True)


def test_an_aborted_record_may_lie_in_the_log() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        async with Producer(sim.bootstrap, transactional_id="orders") as producer:
            async with producer.transaction():
                await producer.send("t", value=b"same")
            for n in range(8):
                await abort_after(0.001 * n, producer, b"same")
        await send(sim, b"same")
        assert len(await sim.read_all("t")) == 2
        acknowledged = {one.offset for one in sim.recording.sent}
        await sim.read_all("t", isolation_level="read_uncommitted")
        counts = sim.check()
        assert (counts["transactions_aborted"], counts["failed"], counts["unrecorded"]) == (8, 0, 0)
        shown = next(one for one in sim.recording.seen if one.offset not in acknowledged)
        shown.isolation = "read_committed"
        with pytest.raises(BrokenPromiseError, match="aborted-read: "):
            sim.check()

    passes(main, brokers=3)


def test_equal_values_within_a_transaction_and_outside_are_told_apart() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        async with Producer(sim.bootstrap, transactional_id="orders") as producer:
            await abort_after(0, producer, b"same")
        await send(sim, b"same", acks=0)
        await sim.settle()
        await asyncio.sleep(1)
        assert len(await sim.read_all("t")) == 1
        assert sim.check()["matched_by_value"] == 0
        assert len(await sim.read_all("t", isolation_level="read_uncommitted")) == 1

    passes(main, brokers=3)
