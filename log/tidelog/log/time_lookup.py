"""Offsets by time: the first record at or after a time, and the newest record (KIP-79, KIP-734).

Decodes records, usually those of one batch per look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.log.segment import Segment
from tidelog.log.segment_walk import Place
from tidelog.records.batch import BatchHeader
from tidelog.records.records import Record, iter_records


class TimestampedOffset(NamedTuple):
    """A record: offset, timestamp in ms since the Unix epoch, leader epoch."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


class Span(NamedTuple):
    """Offset range of a look-up: from `start` up to `end`, exclusive."""

    start: int
    end: int


def offset_for_time(
    segments: Iterable[Segment], timestamp_ms: int, *, span: Span
) -> TimestampedOffset | None:
    """Find the first record in `span` that is not older than `timestamp_ms`."""
    for segment in segments:
        for place in segment.reaching(timestamp_ms):
            if place.base_offset >= span.end:
                return None
            for epoch, record in _records(segment, place, span=span):
                if record.timestamp >= timestamp_ms:
                    return TimestampedOffset(record.offset, record.timestamp, epoch)
    return None


def offset_of_max_timestamp(segments: Iterable[Segment], *, span: Span) -> TimestampedOffset | None:
    """Find the first of the newest records in `span`."""
    newest: TimestampedOffset | None = None
    for segment in segments:
        if newest is not None and segment.max_timestamp <= newest.timestamp_ms:
            continue
        for place in _places_of_newest(segment, span):
            for epoch, record in _records(segment, place, span=span):
                if newest is None or record.timestamp > newest.timestamp_ms:
                    newest = TimestampedOffset(record.offset, record.timestamp, epoch)
    return newest


def _places_of_newest(segment: Segment, span: Span) -> list[Place]:
    """Batches of the segment, one of which holds its newest record within `span`."""
    if not segment.size or segment.next_offset <= span.start or segment.base_offset >= span.end:
        return []
    if segment.base_offset >= span.start and segment.newest.offset < span.end:
        return [segment.place_of(segment.newest.offset)]
    cut, newest = [], None
    for position, header in segment.headers():
        if header.last_offset < span.start or header.base_offset >= span.end:
            continue
        if header.base_offset < span.start or header.last_offset >= span.end:
            cut.append(Place(position, header.base_offset))
        else:
            newest = _newer(newest, position, header)
    return sorted(cut + ([newest[0]] if newest else []))


def _newer(
    known: tuple[Place, int] | None, position: int, header: BatchHeader
) -> tuple[Place, int] | None:
    if not header.records_count or (known is not None and known[1] >= header.max_timestamp):
        return known
    return Place(position, header.base_offset), header.max_timestamp


def _records(segment: Segment, place: Place, *, span: Span) -> Iterator[tuple[int, Record]]:
    """Iterate over the records in `span` of the batch at `place`, with their epoch."""
    for header, batch in segment.batches(place.position, max_bytes=1):
        for record in iter_records(batch):
            if span.start <= record.offset < span.end:
                yield header.partition_leader_epoch, record
