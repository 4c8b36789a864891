"""The reader of a topic as a table: all of it or a part, with an end that is fixed at the start.

Owns the order, partition by partition, and the read-ahead. Decodes no columns: the caller's thread
does, while the next bytes are being fetched.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import NamedTuple

from tidelog.client.arrow.table_ranges import (
    Place,
    chosen_partitions,
    ranges,
    resolve,
    times_to_ask,
)
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.errors import UnknownTopicOrPartitionError
from tidelog.client.unwinding import unwind

READ_AHEAD_RANGES = 4
"""The partitions fetched ahead of their turn, with at most two fetches each."""


class Chunk(NamedTuple):
    """Whole batches that cover a part of a range, as the broker stored them."""

    wanted: OffsetRange
    data: bytes


async def plan(
    reader: RangeReader,
    topic: str,
    *,
    partitions: Iterable[int] | None,
    start: Place,
    end: Place,
) -> list[OffsetRange]:
    """The ranges to read. Errors: KafkaError for an unknown topic, and those of `table_ranges`."""
    found = (await reader.topics([topic])).get(topic)
    if found is None:
        raise UnknownTopicOrPartitionError(f"topic {topic!r} does not exist")
    chosen = chosen_partitions(topic, found, partitions)
    bounds = await reader.bounds(chosen)
    offsets = [
        resolve(name, place, bounds, await reader.offsets_for_times(times_to_ask(place, chosen)))
        for name, place in (("start", start), ("end", end))
    ]
    return ranges(found, *offsets)


async def read_chunks(
    reader: RangeReader, planned: Sequence[OffsetRange], *, fail_on_data_loss: bool
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of the ranges in order. Raises the errors of `RangeReader.chunks`."""
    coming = deque(planned)
    ahead: deque[_Started] = deque()
    try:
        while coming or ahead:
            while coming and len(ahead) <= READ_AHEAD_RANGES:
                ahead.append(_Started(reader, coming.popleft(), is_strict=fail_on_data_loss))
            one = ahead[0]
            while (data := await one.first_or_next()) is not None:
                yield Chunk(one.wanted, data)
            ahead.popleft()
    finally:
        for one in ahead:
            await one.close()


class _Started:
    """A range whose first bytes are being fetched."""

    def __init__(self, reader: RangeReader, wanted: OffsetRange, *, is_strict: bool) -> None:
        self.wanted = wanted
        self._chunks = reader.chunks(wanted, fail_on_data_loss=is_strict)
        self._first: asyncio.Task[bytes | None] | None = asyncio.create_task(self._advance())

    async def first_or_next(self) -> bytes | None:
        """The next bytes; None after the last."""
        if self._first is None:
            return await self._advance()
        first, self._first = await self._first, None
        return first

    async def close(self) -> None:
        """Cancel the fetch in flight, within the limit of `unwind`."""
        if self._first is not None and not await unwind([self._first]):
            # It still runs the generator, which can be closed only after it.
            self._first.add_done_callback(lambda _: asyncio.create_task(self._chunks.aclose()))
            return
        await self._chunks.aclose()

    async def _advance(self) -> bytes | None:
        return await anext(self._chunks, None)
