"""The reading at the end: up to every high watermark, in the time that so many records need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from tidelog.chaos.workloads import readers
from tidelog.client.records import Record, TopicPartition
from tidelog.history.history import Poll
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

pytestmark = pytest.mark.sim
SECONDS_A_POLL = 0.25
PLAN = SimpleNamespace(
    plan=SimpleNamespace(name="t", partitions=1, keeping=None, is_compacted=False), number=0
)


class SlowConsumer:
    """One partition of so many records; each poll takes a while."""

    def __init__(self, records: int, records_a_poll: int) -> None:
        self._records, self._records_a_poll = records, records_a_poll
        self._position = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def assign(self, tps: object) -> None:
        """Nothing to do."""

    def seek(self, tp: object, offset: int) -> None:
        self._position = offset

    async def end_offsets(self, tps: list[tuple[str, int]]) -> dict[TopicPartition, int]:
        return {TopicPartition(*tp): self._records for tp in tps}

    async def getmany(self, **_: int) -> list[Record[bytes, bytes]]:
        await asyncio.sleep(SECONDS_A_POLL)
        begins, self._position = self._position, self._position + self._records_a_poll
        return [
            Record("t", 0, offset, 0, b"", b"%d" % offset, ())
            for offset in range(begins, min(self._position, self._records))
        ]


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(trace=Trace(), limits=SchedulerLimits(steps=100_000, virtual_s=1_000))
    yield scheduler
    scheduler.close()


def read(scheduler: Scheduler, *, records: int, records_a_poll: int) -> list[Poll]:
    """What was written down of reading so many records."""
    loop = scheduler.new_loop("reader")
    consumer = SlowConsumer(records, records_a_poll)
    polls: list[Poll] = []
    simulation = SimpleNamespace(now_s=0.0, end_poll=polls.append)
    numbers = count()
    scheduler.run(
        loop,
        readers.read_all(
            cast("Any", simulation),
            cast("Any", PLAN),
            consumer=cast("Any", consumer),
            next_number=numbers.__next__,
        ),
    )
    return polls


def test_more_records_may_take_longer(scheduler: Scheduler) -> None:
    polls = read(scheduler, records=60_000, records_a_poll=300)  # 50 s

    assert sum(len(poll.records) for poll in polls) == 60_000
    assert all(poll.is_final for poll in polls)


def test_few_records_that_take_as_long_are_too_slow(scheduler: Scheduler) -> None:
    with pytest.raises(TimeoutError):
        read(scheduler, records=200, records_a_poll=1)  # 50 s
