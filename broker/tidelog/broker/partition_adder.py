"""Port of partitions' leaders to the coordinators of transactions (KIP-890, part 2). Pure.

A leader calls it before a producer's first transactional batch is appended to one of its
partitions, so that the transaction's end writes a marker there. It stands below both sides: the
partitions and groups that ask, and the transactions that answer.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple, Protocol

from tidelog.core.errors import InvalidRequestError

ID_CHARACTERS_MAX = 249
"""As a group's id."""


class Producer(NamedTuple):
    """Producer id and epoch."""

    id: int
    epoch: int


class Topic(NamedTuple):
    """Incarnation and name of a topic."""

    id: bytes
    name: str


class TransactionPartition(NamedTuple):
    """Partition of a topic's incarnation."""

    topic: Topic
    number: int


class PartitionAdder(Protocol):
    """Adds partitions to open transactions."""

    async def add(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        """Have the coordinator add a partition to the open transaction, or begin one.

        Returns once that is committed. Raises `KafkaError`: then append nothing. The outcome is
        never unknown to the producer, since nothing was appended. Has a time limit.
        """


def check_transactional_id(transactional_id: str) -> None:
    """Raise `InvalidRequestError` unless the id has 1 to 249 characters."""
    if not transactional_id:
        raise InvalidRequestError("the transactional id is empty: name the producer")
    if len(transactional_id) > ID_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"the transactional id has {len(transactional_id)} characters: "
            f"at most {ID_CHARACTERS_MAX}"
        )
