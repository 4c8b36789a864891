"""Kafka's data plane over frames: every served version, records byte for byte, and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from tests.sim.kafka_wire import WireClient, decode, led_topic, listeners, metadata

from tidelog.kafka.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from tidelog.kafka.messages.fetch_response import FetchResponse, PartitionData
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.kafka.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.kafka.messages.list_offsets_response import ListOffsetsResponse
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tidelog.kafka.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.kafka.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.kafka.messages.produce_response import PartitionProduceResponse, ProduceResponse
from tidelog.node.config import NodeConfig
from tidelog.records.batch import iter_batches
from tidelog.records.records import Record, encode_batch
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

NO_ID = bytes(16)
OTHER_ID = b"another topic's!"


class World(NamedTuple):
    """A connection to the leader of partition 0."""

    cluster: SimCluster
    client: WireClient
    topic: MetadataResponseTopic
    leader_id: int


def batch(*values: bytes, at_ms: int = 1000) -> bytes:
    return encode_batch([Record(offset=0, timestamp=at_ms, key=None, value=one) for one in values])


def produce(
    world: World, records: bytes | None, *, acks: int = -1, partition: int = 0
) -> ProduceRequest:
    data = TopicProduceData(
        name="t",
        topic_id=world.topic.topic_id,
        partition_data=[PartitionProduceData(index=partition, records=records)],
    )
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])


def fetch(world: World, offset: int, *, wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="t", topic_id=world.topic.topic_id, partitions=[part])
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, topics=[topic])


async def produced(
    world: World, request: ProduceRequest, version: int = 13
) -> PartitionProduceResponse:
    response = await world.client.call(request, version, ProduceResponse)
    return response.responses[0].partition_responses[0]


async def fetched(world: World, request: FetchRequest, version: int = 18) -> PartitionData:
    response = await world.client.call(request, version, FetchResponse)
    return response.responses[0].partitions[0]


def three(config: NodeConfig) -> NodeConfig:
    """Topics have three partitions, of three replicas each."""
    defaults = replace(config.controller, num_partitions=3, default_replication_factor=3)
    return replace(config, controller=defaults)


def play(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    cluster = SimCluster(seed=3, config=SimClusterConfig(listeners=listeners, configure=three))

    async def main() -> None:
        async with asyncio.timeout(600):
            client, topic, leader_id = await led_topic(cluster, "t")
            world = World(cluster, client, topic, leader_id)
            # A new leader may be opening its log yet.
            for _ in range(100):
                if not (await produced(world, produce(world, batch(b"first")))).error_code:
                    break
                await asyncio.sleep(0.1)
            await story(world)

    try:
        cluster.run(main())
    finally:
        cluster.close()


def without_place(stored: bytes) -> bytes:
    """A batch without what a broker puts in: base offset and leader epoch."""
    return stored[8:12] + stored[16:]


def test_batches_come_back_as_they_were_sent_in_every_version() -> None:
    async def story(world: World) -> None:
        for number, version in enumerate(range(3, 14), start=1):
            result = await produced(world, produce(world, batch(b"%d" % version)), version)
            assert (result.error_code, result.base_offset) == (0, number)
        for version in range(4, 19):
            for offset in range(1, 12):
                part = await fetched(world, fetch(world, offset), version)
                assert (part.error_code, part.high_watermark) == (0, 12)
                assert part.last_stable_offset == 12
                found = list(iter_batches(bytes(part.records or b"")))
                assert [header.base_offset for header, _ in found] == list(range(offset, 12))
                sent = batch(b"%d" % (offset + 2))
                assert without_place(bytes(found[0][1])) == without_place(sent)

    play(story)


def test_a_waiting_fetch_is_answered_by_the_next_batch_and_ends_with_its_connection() -> None:
    async def story(world: World) -> None:
        reader = await WireClient.connect(world.cluster, f"node-{world.leader_id}:9092")
        waiting = reader.begin(fetch(world, 1, wait_ms=30_000), 18, 1)
        await asyncio.sleep(1)
        assert not waiting.done()
        await produced(world, produce(world, batch(b"news")))
        response = decode(await waiting, 1, 18, FetchResponse)
        assert response.responses[0].partitions[0].records
        assert not response.responses[0].partitions[0].error_code

        node = world.cluster.machines[world.leader_id].node
        assert node is not None
        reader.begin(fetch(world, 2, wait_ms=30_000), 18, 2)
        await asyncio.sleep(1)
        assert node.stats()["waiting_fetches"] == 1
        reader.leave()
        await asyncio.sleep(1)
        assert node.stats()["waiting_fetches"] == 0, "nobody waits for it any more"
        empty = await fetched(world, fetch(world, 2, wait_ms=30_000, min_bytes=0))
        assert (empty.error_code, empty.records) == (0, b"")

    play(story)


def test_at_least_one_batch_comes_whatever_the_limits_and_no_second() -> None:
    async def story(world: World) -> None:
        for _ in range(2):
            await produced(world, produce(world, batch(b"x" * 5000)))
        for max_bytes, partition_max_bytes in ((0, 0), (1, 1 << 20), (1 << 20, 1), (1 << 20, 0)):
            request = fetch(world, 1)
            request.max_bytes = max_bytes
            request.topics[0].partitions[0].partition_max_bytes = partition_max_bytes
            part = await fetched(world, request)
            assert [one.base_offset for one, _ in iter_batches(bytes(part.records or b""))] == [1]

    play(story)


def test_fetches_that_are_refused() -> None:
    async def story(world: World) -> None:
        for replica in (
            FetchRequest(replica_id=2),
            FetchRequest(replica_state=ReplicaState(replica_id=2, replica_epoch=1)),
        ):
            replica.topics = fetch(world, 0).topics
            version = 15 if replica.replica_state else 14
            part = await fetched(world, replica, version)
            assert part.error_code == common_pb2.CLUSTER_AUTHORIZATION_FAILED
            assert not part.records

        session = fetch(world, 0)
        session.session_id = 5
        response = await world.client.call(session, 18, FetchResponse)
        assert (response.error_code, response.session_id) == (70, 0)

        request = fetch(world, 0, wait_ms=30_000)
        request.topics += [
            FetchTopic(topic_id=one, partitions=[FetchPartition(partition=0)])
            for one in (OTHER_ID, OTHER_ID[::-1])
        ]
        response = await world.client.call(request, 13, FetchResponse)
        codes = [one.partitions[0].error_code for one in response.responses]
        assert codes == [0, common_pb2.UNKNOWN_TOPIC_ID, common_pb2.UNKNOWN_TOPIC_ID]
        assert response.responses[0].partitions[0].records

        part = await fetched(world, fetch(world, 99))
        assert (part.error_code, part.high_watermark) == (common_pb2.OFFSET_OUT_OF_RANGE, -1)

    play(story)


def test_a_broker_that_does_not_lead_names_the_leader_at_the_callers_listener() -> None:
    async def story(world: World) -> None:
        other_id = next(one for one in (1, 2, 3) if one != world.leader_id)
        other = await WireClient.connect(world.cluster, f"node-{other_id}:9092")
        leader = (world.leader_id, f"node-{world.leader_id}", 9092, None)
        read = await other.call(fetch(world, 0), 16, FetchResponse)
        part = read.responses[0].partitions[0]
        assert part.error_code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert part.current_leader is not None
        assert part.current_leader.leader_id == world.leader_id
        (end,) = read.node_endpoints
        assert (end.node_id, end.host, end.port, end.rack) == leader
        wrote = await other.call(produce(world, batch(b"x")), 10, ProduceResponse)
        result = wrote.responses[0].partition_responses[0]
        assert result.error_code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert result.base_offset == -1
        assert result.current_leader is not None
        assert result.current_leader.leader_id == world.leader_id
        (there,) = wrote.node_endpoints
        assert (there.node_id, there.host, there.port, there.rack) == leader

    play(story)


OLD = b"".join([bytes(8), (22).to_bytes(4, "big"), bytes(4), b"\x01", bytes(17)])
"""A message of magic 1."""


def test_batches_that_are_refused_change_nothing_and_others_are_appended() -> None:
    async def story(world: World) -> None:
        whole = batch(b"x")
        transactional = bytearray(whole)
        transactional[22] |= 1 << 4
        for records, code in (
            (OLD, common_pb2.INVALID_RECORD),
            (b"", common_pb2.INVALID_RECORD),
            (None, common_pb2.INVALID_RECORD),
            (whole[:-1], common_pb2.CORRUPT_MESSAGE),
            (whole[:17] + b"\0\0\0\0" + whole[21:], common_pb2.CORRUPT_MESSAGE),
        ):
            assert (await produced(world, produce(world, records))).error_code == code

        request = produce(world, whole)
        request.topic_data[0].partition_data.insert(0, PartitionProduceData(index=0, records=OLD))
        response = await world.client.call(request, 12, ProduceResponse)
        results = response.responses[0].partition_responses
        assert [one.error_code for one in results] == [common_pb2.INVALID_RECORD, 0]
        assert "magic 1" in (results[0].error_message or "")

        request.topic_data[0].topic_id = OTHER_ID
        response = await world.client.call(request, 13, ProduceResponse)
        codes = [one.error_code for one in response.responses[0].partition_responses]
        assert codes == [common_pb2.INVALID_RECORD, common_pb2.UNKNOWN_TOPIC_ID]
        assert (await produced(world, produce(world, whole, partition=77))).error_code == (
            common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        )
        assert (await produced(world, produce(world, whole, acks=2))).error_code == (
            common_pb2.INVALID_REQUIRED_ACKS
        )
        assert (await fetched(world, fetch(world, 0))).high_watermark == 2

    play(story)


def test_acks_0_has_no_answer_and_its_error_closes_the_connection() -> None:
    async def story(world: World) -> None:
        client = world.client
        client.begin(produce(world, batch(b"quiet"), acks=0), 9, 501)
        part = await fetched(world, fetch(world, 1, wait_ms=10_000))
        assert part.records
        assert 501 not in client.answered
        client.begin(produce(world, batch(b"lost"), acks=0, partition=77), 9, 502)
        await client.end

    play(story)


def test_produce_requests_are_answered_in_their_order_with_following_offsets() -> None:
    async def story(world: World) -> None:
        calls = [
            world.client.begin(produce(world, batch(b"%d" % one)), 9, 1000 + one)
            for one in range(20)
        ]
        answers = [decode(one, 0, 9, ProduceResponse) for one in await asyncio.gather(*calls)]
        offsets = [one.responses[0].partition_responses[0].base_offset for one in answers]
        assert offsets == list(range(1, 21))
        assert world.client.answered[-20:] == list(range(1000, 1020))

    play(story)


def lookup(timestamp: int, *, replica_id: int = -1, epoch: int = -1) -> ListOffsetsRequest:
    part = ListOffsetsPartition(timestamp=timestamp, current_leader_epoch=epoch)
    return ListOffsetsRequest(
        replica_id=replica_id, topics=[ListOffsetsTopic(name="t", partitions=[part])]
    )


def test_offsets_are_found_by_time_and_by_what_negative_timestamps_stand_for() -> None:
    async def story(world: World) -> None:
        await produced(world, produce(world, batch(b"late", at_ms=3000)))
        await produced(world, produce(world, batch(b"early", at_ms=2000)))

        async def look(timestamp: int, version: int) -> tuple[int, int, int]:
            answer = await world.client.call(lookup(timestamp), version, ListOffsetsResponse)
            (part,) = answer.topics[0].partitions
            return part.error_code, part.offset, part.timestamp

        for version in range(1, 12):
            assert await look(-1, version) == (0, 3, -1)
            assert await look(-2, version) == (0, 0, -1)
            assert await look(1001, version) == (0, 1, 3000)
            assert await look(3001, version) == (0, -1, -1)
            for since, timestamp, found in (
                (7, -3, (0, 1, 3000)),
                (8, -4, (0, 0, -1)),
                (9, -5, (0, -1, -1)),
                (11, -6, (0, -1, -1)),
                (12, -7, ()),
            ):
                expected = found if version >= since else (35, -1, -1)
                assert await look(timestamp, version) == expected

        for replica_id in (0, 2, -2):
            asked = lookup(3000, replica_id=replica_id)
            (topic,) = (await world.client.call(asked, 11, ListOffsetsResponse)).topics
            assert (topic.partitions[0].error_code, topic.partitions[0].offset) == (0, 1)
        twice = lookup(-1)
        twice.topics *= 2
        codes = [
            one.partitions[0].error_code
            for one in (await world.client.call(twice, 11, ListOffsetsResponse)).topics
        ]
        assert codes == [common_pb2.INVALID_REQUEST] * 2
        newer = await world.client.call(lookup(-1, epoch=9), 11, ListOffsetsResponse)
        assert newer.topics[0].partitions[0].error_code == common_pb2.UNKNOWN_LEADER_EPOCH

    play(story)


def test_the_end_of_a_leader_epoch_is_told() -> None:
    async def story(world: World) -> None:
        epoch = world.topic.partitions[0].leader_epoch

        async def end(asked: int, current: int, version: int) -> tuple[int, int, int]:
            part = OffsetForLeaderPartition(leader_epoch=asked, current_leader_epoch=current)
            request = OffsetForLeaderEpochRequest(
                topics=[OffsetForLeaderTopic(topic="t", partitions=[part])]
            )
            answer = await world.client.call(request, version, OffsetForLeaderEpochResponse)
            (found,) = answer.topics[0].partitions
            return found.error_code, found.leader_epoch, found.end_offset

        for version in range(2, 5):
            assert await end(epoch, -1, version) == (0, epoch, 1)
            assert await end(epoch, epoch + 1, version) == (75, -1, -1)
            assert await end(epoch + 5, epoch, version) == (0, epoch, 1), "the largest below it"

    play(story)


def test_an_idempotent_producer_gets_an_id_and_a_transactional_one_a_final_error() -> None:
    async def story(world: World) -> None:
        given = set()
        for version in range(6):
            request = InitProducerIdRequest(transactional_id=None)
            answer = await world.client.call(request, version, InitProducerIdResponse)
            assert (answer.error_code, answer.producer_epoch) == (0, 0)
            given.add(answer.producer_id)
            request.transactional_id = "mine"
            answer = await world.client.call(request, version, InitProducerIdResponse)
            assert (answer.error_code, answer.producer_id) == (53, -1)
        assert len(given) == 6

    play(story)


def test_topics_are_told_and_created_as_each_version_of_metadata_asks() -> None:
    async def story(world: World) -> None:
        client, topic_id = world.client, world.topic.topic_id

        async def ask(
            version: int, topics: list[MetadataRequestTopic] | None, *, creates: bool = False
        ) -> MetadataResponse:
            request = MetadataRequest(topics=topics, allow_auto_topic_creation=creates)
            return await client.call(request, version, MetadataResponse)

        for version in range(14):
            answer = await ask(version, None if version else [])
            assert {one.name for one in answer.topics} == {"t"}
            assert [(one.node_id, one.host, one.port) for one in answer.brokers] == [
                (number, f"node-{number}", 9092) for number in (1, 2, 3)
            ]
            (told,) = answer.topics
            assert [one.partition_index for one in told.partitions] == [0, 1, 2]
            assert {one.error_code for one in told.partitions} == {0}
            assert told.partitions[0].leader_id == world.leader_id
            assert version < 1 or answer.controller_id in (1, 2, 3)
            assert version < 10 or told.topic_id == topic_id
            if version:
                assert (await ask(version, [])).topics == []
            if version >= 4:
                (absent,) = (await ask(version, [MetadataRequestTopic(name="absent")])).topics
                assert absent.error_code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        for version, name in ((10, None), (11, "t")):
            asked = MetadataRequestTopic(topic_id=topic_id, name=name)
            (refused,) = (await ask(version, [asked])).topics
            assert refused.error_code == common_pb2.INVALID_REQUEST
        for version in (12, 13):
            known, unknown = (
                await ask(
                    version,
                    [
                        MetadataRequestTopic(topic_id=topic_id, name=None),
                        MetadataRequestTopic(topic_id=OTHER_ID, name=None),
                    ],
                )
            ).topics
            assert (known.error_code, known.name) == (0, "t")
            assert (unknown.error_code, unknown.name) == (common_pb2.UNKNOWN_TOPIC_ID, None)
            assert unknown.topic_id == OTHER_ID
        (bad,) = (await metadata(client, "no/name")).topics
        assert bad.error_code == common_pb2.INVALID_TOPIC
        (made,) = (await metadata(client, "made", 0)).topics
        assert made.error_code == 0

    play(story)


def test_partitions_of_a_broker_that_is_gone_have_leaders_before_it_is_named_no_longer() -> None:
    async def story(world: World) -> None:
        gone = next(one for one in (1, 2, 3) if one != world.leader_id)
        before = (await metadata(world.client, "t")).topics[0]
        world.cluster.kill(gone)
        moved = False
        for _ in range(600):
            answer = await metadata(world.client, "t")
            if len(answer.brokers) < 3:
                break
            moved = gone not in {one.leader_id for one in answer.topics[0].partitions}
            await asyncio.sleep(0.1)
        assert moved, "a client takes its partitions to their next leaders before it drops it"
        assert gone not in {one.node_id for one in answer.brokers}
        assert answer.controller_id in {one.node_id for one in answer.brokers}
        for was, part in zip(before.partitions, answer.topics[0].partitions, strict=True):
            assert part.leader_id != gone
            assert part.leader_epoch >= was.leader_epoch
            assert part.offline_replicas == [gone]
        world.cluster.start(gone)
        for _ in range(600):
            answer = await metadata(world.client, "t")
            if len(answer.brokers) == 3:
                break
            await asyncio.sleep(0.1)
        offline = [one.offline_replicas for one in answer.topics[0].partitions]
        assert offline == [[], [], []], "at once, though its replicas have not caught up yet"

    play(story)


def test_a_controller_that_is_no_broker_is_not_named() -> None:
    config = SimClusterConfig(
        node_ids=(1, 2), controller_ids=(1,), broker_ids=(2,), listeners=listeners
    )
    cluster = SimCluster(seed=1, config=config)

    async def story() -> None:
        client, _, _ = await led_topic(cluster, "t", by="node-2:9092")
        answer = await metadata(client, "t")
        assert (answer.controller_id, [one.node_id for one in answer.brokers]) == (2, [2])
        lone = await WireClient.connect(cluster, "node-1:9092")
        with pytest.raises(ConnectionError):
            await metadata(lone, "t")

    try:
        cluster.run(story())
    finally:
        cluster.close()
