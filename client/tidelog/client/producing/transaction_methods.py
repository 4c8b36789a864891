"""Methods about transactions: the part that `Producer` and `TableWriter` share."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from tidelog.client.errors import TidelogError
from tidelog.client.groups.listener import GroupMetadata, OffsetAndMetadata
from tidelog.client.producing.producer_engine import ProducerEngine
from tidelog.client.producing.transaction_state import TransactionMember, TransactionState
from tidelog.client.records import TopicPartition

_log = logging.getLogger(__name__)


class TransactionMethods(ABC):
    """Part of a producer; without `transactional_id` its methods raise `InvalidTxnStateError`.

    After a `ProducerFencedError` every later call raises one: another producer has the id, or the
    coordinator aborted a transaction that was being committed.
    """

    _engine: ProducerEngine

    @abstractmethod
    async def __aenter__(self) -> object: ...

    @abstractmethod
    async def __aexit__(self, *exc_info: object) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """See `Producer.close`."""

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Return a block that is a transaction: `async with producer.transaction():`.

        Its end commits, any exception in it aborts, a cancellation included. Raises the errors of
        `begin_transaction` and `commit_transaction`.
        """
        return _Block(self)

    async def begin_transaction(self) -> None:
        """Begin a transaction, in which records and offsets are sent from now on.

        Raises InvalidTxnStateError if one is open.
        """
        await self._engine.transactions.begin()

    async def commit_transaction(self) -> None:
        """Wait for all acknowledgements, then commit.

        Returns when that is decided for good. If a record or offsets failed, it aborts and raises
        TransactionAbortedError: begin another. Raises DeliveryTimeoutError when nobody answered for
        `delivery_timeout_ms`, so that the outcome is unknown; it is likewise unknown when this is
        cancelled: call it again, it gives the answer to the first. Raises InvalidTxnStateError if
        none is open, or another task ends it.
        """
        await self._commit()

    async def abort_transaction(self) -> None:
        """Abort: nothing of the transaction becomes visible, records without an outcome fail.

        Raises DeliveryTimeoutError when nobody answered for `delivery_timeout_ms`: call it again.
        Raises InvalidTxnStateError if none is open, or a commit was sent already.
        """
        await self._abort()

    async def hand_over_transaction(self) -> TransactionMember | None:
        """Wait for all acknowledgements, then leave the transaction open for another to end.

        For writers of one job: `Admin.end_transactions` commits what all of them wrote together, or
        nothing. This producer can only be closed afterwards. None: nothing was sent, so that
        nothing is open. Raises as `commit_transaction`, but never with an unknown outcome.
        """
        return await self._leave_open()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[tuple[str, int], OffsetAndMetadata | int],
        group_metadata: GroupMetadata,
    ) -> None:
        """Commit offsets of a consumer's group with the transaction (KIP-98, KIP-447).

        `offsets`: the next record to read, by partition; `group_metadata`: the consumer's own, of
        now. Raises CommitFailedError when the partitions are another member's by now, KafkaError,
        and after `delivery_timeout_ms` the last error; the transaction can then only be aborted.
        """
        named = {
            TopicPartition(*tp): one
            if isinstance(one, OffsetAndMetadata)
            else OffsetAndMetadata(one)
            for tp, one in offsets.items()
        }
        await self._engine.transactions.send_offsets(named, group_metadata)

    async def _commit(self) -> None:
        await self._engine.transactions.commit()

    async def _leave_open(self) -> TransactionMember | None:
        return await self._engine.transactions.hand_over()

    async def _abort(self) -> None:
        await self._engine.transactions.abort()


class _Block(AbstractAsyncContextManager[None]):
    """See `TransactionMethods.transaction`."""

    def __init__(self, producer: TransactionMethods) -> None:
        self._producer = producer
        self._number = 0

    async def __aenter__(self) -> None:
        await self._producer.begin_transaction()
        self._number = self._state.number

    async def __aexit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        if exc_type is not None:
            await self._abort()
            return
        if self._number != self._state.number or not self._is_open:
            self._state.check_fence()
            return  # ended by the application
        try:
            await self._producer.commit_transaction()
        except asyncio.CancelledError:
            await self._abort()
            raise

    async def _abort(self) -> None:
        """Abort what is open, and let the error that led here go on."""
        if self._number != self._state.number or not self._state.is_open:
            return  # ended, fenced, or a commit was sent
        try:
            await self._producer.abort_transaction()
        except TidelogError as error:
            _log.warning("not aborted, the coordinator's time-out will: %s", error)

    @property
    def _is_open(self) -> bool:
        return self._state.is_open or self._state.is_committing

    @property
    def _state(self) -> TransactionState:
        return self._producer._engine.transactions.state  # noqa: SLF001  # of the same module
