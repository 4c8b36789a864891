"""A transaction, its coordinator and a leader of its partitions, of which one is killed amid it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.scenario_run import UNTIL_S_MAX, ScenarioRun
from tidelog.chaos.story.transaction_run import AFTER_TIMEOUT_S, LOOK_S, TransactionRun
from tidelog.chaos.workloads.transaction_calls import TransactionCalls
from tidelog.client.admin.transaction_views import TransactionDescription


@dataclass(frozen=True, slots=True)
class Killing:
    """A producer that the story steers; `leader` is another broker than its coordinator."""

    run: ScenarioRun
    transactions: TransactionRun
    producer: TransactionCalls
    coordinator: int
    leader: int

    @classmethod
    async def of(cls, run: ScenarioRun, transactions: TransactionRun, name: str) -> Killing:
        """Start a producer of this id, and look who is who; `LookupError` while nobody leads."""
        producer = transactions.port.producer(name)
        await transactions.do(producer.start(), "a producer starts")
        seen = await transactions.described(name, lambda _: True, "it is described")
        others = [one for one in run.cluster.broker_ids if one != seen.coordinator_id]
        await run.comes(
            lambda: any(map(transactions.led_by, others)), "others than its coordinator lead"
        )
        leader = run.one_of([one for one in others if transactions.led_by(one)])
        return cls(run, transactions, producer, seen.coordinator_id, leader)

    @property
    def name(self) -> str:
        """The transactional id."""
        return self.producer.plan.transactional_id

    @property
    def far(self) -> list[int]:
        """Partitions that the leader leads."""
        return self.transactions.led_by(self.leader)

    async def is_described(
        self, state: str, lacking: Iterable[int] | None = None
    ) -> TransactionDescription:
        """Wait until its coordinator says so, and that of these alone some lack a marker.

        Some: a leadership may be moved back meanwhile.
        """
        wanted = None if lacking is None else set(lacking)

        def is_so(seen: TransactionDescription) -> bool:
            partitions = {one.partition for one in seen.partitions}
            return seen.state == state and (wanted is None or set() < partitions <= wanted)

        what = state if wanted is None else f"{state}, {sorted(wanted)} lack markers"
        return await self.transactions.described(self.name, is_so, what)

    async def is_complete(self) -> None:
        """It must come to that all markers are written."""
        await self.transactions.described(
            self.name,
            lambda seen: seen.state == "CompleteCommit",
            "all markers are written",
            within_s=self.run.failover_s + AFTER_TIMEOUT_S,
            is_promised=True,
        )

    async def has_markers(self, known: TransactionDescription, partitions: Sequence[int]) -> None:
        """Wait until each of these has the transaction's marker, committed."""
        run = self.run
        deadline_s = run.now_s + UNTIL_S_MAX * run.cluster.patience
        while True:
            found = [await self.transactions.markers_of(known, one) for one in partitions]
            if all(found):
                return
            run.expect(run.now_s < deadline_s, f"markers are written: {found}")
            await asyncio.sleep(LOOK_S)

    async def kill_coordinator(self, paths: Sequence[Path] = ()) -> None:
        """Kill it, and mend these paths; another takes over, and readers go on."""
        run, transactions = self.run, self.transactions
        ends = await transactions.high_watermarks()
        await run.kill(self.coordinator)
        if paths:
            await run.mend(paths)
        await transactions.another_coordinates(self.name, self.coordinator)
        await transactions.readers_go_on(ends)

    async def go_on(self) -> None:
        """The coordinator that was killed returns; the id has another producer, which commits."""
        transactions = self.transactions
        successor = transactions.port.producer(self.name)
        await transactions.do(successor.start(), "the id has another producer")
        await transactions.commit_one(successor, transactions.some())
        await self.run.start(self.coordinator)
        await transactions.in_sync()
