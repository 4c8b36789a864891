"""Seeds of a simulated test: what surrounds them, their limits, storms and mistakes."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
import time
import uuid
from typing import Any

import pytest
from tests.testing.one_seed import TOPIC, Body, failure, outcome, passes, send

from tidelog.client import Producer
from tidelog.core.chance import SeededRandom
from tidelog.testing import (
    LimitReachedError,
    NotDeterministicError,
    OutsideSimulationError,
    SimulatedTestError,
    Simulation,
    simulate,
    simulated,
)
from tidelog.testing.sim.runs import SHRINK_RUNS_MAX, run_seeds
from tidelog.testing.sim.seed_run import Plan, run_seed
from tidelog.testing.sim.storm import HARSH, STRIKES_MAX, draw_strikes, kinds_of
from tidelog.testing.sim.target import ClusterOptions

pytestmark = pytest.mark.sim


# The surroundings


def test_clocks_and_chance_follow_the_seed_and_are_restored() -> None:
    seen: list[tuple[object, ...]] = []
    functions = (time.time, time.monotonic, time.sleep, os.urandom, random.random)
    state = random.getstate()

    async def body(sim: Simulation) -> None:
        begun = time.monotonic()
        await asyncio.sleep(20)
        assert 20 <= time.monotonic() - begun < 21
        assert time.perf_counter_ns() == time.monotonic_ns()
        found = (random.random(), uuid.uuid4(), os.urandom(4), time.time(), sim.random.random())
        seen.append(found)

    begun = time.perf_counter()
    passes(body)
    assert seen[0] == seen[1]
    assert (time.time, time.monotonic, time.sleep, os.urandom, random.random) == functions
    assert random.getstate() == state
    assert time.perf_counter() > begun


def test_functions_for_threads_run_at_once_and_in_order() -> None:
    async def body(sim: Simulation) -> None:
        del sim
        ran: list[int] = []
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(asyncio.to_thread(ran.append, n) for n in range(5)))
        await loop.run_in_executor(None, ran.append, 5)
        assert ran == list(range(6))
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    passes(body)


async def _open_socket(_: Simulation) -> None:
    socket.create_connection(("127.0.0.1", 9))


async def _open_stream(_: Simulation) -> None:
    await asyncio.open_connection("127.0.0.1", 9)


async def _start_process(_: Simulation) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)  # noqa: ASYNC221


async def _start_thread(_: Simulation) -> None:
    threading.Thread(target=print).start()


async def _use_sync_client(sim: Simulation) -> None:
    from tidelog.client import sync

    with sync.Producer(sim.bootstrap):
        pass


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (_open_socket, "give the code a stand-in"),
        (_open_stream, "give the code a stand-in"),
        (_start_process, "sim.process"),
        (_start_thread, "asyncio.to_thread"),
        (_use_sync_client, "tidelog.client.sync"),
    ],
)
def test_what_leaves_the_simulation_is_refused(body: Body, words: str) -> None:
    found = failure(body).error
    assert isinstance(found, OutsideSimulationError)
    assert words in str(found)


# Determinism, limits, seeds


def test_a_seed_that_runs_in_two_ways_is_named_with_the_first_difference() -> None:
    counter = iter(range(9))

    async def body(sim: Simulation) -> None:
        sim.note(f"run {next(counter)}")

    found = failure(body).error
    assert isinstance(found, NotDeterministicError)
    assert "run 1" in str(found)
    assert "run 2" in str(found)
    assert "datetime.now" in str(found)


@pytest.mark.parametrize("limits", [{"virtual_s": 5.0}, {"steps": 5_000}])
def test_a_test_that_does_not_end_says_where_it_waits(limits: dict[str, Any]) -> None:
    async def wait_for_payment() -> None:
        await asyncio.Event().wait()

    async def body(sim: Simulation) -> None:
        sim.process("payments", wait_for_payment)
        await wait_for_payment()

    found = failure(body, **limits).error
    assert isinstance(found, LimitReachedError)
    (test, process) = str(found).splitlines()[1:]
    assert "client: scenario waits at" in test
    assert "payments: payments waits at" in process
    assert test.count("wait_for_payment") == process.count("wait_for_payment") == 1


def test_a_condition_that_does_not_come_is_named() -> None:
    async def body(sim: Simulation) -> None:
        await sim.until(lambda: False, within_s=3)

    assert "3 virtual s went by before the condition of test_simulated_seeds.py:" in str(
        failure(body).error
    )


def test_seeds_differ_and_each_is_the_same_again() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)

    one, again, other = (run_seed(Plan("seeds", body), seed) for seed in (1, 1, 2))
    assert one.trace == again.trace != other.trace
    assert run_seed(Plan("another test", body), 1).trace != one.trace


def test_a_task_left_over_is_named() -> None:
    async def poll() -> None:
        await asyncio.sleep(1000)

    async def body(sim: Simulation) -> None:
        del sim
        body.task = asyncio.create_task(poll(), name="poller")  # type: ignore[attr-defined]
        await asyncio.sleep(0)

    (left,) = outcome(body).left_over
    assert left.startswith("poller at ")
    assert "poll (test_simulated_seeds.py:" in left


# Storms


def test_a_storm_is_the_same_whichever_strike_is_left_out() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await asyncio.sleep(12)
        await sim.settle()

    plan = Plan("storm", body, kinds=("process_kill", "pause", "weather", "stop"))
    whole = run_seed(plan, 3)
    assert len(whole.struck) > 2
    first = whole.struck[0].number
    without = run_seed(plan, 3, left_out=frozenset({first}))
    moments = {one.number: (one.kind, round(one.began_s, 1)) for one in whole.struck}
    assert first not in {one.number for one in without.struck}
    for one in without.struck:
        assert moments.get(one.number, (one.kind,))[0] == one.kind


def test_a_failure_names_the_faults_that_it_needs() -> None:
    runs = 0

    async def body(sim: Simulation) -> None:
        nonlocal runs
        runs += 1
        await sim.create_topic(TOPIC)
        await asyncio.sleep(10)
        await sim.settle()
        assert not any(one.kind == "pause" for one in sim.struck)

    plan = Plan("needs", body, kinds=("pause", "kill", "weather", "clock_drift"))
    report = run_seeds(plan, range(20))
    (found,) = report.failed
    assert len(found.faults) > 1
    assert found.needed is not None
    assert all(one.startswith("pause") for one in found.needed)
    assert len(found.needed) == 1
    assert runs <= len(report.seeds) + 2 + SHRINK_RUNS_MAX
    whole = "\n".join(found.lines("pytest x"))
    assert f"tidelog: seed {found.seed} failed after " in whole
    assert "virtual s: AssertionError\ntidelog: faults: " in whole
    assert (
        f"\ntidelog: still fails with only: {found.needed[0]}\ntidelog: replay: pytest x\n" in whole
    )


def test_a_storm_has_few_strikes_and_every_kind_can_be_drawn() -> None:
    drawn = [draw_strikes(SeededRandom(seed), HARSH, first=24) for seed in range(300)]
    assert {len(strikes) for strikes in drawn} == set(range(1, STRIKES_MAX + 1))
    assert {one.kind for strikes in drawn for one in strikes} == set(HARSH)
    assert all(strikes[0].number == 24 for strikes in drawn)


@pytest.mark.parametrize("kind", HARSH)
def test_each_kind_strikes_and_ends(kind: str) -> None:
    async def idle() -> None:
        await asyncio.sleep(1000)

    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        sim.process("worker", idle)
        async with Producer(sim.bootstrap) as producer:
            for number in range(40):
                await producer.send(TOPIC, value=b"%d" % number)
                await asyncio.sleep(0.1)
        await sim.settle()
        assert sim.check()["acknowledged"] == 40

    plan = Plan("each kind", body, kinds=(kind,))
    outcomes = [run_seed(plan, seed) for seed in range(2)]
    assert [one.error for one in outcomes] == [None, None]
    assert any(one.struck for one in outcomes)


@pytest.mark.parametrize("brokers", [1, 2, 5])
def test_clusters_of_other_sizes_have_storms(brokers: int) -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        async with sim.storm("standard"):
            await send(sim, b"1", b"2")
        await sim.settle()
        sim.check()

    passes(body, brokers=brokers)


# Mistakes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 0}, "at least one seed"),
        ({"seeds": [-1]}, "each a number from 0 on"),
        ({"faults": "typhoon"}, "there is no 'typhoon'; there are the sets none, standard, harsh"),
        ({"faults": ["kill", "typhoon"]}, "the kinds kill, stop"),
        ({"brokers": 0}, "brokers=0"),
        ({"configs": {"no.such.key": 1}}, "no.such.key"),
        ({"virtual_s": 0}, "virtual_s=0"),
        ({"steps": 0}, "steps=0"),
    ],
)
def test_a_mistake_is_named_before_anything_runs(options: dict[str, Any], words: str) -> None:
    async def body(sim: Simulation) -> None:
        raise AssertionError(sim)

    for decorated in (lambda: simulated(**options)(body), lambda: simulate(body, **options)):
        with pytest.raises(SimulatedTestError, match="(?s)" + words.replace("[", r"\[")):
            decorated()


def test_a_plain_function_and_one_without_a_cluster_are_refused() -> None:
    def plain(sim: Simulation) -> None:
        del sim

    async def without() -> None: ...

    with pytest.raises(SimulatedTestError, match="plain is no `async def`"):
        simulated(plain)  # type: ignore[arg-type]
    with pytest.raises(SimulatedTestError, match="has no parameter `sim`"):
        simulated(without)


def test_a_main_that_is_no_coroutine_is_named() -> None:
    async def body(sim: Simulation) -> None:
        sim.process("worker", lambda: 3)  # type: ignore[arg-type, return-value]
        await asyncio.sleep(1)

    assert "returned 3 and no coroutine" in str(failure(body).error)


def test_options_of_a_cluster_reach_its_nodes() -> None:
    async def body(sim: Simulation) -> None:
        assert list(sim.node_ids) == [1, 2, 3, 4]
        sim.kill(4)
        await sim.create_topic(TOPIC, partitions=2)

    options = ClusterOptions(brokers=3, controllers=1, configs={"num.partitions": 7})
    assert run_seed(Plan("options", body, options), 0).error is not None  # no controller, no topic
    assert kinds_of("standard")
