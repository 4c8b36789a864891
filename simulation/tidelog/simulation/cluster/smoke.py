"""Elect, produce with acks=all, crash a leader, produce again, read all back.

    python -m tidelog.simulation.cluster.smoke --seeds 0:50 [--trace] [--events]

runs it on the simulation stage: a line for each seed that fails, one of sums, exit 1 if any did.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace

from tidelog.client import Consumer, Producer, Record, RecordMetadata
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.history.history import ACKS_ALL, History, Outcome, Poll, Send
from tidelog.simulation.cluster.cluster_view import ClusterView
from tidelog.simulation.cluster.seeds import main
from tidelog.simulation.cluster.stage import Stage

TOPIC = "smoke"
DRIFT_MAX = 0.02
# From a crash to the last acknowledgement of its round: a session's expiry, an election, retries.
FAILOVER_S_MAX = 8.0


@dataclass(frozen=True, slots=True)
class SmokePlan:
    """What one seed decides."""

    partitions: int
    records_per_round: int
    crash_after_records: int
    """Crash once so many records of the first round have their outcome,"""
    crash_delay_s: float
    """and this much later: at once an acknowledgement is fresh, later an append is not yet one."""
    is_controller_victim: bool
    """Crash the quorum's leader, not partition 0's."""
    is_restart_late: bool
    """Read everything once while the victim is still down."""
    drift_rates: Sequence[float]

    @classmethod
    def draw(cls, random: Random, *, nodes: int) -> SmokePlan:
        """A plan out of a seed."""
        partitions, records = random.randrange(1, 4), random.randrange(5, 40)
        return cls(
            partitions=partitions,
            records_per_round=records,
            crash_after_records=random.randrange(1, partitions * records),
            crash_delay_s=random.random() * 0.02 if random.random() < 0.5 else 0.0,
            is_controller_victim=random.random() < 0.3,
            is_restart_late=random.random() < 0.5,
            drift_rates=[1 + DRIFT_MAX * (2 * random.random() - 1) for _ in range(nodes)],
        )


@dataclass(slots=True)
class _Reading:
    """One consumer and the offset it reads next in each partition."""

    name: str
    is_final: bool
    positions: dict[int, int] = field(default_factory=dict)


class Smoke:
    """One run of the scenario on a stage."""

    def __init__(self, stage: Stage, plan: SmokePlan, history: History) -> None:
        self._history = history
        self._stage = stage
        self._plan = plan
        self._view = ClusterView(stage)
        self._bootstrap = [stage.address(node_id) for node_id in stage.node_ids]
        self._calls = count()
        self._round = 0
        self._outcomes = 0
        self._crash_due = asyncio.Event()

    async def run(self) -> None:
        """The whole story."""
        for node_id, rate in zip(self._stage.node_ids, self._plan.drift_rates, strict=True):
            self._stage.drift(node_id, rate=rate)
        await self._view.until_ready()
        await self._view.create_topic(
            TOPIC, partitions=self._plan.partitions, min_insync_replicas=2
        )
        watcher = asyncio.create_task(self._watch(), name="watcher")
        victim = await self._lose_a_leader_while_producing()
        await self._produce()
        if self._plan.is_restart_late:
            await self._read_to_the_end("survivors' reader", is_final=False)
        self._stage.start(victim)
        await self._view.until_in_sync(TOPIC)
        await self._read_to_the_end("last reader", is_final=True)
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)

    async def _lose_a_leader_while_producing(self) -> int:
        if self._plan.is_controller_victim:
            victim = await self._view.controller()
        else:
            victim = await self._view.leader(TOPIC, 0)
        round_ = asyncio.create_task(self._produce(), name="producer")
        await self._crash_due.wait()
        await asyncio.sleep(self._plan.crash_delay_s)
        self._stage.crash(victim)
        try:
            async with asyncio.timeout(FAILOVER_S_MAX):
                await round_
        except TimeoutError:
            raise TimeoutError(f"no failover of node {victim} in {FAILOVER_S_MAX} s") from None
        return victim

    async def _produce(self) -> None:
        """One round: unique values to every partition, all sent before the first is awaited."""
        client = self._stage.client
        self._round += 1
        async with Producer(
            self._bootstrap,
            acks="all",
            enable_idempotence=True,
            transport=client.transport,
            clock=client.clock,
            random=client.random,
        ) as producer:
            outcomes: list[asyncio.Future[RecordMetadata]] = []
            for _ in range(self._plan.records_per_round):
                outcomes += [
                    await self._send(producer, partition)
                    for partition in range(self._plan.partitions)
                ]
                await asyncio.sleep(client.random.random() * 0.02)
            for outcome in outcomes:
                with suppress(TidelogError):
                    await outcome

    async def _send(self, producer: Producer, partition: int) -> asyncio.Future[RecordMetadata]:
        number = next(self._calls)
        send = Send(
            process=f"producer of round {self._round}",
            number=number,
            topic=TOPIC,
            incarnation=0,
            partition=partition,
            value=b"%d" % number,
            acks=ACKS_ALL,
            is_idempotent=True,
            invoked_s=self._now_s(),
            ended_s=None,
            outcome="unknown",
        )
        outcome = await producer.submit(TOPIC, value=send.value, partition=partition)
        outcome.add_done_callback(lambda done: self._note_outcome(send, done))
        return outcome

    def _note_outcome(self, send: Send, done: asyncio.Future[RecordMetadata]) -> None:
        self._outcomes += 1
        if self._outcomes == self._plan.crash_after_records:
            self._crash_due.set()
        ended = replace(send, ended_s=None if done.cancelled() else self._now_s())
        error = None if done.cancelled() else done.exception()
        if isinstance(error, TidelogError):
            outcome: Outcome = "unknown" if error.is_outcome_unknown else "fail"
            ended = replace(ended, outcome=outcome, reason=str(error))
        elif not done.cancelled() and error is None:
            ended = replace(ended, outcome="ok", offset=done.result().offset)
        self._history.sends.append(ended)

    async def _watch(self) -> None:
        """Read along from the first record on, whatever happens."""
        reading = _Reading("watcher", is_final=False)
        async with self._consumer() as consumer:
            async for record in consumer:
                self._note(reading, record)

    async def _read_to_the_end(self, name: str, *, is_final: bool) -> None:
        reading = _Reading(name, is_final=is_final)
        ends = await self._view.end_offsets(TOPIC)
        missing = sum(ends.values())
        for partition in ends:
            self._note_poll(reading, partition, ())
        async with self._consumer() as consumer:
            async for record in consumer:
                self._note(reading, record)
                missing -= 1
                if missing == 0:
                    return

    def _note(self, reading: _Reading, record: Record) -> None:
        self._note_poll(reading, record.partition, ((record.offset, record.value or b""),))

    def _note_poll(
        self, reading: _Reading, partition: int, records: tuple[tuple[int, bytes], ...]
    ) -> None:
        """When it was invoked nobody knows: records are handed out one by one."""
        position = reading.positions.get(partition, 0)
        poll = Poll(
            process=reading.name,
            number=next(self._calls),
            topic=TOPIC,
            incarnation=0,
            partition=partition,
            invoked_s=self._now_s(),
            ended_s=self._now_s(),
            position=position,
            records=records,
            is_final=reading.is_final,
        )
        reading.positions[partition] = records[-1][0] + 1 if records else position
        self._history.polls.append(poll)

    def _now_s(self) -> float:
        return self._stage.client.clock.monotonic_ms() / 1000

    def _consumer(self) -> Consumer:
        """Reads every partition from offset 0 on; a vanished offset is an error."""
        client = self._stage.client
        consumer = Consumer(
            self._bootstrap,
            auto_offset_reset="none",
            transport=client.transport,
            clock=client.clock,
            random=client.random,
        )
        partitions = [(TOPIC, partition) for partition in range(self._plan.partitions)]
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        return consumer


async def smoke(stage: Stage, history: History) -> None:
    """The scenario as the stage's randomness decides it."""
    plan = SmokePlan.draw(stage.client.random, nodes=len(stage.node_ids))
    await Smoke(stage, plan, history).run()


if __name__ == "__main__":
    sys.exit(main(smoke))
