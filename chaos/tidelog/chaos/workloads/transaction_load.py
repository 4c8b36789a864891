"""The transactions of a story: writers, producers that the story steers, their rest."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from tidelog.chaos.workloads.group_member import MemberProcess
from tidelog.chaos.workloads.plans import LEDGER, TransactionPlan, WriterPlan
from tidelog.chaos.workloads.transaction_book import TransactionBook
from tidelog.chaos.workloads.transaction_calls import TransactionCalls, producer_of_ours
from tidelog.chaos.workloads.transaction_looks import TransactionLooks
from tidelog.chaos.workloads.transaction_readers import LedgerReader
from tidelog.chaos.workloads.transaction_writer import TransactionWriter
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.history.history import Send, Transaction

REST_POLL_S = 0.2
CLIENTS_MAX = 1_000
"""Producers that one run's story makes at most."""


class TransactionLoad:
    """See `TransactionPort` for what stories do."""

    def __init__(
        self,
        port: WorkloadPort,
        plan: TransactionPlan,
        random: SeededRandom,
        *,
        next_number: Callable[[], int],
    ) -> None:
        self.topic = LEDGER
        self.partitions = plan.partitions
        self.timeout_s = plan.timeout_ms / 1000
        self.is_finished = False
        """Every transaction has ended, and the readers have read them all."""
        self._port = port
        self._plan = plan
        self._random = random
        self._book = TransactionBook(port, next_number)
        self.looks = TransactionLooks(port, partitions=plan.partitions)
        self._made = 0
        self._writers: list[TransactionWriter] = []
        self._writing: list[asyncio.Task[None]] = []
        self._steered: list[TransactionCalls] = []
        self._processes: dict[str, MemberProcess] = {}
        self._paused: set[str] = set()
        self._failures: list[str] = []
        self._reader = self._new_reader("ledger-reader", is_final=False)
        self._reading: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start the writers and the reader."""
        self._reading = asyncio.create_task(self._reader.read_along(), name="ledger-reader")
        for number in range(1, self._plan.writers + 1):
            plan = self._plan_of(f"writer-{number}", f"writer-{number}")
            writer = TransactionWriter(
                self._book.of(plan.name),
                plan,
                producer_of_ours(
                    plan, bootstrap=self._port.bootstrap, ports=self._port.client_ports(plan.name)
                ),
                self._random.fork(plan.name),
                is_alone=True,
            )
            self._writers.append(writer)
            self._writing.append(asyncio.create_task(writer.run(), name=plan.name))

    def _plan_of(self, name: str, transactional_id: str) -> WriterPlan:
        return WriterPlan(
            name=name,
            transactional_id=transactional_id,
            partitions=self._plan.partitions,
            transaction_timeout_ms=self._plan.timeout_ms,
        )

    def _new_reader(self, name: str, *, is_final: bool) -> LedgerReader:
        return LedgerReader(
            self._port, self._book, name=name, partitions=self._plan.partitions, is_final=is_final
        )

    # Seen

    @property
    def ended(self) -> Sequence[Transaction]:
        """See `TransactionPort`."""
        return self._book.ended

    @property
    def open(self) -> Sequence[Transaction]:
        """See `TransactionPort`."""
        return self._book.open

    @property
    def acknowledged(self) -> Sequence[Send]:
        """See `TransactionPort`."""
        return self._book.acknowledged

    @property
    def last_calls_s(self) -> Mapping[str, float]:
        """See `TransactionPort`."""
        return self._book.last_calls_s

    @property
    def positions(self) -> Mapping[int, int]:
        """See `TransactionPort`."""
        return self._reader.positions

    @property
    def failures(self) -> list[str]:
        """Processes that ended by themselves though nobody fenced them, and why."""
        ends = {name: one.end for name, one in self._processes.items()}
        return [*self._failures, *(f"{name}: {end}" for name, end in ends.items() if end)]

    # Done

    def producer(self, transactional_id: str) -> TransactionCalls:
        """See `TransactionPort`."""
        name = self._new_name()
        plan = self._plan_of(name, transactional_id)
        maker = producer_of_ours(
            plan, bootstrap=self._port.bootstrap, ports=self._port.client_ports("steered")
        )
        steered = TransactionCalls(self._book.of(name), plan, maker(), name)
        self._steered.append(steered)
        return steered

    def _new_name(self) -> str:
        self._made += 1
        if self._made > CLIENTS_MAX:
            raise ValueError(f"a story makes {CLIENTS_MAX} producers at most")
        return f"producer-{self._made}-of-story"

    def start_writer(self, transactional_id: str) -> str:
        """See `TransactionPort`."""
        name = self._new_name()
        plan = self._plan_of(name, transactional_id)
        self._processes[name] = self._port.start_writer(plan, self._book.of(name))
        return name

    async def pause(self, name: str) -> None:
        """See `TransactionPort`."""
        self._paused.add(name)
        await self._processes[name].pause()

    async def resume(self, name: str) -> None:
        """See `TransactionPort`."""
        if name in self._paused:
            self._paused.remove(name)
            await self._processes[name].resume()

    # Its rest

    async def finish(self) -> None:
        """End all producers, and wait until every transaction has its end in the logs, and is read.

        Takes as long as it takes: a transaction that nobody ends times out.
        """
        for writer in self._writers:
            writer.is_over = True
        await asyncio.gather(*self._writing)
        for name in sorted(self._paused):
            await self.resume(name)
        for name in sorted(self._processes):
            process = self._processes[name]
            await process.stop()
            if process.end is not None:
                self._failures.append(f"{name}: {process.end}")
        self._processes.clear()
        for steered in self._steered:
            with contextlib.suppress(TidelogError):
                await steered.close()
        while not await self._is_all_read():  # noqa: ASYNC110  # of other processes
            await asyncio.sleep(REST_POLL_S)
        self._reader.is_over = True
        if self._reading is not None:
            await self._reading
        self.is_finished = True

    async def _is_all_read(self) -> bool:
        """True if nothing is open, and all that is committed was read."""
        stable = await self.looks.ends("read_committed")
        ends = await self.looks.ends("read_uncommitted")
        return bool(ends) and stable == ends == dict(self._reader.positions)

    def find_unfinished(self) -> Iterator[str]:
        """Yield what has not come to its end, for people."""
        if not self.is_finished:
            yield f"transactions: {self._book.open} have not ended, read to {self.positions}"

    async def read_all(self) -> None:
        """Everything that is committed, by a reader of its own. Errors: as `readers.read_all`."""
        await self._new_reader("ledger-final", is_final=True).read_all()

    async def close(self) -> None:
        """Release the clients that look."""
        await self.looks.close()

    async def abandon(self) -> None:
        """End what is left of it when a run broke off."""
        for process in self._processes.values():
            process.abandon()
        for task in [*self._writing, *([self._reading] if self._reading else [])]:
            task.cancel()

    def write_pending(self) -> None:
        """Write down what never ended."""
        self._book.write_pending()
