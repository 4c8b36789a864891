"""The transactions of one producer at their coordinator: initialising, committing, aborting.

The shell over `TransactionState`. Calls are repeated until `delivery_timeout_ms`, by which time a
commit's outcome may be unknown: it is then called for again, and the coordinator answers as at
first. Each answer to an end names the producer id and epoch of the next transaction (KIP-890).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    CommitFailedError,
    DeliveryTimeoutError,
    InvalidTxnStateError,
    ProducerFencedError,
    TidelogError,
    TransactionAbortedError,
    error_from_wire,
    raise_for,
)
from tidelog.client.groups.coordinator_calls import RETRIED, CoordinatorCalls
from tidelog.client.groups.listener import GroupMetadata, OffsetAndMetadata
from tidelog.client.observer import Delivery, WriterObserver
from tidelog.client.producing.accumulator import Accumulator
from tidelog.client.producing.sender import Sender
from tidelog.client.producing.sequences import Sequences
from tidelog.client.producing.transaction_state import (
    Identity,
    Phase,
    TransactionMember,
    TransactionState,
)
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    OffsetCommitRequest,
    TransactionalOffsetCommitRequest,
    TransactionalOffsetCommitResponse,
)
from tidelog.v1.methods import (
    END_TRANSACTION,
    INIT_TRANSACTIONAL_PRODUCER,
    TRANSACTIONAL_OFFSET_COMMIT,
)
from tidelog.v1.transactions_pb2 import EndTransactionRequest, InitTransactionalProducerRequest

PARTITIONS_MAX = 5_000
"""Partitions of one request; more are committed in several."""
_NOBODY_EPOCH = -1
_FENCED = frozenset({common_pb2.PRODUCER_FENCED, common_pb2.INVALID_PRODUCER_EPOCH})
_REFUSED = frozenset(
    {
        common_pb2.INVALID_TXN_STATE,
        common_pb2.INVALID_PRODUCER_ID_MAPPING,
        common_pb2.INVALID_REQUEST,
    }
)
"""Answers to an end after which the coordinator has certainly not committed."""
_OF_MEMBERS = frozenset(
    {
        common_pb2.UNKNOWN_MEMBER_ID,
        common_pb2.FENCED_MEMBER_EPOCH,
        common_pb2.FENCED_INSTANCE_ID,
        common_pb2.ILLEGAL_GENERATION,
        common_pb2.STALE_MEMBER_EPOCH,
    }
)


class TransactionsConfig(NamedTuple):
    """Times in milliseconds."""

    transaction_timeout_ms: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    backoff: Backoff


class Transactions:
    """Transactions of a producer, one after the other."""

    def __init__(
        self,
        state: TransactionState,
        *,
        routing: Routing,
        sender: Sender,
        accumulator: Accumulator[Delivery],
        sequences: Sequences,
        config: TransactionsConfig,
        observer: WriterObserver | None = None,
    ) -> None:
        self.state = state
        self._observer = observer
        self._routing = routing
        self._sender = sender
        self._accumulator = accumulator
        self._sequences = sequences
        self._config = config
        self._calls = self._calls_for(state.transactional_id, is_transactional=True)
        self._group: CoordinatorCalls | None = None
        self._starting = asyncio.Lock()
        self._offsets_on_the_way = 0

    async def initialise(self) -> None:
        """Fence the older producer of the id, and abort what it left open; once.

        Raises `KafkaError`, and after `delivery_timeout_ms` the last error.
        """
        async with self._starting:
            if self.state.phase is Phase.NEW:
                self.state.initialised(await self._initialise(None))

    async def begin(self) -> None:
        """Begin a transaction, which costs no request."""
        await self.initialise()
        self.state.begin()
        if self._observer is not None:
            self._observer.transaction_begun()

    async def commit(self) -> None:
        """Commit, once every record and all offsets are acknowledged. See `transaction_methods`."""
        with self.state.ending("commit"):
            if self._observer is not None:
                self._observer.commit_begun()
            if self.state.is_open:
                await self._all_acknowledged()
            self.state.check_fence()
            await self._abort_if_failed()
            if self.state.is_touched:
                self.state.commit_sent()
                self._take_over(await self._commit())
            else:
                self.state.ended(None)
            self._note_end(is_committed=True)

    async def abort(self) -> None:
        """Abort: drop what is queued, and end what the coordinator knows of."""
        with self.state.ending("abort"):
            await self._abort()

    async def hand_over(self) -> TransactionMember | None:
        """Leave the open transaction to `end_transactions`; None, and ended: nothing is in it.

        Raises what `commit` raises where a record failed: the transaction is aborted then.
        """
        with self.state.ending("hand over"):
            if not self.state.is_open:
                raise InvalidTxnStateError("a commit was sent: call commit_transaction() again")
            await self._all_acknowledged()
            self.state.check_fence()
            await self._abort_if_failed()
            if self.state.is_touched:
                return self.state.handed_over()
            self.state.ended(None)
            self._note_end(is_committed=True)
        return None

    async def close(self) -> None:
        """Abort an open transaction; the coordinator's time-out does it where this cannot."""
        try:
            if self.state.is_open:
                await self.abort()
        except TidelogError:
            pass

    async def _all_acknowledged(self) -> None:
        self._accumulator.make_all_due()
        self._sender.wake()
        state = self.state
        while state.may_send and (self._accumulator.incomplete or self._offsets_on_the_way):
            await self._sender.wait_for_progress()

    async def _abort_if_failed(self) -> None:
        failure = self.state.failure
        if failure is not None:
            await self._abort()
            raise TransactionAbortedError(
                f"the transaction was aborted, none of it is visible: {failure}"
            ) from failure

    async def _abort(self) -> None:
        """Abort; can be repeated after an error or a cancellation."""
        error = TransactionAbortedError("the transaction is being aborted")
        self.state.fail(self.state.number, error)
        await self._sender.abandon()
        self._take_over(await self._end_aborted() if self.state.is_touched else None)
        self._note_end(is_committed=False)

    async def _end_aborted(self) -> Identity:
        try:
            return await self._end(is_commit=False)
        except TidelogError as error:
            if error.code not in _REFUSED:
                raise
            # The coordinator has no such transaction, or no such producer any more (KIP-360).
            return await self._initialise(self.state.identity)

    async def _commit(self) -> Identity:
        try:
            return await self._end(is_commit=True)
        except TidelogError as error:
            if error.code in _REFUSED:
                self.state.commit_refused(error)
            raise

    async def _end(self, *, is_commit: bool) -> Identity:
        request = EndTransactionRequest(
            transactional_id=self.state.transactional_id,
            producer_id=self.state.identity.producer_id,
            producer_epoch=self.state.identity.producer_epoch,
            commit=is_commit,
        )
        timeout_ms = self._config.delivery_timeout_ms
        try:
            response = await self._calls.call(
                END_TRANSACTION, lambda: request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            what = "commit" if is_commit else "abort"
            raise DeliveryTimeoutError(
                f"the {what} was not answered within {timeout_ms} ms: call {what}_transaction() "
                f"again; last: {error}",
                is_outcome_unknown=True,
            ) from error
        self._raise(response.error)
        return Identity(response.producer_id, response.producer_epoch)

    async def _initialise(self, expected: Identity | None) -> Identity:
        """Initialise; with `expected` go on after an error of this producer's own (KIP-360)."""
        request = InitTransactionalProducerRequest(
            transactional_id=self.state.transactional_id,
            transaction_timeout_ms=self._config.transaction_timeout_ms,
        )
        if expected is not None:
            request.producer_id, request.producer_epoch = expected
        response = await self._calls.call(
            INIT_TRANSACTIONAL_PRODUCER,
            lambda: request,
            timeout_ms=self._config.delivery_timeout_ms,
        )
        if expected is None:
            raise_for(response.error)
        else:
            self._raise(response.error)
        identity = Identity(response.producer_id, response.producer_epoch)
        self._sequences.adopt(*identity)
        return identity

    def _take_over(self, identity: Identity | None) -> None:
        """End the transaction; the next one begins at sequence 0 in its own epoch."""
        self.state.ended(identity)
        if identity is not None:
            self._sequences.adopt(*identity)

    def _note_end(self, *, is_committed: bool) -> None:
        if self._observer is not None:
            self._observer.transaction_ended(is_committed=is_committed)

    def _raise(self, error: common_pb2.Error) -> None:
        """Raise an answer's error; one that fences ends the producer."""
        if error.code in _FENCED:
            fence = ProducerFencedError(error.message)
            self.state.fence(fence)
            raise fence
        raise_for(error)

    # Offsets

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction. See `transaction_methods`."""
        number = self.state.enter()
        self._offsets_on_the_way += 1
        try:
            listed = list(offsets.items())
            for first in range(0, len(listed), PARTITIONS_MAX):
                part = dict(listed[first : first + PARTITIONS_MAX])
                await self._send_offsets(number, self._offsets_request(part, group))
        except TidelogError as error:
            self.state.fail(number, error)
            raise
        except BaseException:
            interrupted = TransactionAbortedError("send_offsets_to_transaction was interrupted")
            self.state.fail(number, interrupted)
            raise
        finally:
            self._offsets_on_the_way -= 1
            self._sender.report_progress()

    async def _send_offsets(self, number: int, request: TransactionalOffsetCommitRequest) -> None:
        clock = self._routing.clock
        deadline_ms = clock.monotonic_ms() + self._config.delivery_timeout_ms
        calls, failures = self._calls_of_group(request.group_id), 0

        def make() -> TransactionalOffsetCommitRequest:
            self.state.check_current(number)
            self.state.is_touched = True
            return request

        while True:
            left_ms = max(1, deadline_ms - clock.monotonic_ms())
            response = await calls.call(TRANSACTIONAL_OFFSET_COMMIT, make, timeout_ms=left_ms)
            self.state.check_current(number)
            error = _error_of(response)
            if error is None:
                return
            if error.code not in RETRIED:
                raise error
            failures += 1
            await calls.pause(error, failures, deadline_ms)

    def _offsets_request(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> TransactionalOffsetCommitRequest:
        if group.member_id and group.epoch <= 0:
            raise CommitFailedError("the consumer is no member of the group now: it joins again")
        request = TransactionalOffsetCommitRequest(
            transactional_id=self.state.transactional_id,
            producer_id=self.state.identity.producer_id,
            producer_epoch=self.state.identity.producer_epoch,
            group_id=group.group_id,
            member_id=group.member_id,
            member_epoch=group.epoch if group.member_id else _NOBODY_EPOCH,
            instance_id=group.instance_id if group.member_id else None,
        )
        topics: dict[str, OffsetCommitRequest.Topic] = {}
        for tp, one in offsets.items():
            if tp.topic not in topics:
                topics[tp.topic] = request.topics.add(topic=tp.topic)
            topics[tp.topic].partitions.add(
                partition=tp.partition,
                offset=one.offset,
                leader_epoch=one.leader_epoch,
                metadata=one.metadata,
            )
        return request

    def _calls_of_group(self, group_id: str) -> CoordinatorCalls:
        if self._group is None or self._group.group_id != group_id:
            self._group = self._calls_for(group_id, is_transactional=False)
        return self._group

    def _calls_for(self, name: str, *, is_transactional: bool) -> CoordinatorCalls:
        return CoordinatorCalls(
            self._routing,
            name,
            backoff=self._config.backoff,
            request_timeout_ms=self._config.request_timeout_ms,
            is_transactional=is_transactional,
        )


def _error_of(response: TransactionalOffsetCommitResponse) -> TidelogError | None:
    """The answer's error, or the first of a partition."""
    partitions = (one.error for topic in response.topics for one in topic.partitions)
    for error in (response.error, *partitions):
        if error.code in _OF_MEMBERS:
            return CommitFailedError(f"the offsets were not committed: {error.message}")
        if error.code == common_pb2.PRODUCER_FENCED:
            return ProducerFencedError(error.message)
        if error.code != common_pb2.NONE:
            return error_from_wire(error)
    return None
