"""Configuration of a seed of transactions, drawn before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.chaos.workloads.plans import CHURNED, LOSSY, ProducerPlan, TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.core.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tidelog.simulation.cluster.simulation_config import (
    REPLICATION_FACTOR,
    ClusterSimulationConfig,
    draw_config,
    offsets_min_insync,
)
from tidelog.simulation.cluster.worst_configs import stated

LEDGER, COPIES = "ledger", "copies"
"""Lists that appenders append to; where copiers put each record of it once."""
COPIERS = "copiers"
"""The group of the copiers."""
BATCHES = "batches"
"""Prefix of the transactional ids of a driver and its tasks, before a slash."""
INTERNAL_SEGMENT_BYTES = 1 << 20
EXPIRING_SHARE = 0.25
BURST_MAX, PAUSE_S_MAX_LEAST, PRODUCERS_MAX = 2, 0.5, 2
"""Producers without transactions are few: beside them things are only to go on."""


class Kind(Enum):
    """Work of a transactional client: the modules of these names do it."""

    APPENDER = "appender"
    DRIVER = "driver"
    COPIER = "copier"


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """A transactional id, and how its producers are configured. Times in milliseconds."""

    transactional_id: str
    kind: Kind
    transaction_timeout_ms: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    session_timeout_ms: int


@dataclass(frozen=True, slots=True)
class TransactionsConfig:
    """A seed's cluster, and its transactional clients."""

    cluster: ClusterSimulationConfig
    topics: Sequence[TopicPlan]
    """Created by the clients of the suite."""
    clients: Sequence[ClientPlan]


def draw_transactions(random: SeededRandom, *, is_storm: bool) -> TransactionsConfig:
    """Draw short time-outs, so that everything happens in twenty seconds.

    `is_storm`: some clusters have any size, and some have configurations at their worst.
    """
    base = draw_config(random.fork("cluster"), is_storm=is_storm)
    topics = (_topic(random, LEDGER), _topic(random, COPIES))
    if base.cluster_defaults:  # At their worst: who promises something states it.
        topics = (_stating(random, topics[0]), _stating(random, topics[1]))
    factor = min(REPLICATION_FACTOR, len(base.broker_ids))
    groups = GroupConfig(
        offsets_topic_replication_factor=factor,
        offsets_topic_num_partitions=random.randrange(1, 3),
        offsets_topic_segment_bytes=INTERNAL_SEGMENT_BYTES,
        offsets_commit_timeout_ms=random.randrange(500, 4_000),
        group_min_session_timeout_ms=1_000,
        group_initial_rebalance_delay_ms=300,
        group_consumer_session_timeout_ms=random.randrange(1_500, 4_000),
        group_consumer_heartbeat_interval_ms=400,
    )
    transactions = TransactionConfig(
        transaction_state_log_replication_factor=factor,
        transaction_state_log_num_partitions=random.randrange(1, 4),
        transaction_state_log_segment_bytes=INTERNAL_SEGMENT_BYTES,
        transaction_commit_timeout_ms=random.randrange(500, 4_000),
        transactional_id_expiration_ms=_draw_expiration_ms(random),
        transaction_remove_expired_transaction_cleanup_interval_ms=1_000,
    )
    internal = (
        replace(
            _internal(OFFSETS_TOPIC, groups.offsets_topic_num_partitions),
            min_insync_replicas=offsets_min_insync(factor),
        ),
        _internal(TRANSACTIONS_TOPIC, transactions.transaction_state_log_num_partitions),
    )
    kept = tuple(one for one in base.topics if one.name not in {LOSSY, CHURNED})
    names = {one.name for one in kept}
    producers = [_slowed(one) for one in base.producers if one.topic in names]
    cluster = replace(
        base,
        topics=kept,
        producers=tuple(producers[:PRODUCERS_MAX]),
        groups=groups,
        coordinators=transactions,
        internal_topics=(*topics, *internal),
    )
    return TransactionsConfig(cluster, topics, _draw_clients(random))


def _draw_expiration_ms(random: SeededRandom) -> int:
    """In one of four seeds ids expire while their processes are away."""
    return random.randrange(2_000, 8_000) if random.random() < EXPIRING_SHARE else 604_800_000


def _draw_clients(random: SeededRandom) -> Sequence[ClientPlan]:
    appenders = [f"append-{number}" for number in range(random.randrange(1, 4))]
    copiers = [f"copy-{number}" for number in range(random.randrange(1, 3))]
    return [
        *(_client(random, name, Kind.APPENDER) for name in appenders),
        _client(random, f"{BATCHES}/driver", Kind.DRIVER),
        *(_client(random, name, Kind.COPIER) for name in copiers),
    ]


def _client(random: SeededRandom, name: str, kind: Kind) -> ClientPlan:
    return ClientPlan(
        transactional_id=name,
        kind=kind,
        transaction_timeout_ms=random.randrange(1_000, 6_000),
        request_timeout_ms=random.randrange(500, 3_000),
        delivery_timeout_ms=random.randrange(4_000, 12_000),
        session_timeout_ms=random.randrange(1_500, 4_000),
    )


def _topic(random: SeededRandom, name: str) -> TopicPlan:
    return TopicPlan(
        name=name,
        partitions=random.randrange(2, 4),
        min_insync_replicas=2,
        is_flushed=random.random() < 0.3,
        is_lossy=False,
        segment_bytes=random.randrange(600, 20_000),
        index_interval_bytes=random.randrange(0, 2_000),
    )


def _stating(random: SeededRandom, plan: TopicPlan) -> TopicPlan:
    return replace(plan, stated=stated(random.fork(f"stated-{plan.name}")))


def _internal(name: str, partitions: int) -> TopicPlan:
    return TopicPlan(
        name=name,
        partitions=partitions,
        min_insync_replicas=2,
        is_flushed=False,
        is_lossy=False,
        segment_bytes=INTERNAL_SEGMENT_BYTES,
        index_interval_bytes=1_000,
    )


def _slowed(plan: ProducerPlan) -> ProducerPlan:
    return replace(
        plan,
        burst_max=min(plan.burst_max, BURST_MAX),
        pause_s_max=max(plan.pause_s_max, PAUSE_S_MAX_LEAST),
    )
