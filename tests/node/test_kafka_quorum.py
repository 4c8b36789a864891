"""DescribeQuorum: who is believed to lead the quorum."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.core.errors import UnreachableError
from tidelog.kafka.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from tidelog.kafka.messages.describe_quorum_response import DescribeQuorumResponse
from tidelog.metadata.image import MetadataImage
from tidelog.net.call import LOCAL_CALL
from tidelog.net.listeners import one_listener
from tidelog.node.kafka_apis.admin_quorum import METADATA_TOPIC, SHARED_MS, DescribeQuorumHandler
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, controller_pb2

REQUEST = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [PartitionData(0)])])


async def described(
    answer: controller_pb2.DescribeQuorumResponse | None, *, leader_id: int | None = 2
) -> DescribeQuorumResponse:
    """Describe the quorum at a broker that takes this node for the leader; None: it is silent."""

    async def call(address: str, *_: Any, **__: Any) -> controller_pb2.DescribeQuorumResponse:
        assert address == "b:2"
        if answer is None:
            raise UnreachableError("nobody listens")
        return answer

    config = SimpleNamespace(
        controller_voters={1: "a:1", 2: "b:2"}, internal_listener=one_listener("a:1")[0]
    )
    ports: Any = SimpleNamespace(  # the parts that are used
        config=config,
        controller_id=lambda: leader_id,
        peers=SimpleNamespace(call=call),
        image=MetadataImage,
        clock=SimpleNamespace(wall_ms=lambda: 5_000, monotonic_ms=lambda: 1_000),
    )
    return await DescribeQuorumHandler(ports)(REQUEST, ApiCall(LOCAL_CALL, 2))


def status(leader_id: int | None) -> controller_pb2.DescribeQuorumResponse:
    """State of node 2, whose follower lags and was heard a second ago."""
    return controller_pb2.DescribeQuorumResponse(
        node_id=2,
        leader_id=leader_id,
        term=7,
        last_index=9,
        commit_index=8,
        peers=[
            controller_pb2.DescribeQuorumResponse.Peer(
                node_id=1, match_index=6, last_contact_ms=1_000
            )
        ],
    )


async def test_ends_are_exclusive_and_a_follower_behind_has_not_caught_up() -> None:
    answer = await described(status(2))
    quorum = answer.topics[0].partitions[0]
    assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (2, 7, 9)
    assert [
        (one.replica_id, one.log_end_offset, one.last_fetch_timestamp, one.last_caught_up_timestamp)
        for one in quorum.current_voters
    ] == [(1, 7, 4_000, -1), (2, 10, 5_000, 5_000)]


@pytest.mark.parametrize("leader_id", [1, None])
async def test_a_node_that_leads_no_more_is_not_believed(leader_id: int | None) -> None:
    answer = await described(status(leader_id))
    assert (answer.error_code, answer.topics) == (common_pb2.NOT_LEADER_OR_FOLLOWER, [])


async def test_without_a_leader_or_its_answer_the_caller_asks_again() -> None:
    for answer in (await described(None), await described(status(2), leader_id=None)):
        assert answer.error_code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert answer.error_message


async def test_callers_share_a_look_however_many_ask_and_later_ones_have_a_new_one() -> None:
    now_ms, calls, may_answer = 1_000, 0, asyncio.Event()

    async def call(*_: Any, **__: Any) -> controller_pb2.DescribeQuorumResponse:
        nonlocal calls
        calls += 1
        await may_answer.wait()
        return status(2)

    ports: Any = SimpleNamespace(  # the parts that are used
        config=SimpleNamespace(
            controller_voters={1: "a:1", 2: "b:2"}, internal_listener=one_listener("a:1")[0]
        ),
        controller_id=lambda: 2,
        peers=SimpleNamespace(call=call),
        image=MetadataImage,
        clock=SimpleNamespace(wall_ms=lambda: 5_000, monotonic_ms=lambda: now_ms),
    )
    handler = DescribeQuorumHandler(ports)
    asking = [asyncio.create_task(handler(REQUEST, ApiCall(LOCAL_CALL, 2))) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()  # another one looks in its place
    await asyncio.sleep(0)
    may_answer.set()
    answers = await asyncio.gather(*asking[1:])
    assert {one.topics[0].partitions[0].leader_epoch for one in answers} == {7}
    assert calls == 2
    now_ms += SHARED_MS
    await handler(REQUEST, ApiCall(LOCAL_CALL, 2))
    assert calls == 3
