"""A live coordinator is fenced by a dial that a link refused: it tells nothing of the past."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from tests.sim.test_sim_detection import SESSION_S, TOPIC, Story, other_than, play

from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from tidelog.v1.methods import (
    FIND_COORDINATOR,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Method,
    Request,
    Response,
)

pytestmark = pytest.mark.sim

GROUPS = [f"g{number}" for number in range(20)]


async def ask(
    scenario: Story, node_id: int, method: Method[Request, Response], request: Request
) -> Response:
    transport = scenario.ports["transport"]
    address = scenario.cluster.address(node_id)
    answer: Response = await transport.call(address, method, request, timeout_ms=8_000)
    return answer


async def coordinators(scenario: Story, asked: int) -> Mapping[str, int]:
    """Coordinators of the groups, as a node knows them."""
    found = await ask(scenario, asked, FIND_COORDINATOR, FindCoordinatorRequest(group_ids=GROUPS))
    return {
        group_id: one.broker.node_id
        for group_id, one in zip(GROUPS, found.coordinators, strict=True)
        if not one.error.code
    }


async def commit(scenario: Story, node_id: int, group_id: str, offset: int) -> None:
    request = OffsetCommitRequest(group_id=group_id, member_epoch=-1)
    request.topics.add(topic=TOPIC).partitions.add(partition=0, offset=offset)
    async with asyncio.timeout(60):
        while True:
            answer = await ask(scenario, node_id, OFFSET_COMMIT, request)
            codes = {one.error.code for topic in answer.topics for one in topic.partitions}
            if not answer.error.code and codes == {common_pb2.NONE}:
                return
            await asyncio.sleep(0.05)


async def committed(scenario: Story, node_id: int, group_id: str) -> int | None:
    """The offset that a node tells; None: it tells none."""
    request = OffsetFetchRequest(group_id=group_id, member_epoch=-1)
    request.topics.add(topic=TOPIC, partitions=[0])
    try:
        answer = await ask(scenario, node_id, OFFSET_FETCH, request)
    except (CallFailedError, UnreachableError):
        return None
    if answer.error.code:
        return None
    return next(one.offset for topic in answer.topics for one in topic.partitions)


async def group_of(scenario: Story, node_id: int) -> str:
    async with asyncio.timeout(60):
        while True:
            found = await coordinators(scenario, node_id)
            for group_id, coordinator in found.items():
                if coordinator == node_id:
                    return group_id
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_coordinator_that_a_refused_dial_fenced_tells_no_offset_of_before(seed: int) -> None:
    async def story(scenario: Story) -> None:
        network = scenario.cluster.network
        active = scenario.controller()
        old = other_than(scenario, active)
        group_id = await group_of(scenario, old)
        await commit(scenario, old, group_id, 1)
        assert await committed(scenario, old, group_id) == 1
        epoch = scenario.broker(old).broker_epoch

        others = [one for one in scenario.cluster.node_ids if one != old]
        for other in others:
            network.cut(f"node-{old}", f"node-{other}")
            network.cut(f"node-{other}", f"node-{old}")
            network.refuse(f"node-{other}", f"node-{old}")
        assert await scenario.until_fenced(old, epoch) < SESSION_S / 3
        successor = (await coordinators(scenario, active))[group_id]
        assert successor != old
        await commit(scenario, successor, group_id, 2)
        assert await committed(scenario, old, group_id) in (None, 2)
        assert await committed(scenario, successor, group_id) == 2

        for other in others:
            network.accept(f"node-{other}", f"node-{old}")
            network.heal(f"node-{old}", f"node-{other}")
            network.heal(f"node-{other}", f"node-{old}")
        async with asyncio.timeout(60):
            while not scenario.image().is_alive(old):  # noqa: ASYNC110  # polled
                await asyncio.sleep(0.1)

    play(story, seed=seed)
