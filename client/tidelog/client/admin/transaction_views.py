"""Transactions as tools see them: listed, described, hanging. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidelog.client.records import TopicPartition
from tidelog.v1.transactions_pb2 import DescribeTransactionsResponse


class TransactionListing(NamedTuple):
    """A transactional id; `age_ms` of what is open, 0 where nothing is."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    age_ms: int
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id at its coordinator.

    `partitions` of the open transaction; of one that was decided, those that lack its marker.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    age_ms: int
    coordinator_id: int
    timeout_ms: int
    coordinator_epoch: int
    partitions: tuple[TopicPartition, ...]


class AbortedTransaction(NamedTuple):
    """A transaction that an operator aborted.

    Of a transactional id `marker_offset` is None: markers follow in each of its partitions.
    """

    producer_id: int
    producer_epoch: int
    marker_offset: int | None = None


class HangingTransaction(NamedTuple):
    """A transaction that is open in a partition's log, and in which no coordinator has a part."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    age_ms: int
    """Time since the producer's newest record, by the records' own timestamps."""


def description(
    found: DescribeTransactionsResponse.Transaction, coordinator_id: int
) -> TransactionDescription:
    """Make a description of an answer."""
    return TransactionDescription(
        transactional_id=found.transactional_id,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        state=found.state,
        age_ms=found.age_ms,
        coordinator_id=coordinator_id,
        timeout_ms=found.transaction_timeout_ms,
        coordinator_epoch=found.coordinator_epoch,
        partitions=tuple(
            sorted(
                TopicPartition(topic.topic, number)
                for topic in found.topics
                for number in topic.partitions
            )
        ),
    )
