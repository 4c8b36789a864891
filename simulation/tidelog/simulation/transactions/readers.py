"""Readers of lists and copies: one of all records, one of committed ones, and those at the end."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from tidelog.chaos.workloads.record_parts import parts_of
from tidelog.client import Consumer, TopicPartition
from tidelog.client.errors import TidelogError
from tidelog.history.history import Isolation, Poll
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.transactions.transaction_calls import TransactionCalls

POLL_MS, RECORDS_MAX, RETRY_S = 300, 100, 0.2
FINAL_S_MAX = 30.0
LEVELS: tuple[Isolation, ...] = ("read_uncommitted", "read_committed")


class ListReader:
    """Reads partitions from their start on, and writes down each poll."""

    def __init__(
        self,
        base: ClusterSimulation,
        calls: TransactionCalls,
        name: str,
        partitions: list[TopicPartition],
        *,
        level: Isolation,
        is_final: bool = False,
    ) -> None:
        self.positions = dict.fromkeys(partitions, 0)
        self.values: dict[str, list[bytes]] = defaultdict(list)
        """By topic, all that was read."""
        self.is_closing = False
        self._calls = calls
        self._name = name
        self._level: Isolation = level
        self._is_final = is_final
        self.consumer: Consumer[bytes, bytes] = Consumer(
            base.bootstrap,
            isolation_level=level,
            request_timeout_ms=2_000,
            api_timeout_ms=10_000,
            client_id=name,
            **base.client_ports(name),
        )
        self.consumer.assign(partitions)
        for tp in partitions:
            self.consumer.seek(tp, 0)

    async def read_along(self) -> None:
        """Read until it is to close."""
        async with self.consumer:
            while not self.is_closing:
                try:
                    await self.poll()
                except TidelogError:
                    await asyncio.sleep(RETRY_S)

    async def read_all(self) -> None:
        """Read up to the ends that there are now. Raises `TimeoutError`, `KafkaError`."""
        async with self.consumer, asyncio.timeout(FINAL_S_MAX):
            ends = await self.consumer.end_offsets(list(self.positions))
            while any(self.positions[tp] < end for tp, end in ends.items()):
                await self.poll()
            for tp in self.positions:  # also of those without a record
                self._write(tp, [], self._calls.now_s(), self.positions[tp])

    async def poll(self) -> None:
        """Poll once."""
        invoked_s = self._calls.now_s()
        records = await self.consumer.getmany(timeout_ms=POLL_MS, max_records=RECORDS_MAX)
        groups: dict[TopicPartition, list[Any]] = defaultdict(list)
        for one in records:
            groups[TopicPartition(one.topic, one.partition)].append(one)
            self.values[one.topic].append(one.value)
        for tp, position in self.positions.items():
            end = await self.consumer.position(tp)
            if tp in groups or end != position:
                self._write(tp, groups[tp], invoked_s, end)

    def _write(self, tp: TopicPartition, group: list[Any], invoked_s: float, end: int) -> None:
        self._calls.add(
            Poll(
                process=self._name,
                number=self._calls.next_number(),
                topic=tp.topic,
                incarnation=0,
                partition=tp.partition,
                invoked_s=invoked_s,
                ended_s=self._calls.now_s(),
                position=self.positions[tp],
                records=tuple((one.offset, one.value) for one in group),
                parts=tuple(map(parts_of, group)),
                is_final=self._is_final,
                isolation_level=self._level,
                end=end,
            )
        )
        self.positions[tp] = end
