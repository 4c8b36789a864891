"""Counters of Kafka's protocol for metrics: connections, refused bytes, requests by API. Pure.

API keys and versions are those that are advertised, so the number of counters is bounded.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.broker.kafka.request_header import Refusal
from tidelog.core.metric_family import MetricFamily, Sample
from tidelog.kafka.apis import APIS
from tidelog.v1.common_pb2 import ErrorCode


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
        self._errors: Counter[tuple[int, int]] = Counter()
        """By api key and code."""

    def note_answer(
        self, api_key: int, *, request_bytes: int, answer_bytes: int, seconds: float
    ) -> None:
        """Count a request."""
        counters = self._apis.setdefault(api_key, ApiCounters())
        counters.requests += 1
        counters.request_bytes += request_bytes
        counters.answer_bytes += answer_bytes
        counters.seconds += seconds

    def note_errors(self, api_key: int, codes: Iterable[int]) -> None:
        """Count the errors that an answer tells of, one for each place that has one."""
        self._errors.update((api_key, code) for code in codes)

    def stats(self) -> Mapping[str, float]:
        """Metrics of the node."""
        return {
            "kafka_connections": self.connections,
            "kafka_refused_connections": self.refused_connections,
            "kafka_refused_frames": self.refused.total(),
            "kafka_hang_ups": self.hang_ups,
        }

    def families(self) -> list[MetricFamily]:
        """Metrics by API, and errors by API and code."""
        apis = sorted(self._apis.items())
        errors = [
            Sample((_name(key), _error_name(code)), count)
            for (key, code), count in sorted(self._errors.items())
        ]
        return [
            *(
                MetricFamily(
                    name, meaning, ("api",), [Sample((_name(key),), read(one)) for key, one in apis]
                )
                for name, meaning, read in _BY_API
            ),
            MetricFamily("kafka_errors", "errors told in answers", ("api", "error"), errors),
        ]


_BY_API: Sequence[tuple[str, str, Callable[[ApiCounters], float]]] = (
    ("kafka_requests", "requests answered", lambda one: one.requests),
    ("kafka_request_bytes", "bytes of requests", lambda one: one.request_bytes),
    ("kafka_answer_bytes", "bytes of answers", lambda one: one.answer_bytes),
    ("kafka_request_seconds", "time of handling, waits included", lambda one: one.seconds),
)


def _name(api_key: int) -> str:
    return APIS[api_key].name


def _error_name(code: int) -> str:
    """Kafka's name of a code; its number where only Kafka's protocol needs it here."""
    return ErrorCode.Name(code) if code in ErrorCode.values() else str(code)
