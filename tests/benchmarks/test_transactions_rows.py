"""How figures of transactions are made of what was measured, and judged."""

from __future__ import annotations

import pytest
from tests.benchmarks.groups_rows import failed, judged, table
from tests.benchmarks.transactions_rows import ROWS, compared, flatness


def test_a_share_is_of_turns_not_of_medians() -> None:
    found = compared([90.0, 50.0, 190.0], [100.0, 50.0, 200.0], "records_per_s")
    assert (found["records_per_s"], found["records_per_s_without"]) == (90.0, 100.0)
    assert (found["share"], found["share_least"], found["turns"]) == (0.95, 0.9, 3)
    with pytest.raises(ValueError, match="zip"):
        compared([1.0], [1.0, 2.0], "records_per_s")


def test_a_log_is_flat_when_its_last_half_is_not_larger_than_its_first() -> None:
    flat = flatness([1 << 20, 2 << 20, 1 << 20, 2 << 20], 100)
    assert (flat["growth"], flat["commits"]) == (1.0, 100)
    assert flat["sizes_kib"] == [1024, 2048, 1024, 2048]
    growing = judged("offsets", "tidelog", flatness([1024, 2048, 3072, 4096], 1), load=1, rows=ROWS)
    assert growing["misses"] == ["growth"]
    with pytest.raises(ValueError, match="halves"):
        flatness([1024], 1)


def test_each_row_has_its_aim_and_its_line() -> None:
    figures = [
        judged("commits", "tidelog", {"p50_ms": 8.0, "p99_ms": 31.0}, load=2.0, rows=ROWS),
        failed("sink", "tidelog", "no Java", rows=ROWS),
    ]
    assert figures[0]["misses"] == ["p99_ms", "commits_per_s"]
    lines = table(figures, rows=ROWS).splitlines()
    assert len(lines) == 4
    assert "no Java" in lines[3]
    assert all(row.aim for row in ROWS.values())
