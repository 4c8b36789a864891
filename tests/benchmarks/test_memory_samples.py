"""Memory that grows is told from memory that wavers."""

from __future__ import annotations

import os
import random

from tests.benchmarks.memory_samples import Growth, Memory


def test_growth_is_that_of_the_last_half() -> None:
    warm_up = [(x, 10.0 * x) for x in range(50)]
    assert Growth.of_last_half([*warm_up, *((x, 500.0) for x in range(50, 100))])[:2] == (0, 0)
    grew = Growth.of_last_half([(x, 7.0 * x) for x in range(100)])
    assert (round(grew.size), round(grew.per_x), round(grew.noise)) == (7 * 49, 7, 0)
    assert Growth.of_last_half([(1, 5)]) == (0, 0, 0)


def test_a_leak_shows_through_noise_and_noise_is_no_leak() -> None:
    rng = random.Random(1)
    steady = [(x, rng.uniform(90, 110)) for x in range(200)]
    leaking = [(x, y + x / 5) for x, y in steady]
    assert Growth.of_last_half(steady).is_below(2)
    assert not Growth.of_last_half(leaking).is_below(2)


def test_this_process_has_memory_and_an_ended_one_has_none() -> None:
    memory = Memory.of(os.getpid())
    assert memory is not None
    assert 0 < memory.anonymous < memory.resident
    assert Memory.of(2**22 + 1) is None
