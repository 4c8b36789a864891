"""Fetch sessions: a single fetch, or a stream with incremental requests and answers (KIP-227).

Owns the last request for each partition, and the set of partitions to read: those just requested,
those with changes since, those left over from a full answer. A partition answered with records, an
error or a diverging epoch is not read again before the fetcher requests it again: only then do we
know the next fetch position. Decides how an answer's bytes are shared and when it leaves; the
partition's core decides which records may be read. An answer counts as unread until its caller
received it, and reads are limited to the room in `UnreadResponses`.

Records that are not in memory do not block others: they are loaded concurrently while the session
answers with other partitions, and the partition is read again, its core included, when they are
loaded. A single fetch waits for them within its max wait, at least `LOAD_WAIT_MS_MIN`; then it is
answered without them, and the load continues for the next fetch (`late_loads`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.partition.late_loads import Load
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.purgatory import FetchWaiters
from tidelog.broker.partition.reader import Reader
from tidelog.broker.replica.events import FollowerIdentity
from tidelog.broker.replication.fetch_answer import NOTHING_SENT, FetchAnswer, FetchSlot
from tidelog.core.env import Clock
from tidelog.core.errors import InvalidRequestError
from tidelog.core.memory_reads import Loaded, NotInMemoryError
from tidelog.core.turns import in_turns, turn
from tidelog.core.wire_errors import error_message
from tidelog.net.call import Call
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import READ_COMMITTED, READ_UNCOMMITTED

READ_PER_STEP_MAX = 200
"""Partitions read for one answer of a stream before yielding to other tasks."""
REQUESTS_MAX = 4
"""Requests read ahead of their answers; beyond it the stream is not read."""
LOADS_MAX = 4
"""Concurrent disk loads of one session, by partition; further partitions wait for these."""

LOAD_WAIT_MS_MIN = 500
"""Minimum wait of a single fetch for disk loads, even with a max wait of 0."""

Key = tuple[str, int]


class FetchSession:
    """Fetch session of one stream, or of a single request."""

    def __init__(self, reader: Reader, partitions: PartitionMap, clock: Clock, call: Call) -> None:
        self._reader = reader
        self._call = call
        self._partitions = partitions
        self._clock = clock
        self._replica_id: int | None = None
        self._isolation_level: int = READ_UNCOMMITTED
        self._is_begun = False
        self._follower: FollowerIdentity | None = None
        self._slots: dict[Key, FetchSlot] = {}
        self._dirty: dict[FetchSlot, None] = {}
        self._requests: deque[Fetch] = deque()
        self._is_at_end = False
        self._loads = 0
        self._shelved: dict[FetchSlot, None] = {}
        """Partitions to read when a load ends: the limit of loads was reached."""
        self._has_unshelved = False
        self._signal = asyncio.Event()
        self._room = asyncio.Event()

    async def fetch(self, request: Fetch) -> list[FetchResult]:
        """Answer a single request: one result per partition, in request order."""
        answer = self._begin(request, is_whole=True)
        try:
            results = await self._answer(request, answer)
        except BaseException:
            answer.unread.release()
            raise
        finally:
            self._forget_all()
        self._call.when_taken(answer.unread.release)
        return results

    async def answers(
        self, requests: AsyncIterator[Fetch]
    ) -> AsyncGenerator[list[FetchResult], None]:
        """Answer each request, in order, until the stream ends."""
        reading = asyncio.create_task(self._read_requests(requests))
        reading.add_done_callback(self._on_end)
        try:
            while self._requests or not self._is_at_end:
                if not self._requests:
                    await self._next_signal()
                    continue
                request = self._requests.popleft()
                self._room.set()
                answer = self._begin(request, is_whole=False)
                try:
                    yield await self._answer(request, answer)
                finally:  # resumed once this answer was taken
                    answer.unread.release()
            reading.result()
        finally:
            reading.cancel()
            self._forget_all()

    # Notifications by partitions, see `FetchWaiter`

    def wake(self, slot: FetchSlot) -> None:
        """Note that a partition of this session may have more to read, and wake the session."""
        self.note(slot)
        self._signal.set()

    def note(self, slot: FetchSlot) -> None:
        """Note that a partition has news for the next answer."""
        if slot.is_armed:
            self._dirty[slot] = None

    # Requests

    async def _read_requests(self, requests: AsyncIterator[Fetch]) -> None:
        async for request in requests:
            self._requests.append(request)
            self._signal.set()
            while len(self._requests) >= REQUESTS_MAX:
                self._room.clear()
                await self._room.wait()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        del task
        self._is_at_end = True
        self._signal.set()

    async def _next_signal(self) -> None:
        self._signal.clear()
        await self._signal.wait()

    async def _signal_until(self, deadline_ms: int) -> bool:
        """Wait for a signal, at most until the deadline; False: it has passed."""
        left_ms = deadline_ms - self._clock.monotonic_ms()
        if left_ms <= 0:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(left_ms / 1000):
                await self._next_signal()
        return True

    def _identify(self, request: Fetch) -> None:
        replica_id = request.replica_id
        if self._is_begun and replica_id != self._replica_id:
            raise InvalidRequestError(
                f"a stream of replica {self._replica_id} cannot continue as replica {replica_id}",
            )
        if not self._is_begun:
            self._isolation_level = request.isolation_level
        self._is_begun, self._replica_id = True, replica_id
        self._follower = self._reader.follower(request)

    async def _merge(self, request: Fetch, answer: FetchAnswer) -> None:
        """Merge a request into the session; answer partitions that cannot be read at once."""
        async for key in in_turns(request.forgotten):
            slot = self._slots.get(key)
            if slot is not None:
                self._forget(slot)
        named: set[Key] = set()  # for membership tests only
        async for asked in in_turns(request.partitions):
            key = asked.topic, asked.partition
            partition = self._partitions.held.get(key)
            if key in named:
                self._refuse_twice(answer.add(asked), answer)
            elif partition is None:
                self._read_one(asked, answer.add(asked), answer, Loaded())
            else:
                self._name(key, asked, partition, answer)
            named.add(key)

    def _name(
        self, key: Key, asked: FetchPosition, partition: Partition, answer: FetchAnswer
    ) -> None:
        slot = self._slots.get(key)
        if slot is not None and slot.partition is not partition:
            self._forget(slot)  # the partition was replaced
            slot = None
        if slot is None:
            slot = self._slots[key] = FetchSlot(self, asked, partition)
            self._waiters(slot).add(slot)
        else:
            if slot.asked.fetch_offset != asked.fetch_offset:
                self._end_load(slot)
            slot.asked, slot.sent, slot.is_armed = asked, NOTHING_SENT, True
        self._dirty[slot] = None
        if answer.is_whole:
            answer.begin(slot)

    def _refuse_twice(self, result: FetchResult, answer: FetchAnswer) -> None:
        message = (
            f"{result.topic}-{result.partition} is requested twice: request each partition once"
        )
        self._reader.fail(result, error_message(common_pb2.INVALID_REQUEST, message))
        answer.must_leave = True

    def _forget(self, slot: FetchSlot) -> None:
        """Drop a slot for good: its load, when cancelled, wakes it, and must find it disarmed.

        If it were read then, the leader would see an old position of a replica that may have
        truncated its log since, and an error would drop the slot that replaced it.
        """
        slot.is_armed = False
        self._end_load(slot)
        self._waiters(slot).discard(slot)
        del self._slots[slot.asked.topic, slot.asked.partition]
        self._dirty.pop(slot, None)
        self._shelved.pop(slot, None)

    def _forget_all(self) -> None:
        for slot in list(self._slots.values()):
            self._forget(slot)

    def _waiters(self, slot: FetchSlot) -> FetchWaiters:
        return slot.partition.consumers if self._replica_id is None else slot.partition.followers

    def _has_more(self, asked: FetchPosition, result: FetchResult) -> bool:
        """True when there are records that did not fit."""
        is_committed = self._isolation_level == READ_COMMITTED
        end_offset = result.log_end_offset
        if end_offset is None:
            end_offset = result.last_stable_offset if is_committed else result.high_watermark
        return result.error == common_pb2.NONE and asked.fetch_offset < end_offset

    # Answers

    def _begin(self, request: Fetch, *, is_whole: bool) -> FetchAnswer:
        self._identify(request)
        unread = self._reader.begin_response(self._call.connection, self._follower)
        return FetchAnswer(unread, is_whole=is_whole)

    async def _answer(self, request: Fetch, answer: FetchAnswer) -> list[FetchResult]:
        answer.max_bytes = self._reader.max_bytes(request)
        answer.min_bytes = max(1, request.min_bytes)
        await self._merge(request, answer)
        deadline_ms = self._reader.deadline_ms(request)
        loads_end_ms = max(deadline_ms, self._clock.monotonic_ms() + LOAD_WAIT_MS_MIN)
        is_all_read = await self._fill(answer)
        if not answer.is_complete:
            await self._wait(answer, deadline_ms, is_all_read=is_all_read)
        while answer.is_whole and answer.room_bytes and (self._loads or not is_all_read):
            if is_all_read and not await self._signal_until(loads_end_ms):
                self._leave_loads()
                break
            is_all_read = await self._fill(answer)
        for slot in answer.sizes:
            slot.is_armed = False
            self._dirty.pop(slot, None)
        for slot in answer.failed:
            self._forget(slot)
        self._reader.count(self._follower, answer.size_bytes)
        answer.unread.leave()
        return answer.take_results()

    async def _wait(self, answer: FetchAnswer, deadline_ms: int, *, is_all_read: bool) -> None:
        """Read partitions with news until there is enough, the deadline, or the next request."""
        is_consumer = self._replica_id is None
        if is_consumer and not self._reader.may_wait:
            async for slot in in_turns(list(self._slots.values())):
                self._reader.refuse_to_wait(answer.begin(slot))
                answer.failed[slot] = None
            return
        self._reader.waiting_consumers += is_consumer
        try:
            while not (answer.is_complete or self._requests or self._is_at_end):
                if self._clock.monotonic_ms() >= deadline_ms:
                    return
                if is_all_read:
                    await self._signal_until(deadline_ms)
                else:
                    await turn()
                is_all_read = await self._fill(answer)
        finally:
            self._reader.waiting_consumers -= is_consumer

    async def _fill(self, answer: FetchAnswer) -> bool:
        """Read as much as there is room for; if there is none, wait for a wake-up.

        False: there is room, and not all partitions had their turn yet.
        """
        answer.room_bytes = answer.unread.grow(answer.max_bytes)
        is_all_read = await self._read_dirty(answer)
        answer.unread.settle(answer.size_bytes)
        if self._dirty and not answer.room_bytes and not answer.is_complete:
            answer.unread.wait(answer.max_bytes, self._signal.set)
            return True
        return is_all_read

    async def _read_dirty(self, answer: FetchAnswer) -> bool:
        """Read the partitions that may have news, the longest waiting first.

        A whole answer reads all of them, yielding in between. False: not all had their turn yet.
        """
        slots = self._reader.rotate(self._dirty) if answer.is_whole else list(self._dirty)
        if self._loads:
            # Loaded partitions first: reading them makes room for other loads.
            slots.sort(key=lambda slot: slot.load is None)
        self._has_unshelved = False
        if answer.is_whole:
            async for slot in in_turns(slots):
                self._read(slot, answer)
            return not self._has_unshelved
        for count, slot in enumerate(slots):
            if answer.is_full:
                break
            if count == READ_PER_STEP_MAX:
                return False
            self._read(slot, answer)
        return not self._has_unshelved

    def _read(self, slot: FetchSlot, answer: FetchAnswer) -> None:
        result = answer.begin(slot)
        size_bytes, loaded = 0, slot.loaded()
        try:
            size_bytes = self._read_one(slot.asked, result, answer, loaded)
        except NotInMemoryError as lacking:
            self._load(slot, result, lacking, loaded)
            self._note_news(slot.asked, result, answer)
        sent = result.high_watermark, result.log_start_offset
        if size_bytes or not self._has_more(slot.asked, result):
            self._end_load(slot)
            self._dirty.pop(slot, None)
        if result.error != common_pb2.NONE:
            answer.failed[slot] = None
            self._dirty.pop(slot, None)
        elif size_bytes or result.diverging_epoch is not None:
            answer.sizes[slot] = size_bytes
            answer.size_bytes += size_bytes
        elif sent == slot.sent:
            answer.drop(slot)
        slot.sent = sent

    def _read_one(
        self, asked: FetchPosition, result: FetchResult, answer: FetchAnswer, loaded: Loaded
    ) -> int:
        size_bytes = self._reader.read_one(
            asked,
            result,
            follower=self._follower,
            isolation_level=self._isolation_level,
            max_bytes=answer.room_bytes - answer.size_bytes,
            has_read=answer.size_bytes > 0 or not answer.room_bytes,
            loaded=loaded,
        )
        self._note_news(asked, result, answer)
        return size_bytes

    def _note_news(self, asked: FetchPosition, result: FetchResult, answer: FetchAnswer) -> None:
        """Let the answer leave if it contains something the fetcher must act on."""
        is_start_news = self._follower is not None and (
            result.log_start_offset > asked.log_start_offset
        )
        is_refused = result.error != common_pb2.NONE
        has_diverged = result.diverging_epoch is not None
        answer.must_leave |= is_start_news or is_refused or has_diverged

    # Records that are not in memory

    def _load(
        self, slot: FetchSlot, result: FetchResult, lacking: NotInMemoryError, loaded: Loaded
    ) -> None:
        """Start a load; until it is done, the partition is answered as if without room."""
        if slot.load is None:
            if self._loads >= LOADS_MAX:
                self._shelved[slot] = None
                self._dirty.pop(slot, None)
                return
            if self._replica_id is None and not self._reader.may_load:
                self._reader.refuse_to_load(result)
                return
            late = self._reader.late_loads.take(slot.partition, slot.asked.fetch_offset)
            slot.load = late or Load(loaded)
            if late is not None and late.task is not None:
                late.task.add_done_callback(lambda _: self.wake(slot))
            self._loads += 1
            self._reader.waiting_reads += self._replica_id is None
        if slot.load.task is None:
            slot.load.task = asyncio.create_task(lacking.load(slot.load.loaded))
            slot.load.task.add_done_callback(lambda _: self.wake(slot))
        self._dirty.pop(slot, None)

    def _end_load(self, slot: FetchSlot) -> None:
        """Drop a load: its records were read, or nobody waits for them anymore."""
        load = self._let_go(slot)
        if load is not None and load.task is not None:
            load.task.cancel()

    def _leave_loads(self) -> None:
        """Answer without the running loads, and keep them for the next fetch."""
        for slot in self._slots.values():
            load = self._let_go(slot)
            if load is not None:
                self._reader.late_loads.keep(slot.partition, slot.asked.fetch_offset, load)

    def _let_go(self, slot: FetchSlot) -> Load | None:
        load, slot.load = slot.load, None
        if load is not None:
            self._loads -= 1
            self._reader.waiting_reads -= self._replica_id is None
            self._has_unshelved |= bool(self._shelved)
            self._dirty |= self._shelved
            self._shelved.clear()
        return load
