"""The plan of a stream: its new records, the size of a micro-batch, and data loss.

Pure. Rules are those of Kafka's Spark connector (KafkaMicroBatchStream, KafkaOffsetReader): a
partition found while the query runs is read from its beginning; the limit on offsets is shared
among partitions in proportion to their backlogs; deleted partitions and offsets that the log no
longer holds are data loss. Never asks the cluster: `stream_driver.py` does.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange
from tidelog.client.records import TopicPartition
from tidelog.spark.stream_offsets import StreamOffset
from tidelog.spark.stream_options import Limits

_NAMED_MAX = 5
"""The number of partitions that an error names."""


class DataLossError(ValueError):
    """Records were lost before the stream read them; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The backlog of a stream: a range per partition, empty ones included, of one incarnation."""

    ranges: Mapping[TopicPartition, OffsetBounds]
    losses: Sequence[str] = ()
    """Descriptions of lost records."""

    @property
    def offsets_count(self) -> int:
        """The total number of offsets; with compaction there are fewer records."""
        return sum(held.latest - held.earliest for held in self.ranges.values())

    def waiting(self) -> list[TopicPartition]:
        """The partitions with a backlog."""
        return [tp for tp, held in self.ranges.items() if held.latest > held.earliest]


def backlog(
    start: StreamOffset, end: StreamOffset, *, earliest: Mapping[TopicPartition, int]
) -> Backlog:
    """The backlog between two offsets; `end` names the existing partitions.

    A partition that `start` does not know, or knows of another incarnation, is read from 0, or from
    the start of its log (`earliest`, if known) where that is later.
    """
    ranges: dict[TopicPartition, OffsetBounds] = {}
    losses = _gone(start, end)
    for tp, until in end.offsets.items():
        found = start.of_incarnation(tp, end.topic_ids.get(tp.topic, b""))
        begin = found or 0
        held_from = earliest.get(tp, 0)
        if until < begin:
            losses.append(f"{_name(tp)} ends at {until}, it was read up to {begin}")
        elif begin < min(held_from, until):
            losses.append(f"{_name(tp)} starts at {held_from}, it was read up to {begin}")
        ranges[tp] = OffsetBounds(min(max(begin, held_from), until), until)
    return Backlog(ranges, losses)


def start_at(
    starts: Mapping[TopicPartition, int], bounds: Mapping[TopicPartition, OffsetBounds]
) -> Backlog:
    """The backlog of a stream that starts at these offsets; those not held are moved, as a loss."""
    ranges, losses = {}, []
    for tp, (earliest, latest) in bounds.items():
        if not earliest <= starts[tp] <= latest:
            losses.append(f"{_name(tp)} holds {earliest} to {latest}, not {starts[tp]}")
        ranges[tp] = OffsetBounds(min(max(starts[tp], earliest), latest), latest)
    return Backlog(ranges, losses)


def cut(planned: Backlog, end: StreamOffset, *, newest: StreamOffset) -> Backlog:
    """The part of a micro-batch up to `end` that still exists, when topics end at `newest`."""
    ranges, losses = {}, list(planned.losses)
    for tp, held in planned.ranges.items():
        until = newest.of_incarnation(tp, end.topic_ids.get(tp.topic, b""))
        if until is None:
            losses.append(f"{_name(tp)} is gone, it was to be read up to {held.latest}")
            continue
        if until < held.latest:
            losses.append(f"{_name(tp)} ends at {until}, it was to be read up to {held.latest}")
        ranges[tp] = OffsetBounds(min(held.earliest, until), min(held.latest, until))
    return Backlog(ranges, losses)


def _gone(start: StreamOffset, end: StreamOffset) -> list[str]:
    """The losses of partitions in `start` that no longer exist, once per recreated topic."""
    losses: dict[str, None] = {}
    for tp, offset in start.offsets.items():
        known, now = start.topic_ids.get(tp.topic), end.topic_ids.get(tp.topic)
        if tp not in end.offsets:
            losses[f"{_name(tp)} is gone, it was read up to {offset}"] = None
        elif known not in (None, now):
            losses[f'topic "{tp.topic}" was deleted and recreated'] = None
    return list(losses)


def refuse_losses(losses: Sequence[str]) -> None:
    """Raise DataLossError if there are losses; for streams with failOnDataLoss."""
    if losses:
        more = f", and {len(losses) - _NAMED_MAX} more" if len(losses) > _NAMED_MAX else ""
        raise DataLossError(
            f"records may have been missed: {'; '.join(losses[:_NAMED_MAX])}{more}. To continue "
            "with the records that exist, set failOnDataLoss to false; to start over, use a new "
            "checkpoint and, if one is set, a new queryId"
        )


def is_held_back(
    offsets_count: int, limits: Limits, *, triggered_ms: int | None, now_ms: int
) -> bool:
    """True if a micro-batch waits for more offsets (minOffsetsPerTrigger, maxTriggerDelay).

    `triggered_ms` is the time of the last micro-batch, None before the first, which never waits.
    """
    if limits.offsets_min is None or triggered_ms is None:
        return False
    return offsets_count < limits.offsets_min and now_ms - triggered_ms < limits.delay_ms_max


def admit(
    waiting: Backlog, limits: Limits, *, record_bytes: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """The end of a micro-batch in every partition, within the limits.

    Every partition with a backlog gets at least one offset, so that none starves. With a limit
    below their number a micro-batch is larger than the limit. `record_bytes` is the mean size of
    the next records, needed with a limit of bytes.
    """
    sizes = {tp: held.latest - held.earliest for tp, held in waiting.ranges.items()}
    taken = sizes
    if limits.offsets_max is not None:
        taken = share(sizes, limits.offsets_max)
    if limits.bytes_max is not None:
        means = {tp: max(1, round(record_bytes[tp])) for tp in waiting.waiting()}
        bytes_shares = share({tp: sizes[tp] * means[tp] for tp in means}, limits.bytes_max)
        within = {tp: max(1, bytes_shares[tp] // means[tp]) for tp in means}
        taken = {tp: min(size, within.get(tp, size)) for tp, size in taken.items()}
    return {tp: held.earliest + taken[tp] for tp, held in waiting.ranges.items()}


def share(sizes: Mapping[TopicPartition, int], limit: int) -> dict[TopicPartition, int]:
    """Share `limit` in proportion to `sizes`; every size that is not 0 gets at least 1.

    Rounding errors do not add up: the shares are differences of rounded running totals.
    """
    first = {tp: min(size, 1) for tp, size in sizes.items()}
    room = max(0, limit - sum(first.values()))
    rest = sum(sizes.values()) - sum(first.values())
    if room >= rest:
        return dict(sizes)
    shares, before = {}, 0
    for tp, size in sizes.items():
        after = before + size - first[tp]
        shares[tp] = first[tp] + after * room // rest - before * room // rest
        before = after
    return shares


def ranges_to_read(found: Backlog, topic_ids: Mapping[str, bytes]) -> list[OffsetRange]:
    """The ranges that are not empty, ordered by topic and partition."""
    return [
        OffsetRange(tp.topic, topic_ids[tp.topic], tp.partition, *found.ranges[tp])
        for tp in sorted(found.waiting())
    ]


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
