"""Coordinators and committed offsets over frames: every served version, and what is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.sim.kafka_groups import (
    World,
    commit,
    committed,
    configured,
    coordinator_of,
    fetched,
    play,
)
from tests.sim.kafka_wire import WireClient, metadata

from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.kafka.messages.offset_commit_request import OffsetCommitRequest
from tidelog.kafka.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.kafka.messages.offset_delete_response import OffsetDeleteResponse
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.kafka.messages.offset_fetch_response import OffsetFetchResponse
from tidelog.node.config import NodeConfig
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX
from tidelog.node.kafka_apis import groups_fetched
from tidelog.node.kafka_apis.groups_fetched import OFFSET_BYTES
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

UNKNOWN_ID = b"another topic's!"
NONE = (0, -1, -1, "")
"""Where nothing is committed."""


def test_a_groups_coordinator_is_found_at_the_callers_listener_in_every_version() -> None:
    async def story(world: World) -> None:
        for version in range(7):
            request = FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"])
            answer = await world.client.call(request, version, FindCoordinatorResponse)
            node = f"node-{world.coordinator_id}"
            if version < 4:
                assert (answer.error_code, answer.node_id) == (0, world.coordinator_id)
                assert (answer.host, answer.port) == (node, 9092)
                assert version < 1 or answer.error_message is None
                continue
            first, second = answer.coordinators
            assert (first.key, first.error_code, first.node_id) == ("g", 0, world.coordinator_id)
            assert (first.host, first.port, first.error_message) == (node, 9092, None)
            assert (second.key, second.error_code, second.port) == ("h", 0, 9092)

    play(story)


def test_transactions_and_other_keys_have_no_coordinator() -> None:
    async def story(world: World) -> None:
        for key_type, code in ((1, 53), (2, 42), (-1, 42)):
            for version in range(1, 7):
                request = FindCoordinatorRequest("me", key_type, ["me", "you"])
                answer = await world.client.call(request, version, FindCoordinatorResponse)
                found = [answer] if version < 4 else answer.coordinators
                assert {(one.error_code, one.node_id, one.port) for one in found} == {
                    (code, -1, -1)
                }
                word = "transactional.id" if key_type == 1 else "key type"
                assert word in (found[0].error_message or "")
        request = FindCoordinatorRequest(coordinator_keys=["", "g" * 250, "g"])
        answer = await world.client.call(request, 6, FindCoordinatorResponse)
        codes = [one.error_code for one in answer.coordinators]
        assert codes == [common_pb2.INVALID_GROUP_ID, common_pb2.INVALID_GROUP_ID, 0]
        request = FindCoordinatorRequest(coordinator_keys=["g"] * 10_001)
        answer = await world.client.call(request, 6, FindCoordinatorResponse)
        assert {one.error_code for one in answer.coordinators} == {common_pb2.INVALID_REQUEST}
        empty = await world.client.call(FindCoordinatorRequest(), 6, FindCoordinatorResponse)
        assert empty.coordinators == []

    play(story)


def test_offsets_are_committed_and_fetched_in_every_version() -> None:
    async def story(world: World) -> None:
        for version in range(2, 11):
            request = commit(
                {0: version, 2: 100 + version},
                topic_id=world.topic_id,
                metadata=None if version == 5 else f"in {version}",
                leader_epoch=0,
            )
            assert await committed(world.client, request, version) == [0, 0]
            epoch = 0 if version >= 6 else -1
            text = "" if version == 5 else f"in {version}"
            for reading in range(1, 10):
                seen = epoch if reading >= 5 else -1
                found = {
                    ("t", 0): (0, version, seen, text),
                    ("t", 2): (0, 100 + version, seen, text),
                }
                if reading >= 2:
                    assert await fetched(world.client, reading) == (0, found)
                    assert await fetched(world.client, reading, {}) == (0, {})
                asked = {"t": [2, 1, 9], "nosuch": [0]}
                assert await fetched(world.client, reading, asked) == (
                    0,
                    {
                        ("t", 2): found["t", 2],
                        ("t", 1): NONE,
                        ("t", 9): NONE,
                        ("nosuch", 0): NONE,
                    },
                )

    play(story)


def test_an_epoch_that_no_leader_has_had_is_stored_in_every_version() -> None:
    async def story(world: World) -> None:
        for version in range(6, 10):
            request = commit({0: version}, leader_epoch=version)
            assert await committed(world.client, request, version) == [0]
            code, found = await fetched(world.client, 9)
            assert (code, found["t", 0][1:3]) == (0, (version, version))

    play(story)


def test_several_groups_are_fetched_at_once_each_with_its_own_error() -> None:
    async def story(world: World) -> None:
        assert await committed(world.client, commit({1: 5}), 9) == [0]
        for version in (8, 9):
            request = OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup("g", topics=None),
                    OffsetFetchRequestGroup("", topics=None),
                    OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("t", b"", [1])]),
                    OffsetFetchRequestGroup("g", "nobody", 3, None),
                ]
            )
            request.groups[2].topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[1])]
            answer = await world.client.call(request, version, OffsetFetchResponse)
            assert [one.group_id for one in answer.groups] == ["g", "", "g", "g"]
            unknown = common_pb2.UNKNOWN_MEMBER_ID if version >= 9 else 0
            assert [one.error_code for one in answer.groups] == [0, 24, 0, unknown]
            for one in (answer.groups[0], answer.groups[2]):
                (part,) = one.topics[0].partitions
                assert (part.partition_index, part.committed_offset) == (1, 5)

    play(story)


def test_an_answer_ends_where_it_is_large_and_says_so_for_the_groups_behind() -> None:
    async def story(world: World) -> None:
        text = "x" * 4_000
        assert (
            await committed(world.client, commit({0: 1, 1: 1, 2: 1}, metadata=text), 9) == [0] * 3
        )
        per_group = 3 * (len(text) + OFFSET_BYTES)
        room = -(-DESCRIBED_BYTES_MAX // per_group)
        groups = [OffsetFetchRequestGroup("g", topics=None)] * (room + 2)
        answer = await world.client.call(OffsetFetchRequest(groups=groups), 9, OffsetFetchResponse)
        codes = [one.error_code for one in answer.groups]
        assert codes == [0] * room + [common_pb2.INVALID_REQUEST] * 2

    play(story)


def test_the_offsets_of_one_group_that_are_too_large_for_an_answer_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(groups_fetched, "DESCRIBED_BYTES_MAX", 2 * (4_000 + OFFSET_BYTES))

    async def story(world: World) -> None:
        texts = commit({0: 1, 1: 1, 2: 1}, metadata="x" * 4_000)
        assert await committed(world.client, texts, 9) == [0] * 3

        async def code(partitions: list[int] | None) -> int:
            topics = None
            if partitions is not None:
                topics = [OffsetFetchRequestTopics(name="t", partition_indexes=partitions)]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
            answer = await world.client.call(request, 9, OffsetFetchResponse)
            return answer.groups[0].error_code

        assert await code(None) == common_pb2.INVALID_REQUEST
        assert await code([0, 1, 2]) == common_pb2.INVALID_REQUEST
        assert await code([0, 2]) == common_pb2.NONE
        refused, _ = await fetched(world.client, 7)
        assert refused == common_pb2.INVALID_REQUEST

    play(story)


def test_the_newest_versions_name_topics_by_their_ids() -> None:
    async def story(world: World) -> None:
        request = commit({1: 5}, topic="", topic_id=world.topic_id)
        request.topics += commit({0: 1}, topic="", topic_id=UNKNOWN_ID).topics
        request.topics += commit({77: 1}, topic="", topic_id=world.topic_id).topics
        assert await committed(world.client, request, 10) == [0, common_pb2.UNKNOWN_TOPIC_ID, 3]
        topics = [
            OffsetFetchRequestTopics(topic_id=world.topic_id, partition_indexes=[1, 2]),
            OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0]),
        ]
        group = OffsetFetchRequestGroup("g", topics=topics)
        answer = await world.client.call(
            OffsetFetchRequest(groups=[group]), 10, OffsetFetchResponse
        )
        known, unknown = answer.groups[0].topics
        assert [one.committed_offset for one in known.partitions] == [5, -1]
        assert (known.topic_id, unknown.topic_id) == (world.topic_id, UNKNOWN_ID)
        assert unknown.partitions[0].error_code == common_pb2.UNKNOWN_TOPIC_ID
        code, found = await fetched(world.client, 10)
        assert (code, found) == (0, {(world.topic_id.hex(), 1): (0, 5, -1, "")})

    play(story)


def test_what_may_not_be_committed_is_refused_alone_or_as_a_whole() -> None:
    async def story(world: World) -> None:
        client = world.client
        request = commit({0: 1, 9: 1, -1: 1, 1: -5}, metadata="x")
        request.topics[0].partitions[0].committed_metadata = "x" * 5_000
        request.topics += commit({0: 1}, topic="nosuch").topics
        codes = await committed(client, request, 9)
        assert codes == [common_pb2.OFFSET_METADATA_TOO_LARGE, 3, 3, 42, 3]
        for fields, code in (
            ({"group_id": ""}, common_pb2.INVALID_GROUP_ID),
            ({"group_id": "g" * 250}, common_pb2.INVALID_GROUP_ID),
            ({"generation_id_or_member_epoch": 0}, common_pb2.UNKNOWN_MEMBER_ID),
            (
                {"generation_id_or_member_epoch": 1, "member_id": "m"},
                common_pb2.UNKNOWN_MEMBER_ID,
            ),
        ):
            for version in range(2, 10):
                whole = commit({0: 1, 1: 2}, **fields)
                assert await committed(client, whole, version) == [code, code]
        assert await committed(client, OffsetCommitRequest(group_id="g"), 9) == []
        assert await fetched(client, 9) == (0, {})
        named = commit({0: 1}, member_id="one that assigns itself", group_instance_id="i")
        assert await committed(client, named, 9) == [0]

    play(story)


def test_whole_refusals_of_a_fetch_are_told_where_each_version_has_a_place() -> None:
    async def story(world: World) -> None:
        for version in range(1, 10):
            code, found = await fetched(world.client, version, {"t": [0, 1]}, group_id="")
            if version == 1:
                refused = (common_pb2.INVALID_GROUP_ID, -1, -1, "")
                assert (code, found) == (0, {("t", 0): refused, ("t", 1): refused})
            else:
                assert (code, found) == (common_pb2.INVALID_GROUP_ID, {})

    play(story)


def test_another_broker_says_that_it_is_not_the_coordinator() -> None:
    async def story(world: World) -> None:
        other_id = next(one for one in (1, 2, 3) if one != world.coordinator_id)
        other = await WireClient.connect(world.cluster, f"node-{other_id}:9092")
        assert await committed(other, commit({0: 1}), 9) == [common_pb2.NOT_COORDINATOR]
        assert await fetched(other, 9) == (common_pb2.NOT_COORDINATOR, {})
        assert (await coordinator_of(other, "g")).node_id == world.coordinator_id

    play(story)


def test_offsets_move_with_their_coordinator() -> None:
    async def story(world: World) -> None:
        assert await committed(world.client, commit({0: 5}, metadata="kept"), 9) == [0]
        world.cluster.kill(world.coordinator_id)
        other_id = next(one for one in (1, 2, 3) if one != world.coordinator_id)
        other = await WireClient.connect(world.cluster, f"node-{other_id}:9092")
        for _ in range(600):
            found = await coordinator_of(other, "g")
            if found.node_id != world.coordinator_id:
                client = await WireClient.connect(world.cluster, f"{found.host}:9092")
                code, offsets = await fetched(client, 9)
                if not code:
                    break
            await asyncio.sleep(0.1)
        assert (code, offsets) == (0, {("t", 0): (0, 5, -1, "kept")})

    play(story)


def test_a_commit_that_the_replicas_do_not_confirm_is_tried_again_by_clients() -> None:
    async def story(world: World) -> None:
        for one in (1, 2, 3):
            if one != world.coordinator_id:
                world.cluster.kill(one)
        code = await committed(world.client, commit({0: 5}), 9)
        assert code == [common_pb2.COORDINATOR_NOT_AVAILABLE]

    play(story)


def test_a_retention_of_old_versions_is_kept() -> None:
    def kept_briefly(config: NodeConfig) -> NodeConfig:
        config = configured(config)
        groups = replace(config.groups, offsets_retention_check_interval_ms=1_000)
        return replace(config, groups=groups)

    async def story(world: World) -> None:
        for version, group_id in ((2, "g"), (3, "g"), (4, "g")):
            request = commit({version - 2: 5}, group_id=group_id, retention_time_ms=10_000)
            assert await committed(world.client, request, version) == [0]
        await asyncio.sleep(8)
        assert len((await fetched(world.client, 9))[1]) == 3
        request = commit({0: 6}, retention_time_ms=-1)
        assert await committed(world.client, request, 4) == [0]
        request = commit({1: 6}, retention_time_ms=10_000)  # which this version cannot say
        assert await committed(world.client, request, 5) == [0]
        await asyncio.sleep(14)
        assert set((await fetched(world.client, 9))[1]) == {("t", 0), ("t", 1)}

    play(story, kept_briefly)


def deletion(offsets: dict[str, list[int]], group_id: str = "g") -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(one) for one in numbers])
            for name, numbers in offsets.items()
        ],
    )


def test_offsets_are_deleted() -> None:
    async def story(world: World) -> None:
        async def delete(request: OffsetDeleteRequest) -> tuple[int, list[int]]:
            answer = await world.client.call(request, 0, OffsetDeleteResponse)
            codes = [one.error_code for topic in answer.topics for one in topic.partitions]
            return answer.error_code, codes

        await metadata(world.client, "other")
        assert await delete(deletion({"t": [0]})) == (common_pb2.GROUP_ID_NOT_FOUND, [])
        assert await delete(deletion({"t": [0]}, "")) == (common_pb2.INVALID_GROUP_ID, [])
        assert await committed(world.client, commit({0: 5, 1: 6}), 9) == [0, 0]
        request = deletion({"t": [1, 2], "nosuch": [0], "other": [0]})
        assert await delete(request) == (0, [0, 0, 3, 0])
        assert set((await fetched(world.client, 9))[1]) == {("t", 0)}

    play(story)
