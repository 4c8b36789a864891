"""The rules and tests that docs/REPLICATION.md names are there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = TESTS.parent / "docs" / "REPLICATION.md"
ROW = re.compile(r"^\| ([^|]+) \|[^|]+\|[^|]+\| `([\w.]+):([\w.]+)` \| `([\w/.]+)::(\w+)` \|$")
ROWS = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][
    1:
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.split("|")[1].strip()))
def test_a_rule_and_its_test_exist(row: str) -> None:
    match = ROW.match(row)
    assert match, f"not `module:rule` and `file::test`: {row}"
    _, module, rule, file, test = match.groups()
    found: object = import_module(f"tidelog.{module}")
    for name in rule.split("."):
        found = getattr(found, name)
    source = (TESTS / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {test}\(", source, re.MULTILINE), f"{file} has no {test}"


def test_the_table_has_rows() -> None:
    assert len(ROWS) > 25
