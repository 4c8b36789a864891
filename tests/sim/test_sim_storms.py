"""Storms of what takes records, in the simulation, whose invariants see each step."""

from __future__ import annotations

from typing import Any

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
    ("kind", "words", "fields"),
    [
        ("empty_disk", "broker starts", {"disk": "new"}),
        ("torn_tail", "broker starts", {}),
        ("bit_flip", "log damaged", {}),
    ],
)
def test_damage_within_the_budget_is_told_by_nodes_and_loses_nothing(
    kind: str, words: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(run: ScenarioRun) -> None:
        before = len(run.find_log_lines(words, **fields))
        storm = Storm(seed=1, for_s=FOR_S, kinds=(kind,))
        async with lasting(run, storm):
            run.expect(storm.struck, "something struck")
        await run.in_sync()
        run.promise(len(run.find_log_lines(words, **fields)) > before, f"{kind} was noticed")

    monkeypatch.setitem(SCENARIOS, "storm of one", Scenario("storm of one", story))

    result = run_seed(1, choice="storm of one")

    assert result.violation is None
    assert result.counts["lost"] == 0
    assert result.faults[kind]
