"""The fetch loop: fetches batches ahead of the application, from all leaders at once, bounded.

Per leader one fetch is in flight, and at most one other answer waits for the application. Also
applies the reset policy, follows leader changes, and pauses partitions that fail. Offsets belong to
one incarnation of a topic: when it is recreated, the reset policy decides where reading continues.
Never decodes records: `ready_records.py` does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.consuming.assignment import Assignment, Position
from tidelog.client.consuming.fetch_results import (
    headers_of,
    out_of_range_error,
    recreated_error,
    truncation_error,
)
from tidelog.client.consuming.fetch_stream import Answer as FetchAnswer
from tidelog.client.consuming.fetch_stream import Fetched, FetchLimits, FetchStreams
from tidelog.client.consuming.isolation import aborted_batches, end_offset_of
from tidelog.client.consuming.long_polls import LongPolls
from tidelog.client.errors import (
    CorruptMessageError,
    OffsetOutOfRangeError,
    TidelogError,
    UnknownTopicIdError,
    error_from_wire,
)
from tidelog.client.offsets import OffsetLookup, Spec
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.client.unwinding import unwind
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    READ_UNCOMMITTED,
    FetchPartition,
    IsolationLevel,
    PartitionFetchResult,
)

Key = TypeVar("Key")
_NOT_THERE = (common_pb2.UNKNOWN_TOPIC_OR_PARTITION, common_pb2.UNKNOWN_TOPIC_ID)
_ANSWER_MARGIN_MS = 4_000
"""The time that a call waits beyond fetch_max_wait_ms before a silent leader is given up."""
MAX_UNUSED_ANSWERS = 1
"""The answers per leader that the application has not used up, besides the one in flight."""


@dataclass(frozen=True, slots=True)
class FetcherConfig:
    """The options of a fetcher: sizes in bytes, times in milliseconds.

    `reset` None: an offset out of range is an error. `is_truncation_error`: so is a truncated log.
    """

    reset: Spec | None
    is_truncation_error: bool
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    lookup_timeout_ms: int = 60_000
    isolation_level: IsolationLevel = READ_UNCOMMITTED
    backoff: Backoff = field(default_factory=Backoff)


FindCommitted: TypeAlias = Callable[[TopicPartition], Awaitable[tuple[int, bytes] | None]]
"""Offset of the next record to read, and the topic's incarnation; None: nothing is committed."""


@dataclass(slots=True, eq=False)
class _Answer:
    """An answer of a leader, counted until its last chunk is used up."""

    address: str
    unused_chunks: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole batches of a partition; the first may start below the position."""

    position: Position
    generation: int
    records: bytes
    answer: _Answer
    aborted: frozenset[int] = frozenset()
    """Base offsets of batches that are not to be shown."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error for the application."""

    position: Position
    generation: int
    error: TidelogError


class Fetcher:
    """The fetch loop of a consumer, and its fetched batches."""

    def __init__(
        self,
        *,
        assignment: Assignment,
        routing: Routing,
        lookup: OffsetLookup,
        config: FetcherConfig,
    ) -> None:
        self.find_committed: FindCommitted | None = None
        """Look-up of a group's committed offset; None: there is no group."""
        self._assignment = assignment
        self._routing = routing
        self._lookup = lookup
        self._config = config
        self._clock = routing.clock
        sizes = (config.fetch_min_bytes, config.fetch_max_bytes)
        limits = FetchLimits(config.fetch_max_wait_ms, *sizes, config.isolation_level)
        self._streams = FetchStreams(
            routing.transport, limits, max_idle_ms=routing.connections.connections_max_idle_ms
        )
        self._queue: deque[Chunk | Failure] = deque()
        self._kept: deque[Chunk | Failure] = deque()
        """Items of paused partitions, which do not count as unused answers of their leaders."""
        self._resumed: deque[Chunk | Failure] = deque()
        """Kept items of resumed partitions, which come before the queue."""
        self._arrived = asyncio.Event()
        self._wake = asyncio.Event()
        self._fetches: dict[str, asyncio.Task[None]] = {}
        self._polls = LongPolls(self._fetches)
        self._unused: dict[str, int] = {}
        self._resets: dict[TopicPartition, asyncio.Task[None]] = {}
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the loop on the running event loop."""
        self._routing.on_change(self._wake.set)
        self._loop_task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop the loop and every call in flight, within the limit of `unwind`."""
        tasks = [*self._fetches.values(), *self._resets.values()]
        if self._loop_task is not None:
            tasks.append(self._loop_task)
        await unwind([*tasks, *self._streams.close()])
        self._arrived.set()

    def restart(self) -> None:
        """Cancel the long polls of old positions, after positions changed."""
        self._kept = deque(item for item in self._kept if self._is_current(item))
        for task in [*self._fetches.values(), *self._resets.values()]:
            task.cancel()
        self._wake.set()
        self._arrived.set()  # there may be nothing left to wait for

    def resume(self, positions: Sequence[Position]) -> None:
        """Continue with partitions that are no longer paused: their kept batches come next."""
        kept, self._kept = self._kept, deque()
        for item in kept:
            (self._resumed if item.position in positions else self._kept).append(item)
        self._arrived.set()
        self._wake.set()

    def wake_reader(self) -> None:
        """End the waits of `wait`: there may be an error to raise."""
        self._arrived.set()

    async def wait(self) -> None:
        """Wait until `pop` may return an item, or until `stop`."""
        await self._arrived.wait()

    def pop(self, *, with_failures: bool = True) -> Chunk | Failure | None:
        """The next item that is still valid and not of a paused partition.

        `with_failures` False: a failure stays in the queue, with all items behind it.
        """
        while self._resumed or self._queue:
            source = self._resumed or self._queue
            item = source[0]
            is_due = self._is_current(item) and not item.position.is_still
            if is_due and isinstance(item, Failure) and not with_failures:
                return None
            self._take_from(source)
            if is_due:
                if isinstance(item, Failure):
                    item.position.has_failed = False
                    self._wake.set()
                return item
            if self._is_current(item):
                self._kept.append(item)
        self._arrived.clear()
        return None

    def _take_from(self, source: deque[Chunk | Failure]) -> None:
        item = source.popleft()
        if source is self._resumed:
            # Its partition can be fetched again.
            self._wake.set()
        elif isinstance(item, Chunk):
            self._used(item.answer)

    def _is_current(self, item: Chunk | Failure) -> bool:
        return self._assignment.is_current(item.position, item.generation)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._clock.monotonic_ms()
            self._dispatch(now_ms)
            await self._sleep(now_ms)

    async def _sleep(self, now_ms: int) -> None:
        """Sleep until woken, or until what waited at `now_ms` is due: a partition, or a poll's end.

        A new reading of the clock could be past a pause that the dispatch respected, and then
        nothing would wake the loop.
        """
        times = [p.retry_at_ms for p in self._assignment.all() if p.retry_at_ms > now_ms]
        if self._polls.due_ms is not None:
            times.append(self._polls.due_ms)
        if not times:
            await self._wake.wait()
            return
        delay_ms = min(times) - now_ms
        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _dispatch(self, now_ms: int) -> None:
        """Fetch from every free leader all its partitions that are not pausing."""
        self._polls.due_ms = None
        by_address: dict[str, list[Position]] = {}
        # Not fetched: an application that pauses and resumes without reading would keep ever more.
        having = {item.position.tp for item in self._resumed}
        for position in self._assignment.all():
            if position.has_failed or position.retry_at_ms > now_ms:
                continue
            leader = self._routing.metadata.leader(position.tp)
            if position.fetch_offset is None:
                self._start_reset(position)
            elif position.is_still or position.tp in having:
                continue
            elif self._routing.metadata.is_gone(position.tp.topic, position.topic_id):
                self._topic_deleted(position)
            elif leader is None or leader.address is None:
                self._start_discovery(position)
            elif self._is_free(leader.address):
                by_address.setdefault(leader.address, []).append(position)
            else:
                self._polls.make_way(leader.address, position, now_ms)
        for address, positions in by_address.items():
            self._polls.note_sent(address, positions, now_ms)
            self._spawn(self._fetches, address, self._fetch(address, positions))

    def _spawn(
        self, tasks: dict[Key, asyncio.Task[None]], key: Key, work: Coroutine[None, None, None]
    ) -> None:
        """Run `work` as the task of `key` until it ends, however it ends."""

        def ended(_: asyncio.Task[None]) -> None:
            del tasks[key]
            self._wake.set()

        tasks[key] = asyncio.create_task(work)
        tasks[key].add_done_callback(ended)

    def _is_free(self, address: str) -> bool:
        is_unused_low = self._unused.get(address, 0) <= MAX_UNUSED_ANSWERS
        return address not in self._fetches and is_unused_low

    async def _fetch(self, address: str, positions: Sequence[Position]) -> None:
        asked = [(position, position.generation, position.fetch_offset) for position in positions]
        answer = _Answer(address)
        try:
            fetched = await self._call(address, positions)
            for position, generation, offset in asked:
                is_current = self._assignment.is_current(position, generation)
                if is_current and is_awaited(position, offset):
                    self._settle(position, fetched.get(position.tp), answer)
        except TidelogError as error:
            for position in positions:
                self._pause(position, error)
        if answer.unused_chunks:
            self._unused[address] = self._unused.get(address, 0) + 1

    async def _call(self, address: str, positions: Sequence[Position]) -> FetchAnswer:
        wait_ms = self._config.fetch_max_wait_ms
        wanted = {position.tp: self._ask_for(position) for position in positions}
        return await self._routing.while_it_leads(
            address,
            self._streams.fetch(address, wanted, timeout_ms=wait_ms + _ANSWER_MARGIN_MS),
            partitions=list(wanted),
            answer_ms=wait_ms,
        )

    def _ask_for(self, position: Position) -> FetchPartition:
        leader = self._routing.metadata.leader(position.tp)
        view = self._routing.metadata.topic(position.tp.topic)
        if not position.topic_id and view is not None:
            position.topic_id = view.topic_id
        return FetchPartition(
            topic=position.tp.topic,
            topic_id=position.topic_id,
            partition=position.tp.partition,
            fetch_offset=position.fetch_offset or 0,
            current_leader_epoch=position.epoch_to_ask(None if leader is None else leader.epoch),
            last_fetched_epoch=position.last_fetched_epoch,
            partition_max_bytes=self._config.max_partition_fetch_bytes,
        )

    def _settle(self, position: Position, fetched: Fetched | None, answer: _Answer) -> None:
        """Apply a partition's result; None: nothing new."""
        if fetched is None:
            position.failures = 0
            return
        result = fetched.result
        if result.HasField("diverging_epoch"):
            self._truncated(position, result)
        elif result.error.code == common_pb2.NONE:
            position.failures = 0
            position.end_offset = end_offset_of(result, self._config.isolation_level)
            if fetched.records:
                self._arrive(position, fetched, answer)
        elif result.error.code == common_pb2.OFFSET_OUT_OF_RANGE:
            self._out_of_range(position, result)
        elif result.HasField("current_leader") and self._routing.metadata.apply_hint(
            position.tp, result.current_leader
        ):
            position.retry_at_ms = 0
        else:
            self._pause(position, error_from_wire(result.error))

    def _arrive(self, position: Position, fetched: Fetched, answer: _Answer) -> None:
        try:
            headers = headers_of(fetched.records)
        except CorruptMessageError as error:
            self._fail(position, error)
            return
        void = aborted_batches(headers, fetched.result.aborted_transactions)
        self._queue.append(Chunk(position, position.generation, fetched.records, answer, void))
        answer.unused_chunks += 1
        for header in headers:
            position.note_fetch(
                leader_epoch=header.partition_leader_epoch,
                base_offset=header.base_offset,
                end_offset=header.next_offset,
            )
        self._assignment.note_served(position.tp)
        self._arrived.set()

    def _used(self, answer: _Answer) -> None:
        answer.unused_chunks -= 1
        if not answer.unused_chunks:
            self._unused[answer.address] -= 1
            self._wake.set()

    def _truncated(self, position: Position, result: PartitionFetchResult) -> None:
        """Handle a leader that lacks records that were fetched.

        If the application has read none of these, it is not affected. Otherwise the position moves
        to where the logs diverge, as in Kafka, unless truncation is an error.
        """
        end = result.diverging_epoch
        offset = position.divergent_offset(leader_epoch=end.leader_epoch, end_offset=end.end_offset)
        if position.position is not None and position.position <= offset:
            position.rewind()
        elif not self._config.is_truncation_error:
            position.seek(offset)
        else:
            self._fail(position, truncation_error(position, offset, result.high_watermark))

    def _out_of_range(self, position: Position, result: PartitionFetchResult) -> None:
        if self._config.reset is not None:
            position.seek_to(self._config.reset)
            return
        self._fail(position, out_of_range_error(position, result))

    def _topic_deleted(self, position: Position) -> None:
        """Handle a deleted topic: offsets of a recreated topic mean other records, or none."""
        position.end_offset = None
        view = self._routing.metadata.topic(position.tp.topic)
        if view is None or self._routing.metadata.is_gone(position.tp.topic, view.topic_id):
            delay_ms = self._config.backoff.delay_ms(position.failures + 1, self._routing.random)
            position.pause_until(self._clock.monotonic_ms() + delay_ms)
            self._routing.request_refresh()
        elif position.is_fixed:
            self._await_news(position)
        elif self._config.reset is not None:
            position.seek_to(self._config.reset)
            self._wake.set()
        else:
            self._fail(position, recreated_error(position))

    def _await_news(self, position: Position) -> None:
        """Wait for what the group or the metadata says of an assigned partition that is not there.

        It was deleted, and the group takes it away; or it is new, and the coordinator knew first.
        """
        self._routing.request_refresh()
        position.pause_until(self._clock.monotonic_ms() + self._config.backoff.max_ms)

    def _pause(self, position: Position, error: TidelogError) -> None:
        """Retry the partition later; report an error that no retry can help."""
        if error.code == common_pb2.UNKNOWN_LEADER_EPOCH:
            self._routing.prefer_another()  # the one that told of this leader may be behind, too
        self._routing.request_refresh()
        if not error.is_retriable:
            self._fail(position, error)
            return
        delay_ms = self._config.backoff.delay_ms(position.failures + 1, self._routing.random)
        position.pause_until(self._clock.monotonic_ms() + delay_ms)

    def _fail(self, position: Position, error: TidelogError) -> None:
        position.has_failed = True
        self._queue.append(Failure(position, position.generation, error))
        self._arrived.set()

    def _start_reset(self, position: Position) -> None:
        if position.tp not in self._resets:
            self._spawn(self._resets, position.tp, self._reset(position))

    async def _reset(self, position: Position) -> None:
        """Look up the start and seek to it."""
        generation = position.generation
        try:
            offset, topic_id = await self.start_of(position)
            if self._assignment.is_current(position, generation):
                position.seek(offset, topic_id=topic_id)
        except TidelogError as error:
            if position.is_fixed and error.code in _NOT_THERE:
                self._await_news(position)
            else:
                self._fail(position, error)

    async def start_of(self, position: Position) -> tuple[int, bytes]:
        """Look up where to begin, and in which incarnation of the topic.

        That is at the group's committed offset, else where the reset says. Raises
        OffsetOutOfRangeError without either.
        """
        if position.is_new and self.find_committed is not None:
            found = await self.find_committed(position.tp)
            if found is not None:
                return found
        spec = position.reset
        if spec is None:
            raise OffsetOutOfRangeError(
                f"{position.tp.topic}-{position.tp.partition} has no position and "
                'auto_offset_reset is "none": seek first',
                log_start_offset=-1,
                log_end_offset=-1,
            )
        offset, topic_id = await self._lookup.start_of(
            position.tp, spec, timeout_ms=self._config.lookup_timeout_ms
        )
        if not position.is_of(topic_id):
            raise UnknownTopicIdError(f"the metadata is not of the assigned {position.tp.topic!r}")
        return offset, topic_id

    def _start_discovery(self, position: Position) -> None:
        """Look up a topic that was assigned and sought without a look-up."""
        if self._routing.metadata.topic(position.tp.topic) is not None:
            self._routing.request_refresh()
        elif position.tp not in self._resets:
            self._spawn(self._resets, position.tp, self._discover(position))

    async def _discover(self, position: Position) -> None:
        try:
            await self._lookup.leaders.check_exists(
                [position.tp], timeout_ms=self._config.lookup_timeout_ms
            )
        except TidelogError as error:
            self._fail(position, error)


def is_awaited(position: Position, offset: int | None) -> bool:
    """True if records from `offset` are still missing.

    A leader that was silent for long may answer after another one has answered the same.
    """
    return position.fetch_offset == offset
