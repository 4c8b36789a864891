"""Partitions that a caller gives as a set: asked for in an order that no hash seed decides.

Else a simulated test would run otherwise in another Python process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tidelog.client import Consumer, TopicPartition
from tidelog.client.consuming.assignment import names_and_partitions
from tidelog.client.partition_arguments import in_order
from tidelog.simulation.cluster.cluster import SimCluster

WANTED = [TopicPartition(topic, number) for topic in ("a", "b", "c") for number in range(7)]


def test_a_set_is_ordered_and_a_list_is_left_alone() -> None:
    assert list(in_order(set(WANTED))) == WANTED
    assert in_order(WANTED[::-1]) == WANTED[::-1]
    mixed: set[tuple[str, int] | str] = {*WANTED, "topics", "others", ("b", 9)}
    names, partitions = names_and_partitions(mixed)
    assert names == ["others", "topics"]
    assert partitions == sorted([*WANTED, TopicPartition("b", 9)])


async def test_look_ups_of_a_set_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = SimCluster(seed=1).client
    consumer: Consumer[bytes, bytes] = Consumer(
        "node-1:9192",
        group_id="g",
        transport=ports.transport,
        clock=ports.clock,
        random=ports.random,
    )
    asked: list[list[TopicPartition]] = []

    async def lookup(wanted: Mapping[TopicPartition, object], **_: object) -> dict[object, int]:
        asked.append(list(wanted))
        return {}

    async def committed(wanted: Iterable[TopicPartition]) -> dict[object, object]:
        asked.append(list(wanted))
        return {}

    monkeypatch.setattr(consumer._lookup, "lookup", lookup)
    monkeypatch.setattr(consumer._group, "committed", committed)
    await consumer.end_offsets(set(WANTED))
    await consumer.beginning_offsets(set(WANTED))
    await consumer.committed(set(WANTED))
    assert asked == [WANTED] * 3
