"""Look-ups: followers by their incarnation, replicas by that of their topic."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.core.errors import KafkaError
from tidelog.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from tidelog.v1 import common_pb2


@pytest.mark.parametrize(
    ("broker_id", "broker_epoch", "is_eligible", "is_known"),
    [
        (2, 7, True, True),
        (2, 6, False, True),  # an earlier incarnation: the partition says so
        (2, 8, False, False),
        (2, 2**62, False, False),
        (3, 7, False, False),
    ],
)
def test_an_incarnation_that_the_image_does_not_hold_is_not_known(
    broker_id: int, broker_epoch: int, is_eligible: bool, is_known: bool
) -> None:
    partitions = PartitionMap(1)
    broker = BrokerImage(
        2, incarnation_id=b"", endpoints=(), rack="", broker_epoch=7, is_fenced=False
    )
    partitions.image = MetadataImage(offset=9, brokers={2: broker})
    identity = partitions.follower(broker_id, broker_epoch)
    assert (identity.is_eligible, identity.is_known) == (is_eligible, is_known)


def test_a_replica_of_a_deleted_topic_is_not_found_under_the_name_of_a_new_one() -> None:
    def held(topic_id: bytes) -> Any:
        return SimpleNamespace(topic_id=topic_id, outage=None, is_sound=True)

    partitions = PartitionMap(1)
    state = PartitionImage(0, (1,), (1,), leader_id=1, leader_epoch=0, partition_epoch=0)
    topic = TopicImage("t", b"new", (state,), {})
    partitions.image = MetadataImage(topics={"t": topic}, topics_by_id={b"new": "t"})
    partitions.held["t", 0] = held(b"old")
    for named in (b"", b"new"):
        with pytest.raises(KafkaError) as refused:
            partitions.find("t", 0, named)
        assert refused.value.code == common_pb2.LEADER_NOT_AVAILABLE
    partitions.held["t", 0] = current = held(b"new")
    assert partitions.find("t", 0) is current
