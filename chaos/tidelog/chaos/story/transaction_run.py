"""The transactions of a running scenario: verbs, waits and conditions, on any cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.chaos.story.scenario_run import UNTIL_S_MAX, ScenarioRun
from tidelog.chaos.story.transaction_port import TransactionPort
from tidelog.chaos.workloads.transaction_calls import TransactionCalls
from tidelog.chaos.workloads.transaction_looks import Marker
from tidelog.client.admin.transaction_views import TransactionDescription
from tidelog.client.errors import ProducerFencedError, TidelogError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2

LOOK_S = 0.05
AFTER_TIMEOUT_S = 5.0
"""Time after a transaction's time-out within which readers go on."""
FENCED = frozenset({common_pb2.PRODUCER_FENCED, common_pb2.INVALID_PRODUCER_EPOCH})
"""Codes by which an operation of a transaction that is over is refused."""
T = TypeVar("T")


class TransactionRun:
    """See the module. Without transactions: `LookupError`."""

    def __init__(self, run: ScenarioRun) -> None:
        transactions = run.load.transactions
        if transactions is None:
            raise LookupError("the scenario needs transactions")
        self.port: TransactionPort = transactions
        self._run = run
        self._refusals = 0

    # Partitions

    @property
    def all(self) -> range:
        """Every partition of the ledger."""
        return range(self.port.partitions)

    def some(self, least: int = 2) -> list[int]:
        """Draw partitions of the ledger."""
        run = self._run
        return run.shuffled(self.all)[: run.random.randrange(least, self.port.partitions + 1)]

    def state(self, partition: int) -> PartitionImage:
        """Find a partition of the ledger; `LookupError` while no controller knows of it."""
        found = self._run.image.partition(self.port.topic, partition)
        if found is None:
            raise LookupError(f"no {self.port.topic}-{partition}")
        return found

    def led_by(self, node_id: int) -> list[int]:
        """Partitions of the ledger that a node leads."""
        return [one for one in self.all if self.state(one).leader_id == node_id]

    async def in_sync(self) -> None:
        """Wait until every replica of the ledger and of the transactions' state is in the ISR."""
        await self._run.must_come(self._is_whole, "the ledger and the transactions' state in sync")

    def _is_whole(self) -> bool:
        image = self._run.image
        topics = [image.topics.get(one) for one in (self.port.topic, TRANSACTIONS_TOPIC)]
        return all(
            topic is not None
            and all(len(one.isr) == len(one.replicas) for one in topic.partitions)
            and all(one.leader_id is not None for one in topic.partitions)
            for topic in topics
        )

    # Transactions

    async def do(self, call: Awaitable[T], what: str) -> T:
        """Await what must succeed."""
        try:
            return await call
        except TidelogError as error:
            self._run.promise(None, f"{what}: {type(error).__name__}: {error}")
            raise

    async def try_to(self, call: Awaitable[object]) -> TidelogError | None:
        """Await what may fail; why it did."""
        try:
            await call
        except TidelogError as error:
            return error
        return None

    async def write(self, producer: TransactionCalls, partitions: Iterable[int]) -> None:
        """Begin a transaction and write to these: that must succeed."""
        await self.do(producer.begin(), "a transaction begins")
        for partition in partitions:
            await self.do(producer.send(partition), f"a record goes to partition {partition}")

    async def commit_one(self, producer: TransactionCalls, partitions: Iterable[int]) -> None:
        """Write a whole transaction, which must succeed."""
        await self.write(producer, partitions)
        await self.do(producer.commit(), "it is committed")

    async def is_fenced(self, call: Awaitable[object], what: str) -> None:
        """Promise that a call is refused as another producer has the id."""
        error = await self.try_to(call)
        self._run.promise(isinstance(error, ProducerFencedError), f"{what} is fenced: {error!r}")

    async def described(
        self,
        transactional_id: str,
        is_so: Callable[[TransactionDescription], object],
        what: str,
        *,
        within_s: float = UNTIL_S_MAX,
        is_promised: bool = False,
    ) -> TransactionDescription:
        """Wait until its coordinator describes a transaction so; the story needs it, or claims it.

        `within_s` is multiplied by the cluster's patience.
        """
        run = self._run
        deadline_s = run.now_s + within_s * run.cluster.patience
        while True:
            found = await self.port.looks.describe(transactional_id)
            if found is not None and is_so(found):
                return found
            if run.now_s > deadline_s:
                (run.promise if is_promised else run.expect)(None, f"{what}: {found}")
            await asyncio.sleep(LOOK_S)

    async def another_coordinates(
        self, transactional_id: str, node_id: int
    ) -> TransactionDescription:
        """It must come to that."""
        run = self._run
        found = await self.described(
            transactional_id,
            lambda seen: seen.coordinator_id != node_id,
            "another coordinates",
            within_s=run.failover_s,
            is_promised=True,
        )
        await run.cluster.look()
        return found

    async def markers_of(self, known: TransactionDescription, partition: int) -> Sequence[Marker]:
        """Read the markers of a transaction in a partition, which are of the next epoch."""
        return [
            one
            for one in await self.port.looks.markers(partition)
            if (one.producer_id, one.producer_epoch)
            == (known.producer_id, known.producer_epoch + 1)
        ]

    # Readers of committed records

    async def high_watermarks(self) -> Mapping[int, int]:
        """Look up the high watermarks of the ledger's partitions; the story needs them."""
        run = self._run
        deadline_s = run.now_s + UNTIL_S_MAX * run.cluster.patience
        while not (ends := await self.port.looks.ends("read_uncommitted")):
            run.expect(run.now_s < deadline_s, "leaders know their high watermarks")
            await asyncio.sleep(LOOK_S)
        return ends

    async def readers_go_on(self, ends: Mapping[int, int]) -> None:
        """The reader must pass these offsets soon after all that was open there timed out."""
        await self._run.must_come(
            lambda: all(self.port.positions[one] >= end for one, end in ends.items()),
            "readers of committed records go on",
            within_s=self.port.timeout_s + AFTER_TIMEOUT_S,
        )

    # Late calls

    async def is_refused_late(self, known: TransactionDescription) -> None:
        """Every operation of a transaction that is over is refused, by any broker."""
        looks, sequence = self.port.looks, int(self._run.happens(0.5))
        for partition in self.some():
            code = await looks.produce_late(known, partition, sequence=sequence)
            self._refused(code, known, f"Produce to partition {partition}")
        self._refused(await looks.commit_offsets_late(known), known, "TransactionalOffsetCommit")
        for is_commit in (True, False):
            code = await looks.end_late(known, is_commit=is_commit)
            self._refused(code, known, "commit" if is_commit else "abort")

    def _refused(self, code: int, known: TransactionDescription, what: str) -> None:
        epoch = f"epoch {known.producer_epoch} of {known.transactional_id}"
        self._run.promise(code in FENCED, f"{what} in {epoch} is refused as fenced: code {code}")
        self._refusals += 1
        self._run.facts["late calls refused"] = f"{self._refusals:,}"
