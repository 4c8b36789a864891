"""What a broker answers to Metadata, and when it must not answer."""

from __future__ import annotations

from typing import cast

import pytest

from tidelog.broker.cluster_changes import ClusterChanges
from tidelog.broker.producer_ids import ProducerIds
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.broker.rpc.broker import BrokerHandler
from tidelog.broker.unreachable_reports import UnreachableReports
from tidelog.log.errors import KafkaError
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    MetadataRequest,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
)


def handler(image: MetadataImage) -> BrokerHandler:
    return BrokerHandler(
        cluster_id="c",
        replica_manager=cast(ReplicaManager, None),  # not asked here
        image=lambda: image,
        controller_id=lambda: None,
        changes=cast(ClusterChanges, None),  # not asked here
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


async def test_a_late_batch_of_a_deleted_topic_makes_no_topic() -> None:
    asked: list[str] = []

    class Parts:
        async def create_missing(self, names: dict[str, None]) -> dict[str, common_pb2.Error]:
            asked.extend(names)
            return {}

        async def produce(self, _request: ProduceRequest) -> ProduceResponse:
            return ProduceResponse()

    served = BrokerHandler(
        cluster_id="c",
        replica_manager=cast(ReplicaManager, Parts()),
        image=lambda: EMPTY_IMAGE,
        controller_id=lambda: None,
        changes=cast(ClusterChanges, Parts()),
        producer_ids=cast(ProducerIds, None),  # not asked here
        reports=cast(UnreachableReports, None),  # not asked here
    )
    data = [
        PartitionProduceData(topic="deleted", topic_id=bytes(16)),
        PartitionProduceData(topic="new"),
    ]
    await served.produce(ProduceRequest(partitions=data))
    assert asked == ["new"]
