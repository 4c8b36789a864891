"""Whole nodes on virtual time: how soon a broker that ended is fenced, and which ones are left be.

Three nodes, each controller and broker. Times are virtual; what a decision takes is simulated, what
Python takes is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tidelog.client import Consumer, Producer
from tidelog.client.admin import Admin
from tidelog.client.admin.descriptions import PartitionDescription
from tidelog.client.errors import TidelogError
from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.node.server import Node
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.v1.admin_pb2 import PrepareStopRequest
from tidelog.v1.methods import PREPARE_STOP

pytestmark = pytest.mark.sim

TOPIC = "t"
SESSION_S = 9.0
WAIT_S = 60.0


class Story:
    """A cluster whose topic has a partition led by each node."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        client = cluster.client
        self.ports: dict[str, Any] = {
            "transport": client.transport,
            "clock": client.clock,
            "random": client.random,
        }
        self.addresses = [cluster.address(one) for one in cluster.node_ids]
        self.admin = Admin(self.addresses, **self.ports)

    @property
    def now_s(self) -> float:
        return self.cluster.scheduler.now_s

    async def begin(self) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(self.nodes()) < 3 or len(self.image().live_brokers()) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        configs = {"min.insync.replicas": "2"}
        await self.admin.create_topic(TOPIC, partitions=3, replication_factor=3, configs=configs)
        await self.until(lambda states: all(len(one.isr) == 3 for one in states))

    def nodes(self) -> dict[int, Node]:
        """Those that are up."""
        machines = self.cluster.machines
        return {key: one.node for key, one in machines.items() if one.node is not None}

    def image(self) -> MetadataImage:
        """The newest that any node has."""
        images = [node._image() for node in self.nodes().values()]
        return max(images, key=lambda one: one.offset)

    def broker(self, node_id: int) -> BrokerImage:
        return self.image().brokers[node_id]

    def controller(self) -> int:
        nodes = self.nodes()
        return next(key for key, node in nodes.items() if node.stats()["active_controller"])

    async def until(self, condition: Callable[[list[PartitionDescription]], bool]) -> float:
        """When it was so."""
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    if condition(list((await self.admin.describe_topic(TOPIC)).partitions)):
                        return self.now_s
                except TidelogError:
                    pass
                await asyncio.sleep(0.05)

    async def until_fenced(self, node_id: int, epoch: int) -> float:
        """Seconds from now until no node knows this incarnation as alive any more."""
        begun_s = self.now_s
        async with asyncio.timeout(WAIT_S):
            while self.image().has_live(node_id, epoch):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.005)
        return self.now_s - begun_s

    async def write(self) -> float:
        """Seconds until a record is acknowledged on every partition."""
        begun_s = self.now_s
        async with Producer(self.addresses, **self.ports) as producer:
            await asyncio.gather(
                *(producer.send(TOPIC, value=b"v", partition=number) for number in range(3))
            )
        return self.now_s - begun_s

    async def read(self, *, count: int) -> float:
        """Seconds until so many records were read, of all partitions."""
        begun_s = self.now_s
        async with Consumer(self.addresses, auto_offset_reset="earliest", **self.ports) as consumer:
            consumer.assign([(TOPIC, number) for number in range(3)])
            async for _ in consumer:
                count -= 1
                if count == 0:
                    break
        return self.now_s - begun_s

    def cut_off(self, node_id: int) -> None:
        """All links of a node, in silence."""
        for other in self.cluster.node_ids:
            if other != node_id:
                self.cluster.network.cut(f"node-{node_id}", f"node-{other}")
                self.cluster.network.cut(f"node-{other}", f"node-{node_id}")


def play(story: Callable[[Story], Coroutine[Any, Any, None]], *, seed: int = 1) -> None:
    cluster = SimCluster(seed=seed)

    async def run_story() -> None:
        scenario = Story(cluster)
        await scenario.begin()
        await story(scenario)
        await scenario.admin.close()

    try:
        cluster.run(run_story())
    finally:
        cluster.close()


def other_than(scenario: Story, node_id: int) -> int:
    return next(one for one in scenario.cluster.node_ids if one != node_id)


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("is_controller", [False, True])
def test_a_killed_broker_is_fenced_at_once_and_its_partitions_are_written_to(
    seed: int, is_controller: bool
) -> None:
    async def story(scenario: Story) -> None:
        active = scenario.controller()
        victim = active if is_controller else other_than(scenario, active)
        epoch = scenario.broker(victim).broker_epoch
        scenario.cluster.kill(victim)
        took_s = await scenario.until_fenced(victim, epoch)
        assert took_s < (0.5 if is_controller else 0.2)
        for topic, partition in scenario.image().partitions():
            assert victim not in partition.isr, topic.name
            assert partition.leader_id not in (None, victim)
        assert await scenario.write() < 0.5

    play(story, seed=seed)


def test_a_killed_broker_that_leads_nothing_is_noticed_by_its_leaders() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        scenario.cluster.kill(victim)
        await scenario.until(lambda states: all(len(one.isr) == 2 for one in states))
        scenario.cluster.start(victim)
        await scenario.until(lambda states: all(len(one.isr) == 3 for one in states))
        assert all(one.leader_id != victim for _, one in scenario.image().partitions())
        await asyncio.sleep(10)
        epoch = scenario.broker(victim).broker_epoch
        scenario.cluster.kill(victim)
        assert await scenario.until_fenced(victim, epoch) < 0.2

    play(story)


def test_a_paused_broker_keeps_its_session() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        epoch = scenario.broker(victim).broker_epoch
        scenario.cluster.pause(victim)
        took_s = await scenario.until_fenced(victim, epoch)
        assert SESSION_S - 1.1 < took_s < SESSION_S + 0.3
        scenario.cluster.resume(victim)
        await scenario.until(lambda states: all(len(one.isr) == 3 for one in states))

    play(story)


@pytest.mark.parametrize("seed", range(1, 5))
def test_clients_leave_a_silent_leader_as_soon_as_it_is_replaced(seed: int) -> None:
    """F03's other half: their requests to it would wait for much longer."""

    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        scenario.cluster.pause(victim)
        writing = asyncio.create_task(scenario.write())
        reading = asyncio.create_task(scenario.read(count=3))
        assert await writing < SESSION_S + 0.5
        assert await reading < SESSION_S + 1.0
        scenario.cluster.resume(victim)

    play(story, seed=seed)


def test_a_broker_that_is_cut_off_keeps_its_session() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        epoch = scenario.broker(victim).broker_epoch
        scenario.cut_off(victim)
        took_s = await scenario.until_fenced(victim, epoch)
        assert SESSION_S - 1.1 < took_s < SESSION_S + 0.3

    play(story)


def test_a_machine_without_power_keeps_its_session_for_nobody_says_that_it_ended() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        epoch = scenario.broker(victim).broker_epoch
        scenario.cluster.crash(victim)
        took_s = await scenario.until_fenced(victim, epoch)
        assert SESSION_S - 1.1 < took_s < SESSION_S + 0.3

    play(story)


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_broker_that_is_back_within_a_moment_is_fenced_and_registered_anew(seed: int) -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        epoch = scenario.broker(victim).broker_epoch
        scenario.cluster.kill(victim)
        scenario.cluster.start(victim)
        begun_s = scenario.now_s
        assert await scenario.until_fenced(victim, epoch) < 0.5
        await scenario.until(lambda states: all(len(one.isr) == 3 for one in states))
        assert scenario.now_s - begun_s < SESSION_S
        assert scenario.broker(victim).broker_epoch > epoch

    play(story, seed=seed)


def test_connections_that_break_around_a_live_broker_do_not_fence_it() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        epoch = scenario.broker(victim).broker_epoch
        for _ in range(20):
            scenario.cut_off(victim)
            await asyncio.sleep(0.1)
            for other in scenario.cluster.node_ids:
                if other != victim:
                    scenario.cluster.network.heal(f"node-{victim}", f"node-{other}")
                    scenario.cluster.network.heal(f"node-{other}", f"node-{victim}")
            await asyncio.sleep(0.4)
            assert scenario.image().has_live(victim, epoch)

    play(story)


def test_a_broker_that_is_killed_again_and_again_is_dialled_ever_more_rarely() -> None:
    async def story(scenario: Story) -> None:
        victim = other_than(scenario, scenario.controller())
        took_s = []
        for _ in range(5):
            epoch = scenario.broker(victim).broker_epoch
            scenario.cluster.kill(victim)
            took_s.append(await scenario.until_fenced(victim, epoch))
            scenario.cluster.start(victim)
            await scenario.until(lambda states: all(len(one.isr) == 3 for one in states))
        assert took_s[0] < 0.2
        assert max(took_s) > 0.5, "the wait grew"
        assert max(took_s) < SESSION_S + 0.3, "and the session bounds it"

    play(story)


def test_a_cluster_that_stops_as_a_whole_keeps_its_isrs() -> None:
    async def story(scenario: Story) -> None:
        for address in scenario.addresses:
            await scenario.cluster.client.transport.call(
                address, PREPARE_STOP, PrepareStopRequest(hold_ms=30_000), timeout_ms=10_000
            )
        active = scenario.controller()
        scenario.cluster.kill(other_than(scenario, active))
        await asyncio.sleep(5)
        assert all(len(one.isr) == 3 for _, one in scenario.image().partitions())

    play(story)
