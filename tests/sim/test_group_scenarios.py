"""Scenarios of groups: broken rules are noticed, and faults that do not bite are told."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.chaos.story.scenario_run import PROMISE, UNOBSERVED
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.group_members import SimGroupMember
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.mutants.cluster_groups import (
    commit_epochs_not_compared,
    groups_answered_before_commit,
)
from tidelog.simulation.mutants.groups_fenced import coordinator_not_confirmed
from tidelog.simulation.mutants.mutant import Mutant

pytestmark = [pytest.mark.sim, pytest.mark.turns(3)]


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        (commit_epochs_not_compared, "F46"),
        (groups_answered_before_commit, "coordinator-cut-off"),
        (coordinator_not_confirmed, "coordinator-cut-off"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_broken_rule_of_the_coordinator_is_noticed(mutant: Mutant, name: str) -> None:
    with mutant.applied():
        result = run_seed(1, choice=name)

    assert result.violation is not None
    assert result.violation.invariant == PROMISE


async def _nothing(*_: Any) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("name", "hand", "method"),
    [("F46", SimGroupMember, "pause"), ("coordinator-cut-off", SimClusterPort, "cut")],
)
def test_a_fault_of_a_group_that_does_not_bite_is_told(
    name: str, hand: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand, method, _nothing)

    result = run_seed(1, choice=name)

    assert result.violation is not None
    assert result.violation.invariant == UNOBSERVED
