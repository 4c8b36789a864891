"""The plan of a read: offset ranges from its options and the state of the topics.

Pure. Never asks the cluster: `batch_reader` does, and passes the answers in. Options mean what they
mean in Kafka's connector; an error that the connector would find only in a task, after minutes, is
found here.

    options -> select_partitions -> (bounds; times_to_find -> offsets) -> plan_ranges
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import EARLIEST, LATEST, OptionError
from tidelog.spark.options import BATCH_READ, AtOffsets, AtTimes, Edge, Options, Selection

INTERNAL_PREFIX = "__"
"""The prefix of the names of topics that the cluster or a client keeps for itself."""
_INT_MAX = (1 << 31) - 1

Found = Mapping[TopicPartition, int | None]
"""The first offset at or after a time; None if there is no such record."""


class PlanError(ValueError):
    """The state of the topics does not allow the read; the message says why and what to change."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Validated options of a batch read."""

    bootstrap: str
    selection: Selection
    starting: Edge
    ending: Edge
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    filter_pushdown: bool
    client: RangeReaderConfig


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """The options of a batch read; raises OptionError."""
    options = Options(given, known=BATCH_READ, purpose="a batch read")
    read = ReadOptions(
        bootstrap=options.bootstrap(),
        selection=options.selection(),
        starting=options.starting(EARLIEST, refused=LATEST),
        ending=options.ending(),
        fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
        min_partitions=options.number("minPartitions", default=None, least=1, most=_INT_MAX),
        max_records_per_partition=options.number("maxRecordsPerPartition", default=None, least=1),
        filter_pushdown=options.boolean("filterPushdown", default=False),
        client=options.client(),
    )
    _check_order(read.starting, read.ending)
    return read


def select_partitions(
    selection: Selection, topics: Mapping[str, TopicPartitions], *, bootstrap: str
) -> list[TopicPartition]:
    """The partitions to read in the cluster at `bootstrap`, sorted.

    `topics` are the existing ones among those named, or all topics for a pattern, which may match
    none. Raises PlanError for a topic or a partition that does not exist.
    """
    wanted: Mapping[str, Collection[int]]
    if selection.assign is not None:
        wanted = selection.assign
    elif selection.subscribe is not None:
        wanted = {t: topics[t].partitions if t in topics else () for t in selection.subscribe}
    else:
        wanted = {t: found.partitions for t, found in topics.items() if _matches(selection, t)}
    for topic, numbers in wanted.items():
        if topic not in topics:
            raise PlanError(f'topic "{topic}" does not exist in the cluster at {bootstrap}')
        if absent := sorted(set(numbers).difference(topics[topic].partitions)):
            raise PlanError(
                f'topic "{topic}" has partitions 0 to {len(topics[topic].partitions) - 1}, '
                f"not {absent[0]}"
            )
    return sorted(TopicPartition(t, n) for t, numbers in wanted.items() for n in numbers)


def times_to_find(edge: Edge, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The times, in milliseconds, whose offsets `edge` needs by partition; empty for offsets.

    Raises PlanError when `edge` does not name exactly the partitions that are read.
    """
    if isinstance(edge, AtOffsets):
        return {}
    if isinstance(edge.times_ms, int):
        return dict.fromkeys(partitions, edge.times_ms)
    _require_same(edge.option, edge.times_ms.keys(), partitions)
    return {tp: edge.times_ms[tp] for tp in partitions}


def resolve(
    edge: Edge, bounds: Mapping[TopicPartition, OffsetBounds], found: Found
) -> dict[TopicPartition, int]:
    """The offset that `edge` means in every partition of `bounds`.

    `found` answers `times_to_find`. Raises PlanError when `edge` names other partitions, or a time
    that no record has reached where that is an error.
    """
    if isinstance(edge, AtTimes):
        return {tp: _at_time(edge, tp, held, found[tp]) for tp, held in bounds.items()}
    offsets = edge.offsets
    if not isinstance(offsets, int):
        _require_same(edge.option, offsets.keys(), bounds.keys())
    resolved = {}
    for tp, held in bounds.items():
        asked = offsets if isinstance(offsets, int) else offsets[tp]
        resolved[tp] = {LATEST: held.latest, EARLIEST: held.earliest}.get(asked, asked)
    return resolved


def plan_ranges(
    options: ReadOptions,
    topics: Mapping[str, TopicPartitions],
    bounds: Mapping[TopicPartition, OffsetBounds],
    *,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[OffsetRange]:
    """A range per partition, in the order of `bounds`; `starts` and `ends` are resolved edges.

    Raises PlanError when a range ends before it starts, and when the partition does not hold a
    requested offset. With failOnDataLoss off such a range is cut to the offsets held instead.
    """
    ranges = []
    for tp, held in bounds.items():
        start, end = starts[tp], ends[tp]
        if start > end:
            raise PlanError(
                f"{options.starting.option} of {tp.topic}-{tp.partition} is offset {start}, after "
                f"its end {end} by {options.ending.option}"
            )
        if options.fail_on_data_loss:
            _require_held(tp, start, end, held)
        start, end = (min(max(o, held.earliest), held.latest) for o in (start, end))
        ranges.append(OffsetRange(tp.topic, topics[tp.topic].topic_id, tp.partition, start, end))
    return ranges


def _check_order(starting: Edge, ending: Edge) -> None:
    """Refuse options that contradict each other whatever the topics hold."""
    if isinstance(starting, AtTimes) and isinstance(ending, AtTimes):
        first, last = starting.times_ms, ending.times_ms
    elif isinstance(starting, AtOffsets) and isinstance(ending, AtOffsets):
        first, last = starting.offsets, ending.offsets
    else:
        return
    if not isinstance(first, int) and not isinstance(last, int):
        if differing := sorted(first.keys() ^ last.keys()):
            raise OptionError(
                f"options {starting.option} and {ending.option} name different partitions: only "
                f"one of them has {_names(differing)}"
            )
        pairs = {_names([tp]): (first[tp], last[tp]) for tp in sorted(first)}
    elif isinstance(first, int) and isinstance(last, int):
        pairs = {"all partitions": (first, last)}
    else:
        return
    for what, (start, end) in pairs.items():
        if start > end >= 0:  # below 0 is the latest or the earliest
            raise OptionError(
                f"option {starting.option} is {start} for {what}, after {ending.option}, {end}"
            )


def _matches(selection: Selection, topic: str) -> bool:
    if selection.exclude_internal and topic.startswith(INTERNAL_PREFIX):
        return False
    return re.fullmatch(selection.pattern or "", topic) is not None


def _at_time(edge: AtTimes, tp: TopicPartition, held: OffsetBounds, found: int | None) -> int:
    if found is not None:
        # A record appended after the bounds were read is not part of this read.
        return min(max(found, held.earliest), held.latest)
    if edge.or_latest:
        return held.latest
    time_ms = edge.times_ms if isinstance(edge.times_ms, int) else edge.times_ms[tp]
    raise PlanError(
        f"{tp.topic}-{tp.partition} holds no record as new as {edge.option} {time_ms}: ask for an "
        'earlier time, or set startingOffsetsByTimestampStrategy to "latest" to read none of it'
    )


def _require_held(tp: TopicPartition, start: int, end: int, held: OffsetBounds) -> None:
    if start < held.earliest or end > held.latest:
        raise PlanError(
            f"offsets {start} to {end} were asked of {tp.topic}-{tp.partition}, which holds "
            f"{held.earliest} to {held.latest}; ask for those, or set failOnDataLoss to false"
        )


def _require_same(
    option: str, named: Collection[TopicPartition], read: Collection[TopicPartition]
) -> None:
    if missing := sorted(set(read).difference(named)):
        _partition_error(option, "must name every partition that is read, not given:", missing)
    if extra := sorted(set(named).difference(read)):
        _partition_error(option, "names partitions that are not read:", extra)


def _partition_error(option: str, what: str, partitions: list[TopicPartition]) -> NoReturn:
    raise PlanError(f"option {option} {what} {_names(partitions)}")


def _names(partitions: list[TopicPartition]) -> str:
    """The names of a few partitions, so that a message stays readable."""
    names = [f"{topic}-{partition}" for topic, partition in partitions]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
