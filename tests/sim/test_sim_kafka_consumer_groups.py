"""Members of the consumer protocol (KIP-848) over frames: both versions, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.sim.kafka_consumers import Member
from tests.sim.kafka_groups import World, commit, committed, fetched, join, joined, play

from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.api_versions_response import ApiVersionsResponse
from tidelog.kafka.messages.consumer_group_heartbeat_request import TopicPartitions
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim


def test_the_list_of_apis_names_the_feature_that_clients_look_for() -> None:
    async def story(world: World) -> None:
        for version in (3, 4):
            request = ApiVersionsRequest("tests", "1")
            answer = await world.client.call(request, version, ApiVersionsResponse)
            (supported,), (finalized,) = answer.supported_features, answer.finalized_features
            assert (supported.name, supported.min_version, supported.max_version) == (
                "group.version",
                1,
                1,
            )
            assert (finalized.name, finalized.max_version_level) == ("group.version", 1)
            assert answer.finalized_features_epoch >= 0

    play(story)


def test_members_share_the_topic_hand_over_commit_and_leave() -> None:
    async def story(world: World) -> None:
        t = world.topic_id
        one = Member(world.client, "", version=0)
        answer = await one.join()
        assert answer.error_code == 0
        assert len(one.member_id) > 20, "the coordinator makes it in version 0"
        assert answer.heartbeat_interval_ms == 5_000
        await one.until({t: [0, 1, 2]})
        quiet = await one.ask()
        assert (quiet.error_code, quiet.assignment) == (0, None), "nothing new"

        two = Member(await world.connect(), "two")
        assert (await two.join(topic_partitions=None)).error_code == 0
        assert two.member_id == "two"
        for _ in range(10):
            await one.ask()
            await two.ask()
            await asyncio.sleep(0.2)
        kept = one.owned
        assert kept is not None
        assert len(kept[t]) in (1, 2)
        assert not two.owned, "before the other one has let go"
        await one.ask(**one.all_owned())
        rest = sorted({0, 1, 2} - set(kept[t]))
        await two.until({t: rest})

        for at in range(9, 11):
            of_member = commit(
                dict.fromkeys(rest, 7),
                topic_id=t,
                member_id="two",
                generation_id_or_member_epoch=two.epoch,
            )
            assert await committed(two.client, of_member, at) == [0] * len(rest)
        of_member.generation_id_or_member_epoch = two.epoch - 1
        stale = common_pb2.STALE_MEMBER_EPOCH
        assert await committed(two.client, of_member, 9) == [stale] * len(rest)
        assert await committed(two.client, of_member, 8) == [35] * len(rest)
        asked = {"t": rest}
        found = await fetched(two.client, 9, asked, member_id="two", epoch=two.epoch)
        assert found == (0, {("t", number): (0, 7, -1, "") for number in rest})
        told = await fetched(two.client, 9, asked, member_id="two", epoch=two.epoch - 1)
        assert told == (stale, {})

        gone = await one.ask(member_epoch=-1)
        assert (gone.error_code, gone.member_epoch) == (0, -1)
        await two.until({t: [0, 1, 2]})
        one.epoch = 5
        assert (await one.ask()).error_code == common_pb2.UNKNOWN_MEMBER_ID

    play(story)


def test_an_assignment_that_was_never_heard_is_given_again_on_the_next_connection() -> None:
    async def story(world: World) -> None:
        one = Member(world.client, "one")
        await one.join()
        await one.until({world.topic_id: [0, 1, 2]})
        one.client = await world.connect()
        answer = await one.ask(**one.all_owned())
        assert answer.assignment is not None
        assert answer.assignment.topic_partitions[0].partitions == [0, 1, 2]
        assert (await one.ask()).assignment is None
        one.client = world.client
        with pytest.raises(ConnectionError):
            await one.ask()  # which has come late: its client has a later connection

    play(story)


def test_a_static_member_comes_back_and_a_pattern_subscribes() -> None:
    async def story(world: World) -> None:
        one = Member(world.client, "one")
        pattern = {"subscribed_topic_names": None, "subscribed_topic_regex": "t|u.*"}
        assert (await one.join(instance_id="i", **pattern)).error_code == 0
        await one.until({world.topic_id: [0, 1, 2]})
        other = Member(await world.connect(), "other")
        unreleased = common_pb2.UNRELEASED_INSTANCE_ID
        assert (await other.join(instance_id="i", **pattern)).error_code == unreleased
        assert (await one.ask(member_epoch=-2, instance_id="i")).error_code == 0
        assert (await other.join(instance_id="i", **pattern)).error_code == 0
        await other.until({world.topic_id: [0, 1, 2]})
        fenced = common_pb2.FENCED_INSTANCE_ID
        assert (await one.ask(member_epoch=1, instance_id="i")).error_code == fenced
        bad = Member(await world.connect(), "bad")
        answer = await bad.join(subscribed_topic_regex="(a", subscribed_topic_names=None)
        assert answer.error_code == common_pb2.INVALID_REGULAR_EXPRESSION
        assert answer.error_message

    play(story)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, common_pb2.INVALID_GROUP_ID),
        ({"member_id": ""}, common_pb2.INVALID_REQUEST),
        ({"member_id": "m" * 250}, common_pb2.INVALID_REQUEST),
        ({"member_epoch": 3}, common_pb2.UNKNOWN_MEMBER_ID),
        ({"member_epoch": -1}, common_pb2.UNKNOWN_MEMBER_ID),
        ({"member_epoch": -2}, common_pb2.INVALID_REQUEST),
        ({"member_epoch": -9}, common_pb2.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, common_pb2.INVALID_REQUEST),
        ({"rebalance_timeout_ms": 0}, common_pb2.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, common_pb2.INVALID_REQUEST),
        ({"subscribed_topic_names": ["t"] * 10_001}, common_pb2.INVALID_REQUEST),
        ({"subscribed_topic_names": ["t" * 250]}, common_pb2.INVALID_REQUEST),
        ({"server_assignor": "nosuch"}, common_pb2.UNSUPPORTED_ASSIGNOR),
        ({"topic_partitions": [TopicPartitions(b"x" * 16, [1])]}, common_pb2.INVALID_REQUEST),
        ({"instance_id": ""}, common_pb2.INVALID_REQUEST),
        ({"rack_id": "r" * 250}, common_pb2.INVALID_REQUEST),
    ],
)
def test_heartbeats_that_are_refused(fields: dict[str, Any], code: int) -> None:
    async def story(world: World) -> None:
        for version in (0, 1):
            if version == 0 and fields == {"member_id": ""}:
                continue
            answer = await Member(world.client, "one", version=version).join(**fields)
            assert answer.error_code == code
            assert len(answer.error_message or "") > 10

    play(story)


def test_a_group_has_one_protocol_at_a_time() -> None:
    async def story(world: World) -> None:
        one = Member(world.client, "one")
        assert (await one.join()).error_code == 0
        other = await world.connect()
        inconsistent = common_pb2.INCONSISTENT_GROUP_PROTOCOL
        answer = await other.call(join(), 9, JoinGroupResponse)
        assert answer.error_code == inconsistent
        assert (await one.ask(member_epoch=-1)).error_code == 0
        assert (await joined(other)).error_code == 0
        assert (await one.join()).error_code == inconsistent

    play(story)
