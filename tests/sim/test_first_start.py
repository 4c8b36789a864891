"""A cluster's first start and its first topic: no alarming word for a normal state."""

from __future__ import annotations

import logging

import pytest
import structlog
from structlog.testing import capture_logs
from tests.cluster_view import ClusterView
from tests.plain_logs import configure_logs

from tidelog.client import Admin, Producer
from tidelog.client.admin.events import ClusterEvent, EventFilter
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig

pytestmark = pytest.mark.sim
ALARMING = ("refus", "fail", "lost", "loss", "error", "restarted", "LEADER_NOT_AVAILABLE")


def alarming(words: str) -> list[str]:
    return [word for word in ALARMING if word in words]


def first_start(seed: int) -> tuple[list[str], list[ClusterEvent]]:
    """Lines of the nodes' logs, level first, and events, with two topics made and written to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    cluster = SimCluster(seed=seed, config=SimClusterConfig(node_ids=(1, 2, 3)))
    ports = cluster.client
    addresses = [cluster.address(node_id) for node_id in cluster.node_ids]

    async def story() -> list[ClusterEvent]:
        await ClusterView(cluster).until_ready()
        async with Admin(
            addresses, transport=ports.transport, clock=ports.clock, random=ports.random
        ) as admin:
            await admin.create_topic("t", partitions=9, replication_factor=3)
            async with Producer(
                addresses, transport=ports.transport, clock=ports.clock, random=ports.random
            ) as producer:
                for partition in range(9):
                    await producer.send("t", value=b"v", partition=partition)
                await producer.send("created", value=b"v")
            return list((await admin.list_events(EventFilter())).events)

    try:
        with capture_logs() as logs:
            events = cluster.run(story())
    finally:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
        cluster.close()
        configure_logs()
    lines = [" ".join(f"{key}={value}" for key, value in sorted(one.items())) for one in logs]
    return [f"{one['log_level']} {line}" for one, line in zip(logs, lines, strict=True)], events


@pytest.mark.parametrize("seed", range(3))
def test_a_first_start_and_a_first_topic_say_nothing_alarming(seed: int) -> None:
    lines, events = first_start(seed)
    assert any("this node is the active controller" in line for line in lines)
    assert any("leading" in line for line in lines)
    assert [line for line in lines if not line.startswith("info") or alarming(line)] == []
    causes = {f"{one.kind} {one.after} {one.cause}" for one in events}
    assert {"broker 1 is new", "broker 2 is new", "broker 3 is new"} <= {e.cause for e in events}
    assert [cause for cause in causes if alarming(cause)] == []
