"""The figures of transactions: what each row is, and its aims. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.benchmarks.groups_rows import Figure, Row

ROWS: Mapping[str, Row] = {
    "produce": Row(
        "1 KiB records with a commit each 100 ms, against the same without",
        at_least={"share": 0.90},
    ),
    "commits": Row(
        "one producer, a record in each transaction",
        at_most={"p50_ms": 8.0, "p99_ms": 30.0},
        at_least={"commits_per_s": 150},
    ),
    "coordinator-killed": Row(
        "kill -9 of the coordinator's broker, to the next commit", at_most={"worst_s": 1.0}
    ),
    "read": Row("read_committed against read_uncommitted, batches", at_least={"share": 0.95}),
    "read-arrow": Row("read_committed against read_uncommitted, Arrow", at_least={"share": 0.90}),
    "offsets": Row(
        "__consumer_offsets under commits with offsets in transactions", at_most={"growth": 1.25}
    ),
    "sink": Row(
        "Spark's batch write, exactly once against at least once", at_least={"share": 0.85}
    ),
    "micro-batch": Row(
        "Spark's micro-batches, exactly once against at least once", at_most={"added_ms": 60.0}
    ),
}


def compared(ours: Sequence[float], without: Sequence[float], unit: str) -> Figure:
    """Medians of rates whose runs took turns; the share is the median of each turn's own."""
    shares = [mine / other for mine, other in zip(ours, without, strict=True)]
    return {
        f"{unit}": _round(statistics.median(ours)),
        f"{unit}_without": _round(statistics.median(without)),
        "share": _round(statistics.median(shares)),
        "share_least": _round(min(shares)),
        "turns": len(shares),
    }


def flatness(sizes_bytes: Sequence[int], commits: int) -> Figure:
    """Sizes of a log at equal steps; growth is the most of the last half by that of the first."""
    half = len(sizes_bytes) // 2
    if not half:
        raise ValueError(f"{len(sizes_bytes)} sizes have no two halves")
    return {
        "growth": _round(max(sizes_bytes[half:]) / max(sizes_bytes[:half])),
        "commits": commits,
        "sizes_kib": [one >> 10 for one in sizes_bytes],
    }


def _round(value: Any) -> float:
    return float(f"{value:.4g}")
