"""Processes of a simulated test: programs of the user's own, killed, stopped and struck."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
import traceback

import pytest
from tests.testing.simulated_runs import error_of, passes, run, send

from tidelog.client import Producer
from tidelog.testing import SimulatedProcess, SimulatedTestError, Simulation
from tidelog.testing.sim.processes import STOP_POLL_S, STOP_S_MAX
from tidelog.testing.sim.user_frames import users_traceback

pytestmark = pytest.mark.sim
LONG_S = 1_000.0


class Program:
    """Counts what becomes of it."""

    def __init__(self) -> None:
        self.starts = self.finals = self.ticks = 0

    async def main(self) -> None:
        self.starts += 1
        try:
            while True:
                await asyncio.sleep(0.1)
                self.ticks += 1
        finally:
            self.finals += 1


def test_a_kill_runs_no_finally_and_a_start_calls_main_again() -> None:
    async def main(sim: Simulation) -> None:
        program = Program()
        process = sim.process("orders", program.main)
        process.start()
        await asyncio.sleep(1)
        assert process.is_running
        process.kill()
        process.kill()
        ticks = program.ticks
        await asyncio.sleep(1)
        assert not process.is_running
        assert not process.has_ended
        assert (program.starts, program.finals, program.ticks) == (1, 0, ticks)
        process.start()
        await asyncio.sleep(1)
        assert (program.starts, program.finals) == (2, 0)
        assert program.ticks > ticks

    passes(main)


def test_a_stop_cancels_and_settle_starts_what_was_killed_alone() -> None:
    async def main(sim: Simulation) -> None:
        program, other = Program(), Program()
        process, killed = sim.process("orders", program.main), sim.process("mail", other.main)
        await asyncio.sleep(1)
        assert await process.stop()
        assert await process.stop(), "a second has nothing to do"
        assert (program.finals, process.has_ended) == (1, True)
        killed.kill()
        await sim.settle()
        await asyncio.sleep(1)
        assert not process.is_running
        assert (program.starts, other.starts) == (1, 2)
        process.start()
        assert not process.has_ended

    passes(main)


def test_a_handler_of_sigterm_goes_before_a_cancellation() -> None:
    async def main(sim: Simulation) -> None:
        ended: list[str] = []

        async def program() -> None:
            asked = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, asked.set)
            loop.add_signal_handler(signal.SIGINT, asked.clear)
            assert loop.remove_signal_handler(signal.SIGINT)
            await asked.wait()
            ended.append("in order")

        process = sim.process("orders", program)
        await asyncio.sleep(1)
        assert await process.stop()
        assert ended == ["in order"]

    passes(main)


def test_a_program_that_does_not_end_is_killed() -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(LONG_S)
            except BaseException:  # noqa: BLE001  # as some programs do
                await asyncio.sleep(0)

    async def main(sim: Simulation) -> None:
        process = sim.process("orders", stubborn)
        await asyncio.sleep(1)
        began_s = sim.now_s
        assert not await process.stop()
        assert sim.now_s - began_s == pytest.approx(STOP_S_MAX, abs=2 * STOP_POLL_S)
        assert not process.is_running
        paused = sim.process("mail", Program().main)
        await asyncio.sleep(1)
        paused.pause()
        assert not await paused.stop(within_s=1), "a signal waits as long as it is paused"

    passes(main)


def test_a_paused_program_stands_still_and_goes_on() -> None:
    async def main(sim: Simulation) -> None:
        program = Program()
        process = sim.process("orders", program.main)
        await asyncio.sleep(1)
        process.pause()
        process.pause()
        ticks = program.ticks
        await asyncio.sleep(3)
        assert program.ticks == ticks
        assert process.is_paused
        assert process.is_running
        process.resume()
        process.resume()
        await asyncio.sleep(1)
        assert program.ticks > ticks
        process.pause()
        await sim.settle()
        assert not process.is_paused

    passes(main)


def test_programs_reach_the_cluster_by_links_of_their_own() -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        sim.isolate("client")
        process = sim.process("orders", lambda: send(sim, b"a"))
        await sim.until(lambda: process.has_ended)
        (sent,) = sim.recording.sent
        assert sent.process == "orders producer 1"
        sim.heal()
        sim.isolate(process)
        process.start()
        await asyncio.sleep(3)
        assert process.is_running
        sim.heal()
        await sim.until(lambda: process.has_ended)
        assert sim.check()["acknowledged"] == 2

    passes(main)


@pytest.mark.parametrize("code", [0, None])
def test_an_exit_without_an_error_ends_a_program(code: int | None) -> None:
    async def program() -> None:
        sys.exit(code)

    async def main(sim: Simulation) -> None:
        process = sim.process("orders", program)
        await asyncio.sleep(1)
        assert process.has_ended

    passes(main)


async def failing_program() -> None:
    raise ValueError("the order is wrong")


async def exiting_program() -> None:
    sys.exit(3)


@pytest.mark.parametrize("program", [failing_program, exiting_program])
def test_an_error_of_a_program_fails_the_seed_with_its_traceback(
    program: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(sim: Simulation) -> None:
        sim.process("orders", program)  # type: ignore[arg-type]
        await asyncio.sleep(LONG_S)

    (failed,) = run(main).failed
    assert isinstance(failed.error, ValueError | SystemExit)
    frames = traceback.extract_tb(users_traceback(failed.error))
    assert [one.name for one in frames] == [program.__name__]  # type: ignore[attr-defined]
    assert f"orders    failed: {failed.error!r}" in failed.timeline[-1]
    assert failed.virtual_s < 1


def test_what_the_dying_say_is_not_in_the_timeline() -> None:
    async def program(sim: Simulation) -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            sim.note("dying")

    async def main(sim: Simulation) -> None:
        sim.process("orders", lambda: program(sim))
        await asyncio.sleep(1)
        raise AssertionError

    (failed,) = run(main).failed
    assert any(line.endswith("orders    starts") for line in failed.timeline)
    assert not any("dying" in line for line in failed.timeline)


def test_a_main_that_makes_no_coroutine_is_refused() -> None:
    async def main(sim: Simulation) -> None:
        sim.process("orders", lambda: 3)  # type: ignore[arg-type,return-value]
        await asyncio.sleep(LONG_S)

    error = error_of(main)
    assert isinstance(error, SimulatedTestError)
    assert "returned 3 and no coroutine: give a function without parameters" in str(error)


def test_a_program_may_end_itself() -> None:
    async def main(sim: Simulation) -> None:
        async def program() -> None:
            made[0].kill()
            await asyncio.sleep(1)

        made: list[SimulatedProcess] = []
        made.append(sim.process("orders", program))
        await asyncio.sleep(3)
        assert not made[0].is_running
        assert not made[0].has_ended

    passes(main)


def test_a_program_has_a_clock_that_outlives_its_starts() -> None:
    async def main(sim: Simulation) -> None:
        seen: list[float] = []

        async def program() -> None:
            seen.append(time.monotonic())

        process = sim.process("orders", program)
        await asyncio.sleep(1)
        process.start()
        await asyncio.sleep(1)
        assert seen[1] - seen[0] == pytest.approx(1, abs=0.01)

    passes(main)


def test_storms_strike_programs_and_the_report_names_them() -> None:
    async def program(sim: Simulation) -> None:
        async with Producer(sim.bootstrap) as producer:
            while True:
                await producer.send("t", value=b"x")
                await asyncio.sleep(0.1)

    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        process = sim.process("orders", lambda: program(sim))
        async with sim.storm(("process_kill", "process_pause", "process_cut")):
            await asyncio.sleep(5)
        await sim.settle()
        assert process.is_running
        struck.extend(map(str, sim.struck))
        sim.check()

    struck: list[str] = []
    passes(main, seeds=range(4))
    found = {one.split()[0] for one in struck if " orders" in one}
    assert found == {"kill", "pause", "cut"}, struck
