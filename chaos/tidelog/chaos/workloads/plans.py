"""Plans of clients: topics, producers of them, and members of a group. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.history.history import Keeping

STEADY, SECOND, LOSSY, CHURNED = "steady", "second", "lossy", "churned"
EXPIRING, COMPACTED = "expiring", "compacted"
"""Topics whose records go: by retention and deletions, and by compaction."""
INDEX_CONFIGS = ("index.interval.bytes", "segment.index.bytes")
WIDE = "wide"
"""The topic of many partitions."""
SHARED = "shared"
"""The topic that a story's group reads."""
GROUP = "readers"
"""The story's group."""
LEDGER = "ledger"
"""The topic that a story's transactions write to."""
MEMBER = "member"
"""The beginning of a member's name."""
GROUP_SESSION_MS, GROUP_HEARTBEAT_MS = 6_000, 1_000
"""Settings of every node in a story with a group: silence is noticed within seconds."""


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
    is_append_time: bool = False
    """message.timestamp.type=LogAppendTime: the broker's clock, whatever its records name."""
    stated: Mapping[str, str] = field(default_factory=dict)
    """Configs that it states beside its own, whatever the cluster's defaults are."""
    keeping: Keeping | None = None
    """Rules by which its records may go; None: all of them stay."""
    delete_retention_ms: int = 0
    """Time for which a compacted topic keeps tombstones."""

    @property
    def is_compacted(self) -> bool:
        """True if each record has a key, and only the newest of each must stay."""
        return self.keeping is not None and self.keeping.is_compacted

    @property
    def may_be_deleted_from(self) -> bool:
        """True if DeleteRecords is part of its life."""
        return self.keeping is not None and not self.keeping.is_compacted

    def configs(self) -> Mapping[str, str]:
        """Configuration of the topic."""
        configs = {
            **self.stated,
            "min.insync.replicas": str(self.min_insync_replicas),
            "segment.bytes": str(self.segment_bytes),
            "index.interval.bytes": str(self.index_interval_bytes),
            "segment.index.bytes": "1200",
            **{key: self.stated[key] for key in INDEX_CONFIGS if key in self.stated},
        }
        if self.is_flushed:
            configs["flush.messages"] = "1"
        if self.is_append_time:
            configs["message.timestamp.type"] = "LogAppendTime"
        configs |= self._configs_of_keeping()
        if self.is_lossy:
            configs["unclean.leader.election.enable"] = "true"
        return configs

    def _configs_of_keeping(self) -> Mapping[str, str]:
        if self.keeping is None:
            return {}
        if self.keeping.is_compacted:
            return {
                "cleanup.policy": "compact",
                "min.cleanable.dirty.ratio": "0.05",
                "delete.retention.ms": str(self.delete_retention_ms),
            }
        limits = {
            "retention.ms": self.keeping.retention_ms,
            "retention.bytes": self.keeping.retention_bytes,
        }
        return {key: str(-1 if most is None else most) for key, most in limits.items()}


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
    compression: str = "none"
    """Codec of its batches, by Kafka's name."""

    @property
    def batch_size(self) -> int:
        """A record or two: a burst is several batches, and several requests in flight."""
        return self.value_bytes + 300

    @property
    def max_request_size(self) -> int:
        """Room for one batch, or several."""
        return self.batch_size * (1 + self.burst_max % 2)


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """A member of the story's group: a consumer and its application."""

    name: str
    """Unique in the run."""
    topic: str = SHARED
    group_id: str = GROUP
    work_s: float = 0.1
    """Time that the application works on what it was handed out."""
    letting_go_s: float = 0.0
    """Time that its listener takes to let go of partitions."""
    api_timeout_ms: int = 10_000
    request_timeout_ms: int = 2_000


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The story's group: it reads the topic `SHARED`."""

    members: int = 4
    """Members from the beginning on."""
    partitions: int = 8
    """Partitions of the topic."""
    letting_go_s: float = 0.0
    """Time that a member takes to let go of partitions."""
    request_timeout_ms: int = 2_000
    """Time within which a member notices that its coordinator is cut off."""
    has_processes: bool = False
    """Each member is a process of its own, which can be paused and killed."""


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """The story's transactions: they write to the topic `LEDGER`."""

    partitions: int = 6
    """Partitions of the topic."""
    writers: int = 2
    """Producers from the beginning on, each with an id of its own; they end what they begin."""
    has_processes: bool = False
    """The story starts writers that are processes of their own, which can be paused."""
    timeout_ms: int = 8_000
    """Time after which a transaction that nobody ends is aborted."""


@dataclass(frozen=True, slots=True)
class WriterPlan:
    """A transactional producer, and how it goes about it. Times in milliseconds."""

    name: str
    """Unique in the run."""
    transactional_id: str
    partitions: int
    transaction_timeout_ms: int
    request_timeout_ms: int = 2_000
    delivery_timeout_ms: int = 30_000
