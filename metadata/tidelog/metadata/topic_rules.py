"""A topic's configs in effect, and their rules about its leaders and committed records."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tidelog.core.config_types import Value
from tidelog.log.config import TOPIC_CONFIGS, LogConfig, log_config
from tidelog.log.internal_configs import defaults_of
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION_ENABLE = "unclean.leader.election.enable"
FLUSH_MESSAGES = "flush.messages"


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The rules by `topic_rules`, valid until the topic's or the cluster's configs change."""

    min_insync_replicas: int
    is_unclean_allowed: bool
    is_every_record_flushed: bool
    """Each record is flushed before it is acknowledged: a power cut loses none of these."""

    def is_enough(self, isr: tuple[int, ...], partition: PartitionImage) -> bool:
        """True when a leader with this ISR may commit; the same rule as in the brokers' leaders."""
        return len(isr) >= min(self.min_insync_replicas, len(partition.replicas))


def topic_rules(topic: TopicImage, image: MetadataImage) -> TopicRules:
    """Its own configs go before the cluster's that reach it, and those before the defaults."""
    defaults = defaults_of(topic.name, image.cluster_configs)

    def value(name: str) -> Value | None:
        text = topic.configs.get(name, defaults.get(name))
        config = TOPIC_CONFIGS[name]
        return config.default if text is None else config.parse(text)

    return TopicRules(
        min_insync_replicas=cast(int, value(MIN_INSYNC_REPLICAS)),  # its type's values
        is_unclean_allowed=value(UNCLEAN_LEADER_ELECTION_ENABLE) is True,
        is_every_record_flushed=value(FLUSH_MESSAGES) == 1,
    )


def effective_config(topic: TopicImage, image: MetadataImage) -> LogConfig:
    """Settings of the topic's logs: its own, over the cluster's defaults that reach it."""
    return log_config(topic.configs, defaults_of(topic.name, image.cluster_configs))
