"""Drivers: each batch is written by tasks, each in a transaction of its own, and ended by one call.

As Spark's sink does it (decision 0066): tasks hand their transactions over, the driver's own comes
with them to EndTransactions. In the history a batch is one transaction: all of its tasks' records
are seen, or none. A driver that takes the id has tasks of the same ids, and fences those before.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.client import Producer, TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.errors import (
    DeliveryTimeoutError,
    InvalidTxnStateError,
    TidelogError,
    TransactionAbortedError,
)
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.history.history import Outcome, Transaction
from tidelog.simulation.transactions.client_process import ClientProcess
from tidelog.simulation.transactions.simulation_config import BATCHES, LEDGER
from tidelog.simulation.transactions.transaction_calls import COMMITS_MAX

TASKS_MAX, APPENDS_MAX = 3, 2
PAUSE_S_MAX = 0.4
ABORT_SHARE, OPEN_SHARE = 0.12, 0.25
"""Below the first a batch is aborted, below the second its tasks are left open for too long."""


class Driver(ClientProcess):
    """See the module."""

    async def work(self) -> None:
        """See `ClientProcess.work`."""
        admin = Admin(
            self.base.bootstrap,
            client_id=self.name,
            request_timeout_ms=self.plan.request_timeout_ms,
            transport=self.ports.transport,
            clock=self.ports.clock,
            random=self.ports.random,
        )
        async with admin:
            while not self.is_closing:
                await self._run_batch(admin)
                await self.rest(0.0, PAUSE_S_MAX)

    async def _run_batch(self, admin: Admin) -> None:
        draw = self.random.random()
        batch = self.calls.begin_group(self.name, BATCHES)
        tasks = [f"{BATCHES}/{n}" for n in range(self.random.randrange(1, TASKS_MAX + 1))]
        try:
            members = [await self._write(batch, name, has_rest=True) for name in tasks]
            if OPEN_SHARE > draw >= ABORT_SHARE:
                timeout_s = self.plan.transaction_timeout_ms / 1000
                await self.rest(timeout_s / 2, 2 * timeout_s)
            members.append(await self._write(batch, self.plan.transactional_id, has_rest=False))
        except TransactionAbortedError as error:
            self.calls.count("tasks_failed")
            await self._abort(admin, batch, str(error))
            return
        if draw < ABORT_SHARE:
            await self._abort(admin, batch, "on purpose")
        else:
            await self._commit(admin, batch, members)

    async def _write(
        self, batch: Transaction, transactional_id: str, *, has_rest: bool
    ) -> TransactionMember:
        """Write as one task does, and leave its transaction open."""
        process = f"{self.name}/{transactional_id.rpartition('/')[2]}"
        async with self.new_producer(transactional_id) as producer:
            self.is_initialised = True
            await producer.begin_transaction()
            for _ in range(self.random.randrange(1, APPENDS_MAX + 1)):
                await self._append(producer, batch, process)
            if has_rest:
                await self.rest(0.0, PAUSE_S_MAX)
            member = await producer.hand_over_transaction()
        assert member is not None  # it has a record
        return member

    async def _append(
        self, producer: Producer[bytes, bytes], batch: Transaction, process: str
    ) -> None:
        partitions = self.base.config.plan(LEDGER).partitions
        to = TopicPartition(LEDGER, self.random.randrange(0, partitions))
        value = self.calls.next_value(process.encode())
        await self.calls.send(producer, batch, process, to, value)

    async def _commit(
        self, admin: Admin, batch: Transaction, members: list[TransactionMember]
    ) -> None:
        batch.commit_begun_s = self.calls.now_s()
        try:
            await self._end(admin, members)
        except InvalidTxnStateError as error:
            self._note_end(batch, "fail", str(error))
            self.calls.count("groups_refused")
        except TidelogError as error:
            batch.reason = f"{type(error).__name__} {error}"
            raise
        else:
            self._note_end(batch, "ok", "")
            self.calls.count("groups_committed")

    async def _abort(self, admin: Admin, batch: Transaction, reason: str) -> None:
        await self._end(admin, ())
        self._note_end(batch, "fail", reason)
        self.calls.count("groups_aborted")

    async def _end(self, admin: Admin, members: Sequence[TransactionMember]) -> None:
        """Call, again if nobody answers."""
        timeout_ms = self.plan.delivery_timeout_ms
        for attempt in range(COMMITS_MAX):
            try:
                await admin.end_transactions(BATCHES, members, timeout_ms=timeout_ms)
            except DeliveryTimeoutError:
                if attempt == COMMITS_MAX - 1:
                    raise
                self.calls.count("groups_repeated")
            else:
                return

    def _note_end(self, batch: Transaction, outcome: Outcome, reason: str) -> None:
        batch.outcome, batch.reason, batch.ended_s = outcome, reason, self.calls.now_s()
