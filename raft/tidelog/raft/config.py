"""The settings of a Raft voter, checked once. This module decides nothing else."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.errors import KafkaError
from tidelog.v1 import common_pb2

ENGINES = ("tidelog", "pysyncobj")
ENGINE_KEY = "controller.quorum.engine"
"""What a node's configuration calls `engine`."""


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """Times are in milliseconds, sizes in bytes.

    Errors: `KafkaError` INVALID_CONFIG names the setting.
    """

    cluster_id: str = ""
    """The voter's cluster: on each stream and message, and in the first entry of the log."""

    engine: str = "tidelog"
    """`tidelog`, or `pysyncobj`: PySyncObj's core behind the same port, on the same files."""

    election_timeout_min_ms: int = 1000
    """A follower without a leader for a random time from here to the maximum asks for votes."""

    election_timeout_max_ms: int = 2000
    """Also how long a leader without answers of a majority goes on leading."""

    election_backoff_ms: int = 500
    """A candidate without a majority asks again after a random time from half of this to all."""

    heartbeat_interval_ms: int = 80
    """How often an idle leader speaks; less than a third of the minimal election timeout."""

    append_batch_bytes: int = 1024 * 1024
    """About how much one append message carries; a command must be smaller."""

    append_batch_entries: int = 4096
    """At most so many entries in one append message."""

    max_inflight_appends: int = 16
    """Append messages with entries that may wait for one follower's answer."""

    snapshot_interval_bytes: int = 4 * 1024 * 1024
    """A snapshot is made when the write-ahead log has grown by so much."""

    snapshot_chunk_bytes: int = 1024 * 1024
    """How much of a snapshot one message carries."""

    retained_entries: int = 1000
    """Entries kept behind a snapshot at most, so that a follower a little behind needs none.

    They take no more than a quarter of `snapshot_interval_bytes`.
    """

    wal_reserve_bytes: int = 16 * 1024 * 1024
    """Disk space the write-ahead log holds in advance: a full disk does not stop the quorum."""

    max_pending_proposals: int = 1000
    """Proposals waiting for their commit; more are refused."""

    max_inbox_messages: int = 1000
    """Received messages waiting for the next step; more are dropped, which Raft repairs."""

    max_inbox_bytes: int = 64 * 1024 * 1024
    """Likewise, in bytes."""

    max_promises: int = 1000
    """Votes and acknowledgements waiting for a running sync; more are dropped, likewise."""

    max_peer_queue_bytes: int = 32 * 1024 * 1024
    """Messages waiting for a slow peer; more are dropped, which Raft repairs."""

    connect_timeout_ms: int = 1000
    """How long one attempt to reach a peer takes at most."""

    reconnect_interval_ms: int = 250
    """The pause between two attempts to reach a peer."""

    stall_timeout_ms: int = 2000
    """A connection on which the peer was asked but stayed silent this long is replaced."""

    @property
    def max_command_bytes(self) -> int:
        """The largest command `propose` takes."""
        return self.append_batch_bytes - 2

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise _invalid(f"engine must be one of {', '.join(ENGINES)}")
        for name in self.__slots__:
            if name not in ("engine", "cluster_id") and getattr(self, name) <= 0:
                raise _invalid(f"{name} must be above 0")
        if self.wal_reserve_bytes < 2 * self.snapshot_interval_bytes:
            raise _invalid("wal_reserve_bytes must be at least twice snapshot_interval_bytes")
        if self.heartbeat_interval_ms * 3 >= self.election_timeout_min_ms:
            raise _invalid("heartbeat_interval_ms must be below a third of election_timeout_min_ms")
        if self.election_timeout_min_ms >= self.election_timeout_max_ms:
            raise _invalid("election_timeout_min_ms must be below election_timeout_max_ms")


def _invalid(message: str) -> KafkaError:
    return KafkaError(common_pb2.INVALID_CONFIG, message)
