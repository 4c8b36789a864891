"""A topic deleted and made anew under load while nodes die: nothing of one in the next."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from tests.cluster_view import ClusterView

from tidelog.client import Admin, Consumer, Producer, RecordMetadata
from tidelog.client.errors import TidelogError
from tidelog.node.config import NodeConfig
from tidelog.simulation.cluster.cluster import DATA_DIRECTORY, Machine, SimCluster

pytestmark = pytest.mark.sim

TOPIC = "churn"
ROUNDS = 4
PARTITIONS = 2
NODE_COUNT = 3
API_TIMEOUT_MS = 20_000


class _Cluster(SimCluster):
    """A producer makes no topic by asking for it."""

    def _node_config(self, machine: Machine) -> NodeConfig:
        return replace(super()._node_config(machine), auto_create_topics_enable=False)


class Churn:
    """A value is `<round>:<number>`; nothing is sent between a deletion and the next creation."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self._view = ClusterView(cluster)
        self._random = cluster.client.random
        client = cluster.client
        self._ports = {
            "transport": client.transport,
            "clock": client.clock,
            "random": client.random,
        }
        self._bootstrap = [cluster.address(node_id) for node_id in cluster.node_ids]
        self.partitions = PARTITIONS
        self.round: int | None = None
        self.acknowledged: dict[bytes, RecordMetadata] = {}
        self.refused: dict[bytes, TidelogError] = {}
        self.read: list[int] = []
        """The rounds of the records that were read along the way."""

    async def run(self) -> None:
        """The whole story."""
        await self._view.until_ready()
        tasks: list[asyncio.Task[None]] = []
        async with Admin(
            self._bootstrap,
            api_timeout_ms=API_TIMEOUT_MS,
            transport=self._cluster.client.transport,
            clock=self._cluster.client.clock,
            random=self._random,
        ) as admin:
            for number in range(ROUNDS):
                await self._begin(admin, number)
                if not tasks:
                    tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._watch())]
                await self._live_through(admin)
                if number < ROUNDS - 1:
                    self.round = None
                    await admin.delete_topic(TOPIC)
            await asyncio.sleep(2)
            self.round = None
            await self._view.until_ready()
            await self._view.until_in_sync(TOPIC)
            await asyncio.sleep(2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._check_the_end()

    async def _begin(self, admin: Admin, number: int) -> None:
        self.partitions = PARTITIONS
        await admin.create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=NODE_COUNT,
            configs={"min.insync.replicas": "2"},
        )
        self.round = number

    async def _live_through(self, admin: Admin) -> None:
        """Some load, a death in the middle of it, perhaps a partition more."""
        await asyncio.sleep(self._random.random() * 0.5)
        if self._random.random() < 0.7:
            asyncio.create_task(self._lose_a_node()).add_done_callback(lambda done: done.result())
        if self._random.random() < 0.5:
            self.partitions += 1
            await admin.create_partitions(TOPIC, self.partitions)
        await asyncio.sleep(self._random.random())

    async def _lose_a_node(self) -> None:
        machines = self._cluster.machines
        if any(one.host is None for one in machines.values()):
            return
        victim = self._random.randrange(1, NODE_COUNT + 1)
        if self._random.random() < 0.5:
            self._cluster.crash(victim)
        else:
            self._cluster.kill(victim)
        await asyncio.sleep(self._random.random() * 6)
        self._cluster.start(victim)

    async def _send(self) -> None:
        sent = 0
        async with Producer(self._bootstrap, **self._ports) as producer:  # type: ignore[arg-type]
            while True:
                await asyncio.sleep(self._random.random() * 0.01)
                if self.round is None:
                    continue
                sent += 1
                value = b"%d:%d" % (self.round, sent)
                partition = self._random.randrange(0, PARTITIONS)
                with suppress(TidelogError):
                    outcome = await producer.submit(TOPIC, value=value, partition=partition)
                    outcome.add_done_callback(partial(self._note, value))

    def _note(self, value: bytes, done: asyncio.Future[RecordMetadata]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, TidelogError):
            self.refused[value] = error
        elif not done.cancelled():
            self.acknowledged[value] = done.result()

    async def _watch(self) -> None:
        """Read along, whatever happens; never back in time."""
        async with Consumer(self._bootstrap, **self._ports) as consumer:  # type: ignore[arg-type]
            consumer.assign([(TOPIC, number) for number in range(PARTITIONS)])
            while True:
                with suppress(TidelogError):
                    for record in await consumer.getmany(timeout_ms=100):
                        self.read.append(round_of(record.value))

    async def _check_the_end(self) -> None:
        """The topic holds each acknowledged record of its own time once, and none of another."""
        found: dict[bytes, tuple[int, int]] = {}
        ends = await self._view.end_offsets(TOPIC)
        assert set(ends) == set(range(self.partitions))
        async with Consumer(self._bootstrap, **self._ports) as consumer:  # type: ignore[arg-type]
            consumer.assign([(TOPIC, number) for number in ends])
            while len(found) < sum(ends.values()):
                for record in await consumer.getmany(timeout_ms=1_000):
                    assert record.value is not None
                    assert record.value not in found, "stored twice"
                    found[record.value] = (record.partition, record.offset)
        last = ROUNDS - 1
        assert {round_of(value) for value in found} <= {last}, "old data in the new topic"
        of_last = {value: at for value, at in self.acknowledged.items() if round_of(value) == last}
        assert of_last, "the producer got on with the new topic"
        for value, at in of_last.items():
            assert found[value] == (at.partition, at.offset)
        never = {value for value, error in self.refused.items() if not error.is_outcome_unknown}
        assert not never & found.keys(), "definitely refused, yet stored"
        assert self.read == sorted(self.read), "old data after new"
        assert last in self.read, "the consumer got on with the new topic"
        self._check_folders()

    def _check_folders(self) -> None:
        wanted = {f"{TOPIC}-{number}" for number in range(self.partitions)}
        for node_id in self._cluster.node_ids:
            names = self._cluster.disk(node_id).list(DATA_DIRECTORY)
            assert {name for name in names if name.startswith(TOPIC)} == wanted, (node_id, names)


def round_of(value: bytes | None) -> int:
    assert value is not None
    return int(value.split(b":")[0])


@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_a_topic_is_in_the_next_one_of_its_name(seed: int) -> None:
    cluster = _Cluster(seed=seed)
    try:
        cluster.run(Churn(cluster).run())
    finally:
        cluster.close()
