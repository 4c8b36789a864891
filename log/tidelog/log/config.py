"""What can be set for a topic, by Kafka's names, and the values one log works with. Pure.

A topic's own setting goes before the cluster's default, and that before the built-in one. Names,
defaults and ranges are those of Kafka's LogConfig but where a comment says why not.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeVar

from tidelog.core.config_types import (
    MAX_I32,
    MAX_I64,
    Value,
    ValueType,
    boolean,
    list_of,
    one_of,
    ratio,
    whole_number,
    written,
)
from tidelog.core.errors import KafkaError
from tidelog.v1 import common_pb2

T = TypeVar("T", bound=Value)

_NOTHING: Mapping[str, str] = MappingProxyType({})
# No key and no value is as long; of what is longer no more is compared or shown.
_CHARACTERS_MAX = 260
_DAY_MS = 24 * 60 * 60 * 1000


def _key(default: T, value_type: ValueType, doc: str) -> T:
    """Declares a key: the field of this name with dots for underscores (read by the dataclass)."""
    declared: T = field(default=default, metadata={"type": value_type, "doc": doc})
    return declared


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one log. Each field is the one declaration of its key in `TOPIC_CONFIGS`."""

    # Kafka 4 takes no less than 1 MiB, so that a slip does not fill a disk with files. Down to 14,
    # Kafka's former minimum, a test sees many segments in a few records.
    segment_bytes: int = _key(
        1 << 30,
        whole_number(14, MAX_I32),
        "A segment file is closed and a new one begun at this size.",
    )
    segment_ms: int = _key(
        7 * _DAY_MS, whole_number(1), "A segment that is not empty is closed at this age."
    )
    # Kafka takes 4, which holds no entry of either index.
    segment_index_bytes: int = _key(
        10 << 20,
        whole_number(12, MAX_I32),
        "Largest offset index and time index of a segment; a full one closes it.",
    )
    index_interval_bytes: int = _key(
        4096, whole_number(0, MAX_I32), "Bytes of log between two entries of the indexes."
    )
    retention_ms: int = _key(
        7 * _DAY_MS,
        whole_number(-1),
        "With cleanup.policy delete: segments whose newest record is older go; -1: none go by age.",
    )
    retention_bytes: int = _key(
        -1,
        whole_number(-1),
        "With cleanup.policy delete: the oldest segments of a partition go above this size; "
        "-1: none go by size.",
    )
    cleanup_policy: tuple[str, ...] = _key(
        ("delete",),
        list_of("delete", "compact"),
        "delete: old segments go; compact: of each key the last record stays.",
    )
    min_cleanable_dirty_ratio: float = _key(
        0.5, ratio(), "Compaction waits until this share of the log is not compacted yet."
    )
    min_compaction_lag_ms: int = _key(
        0, whole_number(0), "A record is not compacted before this age."
    )
    max_compaction_lag_ms: int = _key(
        MAX_I64,
        whole_number(1),
        "A record is compacted from this age on, whatever the dirty ratio.",
    )
    delete_retention_ms: int = _key(
        _DAY_MS, whole_number(0), "Compaction keeps a tombstone for this long."
    )
    file_delete_delay_ms: int = _key(
        60_000, whole_number(0), "A file renamed to .deleted stays on the disk for this long."
    )
    max_message_bytes: int = _key(
        (1 << 20) + 12,
        whole_number(0, MAX_I32),
        "Largest record batch taken from a producer, as sent.",
    )
    message_timestamp_type: str = _key(
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "Whose clock a record's timestamp is from: the producer's or the leader's.",
    )
    message_timestamp_before_max_ms: int = _key(
        MAX_I64,
        whole_number(0),
        "With CreateTime: a batch whose timestamp is further in the past is refused.",
    )
    message_timestamp_after_max_ms: int = _key(
        3_600_000,
        whole_number(0),
        "With CreateTime: a batch whose timestamp is further in the future is refused.",
    )
    flush_messages: int = _key(
        MAX_I64, whole_number(1), "fsync after this many records; 1 means before every answer."
    )
    flush_ms: int = _key(MAX_I64, whole_number(0), "fsync when a record has waited for this long.")
    compression_type: str = _key(
        "producer",
        one_of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
        "How batches lie on the disk; producer: as they were sent.",
    )
    min_insync_replicas: int = _key(
        1,
        whole_number(1, MAX_I32),
        "Smallest ISR that takes a write with acks=all; a topic with fewer replicas needs all.",
    )
    unclean_leader_election_enable: bool = _key(
        default=False,
        value_type=boolean(),
        doc="Whether, where no complete replica is alive, another may lead: what it lacks is lost.",
    )

    @property
    def is_compacted(self) -> bool:
        """Whether the cleaner may drop records whose key has a later one."""
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Whether retention may drop whole segments."""
        return "delete" in self.cleanup_policy


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One key, as `LogConfig` declares it."""

    name: str
    type: ValueType
    default: Value
    doc: str

    @property
    def default_text(self) -> str:
        """The default as one would write it."""
        return written(self.default)

    def parse(self, text: str) -> Value:
        """The value of `text`; raises `KafkaError` INVALID_CONFIG with name, value and rule."""
        value = self.type.parse(text)
        if value is None:
            shown = text[:_CHARACTERS_MAX]
            raise _invalid(f"{self.name}={shown!r}: must be {self.type.rule}")
        return value


def _declared() -> Mapping[str, TopicConfig]:
    named = {declared.name.replace("_", "."): declared for declared in fields(LogConfig)}
    defaults = LogConfig()
    return MappingProxyType(
        {
            name: TopicConfig(name, default=getattr(defaults, declared.name), **declared.metadata)
            for name, declared in named.items()
        }
    )


TOPIC_CONFIGS: Mapping[str, TopicConfig] = _declared()


def log_config(overrides: Mapping[str, str], defaults: Mapping[str, str] = _NOTHING) -> LogConfig:
    """The effective settings of a topic: its own `overrides` over the cluster's `defaults`.

    Raises `KafkaError` INVALID_CONFIG for an unknown key, a bad value, or values that do not go
    together.
    """
    given = {**defaults, **overrides}
    values: dict[str, Any] = {}  # each parsed by its own key's type
    for name in sorted(given):
        values[name.replace(".", "_")] = topic_config(name).parse(given[name])
    config = LogConfig(**values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise _invalid(
            f"min.compaction.lag.ms={config.min_compaction_lag_ms}: must be at most "
            f"max.compaction.lag.ms, which is {config.max_compaction_lag_ms}"
        )
    return config


def topic_config(name: str) -> TopicConfig:
    """The declaration of a key; raises `KafkaError` INVALID_CONFIG with the nearest that exists."""
    if name not in TOPIC_CONFIGS:
        shown = name[:_CHARACTERS_MAX]
        nearest = get_close_matches(shown, TOPIC_CONFIGS, n=1)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        raise _invalid(
            f"unknown topic config {shown!r}{hint}; known are {', '.join(TOPIC_CONFIGS)}"
        )
    return TOPIC_CONFIGS[name]


def _invalid(message: str) -> KafkaError:
    return KafkaError(common_pb2.INVALID_CONFIG, message)
