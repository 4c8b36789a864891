"""Partitions that a new image changed: brought in line in slices, each by the newest image."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tidelog.broker.image_changes import ImageChanges, Key, changed_partitions
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.background import Background
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage, TopicImage

PER_SLICE = 10
CONFIG = ReplicaConfig(changes_per_slice_max=PER_SLICE)


def topic(
    name: str, count: int, *, topic_id: bytes = b"1", isr: tuple[int, ...] = (1,)
) -> TopicImage:
    partitions = (
        PartitionImage(n, (1, 2), isr, leader_id=1, leader_epoch=0, partition_epoch=0)
        for n in range(count)
    )
    return TopicImage(name, topic_id, tuple(partitions), {})


def image(*topics: TopicImage) -> MetadataImage:
    return replace(EMPTY_IMAGE, topics={one.name: one for one in topics})


def with_changed(before: TopicImage, *numbers: int) -> TopicImage:
    partitions = list(before.partitions)
    for number in numbers:
        partitions[number] = replace(partitions[number], partition_epoch=1)
    return replace(before, partitions=tuple(partitions))


def test_of_a_thousand_partitions_those_that_changed_are_found() -> None:
    many, other = topic("many", 1_000), topic("other", 5, topic_id=b"2")
    now = image(with_changed(many, 3, 500, 999), other)
    changed = list(changed_partitions(image(many, other), now))
    assert changed == [("many", 3), ("many", 500), ("many", 999)]
    assert not list(changed_partitions(now, replace(now, offset=9, brokers={})))


def test_what_is_gone_or_new_or_of_another_incarnation_has_changed() -> None:
    before = image(topic("gone", 1), topic("anew", 2))
    now = image(topic("anew", 1, topic_id=b"2"), topic("new", 1, topic_id=b"3"))
    expected = {("gone", 0), ("anew", 0), ("anew", 1), ("new", 0)}
    assert set(changed_partitions(before, now)) == expected


def test_configs_touch_each_partition_they_are_of() -> None:
    before = topic("t", 3)
    configured = replace(before, configs={"flush.ms": "1"})
    assert len(list(changed_partitions(image(before), image(configured)))) == 3
    defaults = replace(image(before), cluster_configs={"flush.ms": "1"})
    assert len(list(changed_partitions(image(before), defaults))) == 3


@pytest.fixture
def background() -> Background:
    return Background(lambda error: pytest.fail(repr(error)))


async def test_a_large_image_is_worked_off_in_slices(background: Background) -> None:
    done: list[Key] = []
    changes = ImageChanges(done.append, CONFIG, background)
    changes.note(EMPTY_IMAGE, image(topic("t", 95)))
    counts = [len(done)]
    while not changes.is_idle:
        await asyncio.sleep(0)
        counts.append(len(done))
    assert (
        max(after - before for before, after in zip([0, *counts], counts, strict=False))
        == PER_SLICE
    )
    assert done == [("t", number) for number in range(95)]


async def test_a_few_changes_are_done_at_once(background: Background) -> None:
    done: list[Key] = []
    changes = ImageChanges(done.append, CONFIG, background)
    changes.note(EMPTY_IMAGE, image(topic("t", PER_SLICE)))
    assert changes.is_idle
    assert len(done) == PER_SLICE


async def test_images_that_come_meanwhile_are_worked_off_with_it(background: Background) -> None:
    done: list[Key] = []
    changes = ImageChanges(done.append, CONFIG, background)
    first = topic("t", 45)
    changes.note(EMPTY_IMAGE, image(first))
    changes.note(image(first), image(with_changed(first, 3, 44)))
    assert not changes.is_idle
    while not changes.is_idle:  # noqa: ASYNC110  # of one loop
        await asyncio.sleep(0)
    assert done.count(("t", 3)) == 2, "once for each image"
    assert done.count(("t", 44)) == 1, "the second came before its turn"
    changes.note(image(first), image(with_changed(first, 7)))
    assert done[-1] == ("t", 7)
