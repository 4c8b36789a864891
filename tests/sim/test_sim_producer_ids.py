"""Producer ids of a whole cluster: none is given out twice, whoever crashes or leads."""

from __future__ import annotations

import asyncio

import pytest
from tests.cluster_view import ClusterView

from tidelog.core.errors import TidelogError
from tidelog.metadata.producer_ids import BLOCK_LENGTH
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.v1.data_pb2 import InitProducerIdRequest
from tidelog.v1.methods import INIT_PRODUCER_ID

pytestmark = pytest.mark.sim

ROUNDS = 4


async def _ask(cluster: SimCluster, node_id: int) -> int | None:
    """An id of this node's, None when it has none to give."""
    request = InitProducerIdRequest(timeout_ms=500)
    address = cluster.address(node_id)
    try:
        answer = await cluster.client.transport.call(
            address, INIT_PRODUCER_ID, request, timeout_ms=1000
        )
    except TidelogError:
        return None
    return None if answer.error.code else answer.producer_id


async def _story(cluster: SimCluster, given: list[int]) -> None:
    view = ClusterView(cluster)
    await view.until_ready()
    for _ in range(ROUNDS):
        random = cluster.client.random
        asking = [
            asyncio.create_task(_ask(cluster, node_id))
            for node_id in cluster.node_ids
            for _ in range(5)
        ]
        await asyncio.sleep(random.random() * 0.02)
        victim = await view.controller()
        cluster.crash(victim)
        answers = await asyncio.gather(*asking)
        answers += [await _ask(cluster, node_id) for node_id in cluster.node_ids]
        given += [answer for answer in answers if answer is not None]
        cluster.start(victim)
        await view.until_ready()
    given += [
        answer for node in cluster.node_ids if (answer := await _ask(cluster, node)) is not None
    ]


@pytest.mark.parametrize("seed", range(5))
def test_no_producer_id_is_given_out_twice(seed: int) -> None:
    cluster, given = SimCluster(seed=seed, trace_sink=None), list[int]()
    try:
        cluster.run(_story(cluster, given))
    finally:
        cluster.close()
    assert len(given) == len(set(given))
    assert len(given) > 10
    blocks = {producer_id // BLOCK_LENGTH for producer_id in given}
    assert len(blocks) > ROUNDS, "who crashed forgot its block"
