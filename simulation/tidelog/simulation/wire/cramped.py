"""Nodes with little room at their listeners of Kafka's protocol, for a crowd of strangers. Pure.

All is smaller than by default in about the same proportion, so that a crowd of fifty fills it: the
frames that may be announced, the requests, answers and members in memory, the connections.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import replace

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig

CRAMPED_PROBABILITY = 0.15
"""Share of the seeds that have such nodes, and a crowd."""
FRAMES_MAX = 4
"""Frames of the largest size that have room."""


def cramped(random: SeededRandom, config: ClusterSimulationConfig) -> ClusterSimulationConfig:
    """The same cluster with nodes that have little room."""
    frame_bytes = random.randrange(192 << 10, 512 << 10)
    kafka = KafkaConfig(
        request_bytes_max=frame_bytes,
        queued_bytes_max=frame_bytes * random.randrange(2, FRAMES_MAX),
        connections_max=random.randrange(40, 80),
    )
    answer_bytes = random.randrange(192 << 10, 512 << 10)
    unread = replace(config.replica.unread, answer_bytes_max=answer_bytes)
    member_bytes = random.randrange(256 << 10, 768 << 10)
    return replace(
        config,
        kafka=kafka,
        replica=replace(config.replica, unread=unread),
        groups=replace(config.groups, group_members_max_bytes=member_bytes),
    )
