"""Who fetches as a replica: known by the image in this incarnation, in a later one, or not."""

from __future__ import annotations

import pytest

from tidelog.broker.partition_map import PartitionMap
from tidelog.metadata.image import BrokerImage, MetadataImage


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
        2, incarnation_id=b"", address="", rack="", broker_epoch=7, is_fenced=False
    )
    partitions.image = MetadataImage(offset=9, brokers={2: broker})
    identity = partitions.follower(broker_id, broker_epoch)
    assert (identity.is_eligible, identity.is_known) == (is_eligible, is_known)
