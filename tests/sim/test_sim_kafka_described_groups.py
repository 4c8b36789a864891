"""Lists, descriptions and deletions of groups over frames: every served version."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.kafka_consumers import Member
from tests.sim.kafka_groups import (
    World,
    commit,
    committed,
    fetched,
    joined,
    left,
    play,
    synced,
)

from tidelog.kafka.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.kafka.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from tidelog.kafka.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.kafka.messages.delete_groups_response import DeleteGroupsResponse
from tidelog.kafka.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.kafka.messages.describe_groups_response import DescribeGroupsResponse
from tidelog.kafka.messages.list_groups_request import ListGroupsRequest
from tidelog.kafka.messages.list_groups_response import ListGroupsResponse
from tidelog.kafka.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.kafka.messages.offset_delete_response import OffsetDeleteResponse
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX
from tidelog.node.kafka_apis.groups_described import MEMBER_BYTES
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

CLASSIC, CONSUMER, SIMPLE = "g", "j", "m"
"""Groups of one coordinator: one for each protocol, and one of committed offsets alone."""
OPERATIONS = 0b1101_0100_1000


async def three_groups(world: World) -> Member:
    """Make the groups; the member of the consumer protocol."""
    first = await joined(world.client, group_instance_id="one")
    await synced(world.client, first, {first.member_id: b"all"})
    member = Member(await world.connect(), "hand")
    member.group_id = CONSUMER
    await member.join(rack_id="r1")
    await member.until({world.topic_id: [0, 1, 2]})
    assert await committed(world.client, commit({0: 1}, group_id=SIMPLE), 9) == [0]
    return member


def test_groups_are_listed_by_state_and_type() -> None:
    async def story(world: World) -> None:
        await three_groups(world)

        async def listed(version: int, **filters: Any) -> dict[str, tuple[str, str, str]]:
            request = ListGroupsRequest(**filters)
            answer = await world.client.call(request, version, ListGroupsResponse)
            assert answer.error_code == 0
            return {
                one.group_id: (one.protocol_type, one.group_state, one.group_type)
                for one in answer.groups
            }

        found = {
            CLASSIC: ("consumer", "Stable", "classic"),
            CONSUMER: ("consumer", "Stable", "consumer"),
            SIMPLE: ("", "Empty", "classic"),
        }
        for version in range(6):
            assert await listed(version) == {
                name: (kind, state if version >= 4 else "", type_ if version >= 5 else "")
                for name, (kind, state, type_) in found.items()
            }
        for filters, names in (
            ({"states_filter": ["STABLE", "dead"]}, {CLASSIC, CONSUMER}),
            ({"states_filter": ["nosuch"]}, set()),
            ({"types_filter": ["Classic"]}, {CLASSIC, SIMPLE}),
            ({"types_filter": ["consumer"], "states_filter": ["Empty"]}, set()),
            ({"types_filter": ["share"]}, set()),
        ):
            assert set(await listed(5, **filters)) == names

    play(story)


def test_a_list_waits_until_all_groups_are_loaded() -> None:
    async def story(world: World) -> None:
        node = world.cluster.machines[world.coordinator_id].node
        assert node is not None
        broker = node._broker
        assert broker is not None
        for hosted in broker.groups.runtime.active():
            hosted.end("tests: an append failed half way")
        answer = await world.client.call(ListGroupsRequest(), 5, ListGroupsResponse)
        assert answer.error_code == common_pb2.COORDINATOR_LOAD_IN_PROGRESS

    play(story)


def test_groups_are_described_by_their_own_protocol() -> None:
    async def story(world: World) -> None:
        await three_groups(world)
        names = [CLASSIC, CONSUMER, SIMPLE, "p", ""]
        for version in range(7):
            request = DescribeGroupsRequest(names, version == 3)
            answer = await world.client.call(request, version, DescribeGroupsResponse)
            classic, consumer, simple, absent, unnamed = answer.groups
            assert [one.group_id for one in answer.groups] == names
            assert (classic.error_code, classic.group_state) == (0, "Stable")
            assert (classic.protocol_type, classic.protocol_data) == ("consumer", "range")
            (member,) = classic.members
            assert member.member_metadata == b"of range"
            assert member.member_assignment == b"all"
            assert (member.client_id, member.client_host) == ("wire", "client")
            assert member.group_instance_id == ("one" if version >= 4 else None)
            assert classic.authorized_operations == (OPERATIONS if version == 3 else -(1 << 31))
            assert (simple.error_code, simple.group_state, simple.members) == (0, "Empty", [])
            for one in (consumer, absent):
                code = common_pb2.GROUP_ID_NOT_FOUND if version >= 6 else 0
                assert (one.error_code, one.group_state, one.members) == (code, "Dead", [])
                assert bool(one.error_message) is (version >= 6)
            assert unnamed.error_code == common_pb2.INVALID_GROUP_ID

        for version in (0, 1):
            asked = ConsumerGroupDescribeRequest(names, version == 1)
            told = await world.client.call(asked, version, ConsumerGroupDescribeResponse)
            not_found = common_pb2.GROUP_ID_NOT_FOUND
            codes = [not_found, 0, not_found, not_found, common_pb2.INVALID_GROUP_ID]
            assert [one.error_code for one in told.groups] == codes
            assert all(one.error_message for one in told.groups if one.error_code)
            group = told.groups[1]
            assert (group.group_state, group.assignor_name) == ("Stable", "uniform")
            assert group.group_epoch == group.assignment_epoch > 0
            assert group.authorized_operations == (OPERATIONS if version else -(1 << 31))
            (hand,) = group.members
            assert (hand.member_id, hand.rack_id, hand.instance_id) == ("hand", "r1", None)
            assert (hand.client_id, hand.client_host) == ("wire", "client")
            assert (hand.subscribed_topic_names, hand.subscribed_topic_regex) == (["t"], None)
            for assignment in (hand.assignment, hand.target_assignment):
                (topic,) = assignment.topic_partitions
                assert (topic.topic_id, topic.topic_name) == (world.topic_id, "t")
                assert topic.partitions == [0, 1, 2]
            assert hand.member_type == (1 if version else -1)

    play(story)


def test_a_description_ends_where_it_is_large_and_says_so_for_the_groups_behind() -> None:
    async def story(world: World) -> None:
        first = await joined(world.client)
        share = bytes(800_000)
        await synced(world.client, first, {first.member_id: share})
        per_group = MEMBER_BYTES + len(share) + len(b"of range")
        room = -(-DESCRIBED_BYTES_MAX // per_group)
        request = DescribeGroupsRequest(["g"] * (room + 2))
        answer = await world.client.call(request, 6, DescribeGroupsResponse)
        codes = [one.error_code for one in answer.groups]
        assert codes == [0] * room + [common_pb2.INVALID_REQUEST] * 2

    play(story)


def test_groups_without_members_are_deleted_and_offsets_that_are_read_stay() -> None:
    async def story(world: World) -> None:
        member = await three_groups(world)
        client = world.client

        async def deleted(version: int, *names: str) -> list[int]:
            request = DeleteGroupsRequest([*names])
            answer = await client.call(request, version, DeleteGroupsResponse)
            assert [one.group_id for one in answer.results] == [*names]
            return [one.error_code for one in answer.results]

        busy, absent = common_pb2.NON_EMPTY_GROUP, common_pb2.GROUP_ID_NOT_FOUND
        for version in (0, 1, 2):
            codes = await deleted(version, CLASSIC, CONSUMER, "p", "")
            assert codes == [busy, busy, absent, common_pb2.INVALID_GROUP_ID]
        one = commit(
            {0: 5},
            group_id=CONSUMER,
            member_id="hand",
            generation_id_or_member_epoch=member.epoch,
        )
        assert await committed(client, one, 9) == [0]
        topic = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])
        request = OffsetDeleteRequest(CONSUMER, [topic])
        answer = await client.call(request, 0, OffsetDeleteResponse)
        code = answer.topics[0].partitions[0].error_code
        assert code == common_pb2.GROUP_SUBSCRIBED_TO_TOPIC
        assert (await fetched(client, 9, group_id=CONSUMER))[1]

        await left(client, ("", "one"))
        await member.ask(member_epoch=-1)
        assert await deleted(2, CLASSIC, CONSUMER, SIMPLE) == [0, 0, 0]
        answer_to_list = await client.call(ListGroupsRequest(), 5, ListGroupsResponse)
        assert answer_to_list.groups == []
        assert await fetched(client, 9, group_id=SIMPLE) == (0, {})

    play(story)


def test_a_group_of_another_coordinator_is_not_described_or_deleted_here() -> None:
    async def story(world: World) -> None:
        elsewhere = "h"
        moved = common_pb2.NOT_COORDINATOR
        described = await world.client.call(
            DescribeGroupsRequest([elsewhere]), 6, DescribeGroupsResponse
        )
        assert described.groups[0].error_code == moved
        of_consumers = await world.client.call(
            ConsumerGroupDescribeRequest([elsewhere]), 1, ConsumerGroupDescribeResponse
        )
        assert of_consumers.groups[0].error_code == moved
        deleted = await world.client.call(DeleteGroupsRequest([elsewhere]), 2, DeleteGroupsResponse)
        assert deleted.results[0].error_code == moved

    play(story)
