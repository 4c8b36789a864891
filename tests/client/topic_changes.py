"""Changes of topics that `RealCluster` is asked for in few tests."""

from __future__ import annotations

from tests.client.real_cluster import ADDRESSES, RealCluster

from tidelog.v1.admin_pb2 import CreatePartitionsRequest
from tidelog.v1.methods import CREATE_PARTITIONS

TIMEOUT_MS = 30_000


async def add_partitions(cluster: RealCluster, name: str, *leaders: int) -> None:
    """Give a topic a partition for each of these brokers, and wait until all serve it."""
    present = cluster.image.topics[name].partitions
    ids = list(ADDRESSES)
    request = CreatePartitionsRequest(timeout_ms=TIMEOUT_MS)
    added = request.topics.add(name=name, count=len(present) + len(leaders))
    for number, leader_id in enumerate(leaders, start=len(present)):
        places = [ids.index(leader_id) + place for place in range(len(present[0].replicas))]
        chosen = [ids[place % len(ids)] for place in places]
        added.assignments.add(partition=number, broker_ids=chosen)
    response = await cluster.direct.call(
        ADDRESSES[leaders[0]], CREATE_PARTITIONS, request, timeout_ms=TIMEOUT_MS
    )
    assert not response.topics[0].error.code, response.topics[0].error
    await cluster.settle()
