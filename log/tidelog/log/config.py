"""What can be set for a topic, by Kafka's names, and the values one log works with. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from tidelog.log.errors import KafkaError
from tidelog.v1 import common_pb2

_MAX_I32 = 2**31 - 1
_MAX_I64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one log; each field is a key of `TOPIC_CONFIGS` with dots for underscores."""

    segment_bytes: int = 1 << 30
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = (1 << 20) + 12
    flush_messages: int = _MAX_I64
    min_insync_replicas: int = 1


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One key: a whole number within `minimum` and `maximum`, both allowed."""

    name: str
    default: int
    minimum: int
    maximum: int
    doc: str

    def parse(self, text: str) -> int:
        """The value of `text`; raises `KafkaError` INVALID_CONFIG with name, value and range."""
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or not self.minimum <= value <= self.maximum:
            raise KafkaError(
                common_pb2.INVALID_CONFIG,
                f"{self.name}={text!r}: must be a number from {self.minimum} to {self.maximum}",
            )
        return value


_RANGES: Mapping[str, tuple[int, int, str]] = {
    "segment.bytes": (14, _MAX_I32, "A segment file is closed and a new one begun at this size."),
    "segment.index.bytes": (8, _MAX_I32, "Largest offset index of a segment; a full one rolls."),
    "index.interval.bytes": (0, _MAX_I32, "Bytes of log between two entries of the offset index."),
    "max.message.bytes": (0, _MAX_I32, "Largest record batch taken from a producer, as sent."),
    "flush.messages": (1, _MAX_I64, "fsync after this many records; 1 means before every answer."),
    "min.insync.replicas": (1, _MAX_I32, "Smallest ISR that takes a write with acks=all."),
}
TOPIC_CONFIGS: Mapping[str, TopicConfig] = {
    name: TopicConfig(name, getattr(LogConfig(), name.replace(".", "_")), *limits)
    for name, limits in _RANGES.items()
}


def log_config(overrides: Mapping[str, str]) -> LogConfig:
    """The defaults with `overrides` applied; raises `KafkaError` INVALID_CONFIG for a bad one."""
    values = {}
    for name, text in sorted(overrides.items()):
        if name not in TOPIC_CONFIGS:
            raise KafkaError(common_pb2.INVALID_CONFIG, _unknown_key(name))
        values[name.replace(".", "_")] = TOPIC_CONFIGS[name].parse(text)
    return LogConfig(**values)


def _unknown_key(name: str) -> str:
    nearest = get_close_matches(name, TOPIC_CONFIGS, n=1)
    hint = f" (did you mean {nearest[0]}?)" if nearest else ""
    return f"unknown topic config {name!r}{hint}; known are {', '.join(TOPIC_CONFIGS)}"
