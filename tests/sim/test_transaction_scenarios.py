"""Scenarios of transactions: broken rules are noticed, and faults that do not bite are told."""
# rules are methods of their own

from __future__ import annotations

from typing import Any

import pytest

from tidelog.broker.transactions import transaction_requests
from tidelog.broker.transactions.transaction_shard import TransactionShard
from tidelog.chaos.story.scenario_run import PROMISE, UNOBSERVED
from tidelog.client.admin.transaction_methods import TransactionMethods
from tidelog.log.producers import ProducerStates
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.group_members import SimGroupMember
from tidelog.simulation.cluster.seed_run import run_seed

pytestmark = [pytest.mark.sim, pytest.mark.turns(3)]

_check_marker = ProducerStates.check_marker


def _nothing(*_: Any, **__: Any) -> None:
    """Compare nothing."""


async def _nothing_done(*_: Any) -> None:
    """Do nothing."""


def _never_there(self: ProducerStates, **marker: Any) -> bool:
    """A marker is appended though it is there."""
    _check_marker(self, **marker)
    return False


def _none_prepared(_: TransactionShard) -> list[Any]:
    """Nothing is prepared, to a coordinator that has loaded the state."""
    return []


async def _none_known(*_: Any) -> dict[int, Any]:
    """No producer id has a transaction at any coordinator."""
    return {}


BROKEN: dict[str, tuple[str, Any, str, Any]] = {
    "epochs not compared by the coordinator": (
        "F41",
        transaction_requests,
        "_check_current",
        _nothing,
    ),
    "the older producer not fenced": ("F68", transaction_requests, "_check_current", _nothing),
    "the zombie not fenced": ("F42", transaction_requests, "_check_current", _nothing),
    "what was prepared not ended after loading": (
        "F43",
        TransactionShard,
        "prepared",
        property(_none_prepared),
    ),
    "a marker appended twice": ("F44", ProducerStates, "check_marker", _never_there),
    "what is open taken for hanging": ("F67", TransactionMethods, "_known", _none_known),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_of_transactions_is_noticed(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, owner, attribute, broken = BROKEN[rule]
    monkeypatch.setattr(owner, attribute, broken)

    result = run_seed(1, choice=name)

    assert result.violation is not None
    assert result.violation.invariant == PROMISE, result.violation


@pytest.mark.parametrize(
    ("name", "hand", "method"),
    [("F42", SimGroupMember, "pause"), ("F67", SimClusterPort, "kill")],
)
def test_a_fault_that_does_not_bite_is_told(
    name: str, hand: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand, method, _nothing_done)

    result = run_seed(1, choice=name)

    assert result.violation is not None
    assert result.violation.invariant == UNOBSERVED, result.violation
