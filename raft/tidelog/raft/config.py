"""Settings of a Raft voter, validated once. This module decides nothing else."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, one_of, whole_number
from tidelog.core.errors import InvalidConfigError, KafkaError

ENGINES = ("tidelog", "pysyncobj")
ENGINE_KEY = "controller.quorum.engine"
ELECTION_TIMEOUT_KEY = "controller.quorum.election.timeout.ms"
HEARTBEAT_INTERVAL_KEY = "controller.quorum.heartbeat.interval.ms"
SNAPSHOT_INTERVAL_KEY = "metadata.log.max.record.bytes.between.snapshots"
WAL_RESERVE_KEY = "metadata.log.reserve.bytes"


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """Settings of a voter; times in milliseconds, sizes in bytes.

    Raises `KafkaError` INVALID_CONFIG, naming the setting.
    """

    cluster_id: str = ""
    """Cluster of the voter: part of each stream and message, and of the log's first entry."""

    election_timeout_min_ms: int = declare(
        1000,
        whole_number(50, DAY_MS),
        "Time without a leader, once to twice, after which a voter starts an election; after twice "
        "this time a leader without answers of a majority steps down.",
        key=ELECTION_TIMEOUT_KEY,
    )

    election_timeout_max_ms: int = 0
    """Maximum of that time; also the time after which a leader without a majority steps down.

    0 stands for twice the minimum, and is replaced by it.
    """

    election_backoff_ms: int = 500
    """Maximum of the random time (minimum: half) before a candidate without majority retries."""

    heartbeat_interval_ms: int = declare(
        80,
        whole_number(1, DAY_MS),
        "Interval of an idle leader's heartbeats; less than a third of the election timeout.",
        key=HEARTBEAT_INTERVAL_KEY,
    )

    retry_interval_ms: int | None = None
    """Interval of a voter's questions while it has no leader; None: the heartbeats' interval."""

    engine: str = declare(
        "tidelog",
        one_of(*ENGINES),
        "tidelog, or pysyncobj: PySyncObj's core behind the same port; the same in all voters.",
        key=ENGINE_KEY,
    )

    append_batch_bytes: int = 1024 * 1024
    """Approximate maximum size of an append message; a command must be smaller."""

    append_batch_entries: int = 4096
    """Maximum number of entries in an append message."""

    max_inflight_appends: int = 16
    """Maximum number of unanswered append messages with entries per follower."""

    snapshot_interval_bytes: int = declare(
        4 * 1024 * 1024,
        whole_number(1 << 10, 1 << 30),
        "A snapshot of the metadata is made when its log has grown by so many bytes.",
        key=SNAPSHOT_INTERVAL_KEY,
    )

    snapshot_chunk_bytes: int = 1024 * 1024
    """Size of the piece of a snapshot that one message carries."""

    retained_entries: int = 1000
    """Maximum number of entries kept below a snapshot, for followers slightly behind.

    They take at most a quarter of `snapshot_interval_bytes`.
    """

    wal_reserve_bytes: int = declare(
        16 * 1024 * 1024,
        whole_number(1 << 11, 1 << 31),
        "Disk space the metadata log holds in advance, so that a disk full of records does not "
        "stop the quorum; at least twice the bytes between snapshots.",
        key=WAL_RESERVE_KEY,
    )

    max_pending_proposals: int = 1000
    """Maximum number of proposals waiting for their commit; further ones are refused."""

    max_inbox_messages: int = 1000
    """Maximum number of received messages waiting for a step; Raft tolerates dropped ones."""

    max_inbox_bytes: int = 64 * 1024 * 1024
    """Maximum size of received messages waiting for a step."""

    max_promises: int = 1000
    """Maximum number of votes and acknowledgements waiting for a sync; others are dropped."""

    max_peer_queue_bytes: int = 32 * 1024 * 1024
    """Maximum size of messages waiting for a slow peer; Raft tolerates dropped ones."""

    connect_timeout_ms: int = 1000
    """Timeout of one attempt to connect to a peer."""

    reconnect_interval_ms: int = 250
    """Pause between two attempts to connect to a peer."""

    stall_timeout_ms: int = 2000
    """Silence of a peer, while an answer is due, after which its connection is replaced."""

    @property
    def max_command_bytes(self) -> int:
        """Maximum size of a command that `propose` accepts."""
        return self.append_batch_bytes - 2

    def __post_init__(self) -> None:
        if not self.election_timeout_max_ms:
            object.__setattr__(self, "election_timeout_max_ms", 2 * self.election_timeout_min_ms)
        if self.engine not in ENGINES:
            raise _invalid(f"engine must be one of {', '.join(ENGINES)}")
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and value <= 0:
                raise _invalid(f"{name} must be above 0")
        if self.wal_reserve_bytes < 2 * self.snapshot_interval_bytes:
            raise _invalid("wal_reserve_bytes must be at least twice snapshot_interval_bytes")
        if self.heartbeat_interval_ms * 3 >= self.election_timeout_min_ms:
            raise _invalid("heartbeat_interval_ms must be below a third of election_timeout_min_ms")
        if self.election_timeout_min_ms >= self.election_timeout_max_ms:
            raise _invalid("election_timeout_min_ms must be below election_timeout_max_ms")


def _invalid(message: str) -> KafkaError:
    return InvalidConfigError(message)
