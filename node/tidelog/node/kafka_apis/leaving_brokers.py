"""Brokers that were fenced a moment ago: Kafka's clients are still told where they were. Pure.

librdkafka drops a broker that is not in the answer any more before it takes that broker's
partitions to their next leaders, of the same answer, and finds those again by a timer of a second
only (decision 0057).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Set

from tidelog.metadata.image import BrokerImage

NAMED_MS = 5_000
"""Time for which a fenced broker is named."""


class LeavingBrokers:
    """Brokers that answers named as live, and that are fenced since."""

    def __init__(self) -> None:
        self._seen: Mapping[int, BrokerImage] = {}
        self._until_ms: dict[int, int] = {}

    def ids(self, brokers: Mapping[int, BrokerImage], now_ms: int) -> Set[int]:
        """Ids of brokers of the newest image to name beside the live ones."""
        if brokers is not self._seen:
            for broker_id, before in self._seen.items():
                if not before.is_fenced:
                    self._until_ms[broker_id] = now_ms + NAMED_MS
            self._seen = brokers
        self._until_ms = {
            broker_id: until_ms
            for broker_id, until_ms in self._until_ms.items()
            if now_ms < until_ms and broker_id in brokers and brokers[broker_id].is_fenced
        }
        return self._until_ms.keys()
