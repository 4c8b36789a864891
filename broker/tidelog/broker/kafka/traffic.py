"""Counters of Kafka's protocol for metrics: connections, refused bytes, requests by API. Pure.

API keys and versions are those that are advertised, so the number of counters is bounded.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

from tidelog.broker.kafka.request_header import Refusal


@dataclass(slots=True)
class ApiCounters:
    """Counters of one API since the start."""

    requests: int = 0
    """Requests that were answered, or needed no answer."""
    request_bytes: int = 0
    answer_bytes: int = 0
    seconds: float = 0.0
    """Time from the begin of their handling to their answers."""


class KafkaTraffic:
    """Counters of one node."""

    def __init__(self) -> None:
        self.connections = 0
        self.refused_connections = 0
        """Connections beyond a limit."""
        self.refused: Counter[Refusal] = Counter()
        """Connections closed for what they sent."""
        self.hang_ups = 0
        """Connections closed because they were idle, or took or sent nothing for too long."""
        self._apis: dict[int, ApiCounters] = {}

    def note_answer(
        self, api_key: int, *, request_bytes: int, answer_bytes: int, seconds: float
    ) -> None:
        """Count a request."""
        counters = self._apis.setdefault(api_key, ApiCounters())
        counters.requests += 1
        counters.request_bytes += request_bytes
        counters.answer_bytes += answer_bytes
        counters.seconds += seconds

    def stats(self) -> Mapping[str, float]:
        """Metrics of the node."""
        return {
            "kafka_connections": self.connections,
            "kafka_refused_connections": self.refused_connections,
            "kafka_refused_frames": self.refused.total(),
            "kafka_hang_ups": self.hang_ups,
        }

    def api_stats(self) -> Mapping[str, Mapping[int, float]]:
        """Metrics by API: by metric, then by api key."""
        return {
            f"kafka_{one.name}": {key: getattr(each, one.name) for key, each in self._apis.items()}
            for one in fields(ApiCounters)
        }
