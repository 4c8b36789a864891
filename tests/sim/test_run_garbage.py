"""Garbage of a simulated run is gone when the run is over, whatever collections came within it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from weakref import ref

import pytest

from tidelog.simulation.engine.run_garbage import RunGarbage

HAS_AGES = sys.version_info < (3, 14)


class Knot:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _unmoved() -> Iterator[None]:
    """Nothing grows older but where a test says so."""
    gc.disable()
    yield
    gc.enable()


def test_a_short_run_is_cleared_without_a_look_at_what_is_old() -> None:
    garbage = RunGarbage()
    knot = ref(Knot())
    assert garbage.collect() == (1 if HAS_AGES else 2)
    assert knot() is None


@pytest.mark.parametrize("generation", [1, 2])
def test_what_grew_old_within_the_run_is_found_too(generation: int) -> None:
    garbage = RunGarbage()
    made = Knot()
    gc.collect(generation)
    knot = ref(made)
    del made
    assert garbage.collect() == 2
    assert knot() is None


def test_a_young_collection_within_the_run_makes_nothing_old() -> None:
    garbage = RunGarbage()
    made = Knot()
    gc.collect(0)
    knot = ref(made)
    del made
    assert garbage.collect() == (1 if HAS_AGES else 2)
    assert knot() is None
