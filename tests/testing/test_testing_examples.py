"""The examples of `tidelog.testing`, as they stand in docs/examples/testing, and what they prove.

They pass away from the checkout, by an installed wheel, in tests/integration/test_wheel.py.
`pytest docs/examples/testing --tidelog-seeds=500 --tidelog-json=FILE` is the long proof.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tidelog.broker.replica.isr import FollowerState
from tidelog.broker.replica.leader import Leader
from tidelog.simulation.mutants.cluster_followers import last_epoch_not_named
from tidelog.simulation.mutants.cluster_logs import duplicates_appended
from tidelog.simulation.mutants.mutant import Mutant, replaces
from tidelog.testing import BrokenPromiseError
from tidelog.testing.sim.decorator import MARK
from tidelog.testing.sim.runs import _shrink
from tidelog.testing.sim.seed_run import Plan, run_seed
from tidelog.testing.sim.storm import STRIKES_MAX, kinds_of

EXAMPLES = Path(__file__).parents[2] / "docs/examples/testing"


@replaces(Leader, "_awaited")
def acknowledged_before_the_isr_has_it(_self: Leader, _now_ms: int) -> list[FollowerState]:
    """A record is acknowledged when its leader has it."""
    return []


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The examples' folder, to import from."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for name in {path.stem for path in EXAMPLES.glob("*.py")} - before:
        sys.modules.pop(name, None)


def imported(name: str) -> ModuleType:
    return importlib.import_module(name)


def run(folder: Path, *arguments: str, hash_seed: str = "0") -> str:
    """What a Python process prints that succeeds."""
    environment = {n: v for n, v in os.environ.items() if "PYTEST" not in n}
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment, "PYTHONHASHSEED": hash_seed},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The examples, away from the checkout."""
    folder = tmp_path / "orders"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


@pytest.mark.process
def test_the_example_without_pytest_reports_its_seeds(copied: Path) -> None:
    said = run(copied, "simulate_orders.py", "2")
    assert said == "tidelog: store_all: 2 seeds, 0 failed\n"


@pytest.mark.process
def test_a_failing_seed_is_the_same_in_a_process_of_another_hash_seed(copied: Path) -> None:
    program = (
        "from tidelog.testing import simulate; import test_sent_again as example\n"
        "(failure,) = simulate(example.stores_twice, seeds=[0]).failed\n"
        "print(failure.trace, failure.needed, failure.error)"
    )
    one, other = (run(copied, "-c", program, hash_seed=seed) for seed in ("1", "2"))
    assert "stored twice" in one
    assert one == other


@pytest.mark.sim
@pytest.mark.usefixtures("examples")
def test_the_needed_faults_of_a_bug_are_enough_for_it() -> None:
    plan = Plan(
        "stores_twice", imported("test_sent_again").stores_twice, kinds=kinds_of("standard")
    )
    outcome = run_seed(plan, 0)
    assert "stored twice" in str(outcome.error)
    needed = {one.number for one in _shrink(plan, outcome)}
    assert 0 < len(needed) < len(outcome.struck)
    again = run_seed(plan, 0, left_out=frozenset(range(STRIKES_MAX)) - needed)
    assert "stored twice" in str(again.error)
    assert {one.number for one in again.struck} == needed


@pytest.mark.sim
@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(
    ("mutant", "seed", "word"),
    [
        (acknowledged_before_the_isr_has_it, 4, "lost-write"),
        (duplicates_appended, 5, "duplicate"),
        (last_epoch_not_named, 71, "did not come to rest"),  # nothing is cut where logs differ
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_bug_of_ours_is_reported_as_ours(mutant: Mutant, seed: int, word: str) -> None:
    test = getattr(imported("test_order_service").test_each_order_is_stored, MARK)
    plan = Plan(test.name, test.function, test.options, test.kinds)
    assert run_seed(plan, seed).error is None
    with mutant.applied():
        error = run_seed(plan, seed).error
    assert isinstance(error, BrokenPromiseError)
    assert "bug of Tidelog" in str(error)
    assert word in str(error)
