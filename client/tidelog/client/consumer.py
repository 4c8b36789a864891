"""The consumer: reads the partitions it is given, in order, from where it stands.

Owns decoding and what the application has been handed; the fetch loop brings raw batches ahead of
it. Reads what is committed (below the high watermark) only. Keeps no offsets in the cluster: the
application does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Self

from tidelog.client.assignment import Assignment, Position
from tidelog.client.backoff import Backoff
from tidelog.client.errors import ClientClosedError, CorruptMessageError
from tidelog.client.fetcher import Chunk, Failure, Fetcher, FetcherConfig
from tidelog.client.offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    OffsetLookup,
    OffsetQuery,
    Spec,
)
from tidelog.client.ports import ClientPorts
from tidelog.client.records import Record, TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.log.batch import CONTROL_FLAG, check_crc, parse_header
from tidelog.log.env import Clock, Random
from tidelog.log.records import iter_records
from tidelog.log.transport import Transport

_RESETS: dict[str, Spec | None] = {"earliest": EARLIEST, "latest": LATEST, "none": None}
DEFAULT_MAX_RECORDS = 5_000


class Consumer:
    """Reads records: `async with Consumer(...) as c`, `c.assign([("t", 0)])`, `async for r in c`.

    Sizes in bytes, times in milliseconds:
    - `auto_offset_reset`: where to start without a seek, and again when an offset is out of range:
      "earliest", "latest", or "none" (OffsetOutOfRangeError). So, too, where the topic was deleted
      and made anew ("none": KafkaError INCONSISTENT_TOPIC_ID). Where records that were read are
      gone after an unclean election, the first two go on where the log parts from what was read,
      "none" raises LogTruncationError.
    - `fetch_min_bytes`, `fetch_max_wait_ms`: a leader answers when it has that much, or after that
      time.
    - `fetch_max_bytes`, `max_partition_fetch_bytes`: limits of one answer; a larger batch still
      comes whole. At most two answers per leader are held.
    - `check_crcs`: check every batch's CRC32C before its records are handed out.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        auto_offset_reset: Literal["earliest", "latest", "none"] = "earliest",
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 8 << 20,
        max_partition_fetch_bytes: int = 1 << 20,
        check_crcs: bool = True,
        request_timeout_ms: int = 10_000,
        api_timeout_ms: int = 60_000,
        retry_backoff_ms: int = 20,
        retry_backoff_max_ms: int = 200,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if auto_offset_reset not in _RESETS:
            raise ValueError(
                f'auto_offset_reset={auto_offset_reset!r}: "earliest", "latest", "none"'
            )
        self._check_crcs = check_crcs
        self._api_timeout_ms = api_timeout_ms
        self._reset = _RESETS[auto_offset_reset]
        backoff = Backoff(retry_backoff_ms, retry_backoff_max_ms)
        self._ports = ClientPorts.of(transport=transport, clock=clock, random=random)
        self._routing = Routing(bootstrap, ports=self._ports, config=RoutingConfig(backoff=backoff))
        self._lookup = OffsetLookup(
            self._routing, backoff=backoff, request_timeout_ms=request_timeout_ms
        )
        self._assignment = Assignment()
        self._fetcher = Fetcher(
            assignment=self._assignment,
            routing=self._routing,
            lookup=self._lookup,
            config=FetcherConfig(
                reset=self._reset,
                fetch_min_bytes=fetch_min_bytes,
                fetch_max_wait_ms=fetch_max_wait_ms,
                fetch_max_bytes=fetch_max_bytes,
                max_partition_fetch_bytes=max_partition_fetch_bytes,
                lookup_timeout_ms=api_timeout_ms,
                backoff=backoff,
            ),
        )
        self._records = _Decoded()
        self._is_started = False
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Record]:
        """Records as they come, without end; ends only by `close`. Raises like `getmany`."""
        return self._iterate()

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions and no others; those read before go on where they stood."""
        wanted = [TopicPartition(*tp) for tp in partitions]
        self._assignment.assign(wanted, reset=self._reset)
        self._positions_changed()

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Read an assigned partition from `offset` on."""
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        self._assigned(partition).seek(offset)
        self._positions_changed()

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Read these partitions (none named: all) from their log start."""
        self._seek_to(EARLIEST, partitions)

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Read these partitions (none named: all) from their high watermark at the next read."""
        self._seek_to(LATEST, partitions)

    async def position(self, partition: tuple[str, int]) -> int:
        """The offset of the next record the application gets; looked up when nothing was read yet.

        Raises KafkaError for a partition that does not exist, OffsetOutOfRangeError under "none".
        """
        position = self._assigned(partition)
        if position.position is None and position.reset is not None:
            generation = position.generation
            offset, topic_id = await self._lookup.start_of(
                position.tp, position.reset, timeout_ms=self._api_timeout_ms
            )
            if position.generation == generation:
                position.seek(offset, topic_id=topic_id)
                self._positions_changed()
        if position.position is None:
            raise ValueError(f"{position.tp} has no position yet: seek first")
        return position.position

    async def partitions_for(self, topic: str) -> list[int]:
        """The topic's partitions; raises KafkaError when it does not exist, UnreachableError."""
        self._check_open()
        view = await self._routing.topic(topic, timeout_ms=self._api_timeout_ms)
        return sorted(view.leaders)

    async def beginning_offsets(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        return await self._offsets(EARLIEST, partitions)

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """The high watermark of each partition: the offset its next readable record will have."""
        return await self._offsets(LATEST, partitions)

    async def offsets_for_times(
        self, times: Mapping[tuple[str, int], datetime | int]
    ) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in each partition; offset -1 where there is none.

        Times are with a time zone, or in milliseconds since the Unix epoch.
        """
        self._check_open()
        wanted = {TopicPartition(*tp): OffsetQuery.of(time) for tp, time in times.items()}
        return await self._lookup.find(wanted, timeout_ms=self._api_timeout_ms)

    async def getmany(
        self, *, timeout_ms: int = 0, max_records: int = DEFAULT_MAX_RECORDS
    ) -> list[Record]:
        """Up to `max_records` of what is here; waits up to `timeout_ms` for the first record.

        In offset order within a partition. Raises CorruptMessageError naming topic, partition and
        offset; OffsetOutOfRangeError and its LogTruncationError under "none"; KafkaError for a
        topic or partition that does not exist. The position stays where the trouble is: reading on
        without a seek meets it again.
        """
        self._check_open()
        self._start()
        # One turn of the loop, or a busy reader would never let the fetches run.
        await asyncio.sleep(0)
        if not self._fill():
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._filled()
            except TimeoutError:
                return []
        taken = self._records.take(max_records)
        while len(taken) < max_records and self._fill():
            taken += self._records.take(max_records - len(taken))
        return taken

    async def close(self) -> None:
        """Stop fetching; iterations end."""
        if not self._is_closed:
            self._is_closed = True
            self._records.clear()
            await self._fetcher.stop()
            await self._routing.close()
            await self._ports.close()

    async def _iterate(self) -> AsyncIterator[Record]:
        self._start()
        while True:
            await asyncio.sleep(0)
            await self._filled()
            if self._is_closed:
                return
            while (record := self._records.next()) is not None:
                yield record

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._fetcher.start()

    async def _filled(self) -> None:
        """Return once there is a record to hand out, or after `close`."""
        while not self._is_closed and not self._fill():
            await self._fetcher.wait()

    def _fill(self) -> bool:
        """Whether there is a record to hand out; decodes what has arrived as far as needed."""
        while not self._records.has_next():
            batch = self._records.next_batch()
            if batch is not None:
                self._decode(*batch)
                continue
            item = self._fetcher.pop()
            if item is None:
                return False
            if isinstance(item, Failure):
                raise item.error
            self._records.load(item)
        return True

    def _decode(self, chunk: Chunk, at: int) -> None:
        """Make the records of the chunk's batch at byte `at` the next ones to hand out."""
        position = chunk.position
        topic, partition = position.tp
        batch = memoryview(chunk.records)[at:]
        header = parse_header(batch)
        try:
            if self._check_crcs:
                check_crc(header, batch[: header.size_in_bytes])
            start = position.position or 0
            is_control = bool(header.attributes & CONTROL_FLAG)
            records = [
                Record(topic, partition, *fields)
                for fields in (() if is_control else iter_records(batch[: header.size_in_bytes]))
                if fields[0] >= start
            ]
        except CorruptMessageError as error:
            self._records.clear()
            position.rewind()
            self._fetcher.restart()
            raise CorruptMessageError(
                f"{topic}-{partition} is corrupt in the batch at offset {header.base_offset}: "
                f"{error}; seek past offset {header.last_offset} to read on without it"
            ) from error
        self._records.hold(records, end=header.next_offset)

    def _assigned(self, partition: tuple[str, int]) -> Position:
        self._check_open()
        position = self._assignment.get(TopicPartition(*partition))
        if position is None:
            raise ValueError(f"{partition[0]}-{partition[1]} is not assigned: call assign first")
        return position

    def _seek_to(self, spec: Spec, partitions: Sequence[tuple[str, int]]) -> None:
        positions = [self._assigned(p) for p in partitions] or self._assignment.all()
        for position in positions:
            position.seek_to(spec)
        self._positions_changed()

    def _positions_changed(self) -> None:
        self._check_open()
        if not self._records.is_current(self._assignment):
            self._records.clear()
        self._fetcher.restart()

    async def _offsets(
        self, spec: Spec, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        self._check_open()
        wanted = {TopicPartition(*tp): spec for tp in partitions}
        return await self._lookup.lookup(wanted, timeout_ms=self._api_timeout_ms)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosedError("the consumer is closed")


class _Decoded:
    """One chunk on its way to the application, a decoded batch at a time."""

    def __init__(self) -> None:
        self._chunk: Chunk | None = None
        self._next_at = 0
        self._records: list[Record] = []
        self._index = 0
        self._end = 0

    def load(self, chunk: Chunk) -> None:
        """Start on a chunk."""
        self._chunk = chunk
        self._next_at = 0

    def clear(self) -> None:
        """Forget everything not handed out."""
        self._chunk = None
        self._records = []
        self._index = 0

    def is_current(self, assignment: Assignment) -> bool:
        """Whether what is held still counts."""
        chunk = self._chunk
        return chunk is None or assignment.is_current(chunk.position, chunk.generation)

    def has_next(self) -> bool:
        """Whether a record is ready to be handed out; what a seek or a truncation voided is not."""
        chunk = self._chunk
        if chunk is not None and chunk.generation != chunk.position.generation:
            self.clear()
        return self._index < len(self._records)

    def next_batch(self) -> tuple[Chunk, int] | None:
        """The chunk and the byte where its next batch starts; None at its end."""
        chunk = self._chunk
        if chunk is None or self._next_at >= len(chunk.records):
            self._chunk = None
            return None
        at = self._next_at
        self._next_at += parse_header(chunk.records, at).size_in_bytes
        return chunk, at

    def hold(self, records: list[Record], *, end: int) -> None:
        """The records of the current batch, which ends before offset `end`."""
        self._records = records
        self._index = 0
        self._end = end
        if not records:
            self._advance(end)

    def next(self) -> Record | None:
        """Hand out one record."""
        if not self.has_next():
            return None
        index = self._index
        records = self._records
        self._index = index + 1
        record = records[index]
        self._advance(self._end if self._index == len(records) else record.offset + 1)
        return record

    def take(self, limit: int) -> list[Record]:
        """Hand out up to `limit` records of the current batch."""
        if not self.has_next():
            return []
        taken = self._records[self._index : self._index + limit]
        self._index += len(taken)
        if taken:
            is_last = self._index == len(self._records)
            self._advance(self._end if is_last else taken[-1].offset + 1)
        return taken

    def _advance(self, offset: int) -> None:
        if self._chunk is not None:
            self._chunk.position.position = offset
