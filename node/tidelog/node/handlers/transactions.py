"""Handlers of `tidelog.v1.TransactionCoordinator`: producers, and ends of their transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidelog.broker.transactions.transaction import Producer
from tidelog.broker.transactions.transaction_coordinator import TransactionCoordinator
from tidelog.broker.transactions.transaction_key import check_transactional_id
from tidelog.core.env import Clock
from tidelog.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidRequestError,
    TidelogError,
)
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import to_wire
from tidelog.metadata.image import MetadataImage
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers import transaction_codec as codec
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX
from tidelog.node.handlers.reached import transaction_coordinator_of
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.coordinator_pb2 import FindCoordinatorResponse
from tidelog.v1.transactions_pb2 import (
    AbortTransactionRequest,
    AbortTransactionResponse,
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTransactionRequest,
    EndTransactionResponse,
    EndTransactionsRequest,
    EndTransactionsResponse,
    InitTransactionalProducerRequest,
    InitTransactionalProducerResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

IDS_PER_PAGE = 5_000
"""Transactional ids of a page of ListTransactions."""
_NONE = -1


class TransactionsHandler:
    """Passes requests to the transaction coordinator; names the coordinators of others."""

    def __init__(
        self,
        *,
        coordinator: TransactionCoordinator,
        image: Callable[[], MetadataImage],
        own: OwnCluster,
        clock: Clock,
    ) -> None:
        self._coordinator = coordinator
        self._image = image
        self._own = own
        self._clock = clock

    # Producers

    async def init_transactional_producer(
        self, request: InitTransactionalProducerRequest, call: Call = LOCAL_CALL
    ) -> InitTransactionalProducerResponse:
        """See `TransactionCoordinator.InitTransactionalProducer`."""
        response = InitTransactionalProducerResponse(producer_id=_NONE, producer_epoch=_NONE)
        with self._answering(response, request.transactional_id, call):
            producer = await self._coordinator.initialise(
                request.transactional_id,
                timeout_ms=request.transaction_timeout_ms,
                expected=codec.expected_producer(request),
            )
            response.producer_id, response.producer_epoch = producer
        return response

    async def add_partitions_to_transactions(
        self, request: AddPartitionsToTransactionsRequest, call: Call = LOCAL_CALL
    ) -> AddPartitionsToTransactionsResponse:
        """See `TransactionCoordinator.AddPartitionsToTransactions`."""
        self._own.check(request, who="a partition's leader")
        response = AddPartitionsToTransactionsResponse()
        self._own.stamp(response)
        try:
            codec.check_additions(request)
        except InvalidRequestError as error:
            response.error.CopyFrom(to_wire(error))
            return response
        results = await asyncio.gather(*(self._add(one, call) for one in request.transactions))
        response.transactions.extend(results)
        return response

    async def _add(
        self, asked: AddPartitionsToTransactionsRequest.Transaction, call: Call
    ) -> AddPartitionsToTransactionsResponse.Transaction:
        result = AddPartitionsToTransactionsResponse.Transaction(
            transactional_id=asked.transactional_id
        )
        with self._answering(result, asked.transactional_id, call):
            await self._coordinator.add_partitions(
                asked.transactional_id,
                Producer(asked.producer_id, asked.producer_epoch),
                codec.added_partitions(asked.topics),
            )
        return result

    # Ends

    async def end_transaction(
        self, request: EndTransactionRequest, call: Call = LOCAL_CALL
    ) -> EndTransactionResponse:
        """See `TransactionCoordinator.EndTransaction`."""
        response = EndTransactionResponse(producer_id=_NONE, producer_epoch=_NONE)
        producer = Producer(request.producer_id, request.producer_epoch)
        with self._answering(response, request.transactional_id, call):
            following = await self._coordinator.end(
                request.transactional_id, producer, is_commit=request.commit
            )
            response.producer_id, response.producer_epoch = following
        return response

    async def end_transactions(
        self, request: EndTransactionsRequest, call: Call = LOCAL_CALL
    ) -> EndTransactionsResponse:
        """See `TransactionCoordinator.EndTransactions`."""
        response = EndTransactionsResponse()
        with self._answering(response, request.group, call):
            await self._coordinator.end_group(request.group, codec.decode_members(request))
        return response

    async def abort_transaction(
        self, request: AbortTransactionRequest, call: Call = LOCAL_CALL
    ) -> AbortTransactionResponse:
        """See `TransactionCoordinator.AbortTransaction`."""
        response = AbortTransactionResponse(producer_id=_NONE, producer_epoch=_NONE)
        with self._answering(response, request.transactional_id, call):
            producer = await self._coordinator.abort(request.transactional_id)
            response.producer_id, response.producer_epoch = producer
        return response

    # Looks

    async def list_transactions(self, request: ListTransactionsRequest) -> ListTransactionsResponse:
        """See `TransactionCoordinator.ListTransactions`."""
        response = ListTransactionsResponse()
        if self._coordinator.runtime.loading:
            message = "this coordinator is reading some of its ids: they are missing here"
            response.error.CopyFrom(to_wire(CoordinatorLoadInProgressError(message)))
        try:
            is_wanted = codec.list_filter(request)
            found = await self._coordinator.list(is_wanted, limit=IDS_PER_PAGE + 1)
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
            return response
        response.has_more = len(found) > IDS_PER_PAGE
        now_ms = self._clock.wall_ms()
        async for one in in_turns(found[:IDS_PER_PAGE]):
            response.transactions.append(codec.encode_listed(one, now_ms))
        return response

    async def describe_transactions(
        self, request: DescribeTransactionsRequest, call: Call = LOCAL_CALL
    ) -> DescribeTransactionsResponse:
        """See `TransactionCoordinator.DescribeTransactions`."""
        response = DescribeTransactionsResponse()
        try:
            codec.check_transactional_ids(request.transactional_ids)
        except InvalidRequestError as error:
            response.error.CopyFrom(to_wire(error))
            return response
        size = 0
        async for name in in_turns(dict.fromkeys(request.transactional_ids)):
            described = response.transactions.add(transactional_id=name)
            with self._answering(described, name, call):
                _check_room(size)
                await self._describe(described, name)
            size += described.ByteSize()
        return response

    async def _describe(
        self, described: DescribeTransactionsResponse.Transaction, name: str
    ) -> None:
        one, epoch, lacking = await self._coordinator.describe(name)
        codec.encode_described(
            described, one, lacking, coordinator_epoch=epoch, now_ms=self._clock.wall_ms()
        )

    # Refusals

    @contextmanager
    def _answering(self, response: Any, name: str, call: Call) -> Iterator[None]:
        """Put what is raised into the answer, which has `error` and `coordinator`."""
        try:
            yield
        except TidelogError as error:
            self._refuse(response, error, name, call)

    def _refuse(self, response: Any, error: TidelogError, name: str, call: Call) -> None:
        response.error.CopyFrom(to_wire(error))
        if response.error.code == common_pb2.NOT_COORDINATOR:
            hint = transaction_coordinator_of(name, self._image(), call.listener)
            if hint is not None:
                response.coordinator.CopyFrom(hint)


def find_transactional(
    transactional_id: str, image: MetadataImage, call: Call
) -> FindCoordinatorResponse.Coordinator:
    """Answer FindCoordinator for a transactional id, whose internal topic exists."""
    found = FindCoordinatorResponse.Coordinator(transactional_id=transactional_id)
    try:
        check_transactional_id(transactional_id)
        hint = transaction_coordinator_of(transactional_id, image, call.listener)
        if hint is None or not hint.address:
            raise CoordinatorNotAvailableError(
                f"the partition of transactional id {transactional_id!r} has no leader now: try "
                "again"
            )
    except TidelogError as error:
        found.error.CopyFrom(to_wire(error))
    else:
        found.broker.CopyFrom(Endpoint(node_id=hint.leader_id, address=hint.address))
    return found


def _check_room(size: int) -> None:
    if size >= DESCRIBED_BYTES_MAX:
        raise InvalidRequestError(
            f"the answer has {size} bytes without this id: describe fewer at a time"
        )
