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
    kept_seeds,
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
        self._found = {"first_seed": first_seed, "every_kept_seed": every_kept_seed}

    def getoption(self, name: str) -> int | bool:
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
