"""Partitions as callers name them: alone or in collections, as Kafka's Python clients differ.

Pure. `pause(tp)`, `pause(tp, tp)`, `pause([tp])` and `committed(tp)`, `committed([tp])` are all
taken; anything else is a TypeError at the call that names the method.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TypeVar

from tidelog.client.records import TopicPartition

T = TypeVar("T")
Partition = tuple[str, int]
"""A `TopicPartition`, or a plain pair of topic and partition."""
Partitions = Partition | Iterable[Partition]


def partition_of(given: object, *, method: str) -> TopicPartition:
    """The partition that a caller of `method` names. Raises TypeError for anything else."""
    if is_partition(given):
        return TopicPartition(*given)  # type: ignore[misc]  # it is a pair, as was checked
    raise _wrong(given, method)


def partitions_of(*given: Partitions, method: str) -> list[TopicPartition]:
    """The partitions that a caller of `method` names, in an order that no hash seed decides.

    Raises TypeError for what is neither a partition nor a collection of partitions.
    """
    return list(_each(given, method))


def in_order(given: Iterable[T]) -> Iterable[T]:
    """Put members of a set into an order that no hash seed decides."""
    if not isinstance(given, AbstractSet):
        return given
    # topics' names may be among the partitions, and those may be plain tuples
    return sorted(given, key=lambda one: str(tuple(one) if isinstance(one, tuple) else one))


def _each(given: Iterable[object], method: str) -> Iterator[TopicPartition]:
    for named in given:
        if is_partition(named) or isinstance(named, str) or not isinstance(named, Iterable):
            yield partition_of(named, method=method)
        else:
            yield from (partition_of(one, method=method) for one in in_order(named))


def is_partition(given: object) -> bool:
    """True for a pair of a topic's name and a number."""
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], str)
        and isinstance(given[1], int)
    )


def _wrong(given: object, method: str) -> TypeError:
    return TypeError(
        f"{method}() takes partitions, TopicPartition(topic, partition) or (topic, partition), "
        f"alone or in a list, not {given!r:.80}"
    )
