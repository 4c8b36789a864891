"""Configuration of a broker's replicas and data plane, by Kafka's names where they exist.

Owns the defaults; decides nothing. Every wait, queue and answer of the data plane has its limit
here.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, boolean, whole_number
from tidelog.log.cleaner import CleanerConfig
from tidelog.log.producers import EXPIRATION_MS
from tidelog.net.unread_responses import UnreadLimits

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ReplicaConfig:
    """Times in milliseconds, sizes in bytes."""

    replica_lag_time_max_ms: int = declare(
        30_000,
        whole_number(100, DAY_MS),
        "Maximum time a follower in the ISR may lag; after it the leader removes it.",
    )
    replica_fetch_wait_max_ms: int = 500
    """Maximum wait of a follower's fetch without records at the leader."""
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = MIB
    """Maximum bytes of one partition in an answer."""
    replica_fetch_response_max_bytes: int = 2 * MIB
    """Maximum bytes of an answer; a single larger batch is still allowed."""
    replica_fetch_timeout_ms: int = 10_000
    """Time on top of the wait after which a fetch counts as failed."""
    replica_fetch_backoff_ms: int = 100
    """Back-off after an error of a partition or of a whole leader, with jitter."""
    alter_partition_backoff_ms: int = 100
    """Back-off before an unanswered or refused ISR change is proposed again."""
    high_watermark_checkpoint_interval_ms: int = 5_000
    log_retention_check_interval_ms: int = declare(
        300_000,
        whole_number(1, DAY_MS),
        "Interval of checks of retention.ms and retention.bytes.",
    )
    producer_id_expiration_ms: int = declare(
        EXPIRATION_MS,
        whole_number(1, 365 * DAY_MS),
        "Time after which a partition forgets the sequences of a silent idempotent producer; "
        "checked with retention.",
    )
    log_flush_scheduler_interval_ms: int = 1_000
    """Interval of checks of flush.ms."""
    log_deleted_check_interval_ms: int = 10_000
    """Interval of checks of file.delete.delay.ms."""
    log_scrub_bytes_per_second: int = declare(
        MIB,
        whole_number(0),
        "Rate of background CRC checks of stored records; 0: no checks.",
    )
    log_scrub_interval_ms: int = declare(
        DAY_MS,
        whole_number(0, 365 * DAY_MS),
        "Minimum time between the starts of two scrub rounds over all logs.",
    )
    cleaner: CleanerConfig = field(default_factory=CleanerConfig)
    fetch_max_bytes: int = 8 * MIB
    """Maximum bytes of a consumer's answer, even if it requests more; a larger batch passes."""
    fetch_partition_max_bytes_default: int = MIB
    fetch_wait_max_ms: int = 30_000
    """Maximum wait of a consumer's fetch, even if it requests more."""
    unread: UnreadLimits = field(default_factory=UnreadLimits)
    """Limits of responses that callers have not received, except those to followers."""
    replica_unread_response_bytes_max: int = declare(
        16 * MIB,
        whole_number(MIB),
        "Maximum bytes of responses that one follower has not received.",
        key="replica.unread.max.response.bytes",
    )
    waiting_fetches_max: int = 10_000
    """Maximum number of waiting consumer fetches; further ones are refused."""
    waiting_reads_max: int = 256
    """Maximum number of consumer reads with records being loaded, or loaded and not yet sent.

    Further ones are refused. Each holds at most fetch_max_bytes.
    """
    ack_timeout_default_ms: int = 30_000
    ack_timeout_max_ms: int = 120_000
    """Maximum wait of a change for the in-sync replicas, even if it requests more."""
    produce_in_flight_bytes_max: int = 64 * MIB
    """Maximum bytes of unanswered produce requests; further ones are refused before any append."""
    compressed_records_inspection: bool = declare(
        default=True,
        value_type=boolean(),
        doc="Inflate compressed batches before the append to validate their records and to compute "
        "their newest timestamp, which retention and look-ups by time rest on; without it what "
        "producers say is believed. Batches of compacted topics, and with "
        "message.timestamp.before.max.ms, are inflated in any case.",
        key="compressed.records.inspection.enable",
    )
    inspection_inline_bytes_max: int = 2 << 10
    """Size from which on compressed batches are inflated by a worker."""
    walk_inline_bytes_max: int = 256 << 10
    """Size from which on uncompressed batches are walked in slices, with other work in between."""
    inspection_threads: int = declare(
        2,
        whole_number(1, 256),
        "Maximum number of batches inflated concurrently; further ones wait.",
        key="compressed.records.inspection.threads",
    )
    coordinator_appends_max: int = 10_000
    """Maximum number of uncommitted appends of coordinators; further ones are refused."""
    load_buffer_size: int = MIB
    """Maximum bytes in memory of a partition that a coordinator loads; a larger batch passes.

    Kafka: offsets.load.buffer.size.
    """
    opening_waits_max: int = 500
    """Maximum number of appends that wait for their partition to be opened; further are refused."""
    opening_wait_ms_max: int = 1_000
    """Maximum wait of an append, within its time-out, while this broker opens its partition."""
    unknown_topic_wait_ms_max: int = 200
    """The same while this broker does not know the partition: another one may have named it."""
    transaction_waits_max: int = 5_000
    """Maximum number of transactional appends that wait for coordinators; further are refused."""
    transaction_wait_ms_max: int = 10_000
    """Maximum wait of a transactional append until its partition is in the transaction."""
    log_tasks_max: int = 128
    """Maximum number of logs opened, closed or removed concurrently: they share disk waits."""

    changes_per_slice_max: int = 50
    """Partitions updated to a new image before yielding to other tasks."""

    def ack_timeout_ms(self, asked_ms: int) -> int:
        """Maximum wait of a change for the in-sync replicas."""
        if asked_ms <= 0:
            return self.ack_timeout_default_ms
        return min(asked_ms, self.ack_timeout_max_ms)
