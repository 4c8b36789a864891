"""Seeds of the random suites for this run of the tests: other ones at every commit.

A change runs few seeds of each suite, few of those that once failed, and one in n of the expensive
tests that are marked `turns(n)`. All are drawn from the commit: every run of a commit has the same,
and the few of each change become many in a week. A tree
with changes, and one without git, has the fixed ones from `FIXED` on. `--first-seed N` has those of
another run again; a failed test names its seed, and `tidelog sim replay --suite SUITE --seed SEED`
shows that one alone.
"""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

FIXED = 0
NEWEST_KEPT = 2
"""Seeds that once failed and that every change runs: the last of a suite's file."""
TURNS = 5
"""Changes in which the others have their turn: a storm is another one after most changes, and each
cause that was found has a test of its own. `make prove` runs all."""
ALIGNED_TO = 30
"""The period of kinds of seeds: what a seed is about depends on it modulo 2, 3, 5 or 10."""
_SEED_MAX = 2**32
_ROOT = Path(__file__).parents[1]


def first_seed(commit: str | None) -> int:
    """The first seed for a commit's hash; for None the fixed one."""
    if commit is None:
        return FIXED
    return int(commit, 16) % _SEED_MAX // ALIGNED_TO * ALIGNED_TO


def commit_of_clean_tree(root: Path = _ROOT) -> str | None:
    """The hash of the checked-out commit; None with changes in the tree, or without git."""
    if _git(root, "status", "--porcelain") != "":
        return None
    return _git(root, "rev-parse", "HEAD")


def _git(root: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def change_seeds(config: pytest.Config, number: int) -> range:
    """The next `number` seeds of this run: of other kinds in each turn, so that all come up.

    A first seed that no commit has, from the command line, is the first of them.
    """
    first: int = config.getoption("first_seed")
    turn, is_chosen = divmod(first, ALIGNED_TO)
    if not is_chosen:
        first += turn * number % ALIGNED_TO
    return range(first, first + number)


def kept_seeds(config: pytest.Config, regressions: Path) -> list[int]:
    """Seeds that once failed, for this run: the first column of the file, see `TURNS`."""
    lines = regressions.read_text(encoding="utf-8").splitlines()
    seeds = [int(line.split()[0]) for line in lines if line and not line.startswith("#")]
    if config.getoption("every_kept_seed"):
        return seeds
    turn = config.getoption("first_seed") // ALIGNED_TO % TURNS
    return seeds[:-NEWEST_KEPT][turn::TURNS] + seeds[-NEWEST_KEPT:]


def in_turn(config: pytest.Config, choices: Sequence[str]) -> str:
    """The one of them that this run has its turn with."""
    first: int = config.getoption("first_seed")
    return choices[first // ALIGNED_TO % len(choices)]


def parametrize_kept(metafunc: pytest.Metafunc, argument: str, regressions: Path) -> None:
    """Run a test that takes `argument` with seeds that once failed."""
    if argument in metafunc.fixturenames:
        metafunc.parametrize(argument, kept_seeds(metafunc.config, regressions))


def parametrize(metafunc: pytest.Metafunc, argument: str, number: int) -> None:
    """Run a test that takes `argument` with `number` seeds of this run, one each."""
    if argument in metafunc.fixturenames:
        metafunc.parametrize(argument, change_seeds(metafunc.config, number))


def has_turn(first_seed: int, test: str, turns: int) -> bool:
    """True in one of `turns` changes, another one for each test: whichever tests there are."""
    return zlib.crc32(test.encode()) % turns == first_seed // ALIGNED_TO % turns


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that have not their turn, unless they are named."""
    is_named = any("::" in one for one in config.args) or config.getoption("keyword")
    if is_named or config.getoption("every_turn"):
        return
    first: int = config.getoption("first_seed")
    left_out = [item for item in items if not has_turn(first, item.nodeid, _turns(item))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        kept = set(items) - set(left_out)
        items[:] = [item for item in items if item in kept]


def _turns(item: pytest.Item) -> int:
    mark = item.get_closest_marker("turns")
    return 1 if mark is None else int(mark.args[0])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--first-seed",
        type=int,
        metavar="N",
        help="seeds of the random suites from N on, instead of those of the commit",
    )
    parser.addoption(
        "--every-kept-seed",
        action="store_true",
        help="all seeds that once failed, instead of the newest and a part of the others",
    )
    parser.addoption(
        "--every-turn",
        action="store_true",
        help="all tests that are marked `turns`, instead of those that have their turn",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw once: xdist's workers are given the option's value."""
    if config.option.first_seed is None:
        config.option.first_seed = first_seed(commit_of_clean_tree())


def pytest_report_header(config: pytest.Config) -> list[str]:
    first: int = config.option.first_seed
    return [
        f"random suites: the same seeds again with --first-seed {first}",
        "expensive tests take turns, deselected when it is not theirs: --every-turn runs them all",
    ]
