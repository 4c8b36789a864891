"""What a broker answers to Metadata, and when it must not answer."""

from __future__ import annotations

from typing import cast

import pytest

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.broker.partition.produce import Produce, ProduceResult
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import KafkaError
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage, TopicImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers import broker
from tidelog.node.handlers.broker import BrokerHandler
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    MetadataRequest,
    MetadataResponse,
    PartitionProduceData,
    ProduceRequest,
)


def handler(image: MetadataImage) -> BrokerHandler:
    return BrokerHandler(
        own=OwnCluster("c"),
        replica_manager=cast(ReplicaManager, None),  # not asked here
        image=lambda: image,
        controller_id=lambda: None,
        forwarder=cast(ControllerForwarder, None),  # not asked here
        producer_ids=cast(ProducerIds, None),  # not asked here
        reports=cast(UnreachableReports, None),  # not asked here
    )


async def test_a_broker_without_metadata_denies_no_topic() -> None:
    with pytest.raises(KafkaError) as caught:
        await handler(EMPTY_IMAGE).metadata(MetadataRequest(topics=["t"]))

    assert caught.value.code == common_pb2.BROKER_NOT_AVAILABLE


async def test_a_broker_with_metadata_says_that_a_topic_does_not_exist() -> None:
    response = await handler(MetadataImage(offset=7)).metadata(MetadataRequest(topics=["t"]))

    assert response.topics[0].error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_topic_named_many_times_is_answered_once() -> None:
    request = MetadataRequest(topics=["b", "a", "b", "a", "b"])
    response = await handler(MetadataImage(offset=7)).metadata(request)

    assert [topic.name for topic in response.topics] == ["b", "a"]


def image_with(leader_epoch: int, *names: str, offset: int = 7) -> MetadataImage:
    partition = PartitionImage(
        0, replicas=(1,), isr=(1,), leader_id=1, leader_epoch=leader_epoch, partition_epoch=0
    )
    topics = {name: TopicImage(name, bytes(16), (partition,), {}) for name in names}
    return MetadataImage(offset=offset, topics=topics)


async def test_a_topic_is_described_once_for_each_of_its_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = [image_with(1, "t")]
    described: list[str] = []
    partitions = broker._partitions

    def counted(topic: TopicImage) -> list[MetadataResponse.Partition]:
        described.append(topic.name)
        return partitions(topic)

    monkeypatch.setattr(broker, "_partitions", counted)
    answers = broker._TopicAnswers()

    def epoch() -> int:
        return answers.answer(images[-1], "t", None).partitions[0].leader_epoch

    assert [epoch(), epoch()] == [1, 1]
    assert described == ["t"]
    images.append(image_with(2, "t", offset=8))
    assert epoch() == 2

    for number in range(10):
        images.append(image_with(3, f"u{number}", offset=9 + number))
        answers.answer(images[-1], f"u{number}", None)
    assert len(answers._made) <= 3, "what is gone is not kept"


async def test_a_late_batch_of_a_deleted_topic_makes_no_topic() -> None:
    asked: list[str] = []

    class Parts:
        @property
        def appender(self) -> Parts:
            return self

        async def create_missing(self, names: dict[str, None]) -> dict[str, common_pb2.Error]:
            asked.extend(names)
            return {}

        async def produce(self, _request: Produce) -> list[ProduceResult]:
            return []

    served = BrokerHandler(
        own=OwnCluster("c"),
        replica_manager=cast(ReplicaManager, Parts()),
        image=lambda: EMPTY_IMAGE,
        controller_id=lambda: None,
        forwarder=cast(ControllerForwarder, Parts()),
        producer_ids=cast(ProducerIds, None),  # not asked here
        reports=cast(UnreachableReports, None),  # not asked here
    )
    data = [
        PartitionProduceData(topic="deleted", topic_id=bytes(16)),
        PartitionProduceData(topic="new"),
    ]
    await served.produce(ProduceRequest(partitions=data))
    assert asked == ["new"]
