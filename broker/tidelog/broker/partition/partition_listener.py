"""The port by which a coordinator learns which partitions this broker leads.

A coordinator (of groups, of transactions) keeps its state in a partition of an internal topic and
works where that partition is led. As Kafka's `CoordinatorRuntime`, it implements
`PartitionListener`, is registered with `PartitionListeners`, loads the partition with
`PartitionLoader` when it is elected, and appends with `PartitionWriter` until it resigns.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple, Protocol

from tidelog.broker.replica.events import LeadershipEnd

__all__ = ["Leadership", "LeadershipEnd", "PartitionListener"]


class Leadership(NamedTuple):
    """The right to act for one partition in one leader epoch; what writer and loader ask for."""

    topic: str
    topic_id: bytes
    """16 bytes: a topic that is created again under the same name has another one."""
    partition: int
    leader_epoch: int


class PartitionListener(Protocol):
    """Callbacks about the partitions of one topic, on the broker's loop, after the step is done.

    For each leadership, in this order: `on_election` once, `on_high_watermark_updated` at least
    once, `on_resignation` once. Leaderships of one partition follow one another; one that ends
    before its election was delivered is not delivered at all. An election is delivered only while
    it holds: the log is open and takes appends in that epoch. A process that dies delivers nothing.

    Implementations return at once and begin tasks for what takes long. What they raise ends the
    node.
    """

    def on_election(self, leadership: Leadership) -> None:
        """This broker leads the partition; its epoch's start is in the log."""

    def on_high_watermark_updated(self, leadership: Leadership, high_watermark: int) -> None:
        """Records below `high_watermark` (exclusive) are committed.

        It only rises within a leadership; values in between may be left out. A new leader's first
        one may be below its predecessor's last (KIP-207).
        """

    def on_resignation(self, leadership: Leadership, end: LeadershipEnd) -> None:
        """This broker leads the partition in that epoch no longer, and never will again.

        Appends of that epoch that were not committed have an unknown outcome.
        """
