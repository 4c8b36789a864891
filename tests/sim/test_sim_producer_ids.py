"""Producer ids of a whole cluster: none is given out twice, whoever crashes or leads."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.core.errors import TidelogError
from tidelog.metadata.producer_ids import BLOCK_LENGTH
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.simulation.cluster.cluster_view import ClusterView
from tidelog.simulation.cluster.stage import Stage
from tidelog.v1.data_pb2 import InitProducerIdRequest
from tidelog.v1.methods import INIT_PRODUCER_ID

pytestmark = pytest.mark.sim

ROUNDS = 4


async def _ask(stage: Stage, node_id: int) -> int | None:
    """An id of this node's, None when it has none to give."""
    request = InitProducerIdRequest(timeout_ms=500)
    address = stage.address(node_id)
    try:
        answer = await stage.client.transport.call(
            address, INIT_PRODUCER_ID, request, timeout_ms=1000
        )
    except TidelogError:
        return None
    return None if answer.error.code else answer.producer_id


async def _story(stage: Stage, given: list[int]) -> None:
    view = ClusterView(stage)
    await view.until_ready()
    for _ in range(ROUNDS):
        random = stage.client.random
        asking = [
            asyncio.create_task(_ask(stage, node_id))
            for node_id in stage.node_ids
            for _ in range(5)
        ]
        await asyncio.sleep(random.random() * 0.02)
        victim = await view.controller()
        stage.crash(victim)
        answers = await asyncio.gather(*asking)
        answers += [await _ask(stage, node_id) for node_id in stage.node_ids]
        given += [answer for answer in answers if answer is not None]
        stage.start(victim)
        await view.until_ready()
    given += [answer for node in stage.node_ids if (answer := await _ask(stage, node)) is not None]


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
