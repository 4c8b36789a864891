"""Work of a scenario's clients on real processes: topics, producers, and how much. Pure.

A record a batch, a few hundred records a second over all producers: enough that each fault strikes
some in flight, little enough that two cores carry nodes, proxies and clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.chaos.story.scenario import Scenario
from tidelog.chaos.workloads.plans import (
    CHURNED,
    GROUP_HEARTBEAT_MS,
    GROUP_SESSION_MS,
    LEDGER,
    SHARED,
    GroupPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
)
from tidelog.history.history import ACKS_ALL

SEGMENT_BYTES = 64 << 10
"""Several segments in a run of a minute."""
SEGMENT_BYTES_MIN = 12 << 10
"""A segment a second, for stories of many segments: each keeps three files open."""
INDEX_INTERVAL_BYTES = 1024
PAUSE_S_MAX = 0.1
BURST_MAX = 8
VALUE_BYTES = 100
REQUEST_TIMEOUT_MS = 2_000
DELIVERY_TIMEOUT_MS = 30_000
"""Longer than any fault of a story: a client that retries long enough meets no error."""
GROUP_SETTINGS: Mapping[str, object] = {
    "offsets.topic.num.partitions": 4,
    "group.consumer.session.timeout.ms": GROUP_SESSION_MS,
    "group.consumer.heartbeat.interval.ms": GROUP_HEARTBEAT_MS,
}
"""Configuration of nodes in a story with a group."""
TRANSACTION_SETTINGS: Mapping[str, object] = {
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
}
"""Configuration of nodes in a story with transactions."""


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """Topics, the story's first, and producers of them."""

    topics: tuple[TopicPlan, ...]
    producers: tuple[ProducerPlan, ...]
    group: GroupPlan | None = None
    """The story's consumer group."""
    transactions: TransactionPlan | None = None
    """The story's transactions."""

    @property
    def lossy_topics(self) -> list[str]:
        """Topics that unclean elections may take records from."""
        names = [one.name for one in self.topics]
        names += [] if self.transactions is None else [LEDGER]
        return names if self.topic.is_lossy else []

    @property
    def topic(self) -> TopicPlan:
        """The story's."""
        return self.topics[0]


def work_of(scenario: Scenario) -> WorkPlan:
    """The story's topic has one partition, on all brokers; what churns is another one."""
    topics = [_topic(scenario, scenario.topic)]
    acks = [(scenario.topic, one) for one in scenario.needs.acks]
    if scenario.needs.has_churn:
        topics.append(_topic(scenario, CHURNED))
        acks.append((CHURNED, ACKS_ALL))
    group = scenario.needs.group
    if group is not None:
        topics.append(_topic(scenario, SHARED, partitions=group.partitions))
        acks.append((SHARED, ACKS_ALL))
    producers = [_producer(number, *one) for number, one in enumerate(acks, start=1)]
    return WorkPlan(tuple(topics), tuple(producers), group, scenario.needs.transactions)


def settings_of(scenario: Scenario) -> Mapping[str, object]:
    """Configuration of every node, beside the usual one."""
    of_group = {} if scenario.needs.group is None else GROUP_SETTINGS
    of_transactions = {} if scenario.needs.transactions is None else TRANSACTION_SETTINGS
    return {**of_group, **of_transactions, **scenario.needs.settings}


def _topic(scenario: Scenario, name: str, *, partitions: int = 1) -> TopicPlan:
    return TopicPlan(
        name=name,
        partitions=partitions,
        min_insync_replicas=scenario.min_insync_replicas,
        is_flushed=bool(scenario.needs.is_flushed),
        is_lossy=scenario.needs.is_lossy,
        segment_bytes=max(scenario.needs.segment_bytes or SEGMENT_BYTES, SEGMENT_BYTES_MIN),
        index_interval_bytes=0 if scenario.needs.segment_bytes else INDEX_INTERVAL_BYTES,
    )


def _producer(number: int, topic: str, acks: int) -> ProducerPlan:
    return ProducerPlan(
        name=f"producer-{number}",
        topic=topic,
        acks=acks,
        pause_s_max=PAUSE_S_MAX,
        burst_max=BURST_MAX,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        value_bytes=VALUE_BYTES,
    )
