"""The tests and scenarios that docs/GUARANTEES.md and docs/GROUPS.md name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.chaos.scenarios.catalogue import SCENARIOS

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "GUARANTEES.md").read_text(encoding="utf-8")
GROUPS = (TESTS.parent / "docs" / "GROUPS.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE + GROUPS)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_named_test_exists(file: str, test: str) -> None:
    source = (TESTS / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {test}\(", source, re.MULTILINE), f"{file} has no {test}"


def test_the_named_scenarios_exist() -> None:
    named = set(re.findall(r"\bF\d\d\b", PAGE))
    assert named <= set(SCENARIOS)
    assert len(named) > 10


def test_nearly_every_row_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith(("| Condition", "| ---"))]
    assert len(rows) > 35
    assert len([row for row in rows if "::" not in row]) <= 2
