# pyright: strict
"""Pytest's options of simulated tests, and what is kept of their failures.

Imports nothing of Tidelog: it is loaded at pytest's start.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from tidelog.testing.sim.decorator import SimulatedTest
    from tidelog.testing.sim.runs import SeedFailure, SimulationReport

MARK, SEED = "__tidelog_simulated__", "tidelog_seed"
KEPT_FOLDER = ".tidelog/seeds"
BASE_MAX = 1_000_000_000
SECTION = "tidelog"


def add_options(parser: pytest.Parser) -> None:
    """Add the options of simulated tests."""
    group = parser.getgroup("tidelog", "Tidelog's simulated tests")
    group.addoption(
        "--tidelog-seeds", metavar="N|A:B", type=_seeds, help="run so many seeds, or A to B - 1"
    )
    group.addoption(
        "--tidelog-seed", metavar="N", type=_seed, help="run this seed alone, as a report says"
    )
    group.addoption(
        "--tidelog-fresh", action="store_true", help="run seeds that no run has had; says which"
    )
    group.addoption(
        "--tidelog-no-shrink",
        action="store_true",
        help="do not look for the faults that a failing seed needs",
    )
    group.addoption(
        "--tidelog-timeline", action="store_true", help="show a failure's whole timeline"
    )
    group.addoption(
        "--tidelog-json", metavar="FILE", help="write the results of simulated tests to FILE"
    )


def _seed(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a seed")
    return int(text)


def _seeds(text: str) -> range:
    first, colon, end = text.rpartition(":")
    numbers = range(_seed(first) if colon else 0, _seed(end))
    if not numbers:
        raise argparse.ArgumentTypeError(
            f"{text!r}: no seed; N is at least 1, and in A:B B is above A"
        )
    return numbers


def set_base(config: pytest.Config) -> None:
    """Draw the base of fresh seeds once; workers of pytest-xdist get the controller's."""
    option = config.option
    if option.tidelog_fresh and not hasattr(option, "tidelog_base"):
        from uuid import uuid4

        option.tidelog_base = uuid4().int % BASE_MAX


def chosen_seeds(config: pytest.Config, own: Sequence[int]) -> list[int]:
    """Seeds by the options, or the test's own."""
    option = config.option
    if option.tidelog_seed is not None:
        return [option.tidelog_seed]
    numbers: Sequence[int] = own if option.tidelog_seeds is None else option.tidelog_seeds
    base = getattr(option, "tidelog_base", 0) if option.tidelog_fresh else 0
    return [base + number for number in numbers]


class SimulatedRun:
    """A test item while it runs: what its seeds are, and what became of them."""

    ends = (pytest.skip.Exception, pytest.xfail.Exception, pytest.exit.Exception)
    """Exceptions by which a test leaves without a failure."""

    def __init__(self, item: pytest.Function) -> None:
        self.failure: SeedFailure | None = None
        self.result: dict[str, Any] | None = None
        self._item = item
        self._config = item.config

    @property
    def shrinks(self) -> bool:
        """True unless the options say otherwise."""
        return not self._config.option.tidelog_no_shrink

    @property
    def parameters(self) -> str:
        """Id of the test's parameters, the seed's apart: each has seeds of its own."""
        callspec = getattr(self._item, "callspec", None)
        if callspec is None:
            return ""
        # the seed's is the first, since no other hook makes parameters before the plugin's
        own = seed_id(callspec.params[SEED]) if SEED in callspec.params else ""
        rest = callspec.id.removeprefix(own).removeprefix("-" if own else "")
        return f"[{rest}]" if rest else ""

    @property
    def node_id(self) -> str:
        """Id of the test, whichever seed it is an item of."""
        return self._function_id + self.parameters

    @property
    def _function_id(self) -> str:
        callspec = getattr(self._item, "callspec", None)
        return self._item.nodeid.removesuffix("" if callspec is None else f"[{callspec.id}]")

    @property
    def replay(self) -> str:
        """The command that runs the failed seed alone, in the folder that pytest was started in."""
        assert self.failure is not None  # asked for a failure alone
        path, started_in = self._item.path, self._config.invocation_params.dir
        if path.is_relative_to(started_in):
            path = path.relative_to(started_in)
        test = "::".join([str(path), *self.node_id.split("::")[1:]])
        test = re.sub(r'(["$`\\])', r"\\\1", test)
        return f'pytest "{test}" --tidelog-seed={self.failure.seed}'

    def seeds(self, own: Sequence[int]) -> Iterable[int]:
        """Seeds to run: those that failed before go first."""
        numbers = chosen_seeds(self._config, own)
        if self._config.option.tidelog_seed is not None:
            return numbers
        return list(dict.fromkeys([*kept_seeds(self._path), *numbers]))

    def take(self, report: SimulationReport) -> None:
        """Keep what came of it."""
        self.failure = report.failed[0] if report.failed else None
        for failed in report.failed:
            self._keep(failed.seed)
        self.result = {
            "test": self.node_id,
            "seeds": len(report.seeds),
            "failed": [self._failed(one) for one in report.failed],
        }

    @staticmethod
    def fail(error: BaseException) -> NoReturn:
        """Fail the test by an error that came from no line of it."""
        __tracebackhide__ = True
        pytest.fail(f"{type(error).__name__}: {error}", pytrace=False)

    def lines(self) -> str:
        """Report the failure."""
        assert self.failure is not None  # asked for a failure alone
        is_whole = self._config.option.tidelog_timeline
        options = {"timeline_lines": None} if is_whole else {}
        return "\n".join(self.failure.lines(self.replay, **options))

    def _failed(self, one: SeedFailure) -> dict[str, Any]:
        return {
            "seed": one.seed,
            "error": f"{type(one.error).__name__}: {one.error}",
            "faults": list(one.faults),
            "virtual_s": one.virtual_s,
            "trace": one.trace,
            "replay": self.replay,
        }

    @property
    def _path(self) -> Path:
        callspec = getattr(self._item, "callspec", None)
        is_item_of_seed = callspec is not None and SEED in callspec.params
        # items are made of seeds before their other parameters are known
        return kept_path(self._config, self._function_id if is_item_of_seed else self.node_id)

    def _keep(self, seed: int) -> None:
        if seed not in kept_seeds(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(f"{seed}\n")


def seed_id(seed: int) -> str:
    """Return the id of a seed's item."""
    return f"seed{seed}"


def item_seeds(metafunc: pytest.Metafunc, own: Sequence[int]) -> list[int]:
    """Seeds of a test that has an item for each: those that failed before go first."""
    numbers = chosen_seeds(metafunc.config, own)
    if metafunc.config.option.tidelog_seed is not None:
        return numbers
    kept = kept_seeds(kept_path(metafunc.config, metafunc.definition.nodeid))
    return list(dict.fromkeys([*kept, *numbers]))


def kept_path(config: pytest.Config, node_id: str) -> Path:
    """Return the file of a test's failed seeds."""
    name = re.sub(r"[^a-zA-Z0-9._-]+", "-", node_id).strip("-")[:150]
    return config.rootpath / KEPT_FOLDER / f"{name}.txt"


def kept_seeds(path: Path) -> list[int]:
    """Seeds that failed before, oldest first."""
    try:
        lines = path.read_text().split()
    except OSError:
        return []
    return [int(line) for line in lines if line.isdecimal()]


def simulated_test(function: object) -> SimulatedTest | None:
    """Return what `@simulated` knows of a test function; None: it is no simulated test."""
    found: SimulatedTest | None = getattr(function, MARK, None)
    return found


def refuse_async_fixtures(item: pytest.Function) -> None:
    """Fail a simulated test that has a fixture on an event loop of another plugin."""
    info = item._fixtureinfo  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    for name in info.names_closure:
        for fixture in info.name2fixturedefs.get(name, ()):
            function = inspect.unwrap(fixture.func)
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                pytest.fail(
                    f"fixture {name!r} is async: it would run on another loop, in real time, "
                    "before the simulated cluster is there. Make it a plain fixture, or call what "
                    "it does in the test",
                    pytrace=False,
                )


def write_results(path: str, results: list[dict[str, Any]]) -> None:
    """Write the JSON file of `--tidelog-json`; items of one test are one entry."""
    tests: dict[str, dict[str, Any]] = {}
    for one in results:
        entry = tests.setdefault(one["test"], {"test": one["test"], "seeds": 0, "failed": []})
        entry["seeds"] += one["seeds"]
        entry["failed"] += one["failed"]
    with open(path, "w") as file:  # no module for it at pytest's start
        json.dump({"tests": list(tests.values())}, file, indent=2)
