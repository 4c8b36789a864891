"""Producer state from batches: at an append, at a start, and after a truncation.

Reads batches one by one, those of producers whole. Decides nothing: `producers` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import islice

from tidelog.core.env import Disk
from tidelog.core.errors import (
    CorruptMessageError,
    DamagedLogError,
    UnsupportedCompressionTypeError,
)
from tidelog.core.memory_reads import reading
from tidelog.log.epochs import NO_END
from tidelog.log.producers import ProducerStates
from tidelog.log.segment import Segment
from tidelog.log.segment_walk import Place
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.transactions import CompletedTransaction, Transactions
from tidelog.records.batch import CONTROL_FLAG, BatchHeader
from tidelog.records.records import read_marker

_HEADERS_PER_SLICE = 64
"""Headers per slice; each may need a disk read, after which the slice is walked again."""


def update_producers(
    producers: ProducerStates, header: BatchHeader, batch: memoryview, now_ms: int
) -> CompletedTransaction | None:
    """Record an appended batch in `producers`; return the transaction that it ends, if any."""
    if header.producer_id < 0:
        return None
    is_marker = header.attributes & CONTROL_FLAG and header.records_count
    marker = read_marker(batch) if is_marker else None
    return producers.update(header, now_ms=now_ms, marker=marker)


async def replay_producers(
    disk: Disk, segment: Segment, producers: ProducerStates, from_offset: int, now_ms: int
) -> list[CompletedTransaction]:
    """Record the batches of `segment` from `from_offset` on in `producers`, a slice at a time.

    Returns the aborted transactions among those that end there. Raises `DamagedLogError` at an
    invalid batch of a producer.
    """
    place, aborted = Place(0, segment.base_offset), []
    while found := await reading(disk, partial(_next_headers, segment, place)):
        for position, header in found:
            if header.base_offset >= from_offset and header.producer_id >= 0:
                size_bytes = header.size_in_bytes
                batches = partial(segment.batches, position, max_bytes=size_bytes)
                for checked, batch in await reading(disk, batches):
                    completed = _replay_batch(producers, checked, batch, now_ms)
                    if completed is not None and not completed.is_commit:
                        aborted.append(completed)
        position, last = found[-1]
        place = Place(position + last.size_in_bytes, last.next_offset)
        await asyncio.sleep(0)
    return aborted


def _replay_batch(
    producers: ProducerStates, header: BatchHeader, batch: memoryview, now_ms: int
) -> CompletedTransaction | None:
    try:
        return update_producers(producers, header, batch, now_ms)
    except (CorruptMessageError, UnsupportedCompressionTypeError) as error:
        raise DamagedLogError(
            f"the marker at offset {header.base_offset} cannot be read: {error.message}",
            first_bad_offset=header.base_offset,
        ) from error


async def rebuild_producers(
    disk: Disk,
    segments: Sequence[Segment],
    snapshots: SnapshotFiles,
    before: Transactions,
    now_ms: int,
) -> ProducerStates:
    """Rebuild the producer state at the end of `segments`, yielding to other tasks in between.

    `before`: the transactions of the log when it was longer, at its high watermark.
    """
    high_watermark = min(before.high_watermark, segments[-1].next_offset)
    known_to, producers = await snapshots.newest(
        at_most=segments[-1].next_offset, ended=before.ended, high_watermark=high_watermark
    ) or (0, None)
    producers = producers or ProducerStates(high_watermark=high_watermark)
    for segment in segments:
        if segment.next_offset > known_to:
            await replay_producers(disk, segment, producers, known_to, now_ms)
    return producers


async def rebuild_aborted(
    disk: Disk,
    segments: Sequence[Segment],
    stale: Sequence[Segment],
    snapshots: SnapshotFiles,
    now_ms: int,
) -> None:
    """Rebuild the transaction indexes of the `stale` ones among a log's segments.

    Raises `DamagedLogError` as `replay_producers`; `StorageError` where the disk refuses.
    """
    known_to, producers = await snapshots.newest(
        at_most=stale[0].base_offset, high_watermark=NO_END
    ) or (0, None)
    producers = producers or ProducerStates(high_watermark=NO_END)
    for segment in segments:
        if known_to < segment.next_offset and segment.base_offset <= stale[-1].base_offset:
            aborted = await replay_producers(disk, segment, producers, known_to, now_ms)
            if segment in stale:
                segment.aborted.replace(aborted)
                segment.has_unsynced_indexes = True


def _next_headers(segment: Segment, place: Place) -> list[tuple[int, BatchHeader]]:
    return list(islice(segment.headers(place), _HEADERS_PER_SLICE))
