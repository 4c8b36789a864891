"""Fetches: one by itself, or a stream of them, which says only what changed, both ways (KIP-227).

Owns what was asked of each partition, and which of them may have something to say: those named,
those that had news since, those left over from a full answer. A partition that was answered with
records, an error or a diverging epoch is not read again before its reader names it again: only then
is known where it goes on. Decides how an answer's bytes are shared and when it leaves; what may be
read is the partition's core's to say. An answer counts as unread until its caller took it, and no
more is read for it than `UnreadResponses` has room for.

Records that are not in memory hold up nobody: they are loaded beside the session, which answers
with what the others have, and reads the partition anew, core and all, when they are there. A fetch
by itself waits for them within its max wait, `LOAD_WAIT_MS_MIN` at least; then it is answered
without them, and its load goes on for the next one (`late_loads`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from tidelog.broker.partition.late_loads import Load
from tidelog.broker.partition.partition import HostedPartition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.purgatory import FetchWaiters
from tidelog.broker.partition.reader import Reader
from tidelog.broker.replica.events import FollowerIdentity
from tidelog.core.env import Clock
from tidelog.core.errors import KafkaError
from tidelog.core.memory_reads import Loaded, NotInMemoryError
from tidelog.core.wire_errors import error_message
from tidelog.net.call import Call
from tidelog.net.unread_responses import UnreadResponse
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse, PartitionFetchResult

READ_PER_STEP_MAX = 200
"""Partitions that are read for one answer before other work has its turn."""
REQUESTS_MAX = 4
"""Read ahead of their answers; then the stream is read no further."""
LOADS_MAX = 4
"""Partitions of one session whose records are on their way from the disk; others wait for these."""

LOAD_WAIT_MS_MIN = 500
"""How long a fetch by itself waits for the disk, even if it waits for no new records."""

Key = tuple[str, int]
NOTHING_TOLD = (-1, -1)


class FetchSession:
    """Of one stream, or of one request."""

    def __init__(self, reader: Reader, partitions: PartitionMap, clock: Clock, call: Call) -> None:
        self._reader = reader
        self._call = call
        self._partitions = partitions
        self._clock = clock
        self._replica_id: int | None = None
        self._is_begun = False
        self._follower: FollowerIdentity | None = None
        self._slots: dict[Key, _Slot] = {}
        self._dirty: dict[_Slot, None] = {}
        self._requests: deque[FetchRequest] = deque()
        self._is_at_end = False
        self._loads = 0
        self._shelved: dict[_Slot, None] = {}
        """Those to be read when a load ends: there were as many as may be."""
        self._has_unshelved = False
        self._signal = asyncio.Event()
        self._room = asyncio.Event()

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        """The answer to one request by itself: one result a partition, in the order asked."""
        answer = self._begin(request, is_whole=True)
        try:
            response = await self._answer(request, answer)
        except BaseException:
            answer.unread.release()
            raise
        finally:
            self._forget_all()
        self._call.when_taken(answer.unread.release)
        return response

    async def answers(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        """One for each request, in order, until no more come."""
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
                finally:  # the next is asked for once this one was taken
                    answer.unread.release()
            reading.result()
        finally:
            reading.cancel()
            self._forget_all()

    # What partitions tell, see `FetchWaiter`

    def wake(self, slot: _Slot) -> None:
        """One of this session's may be read further."""
        self.note(slot)
        self._signal.set()

    def note(self, slot: _Slot) -> None:
        """One has something to tell."""
        if slot.is_armed:
            self._dirty[slot] = None

    # Requests

    async def _read_requests(self, requests: AsyncIterator[FetchRequest]) -> None:
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
        """Wait for a signal, at most until then; False: it is past."""
        left_ms = deadline_ms - self._clock.monotonic_ms()
        if left_ms <= 0:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(left_ms / 1000):
                await self._next_signal()
        return True

    def _identify(self, request: FetchRequest) -> None:
        replica_id = request.replica_id if request.HasField("replica_id") else None
        if self._is_begun and replica_id != self._replica_id:
            raise KafkaError(
                common_pb2.INVALID_REQUEST,
                f"a stream of replica {self._replica_id} cannot go on as replica {replica_id}",
            )
        self._is_begun, self._replica_id = True, replica_id
        self._follower = self._reader.follower(request)

    def _merge(self, request: FetchRequest, answer: _Answer) -> None:
        """Take over what the request names; what cannot be read at all is answered at once."""
        for gone in request.forgotten:
            slot = self._slots.get((gone.topic, gone.partition))
            if slot is not None:
                self._forget(slot)
        named: set[Key] = set()  # only asked
        for asked in request.partitions:
            key = asked.topic, asked.partition
            hosted = self._partitions.held.get(key)
            if key in named:
                self._refuse_twice(answer.add(asked), answer)
            elif hosted is None:
                self._read_one(asked, answer.add(asked), answer, Loaded())
            else:
                self._name(key, asked, hosted, answer)
            named.add(key)

    def _name(
        self, key: Key, asked: FetchPartition, hosted: HostedPartition, answer: _Answer
    ) -> None:
        slot = self._slots.get(key)
        if slot is not None and slot.hosted is not hosted:
            self._forget(slot)  # the news are the other one's now
            slot = None
        if slot is None:
            slot = self._slots[key] = _Slot(self, asked, hosted)
            self._waiters(slot).add(slot)
        else:
            if slot.asked.fetch_offset != asked.fetch_offset:
                self._end_load(slot)
            slot.asked, slot.told, slot.is_armed = asked, NOTHING_TOLD, True
        self._dirty[slot] = None
        if answer.is_whole:
            answer.begin(slot)

    def _refuse_twice(self, result: PartitionFetchResult, answer: _Answer) -> None:
        message = f"{result.topic}-{result.partition} is named twice: name each partition once"
        self._reader.fail(result, error_message(common_pb2.INVALID_REQUEST, message))
        answer.must_leave = True

    def _forget(self, slot: _Slot) -> None:
        """Drop it for good: its load, once cancelled, wakes it again, and must find it disarmed.

        Read then, it would tell the leader an old position of a replica that may have cut its log
        since, and its refusal would drop the slot that took its place.
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

    def _waiters(self, slot: _Slot) -> FetchWaiters:
        return slot.hosted.consumers if self._replica_id is None else slot.hosted.followers

    # Answers

    def _begin(self, request: FetchRequest, *, is_whole: bool) -> _Answer:
        self._identify(request)
        unread = self._reader.begin_response(self._call.connection, self._follower)
        return _Answer(unread, is_whole=is_whole)

    async def _answer(self, request: FetchRequest, answer: _Answer) -> FetchResponse:
        answer.max_bytes = self._reader.max_bytes(request)
        answer.min_bytes = max(1, request.min_bytes)
        self._merge(request, answer)
        deadline_ms = self._reader.deadline_ms(request)
        loads_end_ms = max(deadline_ms, self._clock.monotonic_ms() + LOAD_WAIT_MS_MIN)
        is_all_read = self._fill(answer)
        if not answer.is_complete:
            await self._wait(answer, deadline_ms, is_all_read=is_all_read)
        while answer.is_whole and answer.room_bytes and (self._loads or not is_all_read):
            if is_all_read and not await self._signal_until(loads_end_ms):
                self._leave_loads()
                break
            is_all_read = self._fill(answer)
        for slot in answer.sizes:
            slot.is_armed = False
            self._dirty.pop(slot, None)
        for slot in answer.failed:
            self._forget(slot)
        self._reader.count(self._follower, answer.size_bytes)
        answer.unread.leave()
        return answer.response

    async def _wait(self, answer: _Answer, deadline_ms: int, *, is_all_read: bool) -> None:
        """Read what has news, until there is enough, its time has come or the next one asks."""
        is_consumer = self._replica_id is None
        if is_consumer and not self._reader.may_wait:
            for slot in self._slots.values():
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
                    await asyncio.sleep(0)
                is_all_read = self._fill(answer)
        finally:
            self._reader.waiting_consumers -= is_consumer

    def _fill(self, answer: _Answer) -> bool:
        """Read what there is room for, and have the session woken when there is none.

        False: there is room, and not all partitions had their turn yet.
        """
        answer.room_bytes = answer.unread.grow(answer.max_bytes)
        is_all_read = self._read_dirty(answer)
        answer.unread.settle(answer.size_bytes)
        if self._dirty and not answer.room_bytes and not answer.is_complete:
            answer.unread.wait(answer.max_bytes, self._signal.set)
            return True
        return is_all_read

    def _read_dirty(self, answer: _Answer) -> bool:
        """Read the partitions that may have something to say, the longest waiting first.

        False: not all of them had their turn yet.
        """
        slots = self._reader.turned(self._dirty) if answer.is_whole else list(self._dirty)
        if self._loads:
            # What was loaded first: taken, it makes room for the loads of others.
            slots.sort(key=lambda slot: slot.load is None)
        self._has_unshelved = False
        for count, slot in enumerate(slots):
            if not answer.is_whole:
                if answer.is_full:
                    break
                if count == READ_PER_STEP_MAX:
                    return False
            self._read(slot, answer)
        return not self._has_unshelved

    def _read(self, slot: _Slot, answer: _Answer) -> None:
        result = answer.begin(slot)
        size_bytes, loaded = 0, _loaded(slot)
        try:
            size_bytes = self._read_one(slot.asked, result, answer, loaded)
        except NotInMemoryError as lacking:
            self._load(slot, result, lacking, loaded)
            self._note_news(slot.asked, result, answer)
        told = result.high_watermark, result.log_start_offset
        if size_bytes or not _has_more(slot.asked, result):
            self._end_load(slot)
            self._dirty.pop(slot, None)
        if result.error.code != common_pb2.NONE:
            answer.failed[slot] = None
            self._dirty.pop(slot, None)
        elif size_bytes or result.HasField("diverging_epoch"):
            answer.sizes[slot] = size_bytes
            answer.size_bytes += size_bytes
        elif told == slot.told:
            answer.drop(slot)
        slot.told = told

    def _read_one(
        self, asked: FetchPartition, result: PartitionFetchResult, answer: _Answer, loaded: Loaded
    ) -> int:
        size_bytes = self._reader.read_one(
            asked,
            result,
            follower=self._follower,
            max_bytes=answer.room_bytes - answer.size_bytes,
            has_read=answer.size_bytes > 0 or not answer.room_bytes,
            loaded=loaded,
        )
        self._note_news(asked, result, answer)
        return size_bytes

    def _note_news(
        self, asked: FetchPartition, result: PartitionFetchResult, answer: _Answer
    ) -> None:
        """Let the answer leave where something is in it that its reader must act on."""
        is_start_news = self._follower is not None and (
            result.log_start_offset > asked.log_start_offset
        )
        is_refused = result.error.code != common_pb2.NONE
        answer.must_leave |= is_start_news or is_refused or result.HasField("diverging_epoch")

    # Records that are not in memory

    def _load(
        self, slot: _Slot, result: PartitionFetchResult, lacking: NotInMemoryError, loaded: Loaded
    ) -> None:
        """Have them loaded; until they are, the partition is answered as one without room."""
        if slot.load is None:
            if self._loads >= LOADS_MAX:
                self._shelved[slot] = None
                self._dirty.pop(slot, None)
                return
            if self._replica_id is None and not self._reader.may_load:
                self._reader.refuse_to_load(result)
                return
            late = self._reader.late_loads.take(slot.hosted, slot.asked.fetch_offset)
            slot.load = late or Load(loaded)
            if late is not None and late.task is not None:
                late.task.add_done_callback(lambda _: self.wake(slot))
            self._loads += 1
            self._reader.waiting_reads += self._replica_id is None
        if slot.load.task is None:
            slot.load.task = asyncio.create_task(lacking.load(slot.load.loaded))
            slot.load.task.add_done_callback(lambda _: self.wake(slot))
        self._dirty.pop(slot, None)

    def _end_load(self, slot: _Slot) -> None:
        """What was loaded was read, or nobody waits for it any more."""
        load = self._let_go(slot)
        if load is not None and load.task is not None:
            load.task.cancel()

    def _leave_loads(self) -> None:
        """The answer leaves without what is on its way: it is the next fetch's."""
        for slot in self._slots.values():
            load = self._let_go(slot)
            if load is not None:
                self._reader.late_loads.keep(slot.hosted, slot.asked.fetch_offset, load)

    def _let_go(self, slot: _Slot) -> Load | None:
        load, slot.load = slot.load, None
        if load is not None:
            self._loads -= 1
            self._reader.waiting_reads -= self._replica_id is None
            self._has_unshelved |= bool(self._shelved)
            self._dirty |= self._shelved
            self._shelved.clear()
        return load


def _loaded(slot: _Slot) -> Loaded:
    """What is there for its next read."""
    load = slot.load
    if load is None:
        return Loaded()
    if load.task is not None and load.task.done():
        load.task.result()
        load.task = None
    return load.loaded


def _has_more(asked: FetchPartition, result: PartitionFetchResult) -> bool:
    """Whether records lie there that had no room."""
    end_offset = result.log_end_offset or result.high_watermark
    return not result.error.code and asked.fetch_offset < end_offset


@dataclass(slots=True, eq=False)
class _Slot:
    """One partition of a session, told of its news."""

    session: FetchSession
    asked: FetchPartition
    hosted: HostedPartition
    told: tuple[int, int] = NOTHING_TOLD
    """The high watermark and the log start that its reader heard of since it named it."""
    is_armed: bool = True
    """Whether it may be read: its reader waits for more from where it asked."""
    load: Load | None = None
    """Its records were not in memory when it was read last."""

    def wake(self) -> None:
        """See `FetchWaiter`."""
        self.session.wake(self)

    def note(self) -> None:
        """See `FetchWaiter`."""
        self.session.note(self)


class _Answer:
    """One answer on its way: what it holds so far, and whether it may leave."""

    def __init__(self, unread: UnreadResponse, *, is_whole: bool) -> None:
        self.unread = unread
        self.is_whole = is_whole
        """Whether it holds every partition, and not only those with something to say."""
        self.response = FetchResponse()
        self.max_bytes = 0
        self.room_bytes = 0
        """How many of them there is room for; 0: it tells of no records yet."""
        self.min_bytes = 1
        self.must_leave = False
        """Something is in it that its reader must act on."""
        self.size_bytes = 0
        """Of all records."""
        self.sizes: dict[_Slot, int] = {}
        """Of the records of each that is answered with some, or with a diverging epoch."""
        self.failed: dict[_Slot, None] = {}
        self._places: dict[_Slot, int] = {}

    @property
    def is_complete(self) -> bool:
        """Whether it may leave before its time; what took the last room does not wait for more."""
        enough = self.min_bytes if self.room_bytes == self.max_bytes else 1
        return self.must_leave or self.size_bytes >= enough

    @property
    def is_full(self) -> bool:
        """Whether it takes no more records, though there were some."""
        return 0 < self.room_bytes <= self.size_bytes

    def add(self, asked: FetchPartition) -> PartitionFetchResult:
        """An empty result."""
        return self.response.partitions.add(topic=asked.topic, partition=asked.partition)

    def begin(self, slot: _Slot) -> PartitionFetchResult:
        """The partition's result, empty."""
        self.size_bytes -= self.sizes.pop(slot, 0)
        place = self._places.get(slot)
        if place is None:
            self._places[slot] = len(self.response.partitions)
            return self.add(slot.asked)
        result = self.response.partitions[place]
        result.Clear()
        result.topic, result.partition = slot.asked.topic, slot.asked.partition
        return result

    def drop(self, slot: _Slot) -> None:
        """It has nothing to say: its result goes, where it may and no other lies behind it."""
        if not self.is_whole and self._places[slot] == len(self.response.partitions) - 1:
            del self.response.partitions[-1]
            del self._places[slot]
