"""Whole clusters on PySyncObj: an idle one, one whose engine is changed, and quorums of both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.plain_logs import configure_logs

from tidelog.client.admin import Admin
from tidelog.node.config import NodeConfig
from tidelog.raft.replicated_log import QuorumStatus
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.simulation.engine.scheduler import SchedulerLimits

pytestmark = pytest.mark.sim

DAY_S = 86_400
IDLE_S = 300
DAILY_BYTES_MAX = 1_000_000


class Cluster:
    """Three nodes that are both, each with the Raft engine that `engines` says when it starts."""

    def __init__(self, engines: Sequence[str], *, snapshot_bytes: int = 16_384) -> None:
        self.engines = dict(enumerate(engines, start=1))
        self._snapshot_bytes = snapshot_bytes
        limits = SchedulerLimits(steps=20_000_000, virtual_s=2 * IDLE_S)
        self.sim = SimCluster(
            seed=1, config=SimClusterConfig(configure=self._configure, limits=limits)
        )
        client = self.sim.client
        self.admin = Admin(
            [self.sim.address(node_id) for node_id in self.sim.node_ids],
            transport=client.transport,
            clock=client.clock,
            random=client.random,
        )

    def _configure(self, config: NodeConfig) -> NodeConfig:
        raft = replace(
            config.raft,
            engine=self.engines[config.node_id],
            snapshot_interval_bytes=self._snapshot_bytes,
            wal_reserve_bytes=4 * self._snapshot_bytes,
        )
        return replace(config, raft=raft)

    def statuses(self) -> list[QuorumStatus]:
        nodes = [machine.node for machine in self.sim.machines.values()]
        return [node._quorum.status() for node in nodes if node is not None and node._quorum]

    async def create(self, prefix: str, *, topics: int) -> None:
        for number in range(topics):
            await self.admin.create_topic(f"{prefix}-{number}", partitions=1, replication_factor=3)

    async def until_ready(self) -> None:
        async with asyncio.timeout(30):
            while not self._is_ready():  # noqa: ASYNC110  # virtual time
                await asyncio.sleep(0.1)

    def _is_ready(self) -> bool:
        nodes = [machine.node for machine in self.sim.machines.values()]
        return all(node is not None and node.is_ready() for node in nodes)


@pytest.fixture
def opened() -> Iterator[list[Cluster]]:
    clusters: list[Cluster] = []
    yield clusters
    for cluster in clusters:
        cluster.sim.close()


def test_an_idle_quorum_writes_less_than_a_megabyte_a_day(opened: list[Cluster]) -> None:
    cluster = Cluster(["pysyncobj"] * 3)
    opened.append(cluster)

    async def idle() -> tuple[list[QuorumStatus], list[QuorumStatus]]:
        await cluster.until_ready()
        await asyncio.sleep(5)
        before = cluster.statuses()
        await asyncio.sleep(IDLE_S)
        await cluster.create("late", topics=1)  # it is not dead
        return before, cluster.statuses()

    before, after = cluster.sim.run(idle())

    assert len(before) == 3
    for then, now in zip(before, after, strict=True):
        assert 0 < now.last_index - then.last_index <= 10
        assert 0 < now.wal_bytes - then.wal_bytes <= DAILY_BYTES_MAX * IDLE_S / DAY_S


@pytest.mark.parametrize("names", [("tidelog", "pysyncobj"), ("pysyncobj", "tidelog")])
def test_a_stopped_cluster_goes_on_with_the_other_engine(
    names: tuple[str, str], opened: list[Cluster]
) -> None:
    cluster = Cluster([names[0]] * 3)
    opened.append(cluster)

    async def change() -> None:
        await cluster.until_ready()
        await cluster.create("old", topics=30)
        assert all(status.snapshot_index > 0 for status in cluster.statuses())
        for node_id in cluster.sim.node_ids:
            cluster.sim.kill(node_id)
            cluster.engines[node_id] = names[1]
        for node_id in cluster.sim.node_ids:
            cluster.sim.start(node_id)
        await cluster.until_ready()
        await cluster.create("new", topics=30)
        found = set(await cluster.admin.describe_topics())
        assert found == {f"{age}-{n}" for age in ("old", "new") for n in range(30)}

    cluster.sim.run(change())


@pytest.mark.parametrize(
    "engines", [("tidelog", "pysyncobj", "pysyncobj"), ("tidelog", "tidelog", "pysyncobj")]
)
def test_a_quorum_of_both_engines_says_so_at_each_of_them(
    engines: tuple[str, ...], opened: list[Cluster]
) -> None:
    configure_logs()
    cluster = Cluster(engines)
    opened.append(cluster)
    with capture_logs() as lines:
        cluster.sim.run(asyncio.sleep(20))

    refusals = [
        line for line in lines if line["event"] == "a voter refuses the raft stream of this node"
    ]
    by_engine = {
        name: [node_id for node_id, one in cluster.engines.items() if one == name]
        for name in set(engines)
    }
    pairs = [(a, b) for a in by_engine["tidelog"] for b in by_engine["pysyncobj"]]
    assert len(refusals) == 2 * len(pairs), "once at each end of each pair, and not again"
    for a, b in pairs:
        for one, other in ((a, b), (b, a)):
            sentence = (
                f"controller {one} runs the raft engine {cluster.engines[one]!r}, "
                f"controller {other} {cluster.engines[other]!r}: "
                "configure one controller.quorum.engine for all"
            )
            assert sum(line["reason"] == sentence for line in refusals) == 1, sentence
    assert not any(status.commit_index for status in cluster.statuses())
