"""`Simulation`: nodes, links and processes in a test's hands, and the verdict of `check`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

import pytest
from tests.testing.one_seed import TOPIC, failure, passes, send

from tidelog.client import Producer
from tidelog.testing import (
    BrokenPromiseError,
    NotSettledError,
    Simulation,
)
from tidelog.testing.sim.recording import Sent

pytestmark = pytest.mark.sim


# Nodes


def test_nodes_are_killed_stopped_paused_and_lose_power() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        leader = sim.leader(TOPIC)
        sim.kill(leader)
        await sim.until(lambda: sim.leader(TOPIC) != leader if led(sim) else False)
        sim.start(leader)
        other = sim.leader(TOPIC)
        await sim.stop(other)
        assert await send(sim, b"1", b"2") == [0, 1]
        sim.start(other)
        sim.pause(sim.leader(TOPIC))
        assert await send(sim, b"3") == [2]
        await sim.settle()
        sim.power_cut(1)
        await sim.settle()
        assert [one.value for one in await sim.read_all(TOPIC)] == [b"1", b"2", b"3"]
        assert sim.check()["acknowledged"] == 3

    passes(body)


def led(sim: Simulation) -> bool:
    try:
        return sim.leader(TOPIC) > 0
    except NotSettledError:
        return False


def test_a_power_cut_that_could_cost_records_is_refused() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        sim.power_cut(1)
        sim.power_cut(2)

    assert "acknowledged records could be lost" in str(failure(body).error)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda sim: sim.kill(9), "there is no node 9"),
        (lambda sim: sim.cut(1, "nobody"), "there is no 'nobody'"),
        (lambda sim: sim.process("client", asyncio.Event().wait), "the name is taken"),
        (lambda sim: sim.leader("none"), "nobody leads none-0"),
    ],
)
def test_what_is_not_there_is_named(act: Callable[[Simulation], object], words: str) -> None:
    async def body(sim: Simulation) -> None:
        act(sim)

    assert words in str(failure(body).error)


def test_links_are_cut_and_healed() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        leader = sim.leader(TOPIC)
        sim.isolate(leader)
        await sim.until(lambda: led(sim) and sim.leader(TOPIC) != leader)
        sim.cut("client", sim.node_ids)
        sending = asyncio.create_task(send(sim, b"1"))
        await asyncio.sleep(5)
        assert not sending.done()
        sim.heal()
        assert await sending == [0]
        await sim.settle()
        sim.check()

    passes(body)


# Processes


def test_a_process_is_killed_without_its_finally_and_started_again() -> None:
    async def body(sim: Simulation) -> None:
        runs: list[str] = []

        async def main() -> None:
            runs.append("begins")
            try:
                await asyncio.sleep(1000)
            finally:
                runs.append("finally")

        process = sim.process("worker", main)
        await sim.until(lambda: runs == ["begins"])
        process.kill()
        await asyncio.sleep(1)
        assert runs == ["begins"]
        process.start()
        await sim.until(lambda: runs == ["begins", "begins"])
        assert await process.stop()
        assert runs == ["begins", "begins", "finally"]
        await sim.settle()
        assert not process.is_running

    passes(body)


def test_a_paused_process_does_nothing_and_its_handler_of_sigterm_stops_it() -> None:
    async def body(sim: Simulation) -> None:
        ticks: list[float] = []

        async def main() -> None:
            stopped = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
            while not stopped.is_set():
                ticks.append(time.monotonic())
                await asyncio.sleep(0.1)
            ticks.append(-1.0)

        process = sim.process("worker", main)
        await asyncio.sleep(1)
        process.pause()
        count = len(ticks)
        await asyncio.sleep(5)
        assert len(ticks) == count
        process.resume()
        assert await process.stop()
        assert ticks[-1] == -1.0

    passes(body)


def test_a_process_that_does_not_stop_is_killed() -> None:
    async def body(sim: Simulation) -> None:
        async def main() -> None:
            while True:
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    sim.note("goes on")

        process = sim.process("worker", main)
        await asyncio.sleep(0.1)
        assert not await process.stop(within_s=3)
        assert not process.is_running

    passes(body)


def test_an_exception_of_a_process_fails_the_seed() -> None:
    async def main() -> None:
        await asyncio.sleep(0.1)
        raise KeyError("order 7")

    async def body(sim: Simulation) -> None:
        sim.process("worker", main)
        await asyncio.sleep(10)

    found = failure(body)
    assert repr(found.error) == "KeyError('order 7')"
    assert any("worker" in line and "failed" in line for line in found.timeline)


def test_clients_of_a_process_have_the_links_of_its_machine() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        sent: list[int] = []

        async def main() -> None:
            sent.extend(await send(sim, b"of the worker"))

        sim.cut(sim.process("worker", main), sim.node_ids)
        await send(sim, b"of the test")
        await asyncio.sleep(3)
        assert not sent
        await sim.settle()
        await sim.until(lambda: sent == [1])

    passes(body)


# The verdict


def test_a_lost_record_is_complained_about_as_a_bug_of_tidelog() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await send(sim, b"1")
        (sent,) = sim.recording.sent
        tampered(sim, sent, offset=7)
        await sim.settle()
        sim.check()

    found = failure(body).error
    assert isinstance(found, BrokenPromiseError)
    assert "a bug of Tidelog and not of the test" in str(found)
    assert "b'1 #" in str(found)


def tampered(sim: Simulation, sent: Sent, *, offset: int) -> None:
    """Let the recording say what was not so."""
    sent.offset = offset
    del sim


def test_a_record_stored_twice_by_an_idempotent_producer_is_complained_about() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await send(sim, b"1", b"1")
        sim.recording.sent.pop()  # as if the program had sent it once
        await sim.settle()
        sim.check()

    assert "duplicate" in str(failure(body).error)


def test_a_record_that_was_read_and_is_gone_is_complained_about() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await send(sim, b"1")
        await sim.read_all(TOPIC)
        sim.recording.seen[0].offset = 5
        await sim.settle()
        sim.check()

    assert "vanished" in str(failure(body).error)


def test_equal_values_are_known_by_their_offsets() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await send(sim, *[b"same"] * 20)
        await sim.read_all(TOPIC)
        await sim.settle()
        counts = sim.check()
        assert (counts["acknowledged"], counts["matched_by_value"]) == (20, 0)

    passes(body)


def test_a_transaction_that_was_aborted_promises_nothing() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        async with Producer(sim.bootstrap, transactional_id="t") as producer:
            async with producer.transaction():
                await producer.send(TOPIC, value=b"committed")
            await producer.begin_transaction()
            await producer.send(TOPIC, value=b"aborted")
            await producer.abort_transaction()
        assert [one.value for one in await sim.read_all(TOPIC)] == [b"committed"]
        await sim.settle()
        counts = sim.check()
        assert (counts["transactions_committed"], counts["transactions_aborted"]) == (1, 1)

    passes(body)


def test_nothing_is_promised_of_a_topic_that_was_deleted() -> None:
    async def body(sim: Simulation) -> None:
        from tidelog.client.admin import Admin

        await sim.create_topic(TOPIC)
        await send(sim, b"1")
        async with Admin(sim.bootstrap) as admin:
            await admin.delete_topic(TOPIC)
        await sim.create_topic(TOPIC)
        await send(sim, b"2")
        await sim.settle()
        sim.check()

    passes(body)
