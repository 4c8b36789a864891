"""Where replicas go: never two of a partition on one broker, leaders and followers spread."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.log.errors import invariant


def place_replicas(
    brokers: Sequence[int], *, partitions: int, replication_factor: int, start: int, shift: int
) -> list[tuple[int, ...]]:
    """Replicas of each partition, preferred leader first, as Kafka places them without racks.

    First replicas go round the brokers from `start`. The others follow at a distance that begins at
    `shift` and grows by one with each round of first replicas, so that the followers of one
    broker's partitions are spread over all other brokers. The caller draws `start` and `shift`.
    """
    count = len(brokers)
    invariant(
        0 < replication_factor <= count, "a broker for each replica", replication_factor, count
    )
    placed = []
    for partition in range(partitions):
        first = (start + partition) % count
        distance = shift + partition // count
        others = (
            1 + (distance + replica) % (count - 1) for replica in range(replication_factor - 1)
        )
        indexes = [first, *((first + offset) % count for offset in others)]
        placed.append(tuple(brokers[index] for index in indexes))
    return placed
