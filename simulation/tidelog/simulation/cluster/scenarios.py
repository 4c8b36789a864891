"""The stories that the simulation tells, and the world each is told in.

Their world is drawn like a storm's, but for one topic of one partition and producers of that.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.chaos.scenarios.catalogue import SIM, Scenario, of_stage
from tidelog.chaos.workloads.plans import STEADY
from tidelog.simulation.cluster.world_config import WorldConfig

STORM = "storm"
"""No scenario: what the seed draws."""
SCENARIOS = of_stage(SIM)
FETCHED_BYTES_MIN = 4_000
"""Followers keep up with all producers on slow links: a story waits for replicas to be in sync."""


def shape(scenario: Scenario, config: WorldConfig) -> WorldConfig:
    """The drawn world as the story needs it."""
    plan = config.plan(STEADY)
    topic = replace(
        plan,
        name=scenario.topic,
        partitions=1,
        min_insync_replicas=scenario.min_insync_replicas,
        is_lossy=scenario.is_lossy,
        is_flushed=plan.is_flushed if scenario.is_flushed is None else scenario.is_flushed,
        segment_bytes=scenario.segment_bytes or max(FETCHED_BYTES_MIN, plan.segment_bytes),
        index_interval_bytes=0 if scenario.segment_bytes else plan.index_interval_bytes,
    )
    producers = tuple(
        replace(producer, topic=scenario.topic, acks=acks)
        for producer, acks in zip(config.producers, scenario.acks, strict=False)
    )
    fetch_max_bytes = max(FETCHED_BYTES_MIN, config.replica.replica_fetch_max_bytes)
    replica = replace(config.replica, replica_fetch_max_bytes=fetch_max_bytes)
    return replace(config, topics=(topic,), producers=producers, replica=replica)
