"""What clients of a scenario do on real processes: its topic, its producers, and how much. Pure.

A record a batch, a few hundred records a second over all producers: enough that each fault strikes
some in flight, little enough that two cores carry nodes, proxies and clients.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.chaos.scenarios.catalogue import Scenario
from tidelog.chaos.workloads.plans import CHURNED, LOSSY, STEADY, ProducerPlan, TopicPlan

SEGMENT_BYTES = 64 << 10
"""Several segments in a run of a minute."""
INDEX_INTERVAL_BYTES = 1024
PAUSE_S_MAX = 0.1
BURST_MAX = 8
VALUE_BYTES = 100
REQUEST_TIMEOUT_MS = 2_000
DELIVERY_TIMEOUT_MS = 30_000
"""Longer than any fault of a story: a client that retries long enough meets no error."""


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """One topic and its producers."""

    topic: TopicPlan
    producers: tuple[ProducerPlan, ...]


def work_of(scenario: Scenario) -> WorkPlan:
    """The story's topic has one partition, on all brokers."""
    name = LOSSY if scenario.is_lossy else CHURNED if scenario.is_recreated else STEADY
    topic = TopicPlan(
        name=name,
        partitions=1,
        min_insync_replicas=scenario.min_insync_replicas,
        is_flushed=bool(scenario.is_flushed),
        is_lossy=scenario.is_lossy,
        segment_bytes=scenario.segment_bytes or SEGMENT_BYTES,
        index_interval_bytes=0 if scenario.segment_bytes else INDEX_INTERVAL_BYTES,
    )
    producers = tuple(
        ProducerPlan(
            name=f"producer-{number}",
            topic=name,
            acks=acks,
            pause_s_max=PAUSE_S_MAX,
            burst_max=BURST_MAX,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            value_bytes=VALUE_BYTES,
        )
        for number, acks in enumerate(scenario.acks, start=1)
    )
    return WorkPlan(topic, producers)
