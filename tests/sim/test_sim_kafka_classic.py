"""Members of the classic protocol over frames: every served version, and what is refused."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from typing import Any

import pytest
from tests.sim.kafka_groups import (
    World,
    commit,
    committed,
    configured,
    fetched,
    join,
    joined,
    left,
    play,
    sync,
    synced,
)
from tests.sim.kafka_wire import WireClient, decode

from tidelog.kafka.messages.heartbeat_request import HeartbeatRequest
from tidelog.kafka.messages.heartbeat_response import HeartbeatResponse
from tidelog.kafka.messages.join_group_request import JoinGroupRequestProtocol
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.kafka.messages.leave_group_response import LeaveGroupResponse
from tidelog.kafka.messages.sync_group_request import SyncGroupRequest
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.node.config import NodeConfig
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

JOIN_GROUP = 11


def beat(of: JoinGroupResponse, **fields: Any) -> HeartbeatRequest:
    request = HeartbeatRequest("g", of.generation_id, of.member_id)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


async def heartbeat(client: WireClient, request: HeartbeatRequest, version: int = 4) -> int:
    return (await client.call(request, version, HeartbeatResponse)).error_code


def test_a_member_joins_syncs_beats_commits_and_leaves_in_every_version() -> None:
    async def story(world: World) -> None:
        client = world.client
        for version in range(10):
            first = await client.call(join(), version, JoinGroupResponse)
            if version >= 4:
                assert first.error_code == common_pb2.MEMBER_ID_REQUIRED
                assert (first.generation_id, first.members) == (-1, [])
                assert first.member_id.startswith("wire-")
                assert first.protocol_name == (None if version >= 7 else "")
                first = await client.call(join(first.member_id), version, JoinGroupResponse)
            assert first.error_code == 0
            assert first.member_id == first.leader
            assert first.protocol_name == "range"
            assert first.protocol_type == ("consumer" if version >= 7 else None)
            (member,) = first.members
            assert (member.member_id, member.metadata) == (first.member_id, b"of range")

            for at in range(6):
                request = sync(first, {first.member_id: b"all"})
                answer = await client.call(request, at, SyncGroupResponse)
                assert (answer.error_code, answer.assignment) == (0, b"all")
                names = ("consumer", "range") if at == 5 else (None, None)
                assert (answer.protocol_type, answer.protocol_name) == names
            for at in range(5):
                assert await heartbeat(client, beat(first), at) == 0
            for at in range(2, 11):
                of_member = commit(
                    {0: 10 * version + at},
                    topic_id=world.topic_id,
                    member_id=first.member_id,
                    generation_id_or_member_epoch=first.generation_id,
                )
                assert await committed(client, of_member, at) == [0]

            leave = LeaveGroupRequest("g", first.member_id, [MemberIdentity(first.member_id)])
            at = version % 6
            answer_to_leave = await client.call(leave, at, LeaveGroupResponse)
            assert answer_to_leave.error_code == 0
            assert [one.error_code for one in answer_to_leave.members] == [0] * (at >= 3)
            assert await heartbeat(client, beat(first)) == common_pb2.UNKNOWN_MEMBER_ID

    play(story)


def test_members_of_different_versions_share_a_generation_and_the_leader_assigns() -> None:
    async def story(world: World) -> None:
        clients = [world.client, await world.connect(), await world.connect()]
        answers = await asyncio.gather(
            *(
                joined(client, version, names=names)
                for client, version, names in zip(
                    clients,
                    (0, 4, 9),
                    (("sticky", "range"), ("range", "sticky"), ("range",)),
                    strict=True,
                )
            )
        )
        assert {(one.error_code, one.generation_id) for one in answers} == {(0, 1)}
        assert {one.protocol_name for one in answers} == {"range"}
        (leader,) = {one.leader for one in answers}
        ids = {one.member_id for one in answers}
        assert len(ids) == 3
        for one in answers:
            told = {member.member_id: member.metadata for member in one.members}
            assert told == (dict.fromkeys(ids, b"of range") if one.member_id == leader else {})

        assignments = {one: one.encode() for one in ids} | {"nobody": b"?"}
        shares = await asyncio.gather(
            *(
                synced(client, one, assignments if one.member_id == leader else None)
                for client, one in zip(clients, answers, strict=True)
            )
        )
        assert [one.assignment for one in shares] == [one.member_id.encode() for one in answers]

    play(story)


def test_a_waiting_join_holds_its_own_connection_alone() -> None:
    async def story(world: World) -> None:
        first = await joined(world.client)
        await synced(world.client, first, {first.member_id: b"1"})
        second = await world.connect()
        given = await second.call(join(), 9, JoinGroupResponse)
        waiting = second.begin(join(given.member_id), 9, 901)
        behind = second.begin(beat(first), 4, 902)
        await asyncio.sleep(1)
        assert await heartbeat(world.client, beat(first)) == common_pb2.REBALANCE_IN_PROGRESS
        await asyncio.sleep(5)
        assert not waiting.done()
        assert not behind.done()
        again = await joined(world.client, member_id=first.member_id)
        answer = decode(await waiting, JOIN_GROUP, 9, JoinGroupResponse)
        assert (answer.error_code, answer.generation_id) == (0, again.generation_id)
        await behind
        assert second.answered[-2:] == [901, 902], "in the order of the requests"

    play(story)


def test_one_whose_connection_ends_while_it_waits_has_its_session_and_no_longer() -> None:
    async def story(world: World) -> None:
        first = await joined(world.client)
        await synced(world.client, first, {first.member_id: b"1"})
        second = await world.connect()
        given = await second.call(join(), 9, JoinGroupResponse)
        second.begin(join(given.member_id), 9, 901)
        await asyncio.sleep(1)
        second.leave()
        await asyncio.sleep(1)
        assert world.cluster.machines[world.coordinator_id].node is not None
        began_s = asyncio.get_running_loop().time()
        again = await joined(world.client, member_id=first.member_id)
        assert (again.error_code, len(again.members)) == (0, 1)
        assert 8 <= asyncio.get_running_loop().time() - began_s < 12, "its session of 10 s"

    play(story)


def test_a_static_member_comes_back_without_a_rebalance_and_its_former_self_is_fenced() -> None:
    async def story(world: World) -> None:
        client = world.client
        first = await joined(client, group_instance_id="one")
        assert (first.error_code, first.members[0].group_instance_id) == (0, "one")
        assert (await synced(client, first, {first.member_id: b"1"})).assignment == b"1"
        again = await joined(client, group_instance_id="one")
        assert (again.error_code, again.generation_id) == (0, first.generation_id)
        assert again.member_id != first.member_id
        assert (again.leader, again.skip_assignment) == (again.member_id, True)
        assert (await synced(client, again)).assignment == b"1"
        fenced = common_pb2.FENCED_INSTANCE_ID
        for version in (3, 4):
            old = beat(first, group_instance_id="one")
            assert await heartbeat(client, old, version) == fenced
        request = sync(first, group_instance_id="one")
        assert (await client.call(request, 5, SyncGroupResponse)).error_code == fenced
        old_commit = commit(
            {0: 1},
            member_id=first.member_id,
            group_instance_id="one",
            generation_id_or_member_epoch=first.generation_id,
        )
        assert await committed(client, old_commit, 7) == [fenced]
        elder = await joined(client, 8, group_instance_id="one")
        assert (elder.error_code, elder.skip_assignment) == (0, False)
        assert elder.leader != elder.member_id, "who knows of no skipping follows somebody"

        gone = await left(client, ("", "one"), ("", "two"), ("nobody", None))
        assert gone.error_code == 0
        assert [(one.group_instance_id, one.error_code) for one in gone.members] == [
            ("one", 0),
            ("two", common_pb2.UNKNOWN_MEMBER_ID),
            (None, common_pb2.UNKNOWN_MEMBER_ID),
        ]

    play(story)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, common_pb2.INVALID_GROUP_ID),
        ({"group_id": "g" * 250}, common_pb2.INVALID_GROUP_ID),
        ({"member_id": "nobody"}, common_pb2.UNKNOWN_MEMBER_ID),
        ({"session_timeout_ms": 10}, common_pb2.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, common_pb2.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": ""}, common_pb2.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, common_pb2.INCONSISTENT_GROUP_PROTOCOL),
        (
            {"protocols": [JoinGroupRequestProtocol(f"{one}") for one in range(50_000)]},
            common_pb2.INVALID_REQUEST,
        ),
        (
            {"protocols": [JoinGroupRequestProtocol("huge", bytes(2_000_000))]},
            common_pb2.GROUP_MAX_SIZE_REACHED,
        ),
        ({"group_instance_id": ""}, common_pb2.INVALID_REQUEST),
        ({"group_instance_id": "i" * 250}, common_pb2.INVALID_REQUEST),
    ],
)
def test_joins_that_are_refused(fields: dict[str, Any], code: int) -> None:
    async def story(world: World) -> None:
        for version in (5, 9):
            answer = await world.client.call(join(**fields), version, JoinGroupResponse)
            assert (answer.error_code, answer.generation_id) == (code, -1)
            assert answer.member_id == fields.get("member_id", "")

    play(story)


def test_what_does_not_fit_the_group_is_refused() -> None:
    async def story(world: World) -> None:
        client = world.client
        first = await joined(client)
        await synced(client, first, {first.member_id: b"1"})
        inconsistent = common_pb2.INCONSISTENT_GROUP_PROTOCOL
        for other in (join(protocol_type="connect"), join(names=("sticky",))):
            assert (await client.call(other, 9, JoinGroupResponse)).error_code == inconsistent

        async def sync_code(request: SyncGroupRequest, version: int = 5) -> int:
            return (await client.call(request, version, SyncGroupResponse)).error_code

        for names in (("connect", "range"), ("consumer", "sticky"), (None, "range")):
            request = sync(first, protocol_type=names[0], protocol_name=names[1])
            assert await sync_code(request) == inconsistent
            assert await sync_code(request, 4) == 0, "which does not say it"
        assert await sync_code(sync(first, protocol_name=None)) == inconsistent
        stale = common_pb2.ILLEGAL_GENERATION
        unknown = common_pb2.UNKNOWN_MEMBER_ID
        fields: dict[str, Any]
        for fields, code in (
            ({"generation_id": 0}, stale),
            ({"generation_id": 2}, stale),
            ({"member_id": "nobody"}, unknown),
            ({"member_id": ""}, unknown),
            ({"group_id": "j"}, unknown),
            ({"group_id": ""}, common_pb2.INVALID_GROUP_ID),
        ):
            assert await sync_code(sync(first, **fields)) == code
            assert await heartbeat(client, beat(first, **fields)) == code
        for generation, member_id, code in (
            (0, first.member_id, stale),
            (2, first.member_id, stale),
            (1, "nobody", unknown),
            (-1, "", unknown),
        ):
            of_other = commit({0: 1}, member_id=member_id, generation_id_or_member_epoch=generation)
            assert await committed(client, of_other, 9) == [code]
        assert await heartbeat(client, beat(first)) == 0
        for group_id, code in (("", common_pb2.INVALID_GROUP_ID), ("j", unknown)):
            for version in range(3):
                leave = LeaveGroupRequest(group_id, first.member_id)
                answer = await client.call(leave, version, LeaveGroupResponse)
                assert answer.error_code == code
        many = LeaveGroupRequest("g", "", [MemberIdentity(f"{one}") for one in range(9_000)])
        answer = await client.call(many, 5, LeaveGroupResponse)
        assert {one.error_code for one in answer.members} == {unknown}
        more = LeaveGroupRequest("g", "", [MemberIdentity(f"{one}") for one in range(10_001)])
        answer = await client.call(more, 5, LeaveGroupResponse)
        assert (answer.error_code, answer.members) == (common_pb2.INVALID_REQUEST, [])
        nobody = await client.call(LeaveGroupRequest("g"), 5, LeaveGroupResponse)
        assert (nobody.error_code, nobody.members) == (0, [])
        assert await heartbeat(client, beat(first)) == 0

    play(story)


def test_a_coordinator_that_loads_stops_no_member() -> None:
    """Java's consumer ends at a code that Kafka never answers there."""

    async def story(world: World) -> None:
        first = await joined(world.client)
        node = world.cluster.machines[world.coordinator_id].node
        assert node is not None
        broker = node._broker
        assert broker is not None
        for hosted in broker.groups.runtime.active():
            hosted.end("tests: an append failed half way")  # and nobody loads it again
        loading = common_pb2.COORDINATOR_LOAD_IN_PROGRESS
        assert await heartbeat(world.client, beat(first)) == 0
        assert (await synced(world.client, first)).error_code == common_pb2.REBALANCE_IN_PROGRESS
        assert (await joined(world.client)).error_code == loading
        assert await committed(world.client, commit({0: 1}), 9) == [loading]
        assert (await fetched(world.client, 9))[0] == loading

    play(story)


def test_those_who_wait_when_the_coordinator_stops_are_told_to_find_the_next_one() -> None:
    async def story(world: World) -> None:
        first = await joined(world.client)
        await synced(world.client, first, {first.member_id: b"1"})
        second = await world.connect()
        given = await second.call(join(), 9, JoinGroupResponse)
        waiting = second.begin(join(given.member_id), 9, 901)
        await asyncio.sleep(1)
        await world.cluster.stop(world.coordinator_id)
        answer = decode(await waiting, JOIN_GROUP, 9, JoinGroupResponse)
        assert answer.error_code == common_pb2.NOT_COORDINATOR

    play(story)


@pytest.mark.parametrize("count", [-1, (1 << 31) - 1, -(1 << 31)])
def test_arrays_that_are_null_or_that_no_frame_holds_close_the_connection(count: int) -> None:
    async def story(world: World) -> None:
        body = struct.pack(">h1si", 1, b"g", 10_000) + struct.pack(
            ">hh8si", 0, 8, b"consumer", count
        )
        frame = struct.pack(">hhih1s", JOIN_GROUP, 0, 5, 1, b"x") + body
        world.client.send(struct.pack(">i", len(frame)) + frame)
        await world.client.end
        assert (await joined(await world.connect())).error_code == 0

    play(story)


def test_more_members_than_a_group_may_have_are_refused() -> None:
    def small(config: NodeConfig) -> NodeConfig:
        config = configured(config)
        return replace(config, groups=replace(config.groups, group_max_size=1))

    async def story(world: World) -> None:
        await joined(world.client)
        second = await world.connect()
        answer = await second.call(join(), 9, JoinGroupResponse)
        assert answer.error_code == common_pb2.GROUP_MAX_SIZE_REACHED

    play(story, small)
