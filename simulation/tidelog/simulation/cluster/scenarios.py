"""Scenarios on virtual time, and the configuration each runs with.

It is drawn like a storm's, but for one topic of one partition and producers of that.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.chaos.scenarios.catalogue import runnable_on
from tidelog.chaos.story.scenario import SIM, Scenario
from tidelog.chaos.workloads.plans import (
    GROUP_HEARTBEAT_MS,
    GROUP_SESSION_MS,
    LEDGER,
    SHARED,
    STEADY,
    GroupPlan,
    TransactionPlan,
)
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.history.history import ACKS_ALL
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig

OFFSETS_PARTITIONS = TRANSACTIONS_PARTITIONS = 2
"""Partitions of the internal topics; each costs steps."""
STORM = "storm"
"""No scenario: what the seed draws."""
SCENARIOS = runnable_on(SIM)
FETCHED_BYTES_MIN = 4_000
"""Followers keep up with all producers on slow links: a story waits for replicas to be in sync."""


def shape(scenario: Scenario, config: ClusterSimulationConfig) -> ClusterSimulationConfig:
    """The drawn configuration as the story needs it."""
    plan, needs = config.plan(STEADY), scenario.needs
    topic = replace(
        plan,
        name=scenario.topic,
        partitions=1,
        min_insync_replicas=scenario.min_insync_replicas,
        is_lossy=needs.is_lossy,
        is_flushed=plan.is_flushed if needs.is_flushed is None else needs.is_flushed,
        segment_bytes=needs.segment_bytes or max(FETCHED_BYTES_MIN, plan.segment_bytes),
        index_interval_bytes=0 if needs.segment_bytes else plan.index_interval_bytes,
    )
    producers = tuple(
        replace(producer, topic=scenario.topic, acks=acks)
        for producer, acks in zip(config.producers, needs.acks, strict=False)
    )
    fetch_max_bytes = max(FETCHED_BYTES_MIN, config.replica.replica_fetch_max_bytes)
    replica = replace(config.replica, replica_fetch_max_bytes=fetch_max_bytes)
    shaped = replace(config, topics=(topic,), producers=producers, replica=replica)
    if needs.transactions is not None:
        shaped = _with_transactions(shaped, needs.transactions)
    return shaped if needs.group is None else _with_group(shaped, needs.group)


def _with_transactions(
    config: ClusterSimulationConfig, transactions: TransactionPlan
) -> ClusterSimulationConfig:
    """The topic of transactions is created by their clients; nobody else writes to it."""
    (topic,) = config.topics
    coordinators = replace(
        config.coordinators, transaction_state_log_num_partitions=TRANSACTIONS_PARTITIONS
    )
    groups = replace(config.groups, offsets_topic_num_partitions=OFFSETS_PARTITIONS)
    return replace(
        config,
        internal_topics=(
            replace(topic, name=LEDGER, partitions=transactions.partitions),
            replace(
                topic,
                name=TRANSACTIONS_TOPIC,
                partitions=TRANSACTIONS_PARTITIONS,
                min_insync_replicas=2,
                is_lossy=False,
            ),
        ),
        coordinators=coordinators,
        groups=groups,
        transactions=transactions,
    )


def _with_group(config: ClusterSimulationConfig, group: GroupPlan) -> ClusterSimulationConfig:
    """A second topic, with a producer of its own, for the group to read."""
    (topic,), producer = config.topics, config.producers[0]
    groups = replace(
        config.groups,
        offsets_topic_num_partitions=OFFSETS_PARTITIONS,
        group_consumer_session_timeout_ms=GROUP_SESSION_MS,
        group_consumer_heartbeat_interval_ms=GROUP_HEARTBEAT_MS,
    )
    return replace(
        config,
        topics=(topic, replace(topic, name=SHARED, partitions=group.partitions)),
        producers=(
            *config.producers,
            replace(producer, name="producer-of-group", topic=SHARED, acks=ACKS_ALL),
        ),
        group=group,
        groups=groups,
    )
