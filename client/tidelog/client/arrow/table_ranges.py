"""Which offsets a table is read from: what the caller asks for, against what there is. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from tidelog.client.arrow.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.offsets import OffsetQuery
from tidelog.client.records import TopicPartition

Place = Literal["earliest", "latest"] | datetime | Mapping[int, int]
"""Where in every partition: its ends, the first record at or after a time, or offsets by partition.
"""


def chosen_partitions(
    topic: str, found: TopicPartitions, wanted: Iterable[int] | None
) -> list[TopicPartition]:
    """The partitions to read, in their order; raises ValueError for one that there is not."""
    chosen = sorted(found.partitions if wanted is None else set(wanted))
    if missing := [partition for partition in chosen if partition not in found.partitions]:
        raise ValueError(
            f"topic {topic!r} has partitions 0 to {len(found.partitions) - 1}, not {missing}"
        )
    return [TopicPartition(topic, partition) for partition in chosen]


def times_to_ask(place: Place, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The times, in milliseconds, that leaders are asked for; ValueError without a time zone."""
    if not isinstance(place, datetime):
        return {}
    return dict.fromkeys(partitions, OffsetQuery.of(place).timestamp_ms)


def resolve(
    name: str,
    place: Place,
    bounds: Mapping[TopicPartition, OffsetBounds],
    at_time: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    """The offset of the place in every partition; `name` is what the caller calls it.

    Raises ValueError for what no place is, and for offsets that do not name just these partitions
    or lie beyond what a partition holds by now.
    """
    match place:
        case "earliest":
            return {tp: held.earliest for tp, held in bounds.items()}
        case "latest":
            return {tp: held.latest for tp, held in bounds.items()}
        case datetime():
            # A later record may have come since the bounds were asked for: it is not of the table.
            return {
                tp: held.latest if (offset := at_time[tp]) is None else min(offset, held.latest)
                for tp, held in bounds.items()
            }
        case Mapping():
            return _given(name, place, bounds)
    raise ValueError(
        f'{name}={place!r}: "earliest", "latest", a datetime or a dict of partition and offset'
    )


def ranges(
    found: TopicPartitions,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[OffsetRange]:
    """What is to be read, without what is empty; raises ValueError for an end before its start."""
    planned = []
    for tp, start in starts.items():
        if ends[tp] < start:
            raise ValueError(
                f"partition {tp.partition} of {tp.topic!r}: end {ends[tp]} is before start {start}"
            )
        if start < ends[tp]:
            planned.append(OffsetRange(tp.topic, found.topic_id, tp.partition, start, ends[tp]))
    return planned


def _given(
    name: str, offsets: Mapping[int, int], bounds: Mapping[TopicPartition, OffsetBounds]
) -> dict[TopicPartition, int]:
    partitions = [tp.partition for tp in bounds]
    if sorted(offsets) != partitions:
        raise ValueError(
            f"{name} names partitions {sorted(offsets)}, read are {partitions}: name just these, "
            "or choose others by partitions="
        )
    for tp, held in bounds.items():
        if not 0 <= offsets[tp.partition] <= held.latest:
            raise ValueError(
                f"{name}: offset {offsets[tp.partition]} of partition {tp.partition} is not "
                f"between 0 and its end, {held.latest}"
            )
    return {tp: offsets[tp.partition] for tp in bounds}
