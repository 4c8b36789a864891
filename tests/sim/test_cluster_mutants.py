"""Mutants of the cluster are wrong only inside, and its random suite notices them.

All of them: `tidelog sim mutants --suite cluster`. What a hunt is: `test_raft_mutants`.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from click.testing import CliRunner
from tests.plain_logs import configure_logs

from tidelog.broker.replica import leader
from tidelog.broker.replica.isr import IsrState
from tidelog.cli.sim import sim
from tidelog.metadata.commands import COMMANDS
from tidelog.simulation.mutants import groups, raft, wire
from tidelog.simulation.mutants.cluster import ALL, MUTANTS, UNSEEN
from tidelog.simulation.mutants.mutant import Mutant
from tidelog.simulation.suites.worker import silence_nodes

MUTANTS_MIN = 20
"""What the suite must at least catch."""
QUICK = {"duplicates_appended": 0}
"""With a seed that notices."""


@pytest.fixture(autouse=True)
def _silent_nodes() -> Iterator[None]:
    silence_nodes()
    yield
    configure_logs()


def test_every_mutant_has_a_claim_and_is_found_by_a_worker() -> None:
    assert len(MUTANTS) >= MUTANTS_MIN
    assert ALL.keys() - MUTANTS.keys() == UNSEEN
    for name, mutant in ALL.items():
        module, _, function = mutant.patch.partition(":")
        assert getattr(import_module(module), function) is mutant
        assert mutant.name == name
        assert mutant.claim.endswith(".")


@pytest.mark.parametrize("name", ALL)
def test_a_mutant_is_wrong_inside_and_right_again_after(name: str) -> None:
    mutant = ALL[name]
    original = vars(mutant.owner)[mutant.attribute]

    with contextlib.suppress(KeyError), mutant.applied():
        wrong = vars(mutant.owner)[mutant.attribute]
        assert isinstance(wrong, property) == isinstance(original, property)
        assert (wrong.fget if isinstance(wrong, property) else wrong) is mutant.replacement
        raise KeyError

    assert vars(mutant.owner)[mutant.attribute] is original


def test_a_rule_is_broken_for_who_calls_it() -> None:
    with ALL["epochs_not_compared"].applied():
        assert leader.epoch_refusal(1, 2) is None
    assert leader.epoch_refusal(1, 2) is not None


def test_no_mutant_replaces_a_function_that_a_row_of_commands_has_taken() -> None:
    """A row keeps the function it was made with: to replace it in its module would do nothing."""
    rows = COMMANDS.values()
    taken = {one for row in rows for one in (row.decide, row.is_quiet, row.complete)}
    replaced = {name: vars(mutant.owner)[mutant.attribute] for name, mutant in ALL.items()}
    assert [name for name, function in replaced.items() if function in taken] == []


@pytest.mark.parametrize(
    "mutant",
    [*ALL.values(), *raft.ALL.values(), *groups.ALL.values(), *wire.ALL.values()],
    ids=lambda one: one.name,
)
def test_a_mutant_takes_the_arguments_of_the_function_it_replaces(mutant: Mutant) -> None:
    """One that takes others ends each node by a TypeError: it shows nothing of the rule."""
    original = vars(mutant.owner)[mutant.attribute]
    function: Any = original.fget if isinstance(original, property) else original  # any function
    parameters = inspect.signature(getattr(function, "__func__", function)).parameters.values()
    named = {one.name: None for one in parameters if one.kind is one.KEYWORD_ONLY}
    others = len(parameters) - len(named) - isinstance(original, classmethod)
    inspect.signature(mutant.replacement).bind(*[None] * others, **named)


def test_a_property_is_broken_as_one() -> None:
    def maximal() -> tuple[int, ...]:
        return IsrState((1, 2), 1, proposed=(1, 2, 3)).maximal

    with ALL["joining_replica_not_counted"].applied():
        assert maximal() == (1, 2)
    assert maximal() == (1, 2, 3)


def test_the_suites_mutants_have_names_of_their_own() -> None:
    assert not ALL.keys() & raft.ALL.keys()
    assert not groups.ALL.keys() & (ALL.keys() | raft.ALL.keys())
    assert not wire.ALL.keys() & (ALL.keys() | raft.ALL.keys() | groups.ALL.keys())


@pytest.mark.turns(4)
@pytest.mark.sim
def test_a_seed_notices_a_mutant_the_control_does_not_and_the_command_tells_it() -> None:
    name, seed = next(iter(QUICK.items()))
    options = ["mutants", "--suite", "cluster", "--seeds", f"{seed}:{seed + 1}", "--json"]

    output = CliRunner().invoke(sim, [*options, "--mutant", name])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    summary = json.loads(line)
    assert summary["suite"] == "cluster"
    (verdict,) = summary["mutants"]
    assert list(verdict) == ["name", "caught", "seeds", "invariant"]
    assert (verdict["name"], verdict["caught"], verdict["seeds"]) == (name, True, 1)
    assert verdict["invariant"]


def test_command_refuses_a_mutant_of_another_suite() -> None:
    options = ["mutants", "--suite", "cluster", "--mutant", next(iter(raft.ALL))]

    output = CliRunner().invoke(sim, options)

    assert output.exit_code == 2
    assert "the cluster suite has no mutant" in output.stderr
