"""Time in which a loop did not run is no time."""

from __future__ import annotations

import pytest

from tidelog.raft.run_clock import PROMPT_S, RunClock


def test_steps_that_come_in_time_or_sooner_see_the_clock_as_it_is() -> None:
    clock = RunClock()
    assert clock.step(100.0) == 100.0
    clock.plan(100.0, 0.16)
    assert clock.step(100.05) == 100.05
    clock.plan(100.05, 0.16)
    assert clock.step(100.21) == 100.21


def test_a_late_step_counts_as_if_it_had_come_when_it_was_due() -> None:
    clock = RunClock()
    clock.step(100.0)
    clock.plan(100.0, 0.16)
    assert clock.step(103.0) == pytest.approx(100.16 + PROMPT_S)
    clock.plan(103.0, 0.1)
    assert clock.step(103.1) == pytest.approx(100.26 + PROMPT_S)


def test_who_looks_on_sees_what_the_next_step_would() -> None:
    clock = RunClock()
    clock.step(100.0)
    clock.plan(100.0, 0.16)
    seen = clock.now(103.0)
    assert seen == pytest.approx(100.16 + PROMPT_S)
    assert clock.step(103.0) == seen == clock.now(103.0)


def test_steps_in_quick_succession_do_not_stop_the_clock() -> None:
    clock, now_s = RunClock(), 100.0
    for _ in range(1000):
        clock.step(now_s)
        clock.plan(now_s, 0.0)
        now_s += 0.002
    assert clock.step(now_s) == pytest.approx(102.0)
