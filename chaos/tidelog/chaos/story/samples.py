"""Samples of a running node, taken by inspecting it. Pure.

Times are seconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.chaos.story.cluster_port import LogLine
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    """A replica of a broker, its log open."""

    topic: str
    topic_id: str
    """Hexadecimal."""
    partition: int
    role: str
    """leader, follower or none."""
    leader_epoch: int
    """-1 while it has no role."""
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    isr: tuple[int, ...] = ()
    """ISR of a leader: the last the controllers committed, as far as it knows,"""
    proposed_isr: tuple[int, ...] = ()
    """what it asks them for,"""
    maximal_isr: tuple[int, ...] = ()
    """and whom it waits for."""
    partition_epoch: int = -1
    min_insync_replicas: int = 1
    is_sound: bool = True
    """Its log has no damage, and its disk has not failed."""
    may_have_lost: bool = False
    """A start cut off what may have been acknowledged, and the controllers do not know yet."""
    is_failed: bool = False
    """Its disk failed; out of service until the node starts again."""
    epochs: tuple[tuple[int, int], ...] = ()
    """Its epoch cache: leader epoch, start offset."""


@dataclass(frozen=True, slots=True)
class NodeSample:
    """A node at one moment."""

    node_id: int
    pid: int
    at_s: float
    is_ready: bool
    broker_epoch: int
    """-1: not registered, or no broker."""
    is_active_controller: bool
    term: int
    """The Raft term; -1: no controller."""
    raft_leader_id: int | None
    image: MetadataImage = EMPTY_IMAGE
    """Committed, of its controller, else what its broker has replayed."""
    replicas: tuple[ReplicaSample, ...] = ()
    rss_bytes: int = 0
    tasks: int = 0
    open_files: int = 0
    stats: Mapping[str, float] = field(default_factory=dict)
    """`Node.stats()`: queues, bytes in flight."""
    lines: tuple[LogLine, ...] = ()
    """Lines it logged since the last sample."""

    def replica(self, topic: str, partition: int) -> ReplicaSample | None:
        """Its replica of a partition, if it holds one."""
        for one in self.replicas:
            if (one.topic, one.partition) == (topic, partition):
                return one
        return None
