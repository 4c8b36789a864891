"""Configuration of a broker's transaction coordinator, by Kafka's names where they exist. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, MAX_I32, whole_number

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Times in milliseconds, sizes in bytes."""

    transaction_state_log_num_partitions: int = declare(
        50,
        whole_number(1, 1_000),
        "Partitions of __transaction_state, when it is created; a transactional id's coordinator "
        "leads one.",
    )
    transaction_state_log_replication_factor: int = declare(
        3,
        whole_number(1, 1_000),
        "Replicas of each of them. Transactions wait until as many brokers are registered, and are "
        "told so after 30 s; the configurations that tools write have at most as many as there are "
        "nodes.",
    )
    transaction_state_log_min_isr: int = declare(
        2, whole_number(1, 1_000), "Its min.insync.replicas, when it is created."
    )
    transaction_state_log_segment_bytes: int = declare(
        100 * MIB,
        whole_number(MIB, MAX_I32),
        "Size of its segments; compaction leaves the newest one out.",
    )
    transaction_max_timeout_ms: int = declare(
        900_000,
        whole_number(1, MAX_I32),
        "Longest transaction.timeout.ms that a producer may ask for.",
    )
    transactional_id_expiration_ms: int = declare(
        604_800_000,
        whole_number(1, 1 << 53),
        "Time after which a transactional id without an open transaction is removed.",
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = declare(
        3_600_000,
        whole_number(1, DAY_MS),
        "Interval of checks of transactional.id.expiration.ms.",
    )
    transaction_commit_timeout_ms: int = declare(
        5_000,
        whole_number(1, DAY_MS),
        "Maximum wait of a transaction coordinator's answer for the in-sync replicas.",
    )
    transaction_partition_state_bytes: int = declare(
        64 * MIB,
        whole_number(1 << 10, 1 << 40),
        "Maximum bytes of the transactions of one partition of __transaction_state, as in its "
        "records: beyond it new ids and further partitions are refused. Memory is several times "
        "that.",
    )
    transactional_ids_max: int = 100_000
    """Maximum ids of one partition of the internal topic; further ones are refused."""
    transaction_record_bytes_max: int = 128 << 10
    """Maximum bytes of a transaction's record, with all its partitions."""
