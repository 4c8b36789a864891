"""Seeds of a change: from its commit, the same in every run of it, fixed for what is no commit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.change_seeds import (
    ALIGNED_TO,
    FIXED,
    NEWEST_KEPT,
    TURNS,
    change_seeds,
    commit_of_clean_tree,
    first_seed,
    has_turn,
    kept_seeds,
    pytest_collection_modifyitems,
)

COMMITS = ["57faa7d1c2", "2878f23a00", "2e85f8109f"]


def test_each_commit_has_seeds_of_its_own_aligned_to_the_kinds_of_seeds() -> None:
    firsts = [first_seed(commit) for commit in COMMITS]

    assert firsts == [first_seed(commit) for commit in COMMITS]
    assert len(set(firsts)) == len(COMMITS)
    assert all(first % ALIGNED_TO == 0 for first in firsts)
    assert first_seed(None) == FIXED


def test_a_checkout_with_changes_has_the_fixed_seeds(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        command = ["git", "-C", str(tmp_path), *settings, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert commit_of_clean_tree(tmp_path) is None, "no checkout"
    git("init", "--quiet")
    (tmp_path / "file").write_text("first", encoding="utf-8")
    git("add", "file")
    git("commit", "--quiet", "--message", "first")
    assert commit_of_clean_tree(tmp_path) == git("rev-parse", "HEAD")

    (tmp_path / "file").write_text("changed", encoding="utf-8")
    assert commit_of_clean_tree(tmp_path) is None


def test_without_git_the_seeds_are_the_fixed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert commit_of_clean_tree() is None


class Options:
    """Those of a run."""

    def __init__(self, first_seed: int, *, every_kept_seed: bool = False) -> None:
        self._found: dict[str, Any] = {
            "first_seed": first_seed,
            "every_kept_seed": every_kept_seed,
        }

    def getoption(self, name: str) -> Any:  # an option's value
        return self._found[name]


def test_a_run_has_the_seed_that_its_command_names() -> None:
    named: Any = Options(17)

    assert change_seeds(named, 3) == range(17, 20)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 10, 14])
def test_few_seeds_a_change_are_of_each_kind_in_some_turn(number: int) -> None:
    turns: list[Any] = [Options(turn * ALIGNED_TO) for turn in range(ALIGNED_TO)]
    seeds = [seed for one in turns for seed in change_seeds(one, number)]

    assert {seed % ALIGNED_TO for seed in seeds} == set(range(ALIGNED_TO))
    assert all(len(change_seeds(one, number)) == number for one in turns)


def test_seeds_that_once_failed_have_their_turn_and_the_newest_always(tmp_path: Path) -> None:
    path = tmp_path / "regressions.txt"
    path.write_text("# SEED WHAT\n" + "".join(f"{n} found\n" for n in range(20)), encoding="utf-8")
    newest = list(range(20 - NEWEST_KEPT, 20))

    turns: list[Any] = [Options(turn * ALIGNED_TO) for turn in range(TURNS)]
    kept = [kept_seeds(one, path) for one in turns]
    assert all(one[-NEWEST_KEPT:] == newest for one in kept)
    older = sorted(seed for one in kept for seed in one[:-NEWEST_KEPT])
    assert older == list(range(20 - NEWEST_KEPT))

    every: Any = Options(0, every_kept_seed=True)
    assert kept_seeds(every, path) == list(range(20))


def test_each_dear_test_has_one_turn_in_as_many_as_are_marked() -> None:
    tests = [f"tests/test_x.py::test_{number}" for number in range(200)]
    of_turns = [
        {test for test in tests if has_turn(turn * ALIGNED_TO, test, 4)} for turn in range(4)
    ]

    assert sum(map(len, of_turns)) == len(tests) == len(set.union(*of_turns))
    assert all(len(one) > len(tests) // 8 for one in of_turns)
    assert all(has_turn(turn * ALIGNED_TO, tests[0], 1) for turn in range(4))


class Dear:
    """A collected test that runs in one of two changes; or a cheap one."""

    def __init__(self, nodeid: str, mark: pytest.Mark | None) -> None:
        self.nodeid = nodeid
        self._mark = mark

    def get_closest_marker(self, _name: str) -> pytest.Mark | None:
        return self._mark


class Collecting(Options):
    """A run of tests; what it deselects."""

    def __init__(self, turn: int, *args: str, **options: object) -> None:
        super().__init__(turn * ALIGNED_TO)
        self.args = args
        self.hook = self
        self.deselected: list[Any] = []
        self._found |= {"keyword": "", "every_turn": False, **options}

    def pytest_deselected(self, items: list[Any]) -> None:
        self.deselected += items


def test_what_has_not_its_turn_is_deselected_unless_it_is_named() -> None:
    mark = pytest.mark.turns(2).mark
    items: list[Any] = [Dear(f"t.py::test_{n}", mark) for n in range(20)]
    cheap: Any = Dear("t.py::test_cheap", None)

    def run(turn: int, *args: str, **options: object) -> list[Any]:
        config: Any = Collecting(turn, *args, **options)
        chosen = [*items, cheap]
        pytest_collection_modifyitems(config, chosen)
        assert len(chosen) + len(config.deselected) == 21
        return chosen

    assert {*run(0), *run(1)} == {*items, cheap}
    assert {*run(0)} & {*run(1)} == {cheap}
    for all_of_them in (
        run(0, every_turn=True),
        run(0, keyword="test"),
        run(0, "t.py::test_1"),
    ):
        assert all_of_them == [*items, cheap]
