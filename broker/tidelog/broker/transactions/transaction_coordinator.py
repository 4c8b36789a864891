"""The coordinator of transactions: its shards, their time-outs, and the markers they wait for.

The shell over `TransactionShard`. Requests are decided in the step in which they arrive, and
answered once their records are committed; markers follow, see `decided_markers`.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tidelog.broker.coordinator.coordinator_records import (
    CoordinatorRecord,
    proof_of_leadership,
)
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.runtime import CoordinatorRuntime
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition.partition_loader import PartitionLoader
from tidelog.broker.partition.partition_writer import PartitionWriter
from tidelog.broker.partition_adder import Producer, TransactionPartition, check_transactional_id
from tidelog.broker.transactions.decided_markers import DecidedMarkers, HostedTransactions
from tidelog.broker.transactions.end_transactions import Member
from tidelog.broker.transactions.marker_lines import Place
from tidelog.broker.transactions.marker_sender import MarkerWriter
from tidelog.broker.transactions.transaction import (
    GROWTH_BYTES_MAX,
    PREPARED,
    ProducerIdNeededError,
    Transaction,
)
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_journal import TransactionJournal
from tidelog.broker.transactions.transaction_key import SEPARATOR, partition_of
from tidelog.broker.transactions.transaction_shard import Decision, TransactionShard
from tidelog.core.background import Background
from tidelog.core.env import Clock
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InvalidTxnStateError,
    KafkaError,
    ThrottlingQuotaExceededError,
    TidelogError,
)
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.core.journal import Event
from tidelog.core.logs import get_logger

log = get_logger(__name__)

TICK_S = 0.25
"""Interval of looks at time-outs."""
IDS_PER_TURN = 250
"""Ids that are looked at before other work has the loop."""
MARKERS_WAIT_S = 0.05
"""Maximum wait of an addition for the markers of the transaction before, which take a few ms."""
GROUP_MARKERS_WAIT_S = 2.0
"""Maximum wait of EndTransactions for the markers of what it has decided."""
WAITING_MAX = 5_000
"""Requests that wait for commits or producer ids; further ones are refused."""

T = TypeVar("T")


class TransactionPorts(NamedTuple):
    """The broker around a transaction coordinator."""

    partitions: Callable[[], int]
    """Number of partitions of the internal topic; 0: it does not exist yet."""
    create_topic: Callable[[], Awaitable[None]]
    """Have the internal topic created; return when this broker knows it, or raise `KafkaError`."""
    has_session: Callable[[], bool]
    """True while the controllers surely have not given this broker up."""
    new_producer_id: Callable[[], Awaitable[int]]
    leader_of: Callable[[TransactionPartition], int | Place]
    markers: MarkerWriter


class Description(NamedTuple):
    """An id, as its coordinator has it."""

    transaction: Transaction
    coordinator_epoch: int
    partitions: Sequence[TransactionPartition]
    """Those of the open transaction; of one that was decided, those that lack a marker."""


class TransactionCoordinator:
    """Transactions of the partitions of `__transaction_state` that this broker leads.

    Methods raise `KafkaError`: those of the shard, and those of `Hosted.append` and `committed`.
    """

    def __init__(
        self,
        *,
        config: TransactionConfig,
        ports: TransactionPorts,
        writer: PartitionWriter,
        loader: PartitionLoader,
        clock: Clock,
        background: Background,
        note: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self.config = config
        self.timed_out = 0
        """Number of transactions aborted by their time-out since the start."""
        self._ports = ports
        self._clock = clock
        self._background = background
        self._waiting = 0
        self.decided = DecidedMarkers(
            writer=ports.markers,
            leader_of=ports.leader_of,
            partition_of=self._partition_of,
            now=self._now,
            background=background,
        )
        self.journal = TransactionJournal(self.decided, note)
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            hooks=self,
            writer=writer,
            loader=loader,
            clock=clock,
            background=background,
            watch=self.journal,
        )
        """To be added to the listeners of `__transaction_state`."""
        self._has_timers = False

    async def require_topic(self) -> None:
        """Create the internal topic unless it exists: an id's first look-up ever does."""
        if not self._ports.partitions():
            await self._ports.create_topic()

    def stats(self) -> Mapping[str, float]:
        """Metrics: counters since the start, and current values."""
        shards = [one.shard for one in self.runtime.active()]
        return {
            "transactional_ids": sum(len(one.transactions) for one in shards),
            "transactions_open": sum(one.open_count for one in shards),
            "transactions_lacking_markers": len(self.decided.sender),
            "transactions_timed_out": self.timed_out,
            "transaction_state_bytes": sum(one.state_bytes for one in shards),
            "transaction_requests_waiting": self._waiting,
            "transaction_partition_loads": self.runtime.loads,
            "transaction_partitions_loading": self.runtime.loading,
            "transaction_events_left_out": self.journal.left_out,
        }

    # Requests

    async def initialise(
        self, transactional_id: str, *, timeout_ms: int, expected: Producer | None = None
    ) -> Producer:
        """Initialise a producer: fence the one before, and abort what it left open."""

        def decide(shard: TransactionShard, ids: Iterator[int]) -> Decision[Producer | None]:
            return shard.initialise(
                transactional_id,
                timeout_ms=timeout_ms,
                expected=expected,
                fresh_ids=ids,
                now=self._now(),
            )

        cause = "a newer producer was initialised" if expected is None else ""
        found = await self._answer(transactional_id, decide, cause)
        assert found is not None  # it was not refused
        return found

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Sequence[TransactionPartition]
    ) -> None:
        """Add partitions to the open transaction, or begin one.

        While the transaction before lacks markers, waits a little rather than have the caller
        ask again and again: what begins then follows in the log.
        """

        def decide(shard: TransactionShard, _: Iterator[int]) -> Decision[None]:
            return shard.add_partitions(transactional_id, producer, partitions, self._now())

        await self._answer(transactional_id, decide, is_patient=True, spare_bytes=GROWTH_BYTES_MAX)

    async def end(self, transactional_id: str, producer: Producer, *, is_commit: bool) -> Producer:
        """End a transaction; return the next one's producer. Markers follow."""

        def decide(shard: TransactionShard, ids: Iterator[int]) -> Decision[Producer]:
            return shard.end(
                transactional_id, producer, is_commit=is_commit, fresh_ids=ids, now=self._now()
            )

        return await self._answer(transactional_id, decide)

    async def end_group(self, group: str, members: Sequence[Member]) -> None:
        """End the transactions of a prefix together, or abort all where there are no members.

        Waits a little for all of their markers, those of aborted ones too: so a
        reader that comes next sees all of it. The decision does not depend on it.
        """

        def decide(shard: TransactionShard, ids: Iterator[int]) -> Decision[None]:
            end = shard.end_group(group, members, ids, self._now())
            return Decision(end.records, None, end.refusal)

        await self._answer(group, decide, "aborted with its group")
        if self._waiting >= WAITING_MAX:
            return
        self._waiting += 1
        try:
            async with asyncio.timeout(GROUP_MARKERS_WAIT_S):
                await self._until_group_complete(group)
        except TimeoutError:
            pass  # it is decided, and its markers follow
        finally:
            self._waiting -= 1

    async def _until_group_complete(self, group: str) -> None:
        try:
            hosted = self._find(group)
        except KafkaError:
            return  # they are another coordinator's to write
        for attempt in hosted.shard.prepared:
            if attempt.transactional_id.startswith(group + SEPARATOR):
                await self.decided.until_complete(
                    hosted, attempt.transactional_id, at_most_s=GROUP_MARKERS_WAIT_S
                )

    async def abort(self, transactional_id: str) -> Producer:
        """Abort an open transaction on an operator's request; return its producer."""

        def decide(shard: TransactionShard, ids: Iterator[int]) -> Decision[Producer]:
            one = shard.describe(transactional_id)
            records = shard.abort(transactional_id, ids, self._now())
            return Decision(records, one.producer, None if records else _nothing_open(one))

        return await self._answer(transactional_id, decide, "aborted on request")

    async def describe(self, transactional_id: str) -> Description:
        """Describe an id."""
        hosted = self._find(transactional_id)
        shard = hosted.shard
        found = shard.describe(transactional_id)
        partitions = list(found.each_partition())
        if found.state in PREPARED:
            partitions = shard.unmarked(shard.attempt_of(transactional_id))
        described = Description(found, shard.coordinator_epoch, partitions)
        return await self._read(hosted, described)

    async def list(
        self, is_wanted: Callable[[Transaction], bool] = lambda _: True, *, limit: int | None = None
    ) -> list[Transaction]:
        """List the wanted ids of this broker in order, the first `limit` of them or all."""
        found: list[Transaction] = []
        for hosted in self.runtime.active():
            of_shard: list[Transaction] = []
            for number, one in enumerate(list(hosted.shard.transactions.values()), start=1):
                if is_wanted(one):
                    of_shard.append(one)
                if number % IDS_PER_TURN == 0:
                    await asyncio.sleep(0)
            if limit is not None:
                of_shard = heapq.nsmallest(limit, of_shard, key=_by_id)
            found += await self._read(hosted, of_shard)
        return sorted(found, key=_by_id)[:limit]

    async def _answer(
        self,
        transactional_id: str,
        decide: Callable[[TransactionShard, Iterator[int]], Decision[T]],
        cause: str = "",
        *,
        is_patient: bool = False,
        spare_bytes: int | None = None,
    ) -> T:
        """Decide and answer; `cause` is for the journal, empty where nothing is to be noted.

        A patient one waits for markers first, see `MARKERS_WAIT_S`. With `spare_bytes` what is
        recorded leaves room for a larger record, see `Hosted.check_room`.
        """
        if self._waiting >= WAITING_MAX:
            raise ThrottlingQuotaExceededError(
                f"{WAITING_MAX} requests wait for the transaction coordinator: try again later"
            )
        self._waiting += 1
        try:
            if is_patient:
                await self.decided.until_complete(
                    self._find(transactional_id), transactional_id, at_most_s=MARKERS_WAIT_S
                )
            hosted, decision = await self._decide(transactional_id, decide)
            if spare_bytes is not None:
                hosted.check_room(decision.records, spare_bytes=spare_bytes)
            with self.journal.because(cause):
                end = hosted.append(decision.records or self._proof())
            await self._committed(hosted, end, is_write=bool(decision.records))
        finally:
            self._waiting -= 1
        if decision.refusal is not None:
            raise decision.refusal
        return decision.reply

    async def _decide(
        self,
        transactional_id: str,
        decide: Callable[[TransactionShard, Iterator[int]], T],
    ) -> tuple[HostedTransactions, T]:
        """Decide; the caller must append what it gets without another await."""
        ids: list[int] = []
        while True:
            hosted = self._find(transactional_id)
            try:
                return hosted, decide(hosted.shard, iter(ids))
            except ProducerIdNeededError:
                ids.append(await self._ports.new_producer_id())

    def _find(self, transactional_id: str) -> HostedTransactions:
        check_transactional_id(transactional_id)  # before its hash
        if not self._ports.partitions():
            raise CoordinatorNotAvailableError(
                f"{TRANSACTIONS_TOPIC} does not exist yet: ask for the id's coordinator first"
            )
        return self.runtime.find(self._partition_of(transactional_id))

    def _partition_of(self, transactional_id: str) -> int:
        return partition_of(transactional_id, self._ports.partitions())

    async def _read(self, hosted: HostedTransactions, seen: T) -> T:
        await self._committed(hosted, hosted.append(self._proof()), is_write=False)
        return seen

    def _proof(self) -> Sequence[CoordinatorRecord]:
        return proof_of_leadership(has_session=self._ports.has_session())

    def _committed(
        self, hosted: HostedTransactions, end_offset: int, *, is_write: bool
    ) -> Awaitable[None]:
        timeout_ms = self.config.transaction_commit_timeout_ms
        return hosted.committed(end_offset, is_write=is_write, timeout_ms=timeout_ms)

    def _append_later(
        self, hosted: HostedTransactions, records: Sequence[CoordinatorRecord]
    ) -> bool:
        """Append what nobody asked for; what cannot be appended now is found again."""
        if not records:
            return False
        try:
            hosted.append(records)
        except TidelogError as error:
            log.info("no append", partition=hosted.partition, error=str(error))
            return False
        return True

    # Work without a request

    async def _tick_forever(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            for hosted in self.runtime.active():
                await self._abort_timed_out(hosted)
                await self._complete_marked(hosted)

    async def _abort_timed_out(self, hosted: HostedTransactions) -> None:
        for number, name in enumerate(hosted.shard.timed_out(self._now()), start=1):
            try:
                # Found again: it may be another's, or ended, once a producer id was allocated.
                where, records = await self._decide(name, self._abort_if_late(name))
            except TidelogError as error:
                log.info("no abort", transactional_id=name, error=str(error))
                continue
            with self.journal.because("its time was over"):
                is_appended = self._append_later(where, records)
            if is_appended:
                self.timed_out += 1
                log.info("transaction timed out", transactional_id=name)
            if number % IDS_PER_TURN == 0:
                await asyncio.sleep(0)

    def _abort_if_late(
        self, name: str
    ) -> Callable[[TransactionShard, Iterator[int]], Sequence[CoordinatorRecord]]:
        def decide(shard: TransactionShard, ids: Iterator[int]) -> Sequence[CoordinatorRecord]:
            now = self._now()
            return shard.abort(name, ids, now) if shard.is_late(name, now) else []

        return decide

    async def _complete_marked(self, hosted: HostedTransactions) -> None:
        for number, _ in enumerate(self.decided.complete_again(hosted), start=1):
            if number % IDS_PER_TURN == 0:
                await asyncio.sleep(0)

    async def _expire_forever(self) -> None:
        while True:
            interval = self.config.transaction_remove_expired_transaction_cleanup_interval_ms
            await asyncio.sleep(interval / 1000)
            for hosted in self.runtime.active():
                for number, name in enumerate(list(hosted.shard.transactions), start=1):
                    self._append_later(hosted, hosted.shard.expire(name, self._now()))
                    if number % IDS_PER_TURN == 0:
                        await asyncio.sleep(0)

    # Shards

    def new_shard(self, leadership: Leadership) -> TransactionShard:
        """See `RuntimeHooks`. The first of a broker begins its timers."""
        if not self._has_timers:
            self._has_timers = True
            self._background.spawn("transaction-timeouts", self._tick_forever())
            self._background.spawn("transactional-id-expiration", self._expire_forever())
        return TransactionShard(self.config, coordinator_epoch=leadership.leader_epoch)

    async def on_loaded(self, hosted: HostedTransactions) -> None:
        """See `RuntimeHooks`: the markers that lack are begun by `DecidedMarkers`."""

    def on_ended(self, hosted: HostedTransactions) -> None:
        """See `RuntimeHooks`: who waits hears of it by the runtime."""

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.wall_ms())


def _by_id(one: Transaction) -> str:
    return one.transactional_id


def _nothing_open(one: Transaction) -> TidelogError:
    return InvalidTxnStateError(
        f"transactional id {one.transactional_id!r} is {one.state.name}: no transaction of it is "
        "open, so that there is nothing to abort"
    )
