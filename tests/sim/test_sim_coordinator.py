"""A coordinator built on leaderships, loads and appends loses no acknowledged count."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from tests.cluster_view import ClusterView
from tests.sim.counting_coordinator import ADD, OUTCOME_UNKNOWN, TOPIC, CountingCluster

from tidelog.core.errors import CallFailedError, TidelogError

pytestmark = pytest.mark.sim

KEYS = ("a", "b", "c")
ROUNDS = 4
PERIOD_S = 0.05
CALL_TIMEOUT_MS = 4_000


@dataclass(slots=True)
class Key:
    """What the clients know of one key."""

    counts: list[int] = field(default_factory=list)
    """Acknowledged, in the order of the answers."""
    unknown: int = 0


class Clients:
    """Two tasks for each key, which add, and what became of it."""

    def __init__(self, cluster: CountingCluster) -> None:
        self.keys = {name: Key() for name in KEYS}
        self.is_over = False
        self._cluster = cluster

    async def run(self, name: str, first: int) -> None:
        """Ask the node that answered last, the next one where it does not coordinate."""
        nodes, at = self._cluster.node_ids, first
        while not self.is_over:
            if not await self.add(name, nodes[at % len(nodes)]):
                at += 1
            await asyncio.sleep(PERIOD_S)

    async def add(self, name: str, node_id: int) -> bool:
        """Whether the node counted; a count must be above those acknowledged before the call."""
        key = self.keys[name]
        known = max(key.counts, default=0)
        try:
            answer = await self._cluster.client.transport.call(
                self._cluster.address(node_id),
                ADD,
                StringValue(value=name),
                timeout_ms=CALL_TIMEOUT_MS,
            )
        except CallFailedError:
            key.unknown += 1
            return False
        except TidelogError:
            return False
        key.unknown += answer.value == OUTCOME_UNKNOWN
        if answer.value > 0:
            assert answer.value > known, f"{name}: {answer.value} after {known}: a count was lost"
            key.counts.append(answer.value)
        return answer.value > 0


async def _strike(cluster: CountingCluster, leader: int, number: int) -> None:
    """Kill a leader with -9, or cut it off from the others for a while."""
    random = cluster.client.random
    if number % 2:
        others = [node_id for node_id in cluster.node_ids if node_id != leader]
        links = [(leader, one) for one in others] + [(one, leader) for one in others]
        for one, other in links:
            cluster.network.cut(f"node-{one}", f"node-{other}")
        await asyncio.sleep(2 + 6 * random.random())
        for one, other in links:
            cluster.network.heal(f"node-{one}", f"node-{other}")
        return
    cluster.kill(leader)
    await asyncio.sleep(5 * random.random())
    cluster.start(leader)


async def _story(cluster: CountingCluster) -> Clients:
    view, clients = ClusterView(cluster), Clients(cluster)
    await view.until_ready()
    await view.create_topic(TOPIC, partitions=cluster.partitions, min_insync_replicas=2)
    tasks = [asyncio.create_task(clients.run(name, first)) for name in KEYS for first in range(2)]
    for number in range(ROUNDS):
        await asyncio.sleep(cluster.client.random.random())
        partition = int(cluster.client.random.random() * cluster.partitions)
        await _strike(cluster, await view.leader(TOPIC, partition), number)
    await view.until_ready()
    await view.until_in_sync(TOPIC)
    clients.is_over = True
    await asyncio.gather(*tasks)
    for name in KEYS:
        assert any([await clients.add(name, node_id) for node_id in cluster.node_ids])
    return clients


@pytest.mark.parametrize("seed", range(3))
def test_a_coordinator_loses_no_acknowledged_count_when_its_leaders_are_killed(seed: int) -> None:
    cluster = CountingCluster(seed=seed)
    try:
        clients = cluster.run(_story(cluster))
    finally:
        cluster.close()
    for name, key in clients.keys.items():
        assert len(set(key.counts)) == len(key.counts), f"{name}: a count was given twice"
        acknowledged, final = len(key.counts), key.counts[-1]
        assert acknowledged > 30
        assert acknowledged <= final <= acknowledged + key.unknown, (name, key.unknown)
