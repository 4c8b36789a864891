"""Readers of the ledger that are shown what is committed: along the way, and all at the end.

Owns what is written down of each poll, with the position that it ended at: markers, and what was
aborted, take offsets. Judges nothing.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from tidelog.chaos.workloads.plans import LEDGER
from tidelog.chaos.workloads.record_parts import name_of, parts_of
from tidelog.chaos.workloads.transaction_book import TransactionBook
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import Consumer, Record
from tidelog.client.errors import OffsetOutOfRangeError, TidelogError
from tidelog.history.history import Isolation, Poll

POLL_MS, POLL_RECORDS_MAX = 200, 300
RETRY_S = 0.2
FINAL_S_MAX = 20.0
COMMITTED: Isolation = "read_committed"


class LedgerReader:
    """From offset 0 of every partition."""

    def __init__(
        self,
        port: WorkloadPort,
        book: TransactionBook,
        *,
        name: str,
        partitions: int,
        is_final: bool,
    ) -> None:
        self.is_over = False
        self.positions = dict.fromkeys(range(partitions), 0)
        self._book = book
        self._name = name
        self._is_final = is_final
        self._rewound: set[int] = set()
        self._consumer: Consumer[bytes, bytes] = Consumer(
            port.bootstrap,
            auto_offset_reset="none",
            isolation_level=COMMITTED,
            request_timeout_ms=2_000,
            bootstrap_timeout_ms=60_000,
            **port.client_ports(name),
        )
        self._consumer.assign([(LEDGER, one) for one in self.positions])
        for one in self.positions:
            self._consumer.seek((LEDGER, one), 0)

    async def read_along(self) -> None:
        """Read until it is over."""
        async with self._consumer:
            while not self.is_over:
                try:
                    await self._poll()
                except OffsetOutOfRangeError:
                    await self._find_place()
                except TidelogError:
                    await asyncio.sleep(RETRY_S)

    async def read_all(self) -> None:
        """Read to the last stable offsets. Errors: `TimeoutError`, and what a consumer raises."""
        async with self._consumer, asyncio.timeout(FINAL_S_MAX):
            tps = [(LEDGER, one) for one in self.positions]
            ends = await self._consumer.end_offsets(tps)
            while any(self.positions[tp.partition] < end for tp, end in ends.items()):
                await self._poll()
            for partition in self.positions:
                self._write(partition, [], self._book.now_s, self.positions[partition])

    async def _poll(self) -> None:
        invoked_s = self._book.now_s
        records = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
        shown: dict[int, list[Record[Any, bytes]]] = defaultdict(list)
        for record in records:
            shown[record.partition].append(record)
        for partition, before in self.positions.items():
            end = await self._consumer.position((LEDGER, partition))
            if shown[partition] or end != before:
                self._write(partition, shown[partition], invoked_s, end)

    def _write(
        self, partition: int, records: list[Record[Any, bytes]], invoked_s: float, end: int
    ) -> None:
        poll = Poll(
            process=self._name,
            number=self._book.next_number(),
            topic=LEDGER,
            incarnation=0,
            partition=partition,
            invoked_s=invoked_s,
            ended_s=self._book.now_s,
            position=self.positions[partition],
            records=tuple((one.offset, name_of(one)) for one in records),
            parts=tuple(map(parts_of, records)),
            is_final=self._is_final,
            is_rewound=partition in self._rewound,
            isolation_level=COMMITTED,
            end=end,
        )
        self._rewound.discard(partition)
        self._book.add(poll)
        self.positions[partition] = end

    async def _find_place(self) -> None:
        """An offset is out of range, after an unclean election: go to the nearest that is not."""
        try:
            ends = await self._consumer.end_offsets([(LEDGER, one) for one in self.positions])
        except TidelogError:
            await asyncio.sleep(RETRY_S)
            return
        for (_, partition), end in ends.items():
            if self.positions[partition] > end:
                self.positions[partition] = end
                self._rewound.add(partition)
            self._consumer.seek((LEDGER, partition), self.positions[partition])
