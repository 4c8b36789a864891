"""An accumulator's ready partitions at a time, for tests."""

from __future__ import annotations

from tidelog.client.producing.accumulator import Accumulator
from tidelog.client.records import TopicPartition


def ready(accumulator: Accumulator[str], now_ms: int) -> list[TopicPartition]:
    """In the order in which they are to be sent."""
    accumulator.advance(now_ms)
    return list(accumulator.ready)
