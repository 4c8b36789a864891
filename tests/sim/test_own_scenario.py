"""A scenario is one function of at most twenty lines in one file: this module holds one."""

from __future__ import annotations

import inspect
import sys

import pytest

from tidelog.chaos.scenarios.catalogue import scenarios_in
from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.simulation.cluster.scenarios import SCENARIOS
from tidelog.simulation.cluster.seed_run import run_seed

pytestmark = pytest.mark.sim
LINES_MAX = 20


@scenario("own", Needs(runs_on=SIM_ONLY, has_separate_controllers=False))
async def follower_paused(run: ScenarioRun) -> None:
    """A follower is paused: it leaves the ISR, writes go on, and it returns."""
    await run.last(0.5, 1.5)
    _, (follower, _) = run.cast()
    await run.pause(follower)
    await run.comes(lambda: run.is_out(follower), "it left the ISR")
    await run.acknowledged_again()
    await run.resume(follower)
    await run.in_sync()


def test_a_scenario_of_few_lines_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scenarios_in([sys.modules[__name__]])
    assert len(inspect.getsource(follower_paused.story).splitlines()) <= LINES_MAX
    monkeypatch.setitem(SCENARIOS, "own", found["own"])

    result = run_seed(1, choice="own")

    assert result.violation is None
    assert result.faults == {"pause": 1}
    assert found["own"].name == "follower-paused"
