"""A member of the group: a process with a consumer and its application, on a loop of its own.

Owns the application: what it does with records, when it asks for more, what its listener does. It
hands each record to the book of hand-outs. Faults end, pause and cut the process from outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.chaos.faults.drawer import Span
from tidelog.client import Consumer, RebalanceListener, TopicPartition
from tidelog.client.errors import CommitFailedError, TidelogError
from tidelog.client.groups.membership import Membership
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.groups.handouts import Handouts, Place
from tidelog.simulation.groups.observed_lease import ObservedLease, WatchedTransport
from tidelog.simulation.groups.simulation_config import GROUP, MemberPlan
from tidelog.simulation.groups.traffic import place_of

POLL_MS = 400
AFTER_ERROR_S = 0.2
CLOSE_MS = 8_000
SLOW_LISTENER_PROBABILITY = 0.15
SLOW_LISTENER_S = Span(0.0, 1.5)
STUCK_LISTENER_PROBABILITY = 0.35
"""Share of the slow listeners that take about as long as a member has to let go."""
STUCK_LISTENER_POLLS = Span(0.5, 1.6)


@dataclass(frozen=True, slots=True)
class MemberParts:
    """Parts of a run that its member processes share."""

    base: ClusterSimulation
    handouts: Handouts
    random: SeededRandom
    assignor: str


class MemberProcess(RebalanceListener):
    """A process from its start to its end, whatever ends it."""

    def __init__(
        self, parts: MemberParts, plan: MemberPlan, number: int, topics: Sequence[str]
    ) -> None:
        self.plan = plan
        self.name = f"{plan.name}.{number}"
        self.topics = list(topics)
        self.assigned_at: dict[TopicPartition, int] = {}
        self.is_closing = self.is_over = self.is_excused = self.is_busy = False
        self.is_hasty = False
        """True when its application works on nothing, so that the group comes to rest soon."""
        self.stuck_s = 0.0
        """Time that the application works on what it gets next."""
        base = self._base = parts.base
        self._handouts = parts.handouts
        self._random = parts.random.fork(self.name)
        self.host, ports = base.cluster.new_client_process(self.name)
        base.client_processes.append(self.name)
        self.lease = ObservedLease(
            lambda: base.now_s, self._on_join, is_dynamic=plan.instance_id is None
        )
        self._in_hand: list[tuple[Place, int]] = []
        self.consumer: Consumer[Any, Any] = Consumer(
            base.bootstrap,
            group_id=GROUP,
            group_instance_id=plan.instance_id,
            group_remote_assignor=parts.assignor,
            enable_auto_commit=plan.has_auto_commit,
            auto_commit_interval_ms=plan.auto_commit_interval_ms,
            max_poll_interval_ms=plan.max_poll_interval_ms,
            max_poll_records=plan.max_poll_records,
            request_timeout_ms=plan.request_timeout_ms,
            api_timeout_ms=plan.api_timeout_ms,
            client_id=self.name,
            transport=WatchedTransport(ports.transport, self.lease),
            clock=ports.clock,
            random=ports.random,
        )
        self._task = self.host.loop.create_task(self._run(), name="application")

    # Seen from outside

    @property
    def membership(self) -> Membership:
        """The client's own view."""
        group: Any = self.consumer._group  # noqa: SLF001
        found: Membership = group._membership  # noqa: SLF001
        return found

    @property
    def is_paused(self) -> bool:
        """True while the process is not stepped."""
        return self.host.loop.is_paused

    def why_over(self) -> str | None:
        """See `Owner`."""
        return self.lease.why_over()

    def failure(self) -> BaseException | None:
        """Find what ended the application, which nothing may."""
        if self._task.done() and not self._task.cancelled():
            return self._task.exception()
        return None

    def begin_close(self) -> None:
        """Have the application end in order; `is_over` when it has."""
        if not self.is_closing:
            self.is_closing = True
            self.host.loop.create_task(self._close(), name="close")

    def begin_subscribe(self, topics: Sequence[str]) -> None:
        """Change the subscription."""
        self.topics = list(topics)
        self.host.loop.create_task(self._subscribe(), name="subscribe")

    def _on_join(self) -> None:
        """Note that it joins: its partitions are free, so its application must know."""
        if self.assigned_at:
            partitions = _shown(list(self.assigned_at))
            what = f"{self.name} joins before its listener has returned from losing {partitions}"
            self._base.findings.report("joined-before-lost", what)

    # The application

    async def _run(self) -> None:
        await self._subscribe()
        read = {"iterates": self._iterate, "batches": self._poll_batches}.get(
            self.plan.style, self._poll
        )
        while True:
            try:
                await read()
            except TidelogError as error:
                self._note(f"read: {type(error).__name__} {error}")
                await asyncio.sleep(AFTER_ERROR_S)
                if self._is_refused:
                    await self._subscribe()

    @property
    def _is_refused(self) -> bool:
        group: Any = self.consumer._group  # noqa: SLF001
        return group._refusal is not None  # noqa: SLF001

    async def _subscribe(self) -> None:
        if not self.is_closing:
            await self.consumer.subscribe(self.topics, listener=self)

    async def _poll(self) -> None:
        self._finish()
        for record in await self.consumer.getmany(timeout_ms=POLL_MS):
            self._hand(record.value, record.partition, record.offset)
        await self._work()
        if not self.plan.has_auto_commit and self._in_hand:
            await self._commit()

    async def _poll_batches(self) -> None:
        self._finish()
        for batch in await self.consumer.getbatches(timeout_ms=POLL_MS):
            for record in batch:
                self._hand(record.value, record.partition, record.offset)
        await self._work()

    async def _iterate(self) -> None:
        async for record in self.consumer:
            self._hand(record.value, record.partition, record.offset)
            await self._work()
            self._finish()

    async def _work(self) -> None:
        stuck_s, self.stuck_s = self.stuck_s, 0.0
        usual_s = self._random.uniform(0.0, self.plan.work_s_max)
        work_s = stuck_s + (0.0 if self.is_hasty else usual_s)
        if work_s and (self._in_hand or stuck_s):
            self.is_busy = stuck_s > 0
            await asyncio.sleep(work_s)
            self.is_busy = False

    async def _commit(self) -> None:
        self._finish()
        if self.plan.style == "commits_soon":
            self.consumer.commit_soon(on_done=self._on_committed)
            return
        try:
            await self.consumer.commit()
        except TidelogError as error:
            self._on_committed(error)

    def _on_committed(self, error: TidelogError | None) -> None:
        if error is None:
            return
        is_fenced = isinstance(error, CommitFailedError)
        self._count("commits_failed" if is_fenced else "commits_unknown")
        self._note(f"commit: {type(error).__name__} {error}")

    async def _close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        self._finish()
        if not self.plan.has_auto_commit:
            try:
                await self.consumer.commit()
            except TidelogError as error:
                self._on_committed(error)
        await self.consumer.close(timeout_ms=CLOSE_MS)
        self._note("closed")
        self.is_over = True

    def _hand(self, value: bytes, partition: int, offset: int) -> None:
        place = place_of(value, partition)
        self._handouts.hand(self, place, offset)
        self._in_hand.append((place, offset))

    def _finish(self) -> None:
        """Be done with what is in hand: the next call asks for more."""
        for place, offset in self._in_hand:
            self._handouts.finish(place, offset)
        self._in_hand.clear()

    # RebalanceListener

    async def on_partitions_assigned(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        """See `RebalanceListener`."""
        del consumer
        self._note(f"assigned {_shown(partitions)}")
        for tp in partitions:
            self.assigned_at[tp] = self._handouts.next_assignment()
        await self._dawdle()

    async def on_partitions_revoked(
        self, consumer: Any, partitions: Sequence[TopicPartition]
    ) -> None:
        """See `RebalanceListener`."""
        del consumer
        self._note(f"revoked {_shown(partitions)}")
        self._count("partitions_revoked")
        await self._dawdle()
        self._forget(partitions)

    async def on_partitions_lost(self, consumer: Any, partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener`."""
        del consumer
        self._note(f"lost {_shown(partitions)}")
        self._count("partitions_lost")
        await self._dawdle()
        self._forget(partitions)

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        for tp in partitions:
            self.assigned_at.pop(tp, None)

    async def _dawdle(self) -> None:
        if self._random.random() >= SLOW_LISTENER_PROBABILITY:
            return
        lasts_s = SLOW_LISTENER_S.draw(self._random)
        if self._random.random() < STUCK_LISTENER_PROBABILITY and not self.is_closing:
            polls = STUCK_LISTENER_POLLS.draw(self._random)
            lasts_s = polls * self.plan.max_poll_interval_ms / 1000
        self.is_busy = True
        await asyncio.sleep(lasts_s)
        self.is_busy = False

    def _note(self, what: str) -> None:
        self._base.note(self.name, what)

    def _count(self, what: str) -> None:
        self._base.count_event(what)


def _shown(partitions: Sequence[TopicPartition]) -> str:
    return " ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(partitions))
