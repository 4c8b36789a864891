"""Random lives of a group's members on real nodes, and what must hold whatever happens to them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, encoded
from tests.node.group_calls import GroupCalls

from tidelog.client import Consumer, RebalanceListener, TopicPartition
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.core.internal_topics import OFFSETS_TOPIC

TOPIC, PARTITIONS, GROUP = "t", 4, "storm"
REST_S = 180.0
"""Longest time until everything is handed out when nothing happens any more."""


class Line:
    """A transport of one member, which can be cut, and ended with its process."""

    def __init__(self, cluster: RealCluster) -> None:
        self._cluster = cluster
        self._streams: list[Any] = []
        self.is_cut = False

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        """See `Transport`."""
        self._check()
        response = await self._cluster.direct.call(address, method, request, timeout_ms=timeout_ms)
        if self.is_cut:
            raise CallFailedError("the answer was lost")
        return response

    async def open_stream(self, address: str, method: Any) -> Any:
        """See `Transport`."""
        self._check()
        stream = await self._cluster.direct.open_stream(address, method)
        self._streams.append(stream)
        return stream

    def cut(self) -> None:
        """Break all connections, and let none be made until `is_cut` is unset."""
        self.is_cut = True
        for stream in self._streams:
            stream.close()
        self._streams.clear()

    def _check(self) -> None:
        if self.is_cut:
            raise UnreachableError("cut off")


class Member(RebalanceListener):
    """A consumer and its application, which works on records for a moment."""

    def __init__(self, storm: Storm, name: str) -> None:
        self.name = name
        self.line = Line(storm.cluster)
        self._storm = storm
        self.consumer: Consumer[Any, Any] = Consumer(
            BOOTSTRAP,
            group_id=GROUP,
            auto_commit_interval_ms=1_000,
            max_poll_interval_ms=20_000,
            max_poll_records=5,
            api_timeout_ms=10_000,
            request_timeout_ms=3_000,
            transport=self.line,
        )
        self.assigned_at: dict[TopicPartition, int] = {}
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self.consumer.subscribe([TOPIC], listener=self)
        while True:
            try:
                records = await self.consumer.getmany(timeout_ms=500)
            except TidelogError as error:
                self._storm.errors[type(error).__name__] += 1
                continue
            for record in records:
                tp = TopicPartition(record.topic, record.partition)
                self._storm.note_handed(self, tp, record.offset)
            await asyncio.sleep(self._storm.random.random() * 0.3)

    def kill(self) -> None:
        """End the process: its connections break, and nothing of it runs on."""
        self.task.cancel()
        self.line.cut()
        group: Any = self.consumer._group
        for task in (*group._tasks, *group._member._tasks, *group._commits):
            task.cancel()
        fetcher: Any = self.consumer._fetcher
        if fetcher._loop_task is not None:
            fetcher._loop_task.cancel()

    async def close(self) -> None:
        """End in order."""
        self.task.cancel()
        await asyncio.wait({self.task})
        await self.consumer.close(timeout_ms=5_000)

    # RebalanceListener

    async def on_partitions_assigned(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        del consumer
        for tp in partitions:
            self._storm.clock += 1
            self.assigned_at[tp] = self._storm.clock

    async def on_partitions_revoked(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        del consumer
        for tp in partitions:
            del self.assigned_at[tp]

    async def on_partitions_lost(self, consumer: Any, partitions: Sequence[TopicPartition]) -> None:
        await self.on_partitions_revoked(consumer, partitions)


class Storm:
    """A cluster, its members, and the record of what was handed out."""

    def __init__(self, cluster: RealCluster, seed: int) -> None:
        self.cluster = cluster
        self.random = SeededRandom(seed)
        self.calls = GroupCalls(cluster, GROUP)
        self.members: list[Member] = []
        self.produced = [0] * PARTITIONS
        self.handed: dict[TopicPartition, Counter[int]] = {
            TopicPartition(TOPIC, one): Counter() for one in range(PARTITIONS)
        }
        self.newest_owner: dict[TopicPartition, int] = {}
        self.clock = 0
        """Number of assignments so far."""
        self.errors: Counter[str] = Counter()
        self.committed = [0] * PARTITIONS
        """Highest offsets that were seen committed."""
        self._names = 0

    def note_handed(self, member: Member, tp: TopicPartition, offset: int) -> None:
        """Check that it is the newest owner of the partition that hands it out."""
        assigned_at = member.assigned_at.get(tp)
        assert assigned_at is not None, f"{member.name} handed out {tp} after it had let go"
        newest = self.newest_owner.get(tp, 0)
        assert assigned_at >= newest, f"{member.name} handed out {tp} beside its next owner"
        self.newest_owner[tp] = assigned_at
        self.handed[tp][offset] += 1

    async def blow(self, steps: int) -> None:
        """Do random things to members and nodes."""
        for _ in range(3):
            self.join()
        for _ in range(steps):
            await self._step(self.random.randrange(0, 20))
            await asyncio.sleep(self.random.random() * 3)
            for member in self.members:
                if member.task.done():
                    member.task.result()

    async def _step(self, choice: int) -> None:
        if choice < 6:
            await self.produce()
        elif choice < 8:
            one_of(self.random, self.members).line.cut()
        elif choice < 11:
            self.heal()
        elif choice < 13 and len(self.members) < 5:
            self.join()
        elif choice < 15 and len(self.members) > 1:
            member = self.members.pop(self.random.randrange(0, len(self.members)))
            if choice == 13:
                member.kill()
            else:
                await member.close()
        elif choice < 17:
            await self.move_coordinator()
        elif choice == 17:
            await self.restart_node()
        else:
            await self.check_committed()

    def join(self) -> None:
        self._names += 1
        self.members.append(Member(self, f"m{self._names}"))

    def heal(self) -> None:
        for member in self.members:
            member.line.is_cut = False

    async def produce(self) -> None:
        """Append a batch to a random partition."""
        number = self.random.randrange(0, PARTITIONS)
        count = self.random.randrange(1, 10)
        partition = self.cluster.topics[TOPIC].partitions[number]
        await partition.append(encoded([b"x"] * count))
        self.produced[number] += count

    async def move_coordinator(self) -> None:
        """Have another broker lead every partition of the internal topic."""
        if OFFSETS_TOPIC not in self.cluster.image.topics:
            return
        topic = self.cluster.image.topics[OFFSETS_TOPIC]
        for partition in topic.partitions:
            others = [one for one in partition.isr if one != partition.leader_id]
            if others:
                await self.cluster.move(
                    OFFSETS_TOPIC, partition.partition, leader_id=one_of(self.random, others)
                )

    async def restart_node(self) -> None:
        """Kill a node, wait until others lead, start it again."""
        node_id = one_of(self.random, list(ADDRESSES))
        self.cluster.kill(node_id)
        await self.cluster.failed_over()
        await self.cluster.start(node_id)
        await self.cluster.settle()

    async def check_committed(self) -> None:
        """No committed offset falls, and none is beyond what was handed out."""
        found = await self.calls.committed()
        for number in range(PARTITIONS):
            offset = found.get((TOPIC, number), 0)
            assert offset >= self.committed[number], "a committed offset fell"
            handed = self.handed[TopicPartition(TOPIC, number)]
            assert set(range(offset)) <= set(handed), "committed, and never handed out"
            self.committed[number] = offset

    async def calm(self) -> None:
        """Let nothing happen: in the end all is handed out, and every partition has one owner."""
        self.heal()
        async with asyncio.timeout(REST_S):
            while not self._is_at_rest():
                await asyncio.sleep(0.1)
                for member in self.members:
                    if member.task.done():
                        member.task.result()
        await self.check_committed()
        for member in self.members:
            await member.close()
        async with asyncio.timeout(REST_S):
            # One that was killed while the coordinator moved has a whole session.
            while (await self.calls.describe()).members:  # noqa: ASYNC110  # of real nodes
                await asyncio.sleep(1)
        # What one that was fenced at its close had not committed is handed out again.
        self.join()
        async with asyncio.timeout(REST_S):
            while self.committed != self.produced:
                await asyncio.sleep(0.5)
                await self.check_committed()
        await self.members[-1].close()

    def _is_at_rest(self) -> bool:
        owned = [tp for member in self.members for tp in member.consumer.assignment()]
        return sorted(owned) == sorted(self.handed) and all(
            set(self.handed[TopicPartition(TOPIC, number)]) == set(range(count))
            for number, count in enumerate(self.produced)
        )
