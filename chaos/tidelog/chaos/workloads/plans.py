"""Plans of clients: topics, and producers of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STEADY, SECOND, LOSSY, CHURNED = "steady", "second", "lossy", "churned"


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic, as it is created each time."""

    name: str
    partitions: int
    min_insync_replicas: int
    is_flushed: bool
    """flush.messages=1: what is acknowledged is on stable storage."""
    is_lossy: bool
    """unclean.leader.election.enable: what such elections lose is counted, no more."""
    segment_bytes: int
    index_interval_bytes: int

    def configs(self) -> Mapping[str, str]:
        """Configuration of the topic."""
        configs = {
            "min.insync.replicas": str(self.min_insync_replicas),
            "segment.bytes": str(self.segment_bytes),
            "index.interval.bytes": str(self.index_interval_bytes),
            "segment.index.bytes": "1200",
        }
        if self.is_flushed:
            configs["flush.messages"] = "1"
        if self.is_lossy:
            configs["unclean.leader.election.enable"] = "true"
        return configs


@dataclass(frozen=True, slots=True)
class ProducerPlan:
    """A producer that writes to every partition of one topic."""

    name: str
    topic: str
    acks: int
    pause_s_max: float
    burst_max: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    value_bytes: int

    @property
    def batch_size(self) -> int:
        """A record or two: a burst is several batches, and several requests in flight."""
        return self.value_bytes + 200

    @property
    def max_request_size(self) -> int:
        """Room for one batch, or several."""
        return self.batch_size * (1 + self.burst_max % 2)
