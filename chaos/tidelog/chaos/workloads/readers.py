"""Consumers: they read along during the storm, and everything at the end.

Owns positions and what is written down of each poll; judges nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import groupby
from typing import Any, Protocol

from tidelog.chaos.workloads.clients import CodecReader, LoadReader
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.chaos.workloads.record_parts import name_of, parts_of
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import Record
from tidelog.client.errors import OffsetOutOfRangeError, TidelogError
from tidelog.history.history import Poll

POLL_MS = 400
POLL_RECORDS_MAX = 300
RETRY_S = 0.2
FINAL_S_MAX, FINAL_RECORDS_PER_S = 20.0, 1_000
"""Limit of reading a topic at the end: that, and its records' time at this pace."""


class Life(Protocol):
    """A reader's knowledge of a topic's incarnation."""

    @property
    def plan(self) -> TopicPlan:
        """Which topic."""

    @property
    def number(self) -> int:
        """Which incarnation."""

    @property
    def is_over(self) -> bool:
        """True if it ends."""


class _Reader:
    def __init__(
        self,
        port: WorkloadPort,
        life: Life,
        *,
        name: str,
        consumer: LoadReader,
        next_number: Callable[[], int],
        is_final: bool,
    ) -> None:
        self.positions = dict.fromkeys(range(life.plan.partitions), 0)
        self._port = port
        self._life = life
        self._name = name
        self._consumer = consumer
        self._next_number = next_number
        self._is_final = is_final
        self._rewound: set[int] = set()  # only asked
        topic = life.plan.name
        consumer.assign([(topic, one) for one in self.positions])
        for one in self.positions:
            consumer.seek((topic, one), 0)

    async def poll(self) -> None:
        """Poll once; its records by partition."""
        number, invoked_s = self._next_number(), self._port.now_s
        records = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
        groups = {
            partition: list(group)
            for partition, group in groupby(records, key=lambda record: record.partition)
        }
        for partition, group in groups.items():
            await self._write(partition, group, number, invoked_s)
        if self._life.plan.is_compacted:
            for partition in self.positions.keys() - groups.keys():
                await self._write(partition, [], number, invoked_s)

    async def note_nothing(self) -> None:
        """Every partition was read to its end: say so of those without a record, too."""
        for partition in self.positions:
            await self._write(partition, [], self._next_number(), self._port.now_s)

    async def _write(
        self,
        partition: int,
        group: list[Record],
        number: int,
        invoked_s: float,
    ) -> None:
        end = await self._end(partition, group)
        poll = Poll(
            process=self._name,
            number=number,
            topic=self._life.plan.name,
            incarnation=self._life.number,
            partition=partition,
            invoked_s=invoked_s,
            ended_s=self._port.now_s,
            position=self.positions[partition],
            records=tuple((one.offset, name_of(one)) for one in group),
            is_final=self._is_final,
            is_rewound=partition in self._rewound,
            parts=tuple(parts_of(one, self._codec_of(one)) for one in group),
            end=end,
        )
        self._rewound.discard(partition)
        self._port.end_poll(poll)
        self.positions[partition] = poll.next_position

    async def _end(self, partition: int, group: list[Record]) -> int | None:
        """The next position where it may lie behind offsets that have no record any more."""
        if not self._life.plan.is_compacted:
            return None
        following = group[-1].offset + 1 if group else self.positions[partition]
        position = await self._consumer.position((self._life.plan.name, partition))
        return position if position > following else None

    def _codec_of(self, record: Record) -> str:
        reader = self._consumer
        return reader.codec_of(record) if isinstance(reader, CodecReader) else ""

    async def find_place(self) -> None:
        """An offset is out of range: go to the nearest that is not, and write down that we did."""
        topic = self._life.plan.name
        tps = [(topic, one) for one in self.positions]
        ends = await self._consumer.end_offsets(tps)
        starts = await self._consumer.beginning_offsets(tps) if self._life.plan.keeping else {}
        for tp, end in ends.items():
            known = self.positions[tp.partition]
            position = min(max(known, starts.get(tp, 0)), end)
            if position != known:
                self._port.note(self._name, f"{topic}-{tp.partition}: to {position} from {known}")
                self.positions[tp.partition] = position
                self._rewound.add(tp.partition)
            self._consumer.seek((topic, tp.partition), position)


async def read_along(
    port: WorkloadPort,
    life: Life,
    *,
    name: str,
    consumer: LoadReader,
    next_number: Callable[[], int],
) -> None:
    """Until the incarnation is over."""
    async with consumer:
        reader = _Reader(
            port, life, name=name, consumer=consumer, next_number=next_number, is_final=False
        )
        while not life.is_over:
            try:
                await reader.poll()
            except OffsetOutOfRangeError:
                await _try(reader.find_place)
            except TidelogError:
                await asyncio.sleep(RETRY_S)


async def read_all(
    port: WorkloadPort,
    life: Life,
    *,
    consumer: LoadReader,
    next_number: Callable[[], int],
    is_final: bool = True,
) -> None:
    """From the first record to the high watermark of every partition.

    Errors: `TimeoutError` when it takes longer than `FINAL_S_MAX` allows; what a consumer raises.
    """
    name = f"final-{life.plan.name}" if is_final else f"before-final-{life.plan.name}"
    async with consumer, asyncio.timeout(FINAL_S_MAX) as limit:
        reader = _Reader(
            port, life, name=name, consumer=consumer, next_number=next_number, is_final=is_final
        )
        if life.plan.keeping is not None:
            await reader.find_place()
        tps = [(life.plan.name, one) for one in reader.positions]
        ends = {tp.partition: end for tp, end in (await consumer.end_offsets(tps)).items()}
        _allow(limit, sum(ends.values()))
        while any(reader.positions[one] < end for one, end in ends.items()):
            try:
                await reader.poll()
            except OffsetOutOfRangeError:
                if life.plan.keeping is None:
                    raise
                await reader.find_place()
        await reader.note_nothing()


def _allow(limit: asyncio.Timeout, records: int) -> None:
    ends_s = limit.when()
    if ends_s is not None:
        limit.reschedule(ends_s + records / FINAL_RECORDS_PER_S)


async def _try(work: Callable[[], Any]) -> None:
    try:
        await work()
    except TidelogError:
        await asyncio.sleep(RETRY_S)
