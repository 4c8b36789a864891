"""A topic made anew has its clients when every broker tells of the new incarnation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.client.real_cluster import ADDRESSES, RealCluster, started

from tidelog.chaos.workloads import workload as workloads
from tidelog.chaos.workloads.plans import CHURNED, TopicPlan
from tidelog.chaos.workloads.workload import Workload
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.core.chance import SeededRandom

CUT_OFF = 2
KNOWN_S_MAX = 2.0
PLAN = TopicPlan(
    name=CHURNED,
    partitions=1,
    min_insync_replicas=1,
    is_flushed=False,
    is_lossy=False,
    segment_bytes=1 << 20,
    index_interval_bytes=4096,
)


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute of a whole cluster costs seconds of the processor."""
    monkeypatch.setattr(workloads, "KNOWN_S_MAX", KNOWN_S_MAX)


class Port(SimpleNamespace):
    """A `WorkloadPort` of one topic without clients."""

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time()


async def begun(cluster: RealCluster) -> tuple[Workload, list[str]]:
    """A workload whose topic every broker knows, and what happened; `CUT_OFF` knows it or not."""
    story: list[str] = []

    def client_ports(_name: str) -> Mapping[str, Any]:  # of Admin
        return {"transport": cluster}

    def happened(what: str) -> None:
        knows = known_id(cluster) == cluster.topics[CHURNED].topic_id
        story.append(f"{what}, known: {knows}")

    port = Port(
        topics=[PLAN],
        cluster_defaults={},
        group=None,
        transactions=None,
        producers=[],
        readers=[],
        replication_factor=1,
        bootstrap=list(ADDRESSES.values()),
        client_ports=client_ports,
        note=lambda _who, what: story.append(what),
        count_event=happened,
    )
    workload = Workload(cast("WorkloadPort", port), SeededRandom(1))
    await workload.begin()
    await cluster.settle()
    return workload, story


def known_id(cluster: RealCluster) -> bytes:
    """The topic's id as `CUT_OFF` knows it."""
    broker: Any = cluster.machines[CUT_OFF].node._broker  # private
    topic = broker.follower.image.topics.get(CHURNED)
    return b"" if topic is None else topic.topic_id


async def test_clients_wait_for_a_broker_that_is_cut_off_and_tells_of_the_last_incarnation() -> (
    None
):
    cluster = await started()
    workload, story = await begun(cluster)
    cluster.isolate(CUT_OFF)
    await cluster.fenced(CUT_OFF)
    old_id = known_id(cluster)
    recreating = asyncio.create_task(workload.recreate(CHURNED))
    await asyncio.sleep(KNOWN_S_MAX / 2)
    assert cluster.topics[CHURNED].topic_id != old_id == known_id(cluster)
    assert not recreating.done()
    cluster.rejoin(CUT_OFF)
    await recreating
    assert story[-1] == "recreated_topics, known: True"
    await workload.close()


async def test_a_broker_that_never_tells_of_it_ends_the_wait_and_is_written_down() -> None:
    cluster = await started()
    workload, story = await begun(cluster)
    cluster.isolate(CUT_OFF)
    await cluster.fenced(CUT_OFF)
    await workload.recreate(CHURNED)
    assert any("not every broker knows it" in line for line in story)
    assert story[-1] == "recreated_topics, known: False"
    await workload.close()
