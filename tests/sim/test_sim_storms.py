"""Storms of what takes records, in the simulation, whose invariants see each step."""

from __future__ import annotations

import pytest

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.storm import Storm
from tidelog.chaos.story.scenario import Scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.simulation.cluster.scenarios import SCENARIOS
from tidelog.simulation.cluster.seed_run import run_seed

pytestmark = pytest.mark.sim
FOR_S = 15.0


@pytest.mark.parametrize(
    ("kind", "words"),
    [("empty_disk", "broker starts"), ("torn_tail", "broker starts"), ("bit_flip", "log damaged")],
)
def test_damage_within_the_budget_is_told_by_nodes_and_loses_nothing(
    kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(run: ScenarioRun) -> None:
        storm = Storm(seed=1, for_s=FOR_S, kinds=(kind,))
        async with lasting(run, storm):
            run.expect(storm.struck, "something struck")
        await run.in_sync()
        lines = run.find_log_lines(words)
        is_known = [line.fields.get("start_loss", "EVERYTHING") == "EVERYTHING" for line in lines]
        run.promise(any(is_known), f"{kind} was noticed")

    monkeypatch.setitem(SCENARIOS, "storm of one", Scenario("storm of one", story))

    result = run_seed(1, choice="storm of one")

    assert result.violation is None
    assert result.counts["lost"] == 0
    assert result.faults[kind]
