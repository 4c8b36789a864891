"""The offsets of a pipeline run: from the end of the last run to the present high watermarks.

Pure. Never asks the cluster: `job` does, and passes the answers in.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.records import TopicPartition
from tidelog.core.errors import TidelogError


class PipelineError(TidelogError):
    """The pipeline cannot continue; the message says why, and what to change."""


class Span(NamedTuple):
    """The offsets of a partition with start <= offset < end."""

    start: int
    end: int

    @property
    def width(self) -> int:
        """The number of offsets, and of records unless some were compacted away."""
        return self.end - self.start


class Gap(NamedTuple):
    """Offsets that were removed before any run had read them."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of all runs in a topic: its id, and the next offset of each partition."""

    topic_id: bytes
    next_offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a user sets."""

    records_max: int | None = None
    """The maximum number of records of a run, over all partitions."""
    from_latest: bool = False
    """The first run starts at the latest offset instead of the earliest."""
    is_loss_allowed: bool = False
    """Continue when records are gone, and record the gap; otherwise refuse."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The offsets that a run covers."""

    topic_ids: Mapping[str, bytes]
    spans: Mapping[TopicPartition, Span]
    gaps: tuple[Gap, ...] = ()

    @property
    def offsets(self) -> int:
        """The total number of offsets."""
        return sum(span.width for span in self.spans.values())


def plan_run(
    progress: Mapping[str, Progress],
    topics: Mapping[str, TopicPartitions],
    bounds: Mapping[TopicPartition, OffsetBounds],
    limits: Limits,
) -> Plan:
    """A span for each partition of each topic, empty if there is nothing new.

    Errors: `PipelineError` when a topic was recreated, a partition ends below the offset read so
    far, or records were removed before they were read.
    """
    gaps: list[Gap] = []
    spans: dict[TopicPartition, Span] = {}
    for tp, held in bounds.items():
        known = progress.get(tp.topic)
        _require_same(tp.topic, known, topics[tp.topic].topic_id)
        asked = None if known is None else known.next_offsets.get(tp.partition)
        start = _start(asked, held, limits, is_first=known is None)
        if asked is not None:
            gaps += _lost(tp, asked, held, limits)
        spans[tp] = Span(start, held.latest)
    ids = {name: found.topic_id for name, found in topics.items()}
    return Plan(ids, _cut(spans, limits.records_max), tuple(gaps))


def _require_same(topic: str, known: Progress | None, topic_id: bytes) -> None:
    if known is not None and known.topic_id != topic_id:
        raise PipelineError(
            f'topic "{topic}" was deleted and created again since the last run: its offsets mean'
            " other records now; write them to another output folder"
        )


def _start(asked: int | None, held: OffsetBounds, limits: Limits, *, is_first: bool) -> int:
    if asked is None:
        return held.latest if limits.from_latest and is_first else held.earliest
    return min(max(asked, held.earliest), held.latest)


def _lost(tp: TopicPartition, asked: int, held: OffsetBounds, limits: Limits) -> Iterable[Gap]:
    """The gap between the offset read so far and the start of the log, if there is one."""
    name = f"{tp.topic}-{tp.partition}"
    if asked > held.latest:
        if not limits.is_loss_allowed:
            raise PipelineError(
                f"{name} was read up to offset {asked}, and ends at {held.latest} now: records were"
                " lost by an unclean election; allow data loss to go on from there"
            )
        return ()
    if asked >= held.earliest:
        return ()
    if not limits.is_loss_allowed:
        raise PipelineError(
            f"{name} was read up to offset {asked}, and begins at {held.earliest} now: retention"
            " removed what is between; allow data loss to go on without"
        )
    return (Gap(tp.topic, tp.partition, asked, held.earliest),)


def _cut(
    spans: Mapping[TopicPartition, Span], records_max: int | None
) -> Mapping[TopicPartition, Span]:
    """Cut spans in proportion to their size, to at least one offset while the limit lasts."""
    total = sum(span.width for span in spans.values())
    if records_max is None or total <= records_max:
        return spans
    left, cut = records_max, {}
    for tp, span in sorted(spans.items(), key=lambda item: item[1].width):
        share = min(span.width, max(1, span.width * left // max(total, 1)), left)
        left, total = left - share, total - span.width
        cut[tp] = Span(span.start, span.start + share)
    return {tp: cut[tp] for tp in spans}
