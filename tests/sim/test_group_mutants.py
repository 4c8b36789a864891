"""Mutants of groups are wrong only inside, and the groups suite notices them.

All of them: `tidelog sim mutants --suite groups`. What a hunt is: `test_raft_mutants`.
"""

from __future__ import annotations

import contextlib
import json
from importlib import import_module

import pytest
from click.testing import CliRunner

from tidelog.cli.sim import sim
from tidelog.simulation.mutants import cluster
from tidelog.simulation.mutants.groups import ALL, MUTANTS, UNSEEN

MUTANTS_MIN = 16
"""What the suite must at least catch."""
QUICK = {"lease_never_ends": 10}
"""With a seed that notices."""


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


@pytest.mark.turns(4)
@pytest.mark.sim
def test_a_seed_notices_a_mutant_the_control_does_not_and_the_command_tells_it() -> None:
    name, seed = next(iter(QUICK.items()))
    options = ["mutants", "--suite", "groups", "--seeds", f"{seed}:{seed + 1}", "--json"]

    output = CliRunner().invoke(sim, [*options, "--mutant", name])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    (verdict,) = json.loads(line)["mutants"]
    assert (verdict["name"], verdict["caught"], verdict["seeds"]) == (name, True, 1)


def test_command_refuses_a_mutant_of_another_suite() -> None:
    options = ["mutants", "--suite", "groups", "--mutant", next(iter(cluster.ALL))]

    output = CliRunner().invoke(sim, options)

    assert output.exit_code == 2
    assert "the groups suite has no mutant" in output.stderr
