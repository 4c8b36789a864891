"""What can be set for the broker's replicas and its data plane: names are Kafka's where it has one.

Owns the defaults; decides nothing. Every wait, queue and answer of the data plane has its limit
here.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.log.cleaner import CleanerConfig
from tidelog.log.producers import EXPIRATION_MS
from tidelog.net.unread_responses import UnreadLimits

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ReplicaConfig:
    """Times in milliseconds, sizes in bytes."""

    replica_lag_time_max_ms: int = 30_000
    """A follower that has not caught up for this long leaves the ISR."""
    replica_fetch_wait_max_ms: int = 500
    """How long a leader may keep a follower's fetch without records."""
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = MIB
    """For one partition in one answer."""
    replica_fetch_response_max_bytes: int = 2 * MIB
    """For one answer; a single larger batch still passes."""
    replica_fetch_timeout_ms: int = 10_000
    """On top of the wait, before a fetch counts as failed."""
    replica_fetch_backoff_ms: int = 100
    """After an error, of a partition or of a whole leader, with jitter."""
    alter_partition_backoff_ms: int = 100
    """Before an ISR change that was not answered, or was refused, is asked for again."""
    high_watermark_checkpoint_interval_ms: int = 5_000
    log_retention_check_interval_ms: int = 300_000
    producer_id_expiration_ms: int = EXPIRATION_MS
    """A partition forgets a producer silent in it for this long; looked at with retention."""
    log_flush_scheduler_interval_ms: int = 1_000
    """How often flush.ms is looked at."""
    log_deleted_check_interval_ms: int = 10_000
    """How often file.delete.delay.ms is looked at."""
    log_scrub_bytes_per_second: int = MIB
    """How fast stored records are checked against their CRCs in the background; 0: never."""
    log_scrub_interval_ms: int = 24 * 3600 * 1000
    """The least time between the beginnings of two rounds over all logs."""
    cleaner: CleanerConfig = field(default_factory=CleanerConfig)
    fetch_max_bytes: int = 8 * MIB
    """For one answer to a consumer, whatever it asks for; a single larger batch still passes."""
    fetch_partition_max_bytes_default: int = MIB
    fetch_wait_max_ms: int = 30_000
    """Longest wait of a consumer's fetch, whatever it asks for."""
    unread: UnreadLimits = field(default_factory=UnreadLimits)
    """Of responses that their callers have not taken; those to followers are not among them."""
    replica_unread_response_bytes_max: int = 16 * MIB
    """Of responses that one follower has not taken."""
    waiting_fetches_max: int = 10_000
    """Consumers' fetches that may wait at one time; more are refused."""
    waiting_reads_max: int = 256
    """Partitions whose records may be on their way from the disk to consumers at one time, or read
    and not yet taken; more are refused. What one holds is at most fetch_max_bytes."""
    ack_timeout_default_ms: int = 30_000
    ack_timeout_max_ms: int = 120_000
    """Longest wait of a change for the in-sync replicas, whatever its sender asks for."""
    produce_in_flight_bytes_max: int = 64 * MIB
    """Of produce requests not yet answered; more are refused before anything is appended."""
    compressed_records_inspection: bool = True
    """Whether compressed batches are inflated to see to their records; on topics that ask something
    about each record they are anyway."""
    inspection_inline_bytes_max: int = 2 << 10
    """Larger ones are inflated by a worker."""
    walk_inline_bytes_max: int = 256 << 10
    """Records of larger batches that are not compressed are walked in slices, with other work in
    between."""
    inspection_threads: int = 2
    """Batches that are inflated at one time."""
    log_tasks_max: int = 128
    """Logs that are opened, closed or removed at one time: they wait for the disk together."""

    changes_per_slice_max: int = 50
    """Partitions that are brought in line with a new image before other work has its turn."""

    def ack_timeout_ms(self, asked_ms: int) -> int:
        """How long a change waits for the in-sync replicas."""
        if asked_ms <= 0:
            return self.ack_timeout_default_ms
        return min(asked_ms, self.ack_timeout_max_ms)
