"""Configs of internal topics: what they state of their own, and which defaults reach them. Pure.

Coordinators' promises rest on these topics, so that what an operator sets for all topics is not
meant for them: of the cluster's defaults they follow `FOLLOWED` alone, also where an older version
made them with fewer configs of their own. What an operator sets on an internal topic itself has
effect, as in Kafka.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.log.config import TOPIC_CONFIGS

FOLLOWED = frozenset({"flush.messages", "flush.ms"})
"""Defaults of the cluster that reach internal topics: each value of theirs is safe."""
_STATED = ("max.message.bytes", "message.timestamp.type", "unclean.leader.election.enable")
STATED: Mapping[str, str] = MappingProxyType(
    {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "retention.bytes": "-1",
        "retention.ms": "-1",
        **{name: TOPIC_CONFIGS[name].default_text for name in _STATED},
    }
)
"""Configs that each internal topic states, beside the size of its segments and its least ISR."""


def internal_configs(*, segment_bytes: int, min_isr: int) -> dict[str, str]:
    """Configs that an internal topic is created with."""
    return {
        **STATED,
        "segment.bytes": f"{segment_bytes}",
        "min.insync.replicas": f"{min_isr}",
    }


def follows(topic: str, name: str) -> bool:
    """True if the cluster's default of the config reaches the topic called so."""
    return topic not in INTERNAL_TOPICS or name in FOLLOWED


def defaults_of(topic: str, cluster_configs: Mapping[str, str]) -> Mapping[str, str]:
    """Values of the topic called so where it has none of its own; those left out: built-in ones."""
    if topic not in INTERNAL_TOPICS:
        return cluster_configs
    followed = {name: text for name, text in cluster_configs.items() if follows(topic, name)}
    return {**STATED, **followed}
