"""A run's story has its time, less once something is broken; a run that fails itself says where."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tidelog.chaos.sockets.story_limits import BROKEN_S_MAX, report_failures, run_within
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

STORY_S, BREAKS_S = 100.0, 20.0


class Story:
    """Takes its time; something breaks in the middle, if it does."""

    def __init__(self) -> None:
        self.is_broken = False
        self.ended_s: float | None = None
        self.was_cancelled = False

    async def run_story(self, *, breaks: bool) -> None:
        clock = asyncio.get_running_loop().time
        try:
            await asyncio.sleep(BREAKS_S)
            self.is_broken = breaks
            await asyncio.sleep(STORY_S - BREAKS_S)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        finally:
            self.ended_s = clock()


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(trace=Trace(), limits=SchedulerLimits(steps=100_000, virtual_s=1_000))
    yield scheduler
    scheduler.close()


@pytest.mark.parametrize(
    ("within_s", "breaks", "ended_s"),
    [
        (STORY_S + 1, False, STORY_S),
        (STORY_S - 30, False, STORY_S - 30),
        (STORY_S + 1, True, BREAKS_S + BROKEN_S_MAX),
        (BREAKS_S + 1, True, BREAKS_S + 1),
    ],
)
def test_a_story_ends_in_time(
    scheduler: Scheduler, within_s: float, *, breaks: bool, ended_s: float
) -> None:
    story = Story()
    is_over = scheduler.run(
        scheduler.new_loop("run"),
        run_within(
            story.run_story(breaks=breaks), within_s=within_s, is_broken=lambda: story.is_broken
        ),
    )

    assert is_over is (ended_s == STORY_S)
    assert story.was_cancelled is not is_over
    assert story.ended_s == pytest.approx(ended_s, abs=0.5)


def test_what_a_story_raises_is_raised(scheduler: Scheduler) -> None:
    async def run_story() -> None:
        raise LookupError("nobody leads")

    with pytest.raises(LookupError, match="nobody leads"):
        scheduler.run(
            scheduler.new_loop("run"),
            run_within(run_story(), within_s=1.0, is_broken=lambda: False),
        )


def test_a_run_that_fails_itself_says_what_and_where() -> None:
    reported: list[str] = []
    with report_failures(reported.append):
        raise ValueError("a bug")

    assert len(reported) == 1
    assert reported[0].startswith("ValueError: a bug (test_story_limits.py:")
