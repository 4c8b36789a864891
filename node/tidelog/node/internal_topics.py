"""A broker's internal topics, composed: as they are created, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.internal_topic import InternalTopic
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.core.env import Clock
from tidelog.core.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tidelog.core.journal import Event
from tidelog.log.internal_configs import internal_configs
from tidelog.metadata.image import MetadataImage
from tidelog.node.config import NodeConfig
from tidelog.v1.admin_pb2 import NewTopic


class InternalTopics(NamedTuple):
    """Each internal topic, made at the first look-up of a coordinator."""

    offsets: InternalTopic
    transactions: InternalTopic

    @property
    def obstacles(self) -> list[str]:
        """Reasons for which somebody waits for one of them."""
        return [one.obstacle for one in self if one.obstacle]


def build_internal_topics(
    config: NodeConfig,
    clock: Clock,
    *,
    follower: MetadataFollower,
    forwarder: ControllerForwarder,
    note: Callable[[Event], None],
) -> InternalTopics:
    """Build them; nothing is created before somebody asks."""

    def image() -> MetadataImage:
        return follower.image

    def build(topic: NewTopic, factor_key: str) -> InternalTopic:
        return InternalTopic(
            topic, factor_key=factor_key, image=image, forwarder=forwarder, clock=clock, note=note
        )

    return InternalTopics(
        build(new_offsets_topic(config.groups), "offsets.topic.replication.factor"),
        build(
            new_transactions_topic(config.transactions),
            "transaction.state.log.replication.factor",
        ),
    )


def new_offsets_topic(config: GroupConfig) -> NewTopic:
    """Describe `__consumer_offsets` as it is created."""
    factor = config.offsets_topic_replication_factor
    return NewTopic(
        name=OFFSETS_TOPIC,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=factor,
        configs=internal_configs(
            segment_bytes=config.offsets_topic_segment_bytes, min_isr=2 if factor > 2 else 1
        ),
    )


def new_transactions_topic(config: TransactionConfig) -> NewTopic:
    """Describe `__transaction_state` as it is created."""
    factor = config.transaction_state_log_replication_factor
    return NewTopic(
        name=TRANSACTIONS_TOPIC,
        partitions=config.transaction_state_log_num_partitions,
        replication_factor=factor,
        configs=internal_configs(
            segment_bytes=config.transaction_state_log_segment_bytes,
            min_isr=min(config.transaction_state_log_min_isr, factor),
        ),
    )
