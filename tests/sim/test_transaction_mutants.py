"""Mutants of transactions: the suite notices them; some are noticed without any fault.

All of them: `tidelog sim mutants --suite transactions`. What a hunt is: `test_raft_mutants`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from tests.plain_logs import configure_logs

from tidelog.cli.sim import sim
from tidelog.simulation.mutants.transactions import ALL, AT_ONCE, MUTANTS, UNSEEN
from tidelog.simulation.suites.worker import silence_nodes
from tidelog.simulation.transactions.seed_run import run_seed

MUTANTS_MIN = 14
"""What there must at least be."""
QUICK = {"markers_not_sent_again": 0}
"""With a seed that notices."""
FIRST_NOTICED = {
    "epoch_not_raised": (2, "I21"),
    "stable_up_to_the_high_watermark": (2, "I22"),
    "stable_past_uncommitted_markers": (2, "I22"),
    "aborted_left_out": (2, "I26"),
    "prepared_commits_time_out": (2, "I23"),
    "partitions_not_verified": (2, "I29"),
    "repeated_commits_answered": (2, "lost-write"),
    "missing_members_passed_over": (1, "lost-write"),
}
"""With a seed that notices it without faults, and what does not hold."""


@pytest.fixture(autouse=True)
def _silent_nodes() -> Iterator[None]:
    silence_nodes()
    yield
    configure_logs()


def test_every_mutant_has_a_claim() -> None:
    assert len(ALL) >= MUTANTS_MIN
    assert ALL.keys() - MUTANTS.keys() == UNSEEN | AT_ONCE
    assert FIRST_NOTICED.keys() < AT_ONCE
    assert all(one.claim.endswith(".") for one in ALL.values())


@pytest.mark.turns(4)
@pytest.mark.sim
@pytest.mark.parametrize("name", FIRST_NOTICED)
def test_a_mutant_is_noticed_without_any_fault(name: str) -> None:
    seed, invariant = FIRST_NOTICED[name]

    with ALL[name].applied():
        result = run_seed(seed, has_faults=False)

    assert result.violation is not None
    assert result.violation.invariant == invariant


@pytest.mark.turns(4)
@pytest.mark.sim
def test_a_seed_notices_a_mutant_and_the_control_does_not() -> None:
    name, seed = next(iter(QUICK.items()))
    options = ["mutants", "--suite", "transactions", "--seeds", f"{seed}:{seed + 1}", "--json"]

    output = CliRunner().invoke(sim, [*options, "--mutant", name])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    (verdict,) = json.loads(line)["mutants"]
    assert (verdict["name"], verdict["caught"], verdict["seeds"]) == (name, True, 1)
