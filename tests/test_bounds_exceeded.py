"""The rule of the storms: each time constant and each bound of the product is exceeded by a fault.

`bounds.toml` says by which. A constant without an entry, an entry without its constant, a fault
that is not there any more or does not last long enough: each fails here, by name. A new fault needs
to be no more than an entry of its module's `SPANS`.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

import tidelog.simulation.cluster
import tidelog.simulation.groups
from tests.product_bounds import Bound, bounds_in, product_bounds
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.chaos.faults.drawer import Span
from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster import late_calls
from tidelog.simulation.cluster.endless_faults import SPANS, EndlessFaults
from tidelog.simulation.cluster.late_calls import LateCallFaults
from tidelog.simulation.groups import coordinator_faults, member_faults
from tidelog.simulation.groups.coordinator_faults import CoordinatorFaults
from tidelog.simulation.groups.member_faults import MemberFaults

TESTS = Path(__file__).resolve().parent
TABLE = TESTS / "bounds.toml"
WORDS_MIN = 6
BOUNDS = product_bounds()


@cache
def table() -> dict[str, dict[str, str]]:
    return cast("dict[str, dict[str, str]]", tomllib.loads(TABLE.read_text()))


@cache
def entries() -> dict[str, str]:
    """By key."""
    modules = {name: items for name, items in table().items() if name != "reasons"}
    return {
        f"{module}:{name}": said
        for module, items in modules.items()
        for name, said in items.items()
    }


@cache
def spans() -> dict[str, Span]:
    """Of all faults of the suites of whole nodes that say how long they last."""
    packages = (tidelog.simulation.cluster, tidelog.simulation.groups)
    names = [
        f"{package.__name__}.{found.name}"
        for package in packages
        for found in pkgutil.iter_modules(package.__path__)
    ]
    modules = [importlib.import_module(name) for name in names]
    return {kind: span for one in modules for kind, span in getattr(one, "SPANS", {}).items()}


@cache
def functions(path: Path) -> set[str]:
    """The names of a file's functions."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def complaint(bound: Bound, said: str) -> str | None:
    """What is wrong with an entry."""
    match said.split():
        case ["fault", kind, *lowered]:
            return _fault_complaint(bound, kind, lowered)
        case ["scenario", name]:
            return None if name in SCENARIOS else f"there is no scenario {name}"
        case ["test", place, *how]:
            return _test_complaint(bound, place, how)
        case ["none", reason]:
            return _reason_complaint(table()["reasons"].get(reason, ""))
    return f"{said!r} is no entry"


def _fault_complaint(bound: Bound, kind: str, lowered: list[str]) -> str | None:
    span = spans().get(kind)
    if span is None:
        return f"there is no fault {kind} that says how long it lasts"
    limit = bound if not lowered else bound._replace(value=float(lowered[-1]))
    if lowered and (lowered[0] != "lowered" or not _may_be_drawn(bound.word, float(lowered[-1]))):
        return f"{' '.join(lowered)}: the storms' configuration does not have it at that"
    if limit.seconds is None:
        return f"{kind} lasts for a time, which {bound.key} is none"
    is_exceeded = span.high > limit.seconds
    return None if is_exceeded else f"{kind} lasts {span.high} s, no more than {limit.seconds} s"


def _may_be_drawn(word: str, limit: float) -> bool:
    """Whether a seed of the storms draws the setting below this."""
    text = (TESTS.parent / "simulation/tidelog/simulation/cluster/simulation_config.py").read_text()
    drawn = re.search(rf"\b{word}=random\.randrange\(\d+, (\d+)\)", text)
    return drawn is not None and float(drawn[1]) <= limit


def _test_complaint(bound: Bound, place: str, how: list[str]) -> str | None:
    file, _, name = place.partition("::")
    path = TESTS / file
    if not path.exists() or name not in functions(path):
        return f"there is no test {place}"
    if how[:1] == ["reaches"]:
        is_beyond = bound.value is not None and float(how[1]) > bound.value
        return None if is_beyond else f"{how[1]} is not above {bound.value}"
    words = [" ".join(how[1:])] if how[:1] == ["as"] else [bound.word, bound.word.replace("_", ".")]
    is_named = any(word in path.read_text() for word in words)
    return None if is_named else f"{file} names none of {words}"


def _reason_complaint(reason: str) -> str | None:
    is_sentence = reason.endswith(".") and len(reason.split()) >= WORDS_MIN
    return None if is_sentence else f"{reason!r} is no sentence that says why not"


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=str)
def test_each_bound_of_the_product_is_exceeded_by_some_fault(bound: Bound) -> None:
    said = entries().get(bound.key)
    assert said is not None, f"{bound.key} needs an entry in {TABLE.name}: what exceeds it?"
    assert complaint(bound, said) is None


def test_the_table_holds_nothing_that_the_product_has_not() -> None:
    assert set(entries()) - set(BOUNDS) == set()
    used = {said.split()[1] for said in entries().values() if said.startswith("none ")}
    assert set(table()["reasons"]) == used


def test_every_span_is_that_of_a_fault_that_may_strike() -> None:
    stage = cast("Any", SimpleNamespace(simulation=None))
    assert set(EndlessFaults(stage, SeededRandom(0), stage).kinds) == set(SPANS), "none is left out"
    assert {kind.name for kind in LateCallFaults(stage).kinds} >= set(late_calls.SPANS)
    groups = cast("Any", MagicMock())
    assert {kind.name for kind in MemberFaults(groups, stage).kinds} >= set(member_faults.SPANS)
    coordinator = CoordinatorFaults(groups, stage)
    assert {kind.name for kind in coordinator.kinds} >= set(coordinator_faults.SPANS)
    session_s = GroupConfig().group_consumer_session_timeout_ms / 1000
    assert session_s == member_faults.DEFAULT_SESSION_S
    assert all(0 < span.low < span.high for span in spans().values())


@pytest.mark.parametrize(
    "said",
    [
        "fault vanished",
        "fault starved",
        "fault late_links lowered 5",
        "scenario F999",
        "test test_bounds_exceeded.py::test_that_is_gone",
        "test no_such_file.py::test",
        "test test_bounds_exceeded.py::test_a_fault_that_lasts_longer_is_enough as no\tsuch",
        "test test_bounds_exceeded.py::test_a_fault_that_lasts_longer_is_enough reaches 4000",
        "none because",
        "",
    ],
)
def test_an_entry_that_exceeds_nothing_is_found(said: str) -> None:
    assert complaint(Bound("broker/x:SESSION_TIMEOUT_MS", 4_000), said) is not None


def test_a_fault_that_lasts_longer_is_enough() -> None:
    assert complaint(Bound("broker/x:SESSION_TIMEOUT_MS", 4_000), "fault late_links") is None
    assert complaint(Bound("broker/x:STALL_S", 2.5), "fault starved") is None
    assert complaint(Bound("broker/x:REQUESTS_MAX", 4), "fault starved") is not None
    lag = Bound("broker/x:replica_lag_time_max_ms", 30_000)
    assert complaint(lag, "fault late_links lowered 3000") is None


def test_bounds_are_found_whatever_form_they_have() -> None:
    text = """
WAIT_S = 3
FEW_MAX, _OTHER_BYTES = 4, 5
lower_s = 6
NAMES_MAX = ("a",)
class XConfig:
    pass
OPTIONS = (("grpc.keepalive_time_ms", 10_000), ("grpc.so_reuseport", 0))
"""
    module = cast("Any", SimpleNamespace())
    exec(text, vars(module))  # the text above
    found = {bound.key: bound.value for bound in bounds_in(ast.parse(text), "m", module)}
    expected = {"m:WAIT_S": 3, "m:FEW_MAX": 4, "m:_OTHER_BYTES": 5}
    assert found == {**expected, "m:grpc.keepalive_time_ms": 10_000}
