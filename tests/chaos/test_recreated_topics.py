"""A topic made anew has its clients when every broker tells of the new incarnation."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.client.fake_cluster import ADDRESSES, FakeCluster

from tidelog.chaos.workloads import workload as workloads
from tidelog.chaos.workloads.plans import CHURNED, TopicPlan
from tidelog.chaos.workloads.workload import Workload
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.core.chance import SeededRandom
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import METADATA, Method, Request, Response

CUT_OFF = ADDRESSES[2]
PLAN = TopicPlan(
    name=CHURNED,
    partitions=1,
    min_insync_replicas=1,
    is_flushed=False,
    is_lossy=False,
    segment_bytes=1 << 20,
    index_interval_bytes=4096,
)


class Lagging(FakeCluster):
    """No broker counts the one that is cut off as live; it answers with `old` so many times."""

    old: Any = None
    times: float = 0

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        if address == CUT_OFF and method.path == METADATA.path and self.times > 0:
            self.times -= 1
            return cast("Response", self.old)
        self.alive[2] = address == CUT_OFF
        return await super().call(address, method, request, timeout_ms=timeout_ms)


async def begun(cluster: Lagging) -> tuple[Workload, list[str]]:
    """A workload of one topic without clients, and what happened to it so far."""
    story: list[str] = []
    ticks = iter(range(10**6))

    class Ticking(SimpleNamespace):
        @property
        def now_s(self) -> float:
            return float(next(ticks))

    def client_ports(_name: str) -> Mapping[str, Any]:
        return {"transport": cluster}

    port = Ticking(
        topics=[PLAN],
        producers=[],
        readers=[],
        replication_factor=1,
        bootstrap=list(ADDRESSES.values()),
        client_ports=client_ports,
        note=lambda _who, what: story.append(what),
        count_event=lambda what: story.append(f"{what}, {cluster.times} old answers left"),
    )
    workload = Workload(cast("WorkloadPort", port), SeededRandom(1))
    await workload.begin()
    request = MetadataRequest(topics=[CHURNED])
    cluster.old = await cluster.call(CUT_OFF, METADATA, request, timeout_ms=1_000)
    return workload, story


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "REFUSED_WAIT_S", 0.0)


async def test_clients_wait_for_a_broker_that_is_cut_off_and_tells_of_the_last_incarnation() -> (
    None
):
    cluster = Lagging()
    workload, story = await begun(cluster)
    cluster.times = 30

    await workload.recreate(CHURNED)

    assert story[-1] == "recreated_topics, 0 old answers left"
    await workload.close()


async def test_a_broker_that_never_tells_of_it_ends_the_wait_and_is_written_down() -> None:
    cluster = Lagging()
    workload, story = await begun(cluster)
    cluster.times = float("inf")

    await workload.recreate(CHURNED)

    assert any("not every broker knows it" in line for line in story)
    await workload.close()
