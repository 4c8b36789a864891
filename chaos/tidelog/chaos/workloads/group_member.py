"""A member of a group: a consumer and the application that reads by it. The same on any loop.

The application works on what it was handed out, commits it, and asks for more. Owns what is written
down of that: each hand-out at the moment it is made, commits as they begin and end, assignments as
the listener hears of them. Judges nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

from tidelog.chaos.workloads.member_consumer import ConsumerMaker
from tidelog.chaos.workloads.plans import MemberPlan
from tidelog.chaos.workloads.record_parts import name_of, parts_of
from tidelog.client import ConsumerInterceptor, RebalanceListener, Record, TopicPartition
from tidelog.client.errors import TidelogError
from tidelog.history.history import Assignment, Change, Commit, Outcome, Poll

POLL_MS = 400
POLL_RECORDS_MAX = 100
RETRY_S = 0.2
CLOSE_MS = 10_000


class MemberBook(Protocol):
    """Book of one member's calls."""

    @property
    def now_s(self) -> float:
        """The clock of the history."""

    def next_number(self) -> int:
        """Return the next place in the order of the member's calls, at least."""

    def begin(self, commit: Commit) -> None:
        """Note a commit that begins: its outcome is unknown so far."""

    def end(self, commit: Commit) -> None:
        """Note the outcome of the commit of this number."""

    def add(self, call: Poll | Assignment) -> None:
        """Note a hand-out, or what the listener heard."""

    def note(self, what: str) -> None:
        """For people."""


class GroupMember(RebalanceListener, ConsumerInterceptor[bytes, bytes]):
    """From its subscription to its end in order: `run`, until `is_over` is set."""

    def __init__(self, book: MemberBook, plan: MemberPlan, consumer_of: ConsumerMaker) -> None:
        self.is_over = False
        self._book = book
        self._plan = plan
        self._held: dict[TopicPartition, int | None] = {}
        """Partitions that it holds, and the offset after the last hand-out of each."""
        self._committed: dict[TopicPartition, int] = {}
        self._consumer = consumer_of(self)

    async def run(self) -> None:
        """Read, work and commit; then leave the group."""
        consumer = self._consumer
        try:
            await consumer.subscribe([self._plan.topic], listener=self)
            while not self.is_over:
                try:
                    await consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX)
                    await self._work()
                except TidelogError as error:
                    self._book.note(f"{type(error).__name__}: {error}")
                    await asyncio.sleep(RETRY_S)
        finally:
            await consumer.close(timeout_ms=CLOSE_MS)

    # What it is handed out, and commits

    def on_consume(self, records: list[Record[bytes, bytes]]) -> list[Record[bytes, bytes]]:
        """See `ConsumerInterceptor`: called when records are handed out, before anything else."""
        now_s = self._book.now_s
        for partition, group in groupby(records, key=lambda record: record.partition):
            self._hand(TopicPartition(self._plan.topic, partition), list(group), now_s)
        return records

    def _hand(self, tp: TopicPartition, group: list[Record[bytes, bytes]], now_s: float) -> None:
        metadata = self._consumer.group_metadata()
        position = self._held.get(tp)
        self._book.add(
            Poll(
                process=self._plan.name,
                number=self._book.next_number(),
                topic=tp.topic,
                incarnation=0,
                partition=tp.partition,
                invoked_s=now_s,
                ended_s=now_s,
                position=group[0].offset if position is None else position,
                records=tuple((one.offset, name_of(one)) for one in group),
                parts=tuple(map(parts_of, group)),
                group=self._plan.group_id,
                member=metadata.member_id,
                epoch=metadata.epoch,
            )
        )
        if tp in self._held:
            self._held[tp] = group[-1].offset + 1

    async def _work(self) -> None:
        await asyncio.sleep(self._plan.work_s)
        await self._commit(list(self._held))

    async def _commit(self, partitions: Sequence[TopicPartition]) -> None:
        """Commit what it was handed out of these, each by itself, so that each has an outcome."""
        for tp in partitions:
            offset = self._held.get(tp)
            if offset is not None and self._committed.get(tp) != offset:
                await self._commit_one(tp, offset)

    async def _commit_one(self, tp: TopicPartition, offset: int) -> None:
        metadata = self._consumer.group_metadata()
        number, invoked_s = self._book.next_number(), self._book.now_s

        def commit(outcome: Outcome, ended_s: float | None, reason: str = "") -> Commit:
            return Commit(
                process=self._plan.name,
                number=number,
                group=self._plan.group_id,
                topic=tp.topic,
                incarnation=0,
                partition=tp.partition,
                offset=offset,
                invoked_s=invoked_s,
                outcome=outcome,
                ended_s=ended_s,
                member=metadata.member_id,
                epoch=metadata.epoch,
                reason=reason,
            )

        self._book.begin(commit("unknown", None))
        try:
            await self._consumer.commit({tp: offset})
        except TidelogError as error:
            outcome: Outcome = "unknown" if error.is_outcome_unknown else "fail"
            self._book.end(commit(outcome, self._book.now_s, str(error)))
            self._book.note(f"{tp.topic}-{tp.partition} not committed: {error}")
        else:
            self._committed[tp] = offset
            self._book.end(commit("ok", self._book.now_s))

    # RebalanceListener

    async def on_partitions_assigned(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        """See `RebalanceListener`."""
        del consumer
        for tp in partitions:
            self._held[tp] = None
            self._committed.pop(tp, None)
        self._change("assigned", partitions)

    async def on_partitions_revoked(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        """See `RebalanceListener`: take the time that letting go takes, commit."""
        del consumer
        await asyncio.sleep(self._plan.letting_go_s)
        await self._commit(partitions)
        self._let_go("revoked", partitions)

    async def on_partitions_lost(self, consumer: Any, partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener`: there is nothing to commit any more."""
        del consumer
        self._let_go("lost", partitions)

    def _let_go(self, change: Change, partitions: Sequence[TopicPartition]) -> None:
        held = [tp for tp in partitions if tp in self._held]
        for tp in held:
            del self._held[tp]
        self._change(change, held)

    def _change(self, change: Change, partitions: Sequence[TopicPartition]) -> None:
        metadata = self._consumer.group_metadata()
        for tp in partitions:
            self._book.add(
                Assignment(
                    process=self._plan.name,
                    number=self._book.next_number(),
                    group=self._plan.group_id,
                    member=metadata.member_id,
                    epoch=metadata.epoch,
                    topic=tp.topic,
                    incarnation=0,
                    partition=tp.partition,
                    at_s=self._book.now_s,
                    change=change,
                )
            )
        numbers = ", ".join(str(one.partition) for one in partitions)
        self._book.note(f"{change} {numbers} at epoch {metadata.epoch}")


class Worker(Protocol):
    """A member, or a writer of transactions, as its runner sees it."""

    is_over: bool
    """It ends in order once this is True."""

    async def run(self) -> None:
        """Work until it is over."""


class MemberProcess(Protocol):
    """A member that runs, on a loop or in a process of its own."""

    @property
    def end(self) -> str | None:
        """Why it ended by itself, which it never should; None: it runs, or was ended."""

    async def stop(self) -> None:
        """Let it leave in order; returns when it has ended."""

    async def kill(self) -> None:
        """SIGKILL; returns when all that it wrote down is in its book."""

    async def pause(self) -> None:
        """SIGSTOP."""

    async def resume(self) -> None:
        """SIGCONT; nothing happens to one that is not paused."""

    def abandon(self) -> None:
        """End it without waiting: nobody reads its book any more."""
