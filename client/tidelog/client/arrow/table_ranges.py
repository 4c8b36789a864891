"""The offsets of a table read: the caller's choice, checked against the topic. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.offsets import OffsetQuery
from tidelog.client.records import TopicPartition

Place = Literal["earliest", "latest"] | datetime | Mapping[int, int]
"""A place in every partition: an end, the first record at or after a time, or an offset."""


def chosen_partitions(
    topic: str, found: TopicPartitions, wanted: Iterable[int] | None
) -> list[TopicPartition]:
    """The partitions to read, in order. Errors: ValueError for one that does not exist."""
    chosen = sorted(found.partitions if wanted is None else set(wanted))
    if missing := [partition for partition in chosen if partition not in found.partitions]:
        raise ValueError(
            f"topic {topic!r} has partitions 0 to {len(found.partitions) - 1}, not {missing}"
        )
    return [TopicPartition(topic, partition) for partition in chosen]


def times_to_ask(place: Place, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The times to look up, in milliseconds. Errors: ValueError for one without a time zone."""
    if not isinstance(place, datetime):
        return {}
    return dict.fromkeys(partitions, OffsetQuery.of(place).timestamp_ms)


def resolve(
    name: str,
    place: Place,
    bounds: Mapping[TopicPartition, OffsetBounds],
    at_time: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    """The offset of the place in every partition; `name` is the caller's argument.

    Raises ValueError for an invalid place, and for offsets that do not name exactly these
    partitions or exceed the present end of one.
    """
    match place:
        case "earliest":
            return {tp: held.earliest for tp, held in bounds.items()}
        case "latest":
            return {tp: held.latest for tp, held in bounds.items()}
        case datetime():
            # A record appended after the bounds were read is not part of the table.
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
    """The ranges to read, without empty ones. Errors: ValueError for an end before its start."""
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
