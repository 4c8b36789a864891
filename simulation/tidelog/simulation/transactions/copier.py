"""Copiers: members of a group that read the ledger, and write each record once into the copies.

Read, process, write: copies and offsets are of one transaction (KIP-447). Whatever goes wrong, the
process ends, and the next one begins where the group's offsets say.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Any

from tidelog.chaos.workloads.record_parts import parts_of
from tidelog.client import Consumer, Producer, Record, TopicPartition
from tidelog.client.errors import CommitFailedError
from tidelog.history.history import Poll
from tidelog.simulation.transactions.client_process import ClientProcess
from tidelog.simulation.transactions.simulation_config import COPIERS, COPIES, LEDGER

POLL_MS, RECORDS_MAX = 300, 12
WORK_S_MAX, STUCK_S = 0.2, 5.0
ABORT_SHARE, STUCK_SHARE = 0.06, 0.03


class Copier(ClientProcess):
    """See the module."""

    done: frozenset[TopicPartition] = frozenset()
    """Partitions of which it has copied all that was committed at its last look."""
    is_hasty = False
    """True when it aborts and dawdles no more, so that all is copied soon."""

    async def work(self) -> None:
        """See `ClientProcess.work`."""
        async with self.new_producer(self.plan.transactional_id) as producer:
            await self._work(producer)

    async def _work(self, producer: Producer[bytes, bytes]) -> None:
        consumer: Consumer[bytes, bytes] = Consumer(
            self.base.bootstrap,
            group_id=COPIERS,
            isolation_level="read_committed",
            enable_auto_commit=False,
            request_timeout_ms=self.plan.request_timeout_ms,
            api_timeout_ms=self.plan.delivery_timeout_ms,
            client_id=self.name,
            transport=self.ports.transport,
            clock=self.ports.clock,
            random=self.ports.random,
        )
        async with consumer:
            await consumer.subscribe([LEDGER])
            is_going_on = True
            while is_going_on and not self.is_closing:
                invoked_s = self.calls.now_s()
                records = await consumer.getmany(timeout_ms=POLL_MS, max_records=RECORDS_MAX)
                if records:
                    self.done = frozenset()
                    is_going_on = await self._copy(producer, consumer, records, invoked_s)
                elif self.is_hasty:
                    await self._look(consumer)

    async def _copy(
        self,
        producer: Producer[bytes, bytes],
        consumer: Consumer[bytes, bytes],
        records: list[Record[bytes, bytes]],
        invoked_s: float,
    ) -> bool:
        """Copy them; False when they must be read again."""
        ended_s = self.calls.now_s()
        by_partition: dict[int, list[Any]] = defaultdict(list)
        for record in records:
            by_partition[record.partition].append(record)
        draw = 1.0 if self.is_hasty else self.random.random()
        one = await self.calls.begin(producer, self.name, self.plan.transactional_id)
        self.is_initialised = True
        self._note_polls(one.call.number, by_partition, invoked_s, ended_s)
        partitions = self.base.config.plan(COPIES).partitions
        for record in records:
            value = self.calls.next_value(b"%s|copy" % record.value)
            to = TopicPartition(COPIES, record.partition % partitions)
            await one.append(to, value)
        if draw < STUCK_SHARE:
            await self.rest(0.0, STUCK_S)
        elif not self.is_hasty:
            await self.rest(0.0, WORK_S_MAX)
        ends = {number: group[-1].offset + 1 for number, group in by_partition.items()}
        try:
            await one.commit_offsets(LEDGER, ends, consumer.group_metadata)
        except CommitFailedError:
            self.calls.count("copies_refused")
            await one.abort()
            return False
        if STUCK_SHARE <= draw < ABORT_SHARE:
            await one.abort()
            return False
        is_committed = await one.commit()
        if is_committed:
            self.calls.count("copies_committed")
        return is_committed

    def _note_polls(
        self, number: int, groups: dict[int, list[Any]], invoked_s: float, ended_s: float
    ) -> None:
        for partition, group in groups.items():
            self.calls.add(
                Poll(
                    process=f"{self.name}/{number}",  # what it read before may be read again
                    number=self.calls.next_number(),
                    topic=LEDGER,
                    incarnation=0,
                    partition=partition,
                    invoked_s=invoked_s,
                    ended_s=ended_s,
                    position=group[0].offset,
                    records=tuple((one.offset, one.value) for one in group),
                    parts=tuple(map(parts_of, group)),
                    isolation_level="read_committed",
                    transaction=number,
                )
            )

    async def _look(self, consumer: Consumer[bytes, bytes]) -> None:
        """Note which of its partitions are read to their end."""
        owned = consumer.assignment()
        ends = await consumer.end_offsets(owned) if owned else {}
        done = []
        for tp, end in ends.items():
            with suppress(ValueError):  # the group has revoked it meanwhile
                if await consumer.position(tp) >= end:
                    done.append(tp)
        self.done = frozenset(done)
