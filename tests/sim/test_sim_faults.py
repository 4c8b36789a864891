"""Fault objects on simulated nodes: each is taken back from what it struck, and from that alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from tidelog.chaos.faults.bit_flip import FlipAt
from tidelog.chaos.faults.delay import Delay
from tidelog.chaos.faults.fault import FaultError, lasting
from tidelog.chaos.faults.nodes import Kill, Pause
from tidelog.chaos.faults.power import EndAtWrite, PowerCut
from tidelog.chaos.story.scenario import Scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.log.file_names import LOG
from tidelog.simulation.cluster.bad_weather import BadWeather
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.scenarios import SCENARIOS
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.cluster.storm_target import StormTarget
from tidelog.simulation.engine.network import Weather

pytestmark = pytest.mark.sim
Play = Callable[[Callable[[ScenarioRun, StormTarget], Awaitable[None]]], dict[str, int]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Run a story whose checks are plain asserts; the faults that were counted."""

    def run_story(
        story: Callable[[ScenarioRun, StormTarget], Awaitable[None]],
    ) -> dict[str, int]:
        async def story_until_in_sync(run: ScenarioRun) -> None:
            await story(run, cast("SimClusterPort", run.cluster)._simulation)
            await run.in_sync()

        monkeypatch.setitem(SCENARIOS, "one", Scenario("one", story_until_in_sync))
        result = run_seed(3, choice="one")
        assert result.violation is None, result.violation
        return result.faults

    return run_story


def is_paused(simulation: StormTarget, node_id: int) -> bool:
    host = simulation.machine(node_id).host
    return host is not None and host.loop.is_paused


def test_a_pause_does_not_wake_the_next_process_that_another_pause_holds(play: Play) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        _, (follower, _) = run.cast()
        first, second = Pause(follower), Pause(follower, kind="again")
        await first.inject(run)
        async with lasting(run, Kill(follower)):
            assert not run.is_up(follower)
        await second.inject(run)
        await first.heal(run)
        assert is_paused(simulation, follower)
        await second.heal(run)
        assert not is_paused(simulation, follower)

    assert play(story) == {"pause": 1, "kill": 1, "again": 1}


def test_a_delay_holds_one_client_alone_or_all(play: Play) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        leader, _ = run.cast()
        first, second = simulation.client_hosts[:2]
        links = simulation.cluster.network._clogged
        async with lasting(run, Delay(((first, leader),))):
            assert (first, f"node-{leader}") in links
            assert (second, f"node-{leader}") not in links
        assert not links
        async with lasting(run, Delay((("clients", leader),))):
            assert {host for host, _ in links} == set(simulation.client_hosts)

    assert play(story) == {"delay": 2}


def test_a_power_cut_without_room_strikes_nobody_and_is_not_counted(play: Play) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        leader, _ = run.cast()
        simulation.budget._tainted.add(leader)
        for fault in (PowerCut(leader), EndAtWrite(leader, 1, has_power_cut=True)):
            with pytest.raises(FaultError, match="must keep its power"):
                async with lasting(run, fault):
                    pass
        assert run.is_up(leader)

    assert play(story) == {}


def test_a_power_cut_lasts_until_it_is_healed(play: Play) -> None:
    async def story(run: ScenarioRun, _simulation: StormTarget) -> None:
        _, (follower, _) = run.cast()
        async with lasting(run, PowerCut(follower)):
            assert not run.is_up(follower)
        assert run.is_up(follower)

    assert play(story) == {"power_cut": 1}


@pytest.mark.parametrize("has_power_cut", [False, True])
def test_a_process_ends_at_a_write_and_a_spared_one_does_not(
    play: Play, *, has_power_cut: bool
) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        _, (follower, other) = run.cast()
        starts = simulation.machine(other).starts
        async with lasting(run, EndAtWrite(other, 10**6, has_power_cut)):
            await run.last(0.5, 1.0)
        disk = simulation.machine(other).disk
        assert not disk.faults.is_cut_due
        starts_of_follower = simulation.machine(follower).starts
        async with lasting(run, EndAtWrite(follower, 1, has_power_cut)):
            await run.comes(
                lambda: (
                    not run.is_up(follower)
                    or simulation.machine(follower).starts > starts_of_follower
                ),
                "it ended",
            )
        assert simulation.machine(other).starts == starts

    assert play(story) == {"crash_at_write" if has_power_cut else "kill_at_write": 2}


def test_a_flipped_bit_of_a_log_is_in_the_budget_until_it_has_healed(play: Play) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        await run.acknowledged_again()
        leader, (follower, _) = run.cast()
        path = run.files(follower, LOG)[0]
        fault = FlipAt(follower, path, byte=40, bit=3)
        await fault.inject(run)
        assert fault.flip is not None
        assert fault.flip.is_wrong(run.cluster)
        assert not simulation.budget.may_damage(leader, run.cluster.topic, 0)
        with pytest.raises(FaultError, match="no 1000000"):
            await FlipAt(follower, path, byte=10**6, bit=0).inject(run)

    assert play(story) == {"bit_flip": 1}


def test_later_weather_is_not_taken_back_with_the_earlier(play: Play) -> None:
    async def story(run: ScenarioRun, simulation: StormTarget) -> None:
        network = simulation.cluster.network
        early = BadWeather(network, Weather(loss=0.01))
        late = BadWeather(network, Weather(loss=0.02))
        await early.inject(run)
        await late.inject(run)
        await early.heal(run)
        assert network.weather is late.weather
        await late.heal(run)
        assert network.weather is None

    assert play(story) == {"weather": 2}
