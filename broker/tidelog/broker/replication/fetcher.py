"""Replication, follower side: one fetch stream to each leader for all partitions followed there.

A fetch position acknowledges the records below it. A partition is sent when it is added, when its
log end has moved, and when its back-off after an error ends; the leader remembers the rest, and
answers with news only (KIP-227). To keep both sides informed without new records, a few partitions
are re-sent every `replica.fetch.wait.max.ms`, see `fetch_rounds`. At most two requests are in
flight: the second carries later changes, and ends the first one's wait. Requests, and steps of
applying an answer, are limited in partitions, so that other tasks can run. Decides when to fetch;
the partition's core interprets the answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from tidelog.broker.partition import follower_io as following
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.ports import ReplicaPorts
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.replication.fetch_rounds import FetchRounds
from tidelog.core.background import CLOSE_MS_MAX, Background, wait_for_end
from tidelog.core.errors import (
    CallFailedError,
    TidelogError,
    UnreachableError,
    is_broken_connection,
)
from tidelog.core.logs import get_logger
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.transport import Stream
from tidelog.v1.data_pb2 import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenPartition,
)
from tidelog.v1.methods import FETCH_STREAM

log = get_logger(__name__)

REQUESTS_MAX = 2
"""Maximum requests in flight."""
NAMED_PER_REQUEST_MAX = 200
APPLIED_PER_STEP_MAX = 200
"""Partitions of one answer applied before yielding to other tasks."""

Key = tuple[str, int]


class Fetchers:
    """Fetch loops of a broker. A partition is in at most one of them."""

    def __init__(
        self,
        *,
        broker_id: int,
        partitions: PartitionMap,
        ports: ReplicaPorts,
        config: ReplicaConfig,
        background: Background,
        on_broken: Callable[[int], None],
        own: OwnCluster | None = None,
    ) -> None:
        self.broker_epoch = -1
        self.broker_id = broker_id
        self.partitions = partitions
        self.peers = ports.peers
        self.clock = ports.clock
        self.random = ports.random
        self.config = config
        self.own = own or OwnCluster()
        self.on_broken = on_broken
        """Callback with the leader's id when its connection broke."""
        self._background = background
        self._loops: dict[int, _FetchLoop] = {}

    def start_fetching(self, partition: Partition, leader_id: int) -> None:
        """Fetch `partition` from `leader_id` only."""
        self.stop_fetching(partition)
        loop = self._loops.get(leader_id)
        if loop is None:
            loop = self._loops[leader_id] = _FetchLoop(self, leader_id)
            self._background.spawn(f"fetch-from-{leader_id}", loop.run())
        loop.add(partition)

    def stop_fetching(self, partition: Partition) -> None:
        """Stop fetching a partition; the answer to a running request will be ignored."""
        for loop in self._loops.values():
            loop.remove(partition)

    def note_changed(self, partition: Partition) -> None:
        """Note that the image has a new state of the partition, perhaps outside the ISR."""
        for loop in self._loops.values():
            loop.note_changed(partition)

    async def stop(self) -> None:
        """Stop every loop, within `CLOSE_MS_MAX`; work ordered by answers is finished first."""
        await wait_for_end(self._stop_loops(), name="fetch-loops", limit_ms=CLOSE_MS_MAX)

    async def _stop_loops(self) -> None:
        for loop in self._loops.values():
            await loop.stop()


@dataclass(frozen=True, slots=True)
class _Named:
    """Last request for a partition, in the request of this number."""

    number: int
    partition: Partition
    fetch: FetchPartition


class _FetchLoop:
    """Fetch loop for one leader."""

    def __init__(self, fetchers: Fetchers, leader_id: int) -> None:
        self._fetchers = fetchers
        self._config = fetchers.config
        self._clock = fetchers.clock
        self._leader_id = leader_id
        self._followed: dict[Key, Partition] = {}
        self._changed: dict[Key, bool] = {}
        """Partitions to send; True: even if the leader has the same position already."""
        self._put_off: dict[Key, bool] = {}
        """Likewise, for partitions backing off after an error."""
        self._retry_at_ms = 0
        self._rounds = FetchRounds()
        self._forgotten: dict[Key, None] = {}
        self._named: dict[Key, _Named] = {}
        self._responses: deque[FetchResponse] = deque()
        self._sent = self._answered = 0
        self._sent_ms = self._round_due_ms = 0
        self._failure: BaseException | None = None
        self._stream: Stream[FetchRequest, FetchResponse] | None = None
        self._news = asyncio.Event()
        self._is_failing = self._is_stopped = False
        self._ended = asyncio.Event()

    def add(self, partition: Partition) -> None:
        key = partition.topic, partition.partition
        self._followed[key] = partition
        self._changed[key] = True
        self._rounds.add(key)
        self._news.set()

    def note_changed(self, partition: Partition) -> None:
        key = partition.topic, partition.partition
        if self._followed.get(key) is partition:
            self._rounds.add(key)

    def remove(self, partition: Partition) -> None:
        key = partition.topic, partition.partition
        if self._followed.get(key) is partition:
            del self._followed[key]
            self._changed.pop(key, None)
            self._put_off.pop(key, None)
            self._rounds.remove(key)
            if self._named.pop(key, None) is not None:
                self._forgotten[key] = None

    async def stop(self) -> None:
        self._is_stopped = True
        self._news.set()
        if self._stream is not None:
            self._stream.close()
        await self._ended.wait()

    async def run(self) -> None:
        try:
            while not self._is_stopped:
                if not self._followed:
                    await self._until_news(None)
                    continue
                try:
                    await self._converse()
                except TidelogError as error:
                    if self._is_stopped:
                        break
                    self._say_once(error)
                    if is_broken_connection(error):
                        self._fetchers.on_broken(self._leader_id)
                    await self._pause(self._backed_off())
        finally:
            self._ended.set()

    def _say_once(self, error: TidelogError) -> None:
        """Log a failing leader once per outage: it is retried many times a second."""
        if not self._is_failing:
            log.info("fetch failed", leader=self._leader_id, error=str(error))
        self._is_failing = True

    # One stream

    async def _converse(self) -> None:
        """Run one stream until it breaks, or this loop is stopped."""
        address = self._fetchers.partitions.address_of(self._leader_id)
        if address is None:
            raise UnreachableError(f"broker {self._leader_id} is not registered")
        stream = await self._fetchers.peers.open_stream(address, FETCH_STREAM)
        self._begin(stream)
        receiving = asyncio.create_task(self._receive(stream))
        receiving.add_done_callback(self._on_break)
        try:
            while not self._is_stopped:
                self._news.clear()
                while self._responses:
                    await self._apply(self._responses.popleft())
                if self._failure is not None:
                    raise self._failure
                due_ms = await self._send_news(stream)
                if not self._responses:
                    await self._until_news(due_ms)
        finally:
            receiving.cancel()
            stream.close()
            self._stream = None

    def _begin(self, stream: Stream[FetchRequest, FetchResponse]) -> None:
        """Reset the session: the leader knows of no partition yet."""
        self._stream = stream
        self._named.clear()
        self._forgotten.clear()
        self._responses.clear()
        self._put_off.clear()
        self._changed = dict.fromkeys(self._followed, True)
        self._sent = self._answered = 0
        self._failure = None
        self._round_due_ms = self._clock.monotonic_ms() + self._config.replica_fetch_wait_max_ms

    async def _receive(self, stream: Stream[FetchRequest, FetchResponse]) -> None:
        while True:
            response = await stream.receive()
            self._fetchers.own.check(response, who=f"the node in the place of {self._leader_id}")
            self._responses.append(response)
            self._news.set()

    def _on_break(self, receiving: asyncio.Task[None]) -> None:
        if not receiving.cancelled():
            self._failure = receiving.exception()
            self._news.set()

    async def _send_news(self, stream: Stream[FetchRequest, FetchResponse]) -> int:
        """Send due partitions; return the latest time to check again.

        Raises also `CallFailedError` when an answer of the leader is overdue.
        """
        now_ms = self._clock.monotonic_ms()
        self._begin_round(now_ms)
        if self._sent - self._answered >= REQUESTS_MAX:
            return self._check_silence(now_ms)
        named = self._next(now_ms)
        retry_at_ms = now_ms if self._changed else self._retry_at_ms
        is_owed = self._sent > self._answered
        if named or self._forgotten or (self._named and not is_owed):
            await self._send(stream, named)
            now_ms = self._clock.monotonic_ms()
        elif not is_owed:
            return min(retry_at_ms, self._round_due_ms)
        return min(retry_at_ms, self._round_due_ms, self._check_silence(now_ms))

    def _begin_round(self, now_ms: int) -> None:
        if now_ms < self._round_due_ms:
            return
        self._round_due_ms = now_ms + self._config.replica_fetch_wait_max_ms
        for key in self._rounds.next(self._is_outside_isr):
            if key not in self._put_off:
                self._changed[key] = True

    def _is_outside_isr(self, key: Key) -> bool:
        state = self._fetchers.partitions.image.partition(*key)
        return state is not None and self._fetchers.broker_id not in state.isr

    def _next(self, now_ms: int) -> list[_Named]:
        """Partitions to send now; the rest that does not fit stays in `_changed`."""
        if now_ms >= self._retry_at_ms:
            for key, is_due_anyway in self._put_off.items():
                self._changed[key] = is_due_anyway or self._changed.get(key, False)
            self._put_off.clear()
            self._retry_at_ms = now_ms + self._config.replica_fetch_timeout_ms
        named: list[_Named] = []
        for key in list(islice(self._changed, 2 * NAMED_PER_REQUEST_MAX)):
            if len(named) == NAMED_PER_REQUEST_MAX:
                break
            partition, is_due_anyway = self._followed[key], self._changed.pop(key)
            if partition.retry_fetch_at_ms > now_ms:
                self._put_off[key] = is_due_anyway
                self._retry_at_ms = min(self._retry_at_ms, partition.retry_fetch_at_ms)
                continue
            fetch = following.next_fetch(partition, max_bytes=self._config.replica_fetch_max_bytes)
            if fetch is None:
                continue
            known = self._named.get(key)
            if is_due_anyway or known is None or known.fetch != fetch:
                named.append(_Named(self._sent, partition, fetch))
        return named

    async def _send(self, stream: Stream[FetchRequest, FetchResponse], named: list[_Named]) -> None:
        config = self._config
        forgotten = [key for key in self._forgotten if key not in self._named]
        request = FetchRequest(
            cluster_id=self._fetchers.own.cluster_id,
            replica_id=self._fetchers.broker_id,
            replica_epoch=self._fetchers.broker_epoch,
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            partitions=[one.fetch for one in named],
            forgotten=[ForgottenPartition(topic=t, partition=p) for t, p in forgotten],
        )
        self._forgotten.clear()
        for one in named:
            self._named[one.fetch.topic, one.fetch.partition] = one
        self._sent += 1
        self._sent_ms = self._clock.monotonic_ms()
        try:
            async with asyncio.timeout(config.replica_fetch_timeout_ms / 1000):
                await stream.send(request)
        except TimeoutError:
            raise CallFailedError(f"broker {self._leader_id} accepts no requests") from None

    def _check_silence(self, now_ms: int) -> int:
        """Deadline of the leader's answer; raises CallFailedError if it has passed."""
        config = self._config
        wait_ms = config.replica_fetch_wait_max_ms + config.replica_fetch_timeout_ms
        due_ms = self._sent_ms + wait_ms
        if now_ms >= due_ms:
            raise CallFailedError(
                f"broker {self._leader_id} did not answer a fetch within {wait_ms} ms"
            )
        return due_ms

    # Answers

    async def _apply(self, response: FetchResponse) -> None:
        """Apply an answer: answers come in request order, each based on all earlier requests."""
        number, self._answered = self._answered, self._answered + 1
        self._is_failing = False
        retry_at_ms = self._backed_off()
        unfinished: list[asyncio.Task[None]] = []
        for count, result in enumerate(response.partitions, start=1):
            key = result.topic, result.partition
            named = self._named.get(key)
            if named is None or not is_about(named.number, number):
                continue  # It was sent again since, or is not followed here anymore.
            records = result.records  # each access makes a copy
            if records or result.error.code or result.HasField("diverging_epoch"):
                # The leader does not read the partition again before it is sent again.
                self._changed[key] = True
            work = following.apply_fetched(
                named.partition, named.fetch, result, records, retry_at_ms=retry_at_ms
            )
            if work is not None:
                unfinished.append(work)
                if key in self._followed:
                    self._changed.setdefault(key, False)  # its log start may have moved
            if count % APPLIED_PER_STEP_MAX == 0:
                await asyncio.sleep(0)
        if unfinished:
            await asyncio.gather(*unfinished)

    def _backed_off(self) -> int:
        backoff_ms = self._config.replica_fetch_backoff_ms
        jitter = 0.5 + self._fetchers.random.random()
        return self._clock.monotonic_ms() + max(1, round(backoff_ms * jitter))

    async def _until_news(self, due_ms: int | None) -> None:
        """Wait for news or, if given, until that time."""
        if due_ms is None:
            self._news.clear()
            await self._news.wait()
            return
        left_ms = max(0, due_ms - self._clock.monotonic_ms())
        with suppress(TimeoutError):
            async with asyncio.timeout(left_ms / 1000):
                await self._news.wait()

    async def _pause(self, until_ms: int) -> None:
        self._news.clear()
        await self._until_news(until_ms)


def is_about(named_in: int, answered: int) -> bool:
    """True when an answer covers the request in which its partition was last sent."""
    return named_in <= answered
