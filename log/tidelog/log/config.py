"""Topic configuration, by Kafka's names, and the effective settings of one log. Pure.

A topic's own setting overrides the cluster's default, which overrides the built-in one. Names,
defaults and ranges are those of Kafka's LogConfig, unless a comment explains the difference.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from tidelog.core.config_keys import SHOWN_CHARACTERS_MAX, ConfigKey, declare, keys_of, nearest
from tidelog.core.config_types import (
    DAY_MS,
    MAX_I32,
    MAX_I64,
    Value,
    ValueType,
    boolean,
    list_of,
    one_of,
    ratio,
    whole_number,
)
from tidelog.core.errors import InvalidConfigError, KafkaError

T = TypeVar("T", bound=Value)

_NOTHING: Mapping[str, str] = MappingProxyType({})


def _key(default: T, value_type: ValueType, doc: str) -> T:
    """A key named as its field with dots for underscores; a change takes effect at once."""
    return declare(default, value_type, doc, is_dynamic=True)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Settings of one log. Each field is the only declaration of its key in `TOPIC_CONFIGS`."""

    # Kafka 4 requires at least 1 MiB, so that a typo does not fill a disk with files. With 14,
    # Kafka's former minimum, a test gets many segments out of few records.
    segment_bytes: int = _key(
        1 << 30,
        whole_number(14, MAX_I32),
        "Maximum size of a segment file; the log then rolls a new one.",
    )
    segment_ms: int = _key(
        7 * DAY_MS,
        whole_number(1),
        "Maximum age of a segment that is not empty; the log then rolls a new one.",
    )
    # Kafka allows 4, which holds no entry of either index.
    segment_index_bytes: int = _key(
        10 << 20,
        whole_number(12, MAX_I32),
        "Maximum size of a segment's offset index and time index; a full one makes the log roll.",
    )
    index_interval_bytes: int = _key(
        4096, whole_number(0, MAX_I32), "Bytes of log between two index entries."
    )
    retention_ms: int = _key(
        7 * DAY_MS,
        whole_number(-1),
        "With cleanup.policy delete: maximum age of a segment's newest record before the segment "
        "is deleted; -1: unlimited.",
    )
    retention_bytes: int = _key(
        -1,
        whole_number(-1),
        "With cleanup.policy delete: maximum size of a partition before its oldest segments are "
        "deleted; -1: unlimited.",
    )
    cleanup_policy: tuple[str, ...] = _key(
        ("delete",),
        list_of("delete", "compact"),
        "delete: delete old segments; compact: keep the last record of each key.",
    )
    min_cleanable_dirty_ratio: float = _key(
        0.5, ratio(), "Minimum share of uncompacted bytes in a log before it is compacted."
    )
    min_compaction_lag_ms: int = _key(
        0, whole_number(0), "Minimum age of a record before it is compacted."
    )
    max_compaction_lag_ms: int = _key(
        MAX_I64,
        whole_number(1),
        "Maximum age of a record before its log is compacted regardless of the dirty ratio.",
    )
    delete_retention_ms: int = _key(
        DAY_MS, whole_number(0), "Time for which compaction keeps a tombstone."
    )
    file_delete_delay_ms: int = _key(
        60_000, whole_number(0), "Time before a file renamed to .deleted is removed from the disk."
    )
    max_message_bytes: int = _key(
        (1 << 20) + 12,
        whole_number(0, MAX_I32),
        "Maximum size of a producer's record batch, as sent.",
    )
    message_timestamp_type: str = _key(
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "Source of a record's timestamp: the producer's clock or the leader's.",
    )
    message_timestamp_before_max_ms: int = _key(
        MAX_I64,
        whole_number(0),
        "With CreateTime: maximum age of a record's timestamp; older batches are refused.",
    )
    message_timestamp_after_max_ms: int = _key(
        3_600_000,
        whole_number(0),
        "With CreateTime: maximum distance of a batch's timestamp into the future; later ones are "
        "refused.",
    )
    flush_messages: int = _key(
        MAX_I64,
        whole_number(1),
        "Number of records after which to fsync; 1: before every response.",
    )
    flush_ms: int = _key(MAX_I64, whole_number(0), "Maximum time before a record is fsynced.")
    compression_type: str = _key(
        "producer",
        one_of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
        "Compression of batches on the disk; producer: as sent by the producer.",
    )
    min_insync_replicas: int = _key(
        1,
        whole_number(1, MAX_I32),
        "Minimum ISR size to accept a write with acks=all; a topic with fewer replicas needs all.",
    )
    unclean_leader_election_enable: bool = _key(
        default=False,
        value_type=boolean(),
        doc="Allow a replica outside ISR and ELR to lead if no complete one is alive; records it "
        "lacks are lost.",
    )

    @property
    def is_compacted(self) -> bool:
        """True when the cleaner may drop records whose key has a later one."""
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """True when retention may delete whole segments."""
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """Maximum age of the active segment: records due for compaction must leave it in time."""
        if self.is_compacted:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms


TOPIC_CONFIGS: Mapping[str, ConfigKey] = MappingProxyType(keys_of(LogConfig))


def log_config(overrides: Mapping[str, str], defaults: Mapping[str, str] = _NOTHING) -> LogConfig:
    """Compute a topic's effective settings: its `overrides` over the cluster's `defaults`.

    Raises `KafkaError` INVALID_CONFIG for an unknown key, a bad value, or inconsistent values.
    """
    given = {**defaults, **overrides}
    values: dict[str, Any] = {}  # each parsed by its key's type
    for name in sorted(given):
        values[name.replace(".", "_")] = topic_config(name).parse(given[name])
    config = LogConfig(**values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise _invalid(
            f"min.compaction.lag.ms={config.min_compaction_lag_ms}: must be at most "
            f"max.compaction.lag.ms, which is {config.max_compaction_lag_ms}"
        )
    return config


def topic_config(name: str) -> ConfigKey:
    """Look up a key's declaration; raises `KafkaError` INVALID_CONFIG, naming the nearest key."""
    if name not in TOPIC_CONFIGS:
        shown, near = name[:SHOWN_CHARACTERS_MAX], nearest(name, TOPIC_CONFIGS)
        hint = "" if near is None else f" (did you mean {near}?)"
        raise _invalid(
            f"unknown topic config {shown!r}{hint}; known are {', '.join(TOPIC_CONFIGS)}"
        )
    return TOPIC_CONFIGS[name]


def _invalid(message: str) -> KafkaError:
    return InvalidConfigError(message)
