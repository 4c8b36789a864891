"""Samples of a cluster of three nodes, one topic of one partition; node 1 leads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage

NODES = (1, 2, 3)
TOPIC_ID = b"t" * 16
STATE = PartitionImage(
    partition=0, replicas=NODES, isr=NODES, leader_id=1, leader_epoch=5, partition_epoch=8
)


def an_image(offset: int = 100, **fields: Any) -> MetadataImage:
    """All brokers alive, of broker epochs 11, 12, 13; `fields` are of the partition."""
    configs = fields.pop("configs", {})
    epochs = fields.pop("broker_epochs", {node: 10 + node for node in NODES})
    topic = TopicImage("t", TOPIC_ID, (replace(STATE, **fields),), configs)
    brokers = {
        node: BrokerImage(node, b"", epoch, (), "", is_fenced=False)
        for node, epoch in epochs.items()
    }
    return MetadataImage(
        offset=offset,
        controller_epoch=3,
        brokers=brokers,
        topics={"t": topic},
        topics_by_id={TOPIC_ID: "t"},
    )


def a_replica(node_id: int, **fields: Any) -> ReplicaSample:
    """Ten records, all committed, five of them of epoch 4."""
    sample = ReplicaSample(
        topic="t",
        topic_id=TOPIC_ID.hex(),
        partition=0,
        role="follower",
        leader_epoch=5,
        log_start_offset=0,
        high_watermark=10,
        log_end_offset=10,
        min_insync_replicas=2,
        epochs=((4, 0), (5, 5)),
    )
    if fields.pop("is_leader", node_id == 1):
        sample = replace(sample, role="leader", isr=NODES, maximal_isr=NODES, partition_epoch=8)
    return replace(sample, **fields)


def a_sample(
    node_id: int, at_s: float, image: MetadataImage | None = None, **fields: Any
) -> NodeSample:
    """A node at rest; fields that a `NodeSample` does not have are of its replica."""
    own = {name: fields.pop(name) for name in list(fields) if name in NodeSample.__slots__}
    sample = NodeSample(
        node_id=node_id,
        pid=1000 + node_id,
        at_s=at_s,
        is_ready=True,
        broker_epoch=10 + node_id,
        is_active_controller=node_id == 1,
        term=3,
        raft_leader_id=1,
        image=an_image() if image is None else image,
        replicas=(a_replica(node_id, **fields),),
    )
    return replace(sample, **own)
