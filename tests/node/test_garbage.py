"""The node's garbage collection: cycles of any age go, old objects are looked at seldom."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from tidelog.node.garbage import GarbageCollection


class Cycle:
    """Freed by the collector alone."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def collected_generation_2() -> None:
    """Collect as Python does by itself, after many allocations."""
    gc.collect()


async def test_young_cycles_go_at_the_next_look() -> None:
    garbage = GarbageCollection()
    garbage.start()
    young = weakref.ref(Cycle())
    collected_generation_2()
    assert young() is None
    garbage.stop()


async def test_what_outlived_a_look_is_looked_at_no_more_until_all_is() -> None:
    garbage = GarbageCollection(full_interval_s=0.001)
    garbage.start()
    held = Cycle()
    collected_generation_2()
    freed = asyncio.Event()
    weakref.finalize(held, freed.set)
    del held
    collected_generation_2()
    assert not freed.is_set(), "it was set aside"
    await freed.wait()
    garbage.stop()


async def test_many_objects_set_aside_bring_the_look_at_all() -> None:
    garbage = GarbageCollection(set_aside_max=10_000)
    garbage.start()
    held = [Cycle() for _ in range(20_000)]
    collected_generation_2()
    old = weakref.ref(held[0])
    held.clear()
    collected_generation_2()
    for _ in range(16):
        await asyncio.to_thread(collected_generation_2)  # as threads of the disk may
    assert old() is None
    garbage.stop()


async def test_a_stop_leaves_the_collector_as_it_was() -> None:
    callbacks = list(gc.callbacks)
    garbage = GarbageCollection()
    garbage.start()
    assert gc.get_freeze_count() > 1_000
    garbage.stop()
    assert gc.get_freeze_count() == 0
    assert gc.callbacks == callbacks
