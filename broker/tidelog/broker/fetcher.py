"""Replication, from the follower's side: one fetch loop for each leader this broker follows.

A loop asks its leader for all partitions at once, waits for the answer, has it applied, asks again:
what it asks for acknowledges what it has. When a partition comes to a loop while its request waits
at the leader, the request is given up for one that names the newcomer too; of many that come one
after the other, as at a start, those that follow closely are gathered. Decides when to ask; what an
answer means is the partition's core's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from tidelog.broker import following
from tidelog.broker.background import Background
from tidelog.broker.hosted_partition import HostedPartition
from tidelog.broker.partition_map import PartitionMap
from tidelog.broker.peers import Peers
from tidelog.broker.replica_config import ReplicaConfig
from tidelog.log.env import Clock, Random
from tidelog.log.errors import (
    CallFailedError,
    TidelogError,
    UnreachableError,
    is_broken_connection,
)
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse
from tidelog.v1.methods import FETCH

log = structlog.get_logger(__name__)

Asked = list[tuple[HostedPartition, FetchPartition]]
GATHER_MS_PER_PARTITION = 0.2
"""A request that is given up has cost this much, about, for each partition in it. Newcomers wait as
long as the last one cost, so that a thousand of them cost a thousand's work, not its square.
"""


class Fetchers:
    """All fetch loops of a broker. A partition is in at most one of them."""

    def __init__(
        self,
        *,
        broker_id: int,
        partitions: PartitionMap,
        peers: Peers,
        clock: Clock,
        random: Random,
        config: ReplicaConfig,
        background: Background,
        on_broken: Callable[[int], None],
    ) -> None:
        self.broker_epoch = -1
        self.broker_id = broker_id
        self.partitions = partitions
        self.peers = peers
        self.clock = clock
        self.random = random
        self.config = config
        self.on_broken = on_broken
        """Told the leader whose connection broke."""
        self._background = background
        self._loops: dict[int, _FetchLoop] = {}

    def start_fetching(self, partition: HostedPartition, leader_id: int) -> None:
        """Fetch `partition` from `leader_id` and from nobody else."""
        self.stop_fetching(partition)
        loop = self._loops.get(leader_id)
        if loop is None:
            loop = self._loops[leader_id] = _FetchLoop(self, leader_id)
            self._background.spawn(f"fetch-from-{leader_id}", loop.run())
        loop.add(partition)

    def stop_fetching(self, partition: HostedPartition) -> None:
        """Fetch it from nobody; the answer to a request that still runs is of no use any more."""
        for loop in self._loops.values():
            loop.remove(partition)

    async def stop(self) -> None:
        """End every loop; what answers ordered is finished first."""
        for loop in self._loops.values():
            await loop.stop()


class _FetchLoop:
    """The loop for one leader."""

    def __init__(self, fetchers: Fetchers, leader_id: int) -> None:
        self._fetchers = fetchers
        self._config = fetchers.config
        self._clock = fetchers.clock
        self._leader_id = leader_id
        self._followed: dict[tuple[str, int], HostedPartition] = {}
        self._call: asyncio.Task[FetchResponse] | None = None
        self._news = asyncio.Event()
        self._gathering: asyncio.TimerHandle | None = None
        self._gathered_at_s = 0.0
        self._is_failing = False
        self._is_stopped = False
        self._ended = asyncio.Event()

    def add(self, partition: HostedPartition) -> None:
        self._followed[partition.topic, partition.partition] = partition
        self._gather()

    def remove(self, partition: HostedPartition) -> None:
        if self._followed.get((partition.topic, partition.partition)) is partition:
            del self._followed[partition.topic, partition.partition]

    async def stop(self) -> None:
        self._is_stopped = True
        if self._gathering is not None:
            self._gathering.cancel()
        self._interrupt()
        await self._ended.wait()

    async def run(self) -> None:
        try:
            while not self._is_stopped:
                await self._fetch_once()
        finally:
            self._ended.set()

    def _gather(self) -> None:
        """Ask for newcomers: for the first at once, for those after it a little later together."""
        if self._gathering is not None:
            return
        loop = asyncio.get_running_loop()
        due_s = self._gathered_at_s + len(self._followed) * GATHER_MS_PER_PARTITION / 1000
        if due_s <= loop.time():
            self._ask_anew()
        else:
            self._gathering = loop.call_at(due_s, self._ask_anew)

    def _ask_anew(self) -> None:
        self._gathering = None
        self._gathered_at_s = asyncio.get_running_loop().time()
        self._interrupt()

    def _interrupt(self) -> None:
        self._news.set()
        if self._call is not None:
            self._call.cancel()

    async def _fetch_once(self) -> None:
        self._news.clear()
        asked, retry_at_ms = self._next()
        if not asked:
            await self._pause(retry_at_ms)
            return
        try:
            response = await self._ask(asked, retry_at_ms)
        except TidelogError as error:
            self._say_once(error)
            if is_broken_connection(error):
                self._fetchers.on_broken(self._leader_id)
            await self._pause(self._backed_off())
            return
        self._is_failing = False
        if response is not None:
            await self._apply(asked, response)

    def _say_once(self, error: TidelogError) -> None:
        """A leader that is gone is asked many times a second; one line an outage is enough."""
        if not self._is_failing:
            log.info("fetch failed", leader=self._leader_id, error=str(error))
        self._is_failing = True

    def _next(self) -> tuple[Asked, int | None]:
        """What to ask for now, and when a partition left out because of an error is due again."""
        now_ms = self._clock.monotonic_ms()
        max_bytes = self._config.replica_fetch_max_bytes
        asked: Asked = []
        retry_at_ms: int | None = None
        for partition in self._followed.values():
            due_ms = partition.retry_fetch_at_ms
            if due_ms > now_ms:
                retry_at_ms = due_ms if retry_at_ms is None else min(retry_at_ms, due_ms)
            elif (fetch := following.next_fetch(partition, max_bytes=max_bytes)) is not None:
                asked.append((partition, fetch))
        return asked, retry_at_ms

    async def _ask(self, asked: Asked, retry_at_ms: int | None) -> FetchResponse | None:
        """The leader's answer; None when the request was given up because of news."""
        fetchers, config = self._fetchers, self._config
        address = fetchers.partitions.address_of(self._leader_id)
        if address is None:
            raise UnreachableError(f"broker {self._leader_id} is not registered")
        wait_ms = config.replica_fetch_wait_max_ms
        if retry_at_ms is not None:
            wait_ms = max(0, min(wait_ms, retry_at_ms - self._clock.monotonic_ms()))
        request = FetchRequest(
            replica_id=fetchers.broker_id,
            replica_epoch=fetchers.broker_epoch,
            max_wait_ms=wait_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            partitions=[fetch for _, fetch in asked],
        )
        self._call = asyncio.create_task(
            fetchers.peers.call(
                address, FETCH, request, timeout_ms=wait_ms + config.replica_fetch_timeout_ms
            )
        )
        try:
            await asyncio.wait((self._call,))
            if self._call.cancelled():
                return None
            response = self._call.result()
        finally:
            self._call.cancel()
            self._call = None
        if len(response.partitions) != len(asked):
            raise CallFailedError(f"broker {self._leader_id} answered another number of partitions")
        return response

    async def _apply(self, asked: Asked, response: FetchResponse) -> None:
        retry_at_ms = self._backed_off()
        unfinished = []
        for (partition, fetch), result in zip(asked, response.partitions, strict=True):
            if self._followed.get((partition.topic, partition.partition)) is partition:
                work = following.apply_fetched(partition, fetch, result, retry_at_ms=retry_at_ms)
                if work is not None:
                    unfinished.append(work)
        if unfinished:
            await asyncio.gather(*unfinished)

    def _backed_off(self) -> int:
        backoff_ms = self._config.replica_fetch_backoff_ms
        jitter = 0.5 + self._fetchers.random.random()
        return self._clock.monotonic_ms() + max(1, round(backoff_ms * jitter))

    async def _pause(self, until_ms: int | None) -> None:
        """Until there is news or, if given, that time has come."""
        if until_ms is None:
            await self._news.wait()
            return
        left_ms = max(0, until_ms - self._clock.monotonic_ms())
        try:
            async with asyncio.timeout(left_ms / 1000):
                await self._news.wait()
        except TimeoutError:
            pass
