"""Mutants are wrong only inside, the suite notices them, and a miss is told as one.

All of them: `tidelog sim mutants --suite raft`.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner

from tidelog.cli.sim import sim
from tidelog.raft import rules
from tidelog.simulation.mutants import hunt as hunting
from tidelog.simulation.mutants.hunt import CONTROL_SEEDS, Verdict, hunt
from tidelog.simulation.mutants.raft import ALL, MUTANTS, UNSEEN
from tidelog.simulation.raft.suite import SUITE
from tidelog.simulation.suites.findings import SeedResult, Violation
from tidelog.simulation.suites.suite import SuiteConfig, SuiteResult
from tidelog.simulation.suites.worker import silence_nodes

QUICK = ("journal_cleared_on_mismatch", "unknown_reported_as_failed")


@pytest.fixture(autouse=True)
def _silent_voters() -> Iterator[None]:
    silence_nodes()
    yield
    structlog.reset_defaults()


@pytest.fixture
def suite_of(monkeypatch: pytest.MonkeyPatch) -> dict[int, Violation]:
    """The suite without running it: violations by seed, those of the control by seed - 100."""
    violations: dict[int, Violation] = {}

    async def run_suite(config: SuiteConfig) -> SuiteResult:
        result = SuiteResult(config)
        for seed in config.seeds:
            violation = violations.get(seed if config.has_faults else seed - 100)
            result.add(SeedResult(seed, violation, {}, {}, 0, 0, 0, 0.0, ""))
            if violation is not None:
                break
        return result

    monkeypatch.setattr(hunting, "run_suite", run_suite)
    return violations


# The mutants


def test_every_mutant_has_a_claim_and_is_found_by_a_worker() -> None:
    assert len(MUTANTS) >= 16
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
        assert vars(mutant.owner)[mutant.attribute] is mutant.replacement
        raise KeyError

    assert vars(mutant.owner)[mutant.attribute] is original
    assert original is not mutant.replacement


def test_a_rule_is_broken_for_who_calls_it() -> None:
    with MUTANTS["two_votes_a_term"].applied():
        assert rules.may_vote(1, 2)
    assert not rules.may_vote(1, 2)


def test_rules_are_called_by_position_as_mutants_name_their_arguments_otherwise() -> None:
    folder = Path(rules.__file__).parent
    calls = [
        (path.name, node.lineno, [keyword.arg for keyword in node.keywords])
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("rules.")
    ]
    assert len(calls) > len(MUTANTS) / 2
    assert [call for call in calls if call[2]] == []


def test_an_unknown_name_is_an_error_that_lists_the_known() -> None:
    output = CliRunner().invoke(sim, ["mutants", "--suite", "raft", "--mutant", "x"])

    assert output.exit_code == 2
    assert "'x' is not one of" in output.output
    assert all(name in output.output for name in ALL)


# The hunt


async def test_the_first_seed_that_notices_counts(suite_of: dict[int, Violation]) -> None:
    suite_of.update({13: Violation("I19", "two"), 15: Violation("I17", "later")})

    verdicts = await hunt(SUITE, [MUTANTS["two_votes_a_term"]], range(10, 20), workers=1)

    assert verdicts == [Verdict("two_votes_a_term", 4, Violation("I19", "two"))]
    assert verdicts[0].is_caught


async def test_what_no_seed_notices_is_a_miss(suite_of: dict[int, Violation]) -> None:
    verdicts = await hunt(SUITE, [MUTANTS["two_votes_a_term"]], range(10, 20), workers=1)

    assert verdicts == [Verdict("two_votes_a_term", 10)]
    assert not verdicts[0].is_caught
    assert "NOT CAUGHT in 10 seeds" in str(verdicts[0])


async def test_what_is_wrong_without_faults_is_not_hunted(suite_of: dict[int, Violation]) -> None:
    broken = Violation("liveness", "nobody leads")
    suite_of.update({CONTROL_SEEDS.start - 100: broken, 10: Violation("I19", "two")})

    verdicts = await hunt(SUITE, [MUTANTS["two_votes_a_term"]], range(10, 20), workers=1)

    assert verdicts == [Verdict("two_votes_a_term", 0, control=broken)]
    assert not verdicts[0].is_caught


# The command


@pytest.mark.turns(4)
@pytest.mark.sim
def test_seeds_notice_mutants_the_control_does_not_and_the_command_tells_it() -> None:
    options = ["mutants", "--suite", "raft", "--seeds", "0:8", "--json"]

    output = CliRunner().invoke(sim, [*options, "--mutant", QUICK[0], "--mutant", QUICK[1]])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    summary = json.loads(line)
    assert list(summary) == ["suite", "mutants"]
    assert summary["suite"] == "raft"
    assert [mutant["name"] for mutant in summary["mutants"]] == list(QUICK)
    for mutant in summary["mutants"]:
        assert list(mutant) == ["name", "caught", "seeds", "invariant"]
        assert mutant["caught"]
        assert 1 <= mutant["seeds"] <= 8
        assert mutant["invariant"]


def test_command_fails_for_a_miss(suite_of: dict[int, Violation]) -> None:
    options = ["mutants", "--suite", "raft", "--seeds", "0:3", "--mutant", "two_votes_a_term"]

    output = CliRunner().invoke(sim, options)

    assert output.exit_code == 1
    verdict, last = output.stdout.splitlines()
    assert "two_votes_a_term: NOT CAUGHT in 3 seeds" in verdict
    assert json.loads(last)["mutants"] == [
        {"name": "two_votes_a_term", "caught": False, "seeds": 3, "invariant": None}
    ]


def test_command_refuses_an_unknown_mutant() -> None:
    output = CliRunner().invoke(sim, ["mutants", "--suite", "raft", "--mutant", "x"])

    assert output.exit_code == 2
    assert "'x' is not one of" in output.stderr
