"""Decides how far a stream goes on: what is new, how much a micro-batch takes, what was lost.

Pure. Rules are those of Kafka's Spark connector (KafkaMicroBatchStream, KafkaOffsetReader): a
partition that was found while the query runs is read from its beginning; the limit on offsets is
shared out by how much each partition has waiting; partitions that are gone, and offsets that are
not held any more, are data loss. Never asks the cluster: `stream_driver.py` does.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.arrow.offset_ranges import OffsetBounds, OffsetRange
from tidelog.client.records import TopicPartition
from tidelog.spark.stream_offsets import StreamOffset
from tidelog.spark.stream_options import Limits

_NAMED_MAX = 5
"""How many partitions an error names."""


class DataLossError(ValueError):
    """Records that the stream has not read are gone; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits to be read: a range for every partition, empty ones too, of one incarnation."""

    ranges: Mapping[TopicPartition, OffsetBounds]
    losses: Sequence[str] = ()
    """What is missing, in words."""

    @property
    def offsets_count(self) -> int:
        """Offsets waiting in all; where records were compacted away that is more than records."""
        return sum(held.latest - held.earliest for held in self.ranges.values())

    def waiting(self) -> list[TopicPartition]:
        """The partitions that have any."""
        return [tp for tp, held in self.ranges.items() if held.latest > held.earliest]


def backlog(
    start: StreamOffset, end: StreamOffset, *, earliest: Mapping[TopicPartition, int]
) -> Backlog:
    """What lies between two offsets, `end` naming the partitions there are.

    A partition that `start` does not know, or knows of another incarnation, is read from 0; one
    whose log starts later than that (`earliest`, where known) from there.
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
    """What waits for a stream that starts at these offsets; those not held are moved, as a loss."""
    ranges, losses = {}, []
    for tp, (earliest, latest) in bounds.items():
        if not earliest <= starts[tp] <= latest:
            losses.append(f"{_name(tp)} holds {earliest} to {latest}, not {starts[tp]}")
        ranges[tp] = OffsetBounds(min(max(starts[tp], earliest), latest), latest)
    return Backlog(ranges, losses)


def cut(planned: Backlog, end: StreamOffset, *, newest: StreamOffset) -> Backlog:
    """What there still is of a micro-batch up to `end`, when the topics end at `newest` now."""
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
    """Partitions of `start` that are no more; a topic made anew is told of once."""
    losses: dict[str, None] = {}
    for tp, offset in start.offsets.items():
        known, now = start.topic_ids.get(tp.topic), end.topic_ids.get(tp.topic)
        if tp not in end.offsets:
            losses[f"{_name(tp)} is gone, it was read up to {offset}"] = None
        elif known not in (None, now):
            losses[f'topic "{tp.topic}" was deleted and made anew'] = None
    return list(losses)


def refuse_losses(losses: Sequence[str]) -> None:
    """Raise DataLossError when there are any; for streams with failOnDataLoss."""
    if losses:
        more = f", and {len(losses) - _NAMED_MAX} more" if len(losses) > _NAMED_MAX else ""
        raise DataLossError(
            f"records may have been missed: {'; '.join(losses[:_NAMED_MAX])}{more}. To go on with "
            "what there is, set failOnDataLoss to false; to start over, take a new checkpoint "
            "and, where there is one, a new queryId"
        )


def is_held_back(
    offsets_count: int, limits: Limits, *, triggered_ms: int | None, now_ms: int
) -> bool:
    """Whether a micro-batch waits for more offsets (minOffsetsPerTrigger, maxTriggerDelay).

    `triggered_ms` is when the last one was let through, None for the first, which never waits.
    """
    if limits.offsets_min is None or triggered_ms is None:
        return False
    return offsets_count < limits.offsets_min and now_ms - triggered_ms < limits.delay_ms_max


def admit(
    waiting: Backlog, limits: Limits, *, record_bytes: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """Where a micro-batch ends in every partition, within the limits.

    Every partition with a backlog gets one offset at least, so that none starves: with a limit
    below their number a micro-batch is that much larger. `record_bytes` is the mean size of the
    records to come, needed with a limit of bytes.
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
    """Shares of `sizes` in proportion to them, `limit` in all where there is so much.

    Each that is not 0 gets 1 at least. No rounding adds up: the shares are the differences of the
    running total's.
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
    """The ranges that hold anything, by topic and partition."""
    return [
        OffsetRange(tp.topic, topic_ids[tp.topic], tp.partition, *found.ranges[tp])
        for tp in sorted(found.waiting())
    ]


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
