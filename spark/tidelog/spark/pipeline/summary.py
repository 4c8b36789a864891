"""The summary of a run: counts, lag, and a chart of both. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tidelog.client.records import TopicPartition
from tidelog.spark.pipeline.runs import Run

BAR_COLUMNS = 40
ROWS_MAX = 20
READ, LAG = "█", "░"


class Row(NamedTuple):
    """A partition: the offsets that the run covered, and the lag when it ended."""

    name: str
    read: int
    lag: int


def rows(run: Run, ends: Mapping[TopicPartition, int]) -> list[Row]:
    """The rows of all partitions; `ends` are the present high watermarks."""
    return [
        Row(
            f"{topic}-{partition}",
            span.width,
            max(0, ends.get(TopicPartition(topic, partition), span.end) - span.end),
        )
        for topic, spans in run.spans.items()
        for partition, span in sorted(spans.items())
    ]


def summary(run: Run, found: Sequence[Row]) -> dict[str, object]:
    """The summary for programs: a JSON object with integer counts and seconds."""
    return {
        "run": run.number,
        "read": run.read,
        "written": run.written,
        "repeated": run.repeated,
        "quarantined": sum(run.quarantined.values()),
        "reasons": dict(run.quarantined),
        "lost": sum(gap.end - gap.start for gap in run.gaps),
        "lag": sum(row.lag for row in found),
        "partitions": len(found),
        "seconds": round(run.seconds, 3),
        "records_per_second": round(run.read / run.seconds) if run.seconds else 0,
    }


def chart(found: Sequence[Row]) -> list[str]:
    """A bar per partition, the largest first: offsets read, then the lag."""
    shown = sorted(found, key=lambda row: (-row.read - row.lag, row.name))[:ROWS_MAX]
    longest = max((row.read + row.lag for row in shown), default=0)
    width = max((len(row.name) for row in shown), default=0)
    lines = [_bar(row, width=width, longest=longest) for row in shown]
    if len(found) > len(shown):
        lines.append(f"and {len(found) - len(shown)} more partitions")
    return [f"{READ} read in this run   {LAG} behind", *lines] if found else []


def _bar(row: Row, *, width: int, longest: int) -> str:
    read = _columns(row.read, longest)
    lag = _columns(row.read + row.lag, longest) - read
    bar = READ * read + LAG * lag
    return f"{row.name:<{width}}  {bar:<{BAR_COLUMNS}}  {row.read:,} + {row.lag:,}"


def _columns(count: int, longest: int) -> int:
    return -(-count * BAR_COLUMNS // longest) if longest else 0
