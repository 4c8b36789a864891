"""What runs add up to: never ok unless all was seen and all was kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.chaos.chaos_records import truncation
from tests.chaos.chaos_sends import send
from tests.virtual_loop import run_virtual

from tidelog.chaos.report.record import Anomaly, RunRecord, Verdict
from tidelog.chaos.scenarios.catalogue import runnable_on
from tidelog.chaos.sockets import ledger
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.chaos.sockets.summary import SUMS, summary
from tidelog.chaos.sockets.verdict import tally, verdict_of, worst
from tidelog.chaos.story.scenario import SOCKETS
from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.delivery import counts
from tidelog.history.history import History
from tidelog.simulation.mutants import cluster, raft
from tidelog.simulation.mutants.on_sockets import CONTROL, HUNTS
from tidelog.simulation.mutants.socket_hunt import Hunted, hunt


def anomalies(*kinds: str) -> list[Anomaly]:
    return [Anomaly(kind, "the test says so", None) for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), "ok"),
        (("unobserved",), "inconclusive"),
        (("failed",), "inconclusive"),
        (("failed", "I1"), "violation"),
        (("lost-write",), "violation"),
        (("promise",), "violation"),
        (("I29", "unobserved"), "violation"),
    ],
)
def test_what_was_not_seen_is_never_ok_and_what_is_wrong_never_excused(
    kinds: Sequence[str], expected: Verdict
) -> None:
    assert verdict_of(anomalies(*kinds)) == expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("ok", "ok"), "ok"),
        (("ok", "inconclusive"), "inconclusive"),
        (("inconclusive", "violation"), "violation"),
        ((), "inconclusive"),
    ],
)
def test_several_runs_are_as_good_as_the_worst(
    verdicts: Sequence[Verdict], expected: Verdict
) -> None:
    assert worst(verdicts) == expected


def test_acknowledged_is_of_idempotent_producers_with_acks_all() -> None:
    history = History(
        sends=[
            send(1, acks=-1, is_idempotent=True),
            send(2, acks=-1, is_idempotent=False),
            send(3, acks=1, is_idempotent=False),
        ]
    )
    complaints = [
        Complaint("duplicate", "", ()),
        Complaint("nonmonotonic-send", "", ()),
        Complaint("realtime-order", "", ()),
    ]
    result = tally(history, complaints, counts(history))
    assert (result.operations, result.acknowledged) == (3, 1)
    assert (result.lost, result.lost_acks_1) == (2, 1)
    assert (result.duplicated, result.reordered) == (1, 2)


def record(
    scenario: str, *, verdict: Verdict = "ok", unavailable_s: float = 0.0, **counted: int
) -> RunRecord:
    sums = {**dict.fromkeys(SUMS, 0), **counted}
    return replace(
        truncation(),
        scenario=scenario,
        verdict=verdict,
        unavailable_s=unavailable_s,
        counts=sums,
        anomalies=[] if verdict == "ok" else anomalies("I1"),
    )


def test_the_last_line_has_each_scenario_once_and_whole_sums() -> None:
    line = summary(
        [
            record("F01", unavailable_s=0.5, operations=10, acknowledged=7),
            record("F12", verdict="violation", operations=5, lost=2),
            record("F01", unavailable_s=2.0, operations=20, acknowledged=9),
        ]
    )
    scenarios = line["scenarios"]
    assert isinstance(scenarios, list)
    assert [(one["name"], one["verdict"], one["runs"]) for one in scenarios] == [
        ("F01", "ok", 2),
        ("F12", "violation", 1),
    ]
    assert scenarios[0]["unavailable_seconds"] == 1.25
    assert scenarios[0]["unavailable_seconds_worst"] == 2.0
    assert scenarios[1]["anomalies"] == ["I1"]
    assert {name: line[name] for name in ("operations", "acknowledged", "lost")} == {
        "operations": 35,
        "acknowledged": 16,
        "lost": 2,
    }
    assert line["verdict"] == "violation"
    assert all(type(line[name]) is int for name in SUMS)


def test_the_ledger_only_grows_and_says_how_to_run_it_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "chaos.jsonl"
    for number in range(2):
        command = f"tidelog chaos run F62 --seed {number}"
        ledger.append(path, {"lost": 0}, commit="abc", command=command, load_s=600.4)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["command"] for line in lines] == [
        "tidelog chaos run F62 --seed 0",
        "tidelog chaos run F62 --seed 1",
    ]
    assert lines[0]["load_seconds"] == 600
    assert lines[0]["result"] == {"lost": 0}


def test_every_hunt_is_of_a_known_mutant_and_a_scenario_of_sockets() -> None:
    assert len(HUNTS) >= 8
    assert set(HUNTS) <= {*cluster.ALL, *raft.ALL}
    assert {*HUNTS.values(), CONTROL} <= set(runnable_on(SOCKETS))


def hunted(verdicts: Sequence[Verdict]) -> tuple[Hunted, list[RunPlan]]:
    """With runs that end so, in order."""
    plans: list[RunPlan] = []

    async def run(plan: RunPlan) -> RunRecord:
        plans.append(plan)
        return record(plan.scenario_id, verdict=verdicts[len(plans) - 1])

    result = run_virtual(
        hunt("a mutant", "F12", patch="m:f", seeds=range(3, 6), load_s=5.0, run=run)
    )
    return result, plans


def test_a_mutant_is_caught_by_the_first_seed_that_sees_a_violation() -> None:
    result, plans = hunted(["ok", "inconclusive", "violation"])
    assert result.is_caught
    assert result.runs == 2
    assert result.anomalies == ("I1",)
    assert [(plan.scenario_id, plan.seed) for plan in plans] == [
        (CONTROL, 3),
        ("F12", 3),
        ("F12", 4),
    ]
    assert all(plan.mutant == "m:f" for plan in plans)


@pytest.mark.parametrize("control", ["violation", "inconclusive"])
def test_what_is_noticed_without_a_fault_is_not_hunted(control: Verdict) -> None:
    result, plans = hunted([control])
    assert not result.is_caught
    assert len(plans) == 1


def test_a_mutant_that_no_seed_notices_is_not_caught() -> None:
    result, _ = hunted(["ok"] * 4)
    assert not result.is_caught
    assert result.runs == 3
