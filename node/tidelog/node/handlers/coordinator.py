"""Handlers of `tidelog.v1.Coordinator`: groups, their members and their committed offsets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from tidelog.broker.coordinator.consumer_heartbeats import Reply
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_key import check_group_id
from tidelog.broker.coordinator.internal_topic import InternalTopic
from tidelog.broker.partition_adder import Producer
from tidelog.broker.transactions.transaction_coordinator import TransactionCoordinator
from tidelog.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    InvalidRequestError,
    TidelogError,
)
from tidelog.core.turns import in_turns, listed, written
from tidelog.core.wire_errors import to_wire
from tidelog.metadata.image import MetadataImage
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.node.handlers import group_codec as codec
from tidelog.node.handlers.group_limits import (
    DESCRIBED_BYTES_MAX,
    check_groups,
    check_partitions,
)
from tidelog.node.handlers.group_stream import GroupStream
from tidelog.node.handlers.reached import coordinator_of
from tidelog.node.handlers.transaction_codec import check_transactional_ids
from tidelog.node.handlers.transactions import find_transactional
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TransactionalOffsetCommitRequest,
    TransactionalOffsetCommitResponse,
)

OFFSETS_PER_PAGE = 5_000
"""Committed offsets of a page of OffsetFetch."""
GROUPS_PER_PAGE = 5_000
"""Groups of a page of ListGroups."""


class CoordinatorHandler:
    """Passes requests to the group coordinator; names the coordinators of others."""

    def __init__(
        self,
        *,
        coordinator: GroupCoordinator,
        image: Callable[[], MetadataImage],
        topic: InternalTopic,
        transactions: TransactionCoordinator,
    ) -> None:
        self.coordinator = coordinator
        self._transactions = transactions
        self._image = image
        self._topic = topic

    async def find_coordinator(
        self, request: FindCoordinatorRequest, call: Call = LOCAL_CALL
    ) -> FindCoordinatorResponse:
        """See `Coordinator.FindCoordinator`."""
        response = FindCoordinatorResponse()
        try:
            check_groups(request.group_ids)
            check_transactional_ids(request.transactional_ids)
            if request.group_ids:
                await self._topic.require()
            if request.transactional_ids:
                await self._transactions.require_topic()
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
            return response
        async for group_id in in_turns(request.group_ids):
            response.coordinators.append(self._find(group_id, call))
        async for name in in_turns(request.transactional_ids):
            response.coordinators.append(find_transactional(name, self._image(), call))
        return response

    def _find(self, group_id: str, call: Call) -> FindCoordinatorResponse.Coordinator:
        found = FindCoordinatorResponse.Coordinator(group_id=group_id)
        try:
            check_group_id(group_id)
            hint = coordinator_of(group_id, self._image(), call.listener)
            if hint is None or not hint.address:
                raise CoordinatorNotAvailableError(
                    f"the partition of group {group_id!r} has no leader now: try again"
                )
        except TidelogError as error:
            found.error.CopyFrom(to_wire(error))
        else:
            found.broker.CopyFrom(Endpoint(node_id=hint.leader_id, address=hint.address))
        return found

    # Members

    async def consumer_group_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, call: Call = LOCAL_CALL
    ) -> ConsumerGroupHeartbeatResponse:
        """See `Coordinator.ConsumerGroupHeartbeat`."""
        try:
            heartbeat = codec.decode_heartbeat(request, codec.host_of(call.connection))
            reply = await self.coordinator.heartbeat(request.group_id, heartbeat)
        except TidelogError as error:
            response = codec.error_response(error)
            self._hint(response, request.group_id, call)
        else:
            response = codec.encode_reply(reply, self.coordinator.config)
        response.sequence = request.sequence
        return response

    def group_stream(
        self, requests: AsyncIterator[ConsumerGroupHeartbeatRequest], call: Call = LOCAL_CALL
    ) -> AsyncGenerator[ConsumerGroupHeartbeatResponse, None]:
        """See `Coordinator.GroupStream`."""

        def encode(pushed: Reply | TidelogError) -> ConsumerGroupHeartbeatResponse:
            if isinstance(pushed, TidelogError):
                return codec.error_response(pushed)
            return codec.encode_reply(pushed, self.coordinator.config)

        stream = GroupStream(
            answer=lambda request: self.consumer_group_heartbeat(request, call),
            encode=encode,
            connect=self.coordinator.connect,
            disconnect=self.coordinator.disconnect,
        )
        return stream.answers(requests)

    # Offsets

    async def offset_commit(
        self, request: OffsetCommitRequest, call: Call = LOCAL_CALL
    ) -> OffsetCommitResponse:
        """See `Coordinator.OffsetCommit`."""
        response = OffsetCommitResponse()
        try:
            await check_partitions(request.topics, "the commit")
            offsets = await listed(codec.decode_offsets(request))
            results = await self.coordinator.commit(
                request.group_id, codec.decode_committer(request), offsets
            )
        except TidelogError as error:
            self._refuse(response, error, request.group_id, call)
        else:
            await written(results, partial(codec.encode_outcomes, response))
        return response

    async def transactional_offset_commit(
        self, request: TransactionalOffsetCommitRequest, call: Call = LOCAL_CALL
    ) -> TransactionalOffsetCommitResponse:
        """See `Coordinator.TransactionalOffsetCommit`."""
        response = TransactionalOffsetCommitResponse()
        try:
            await check_partitions(request.topics, "the commit")
            offsets = await listed(codec.decode_offsets(request))
            results = await self.coordinator.transactional.commit(
                request.group_id,
                codec.decode_committer(request),
                offsets,
                transactional_id=request.transactional_id,
                producer=Producer(request.producer_id, request.producer_epoch),
            )
        except TidelogError as error:
            self._refuse(response, error, request.group_id, call)
        else:
            await written(results, partial(codec.encode_outcomes, response))
        return response

    async def offset_fetch(
        self, request: OffsetFetchRequest, call: Call = LOCAL_CALL
    ) -> OffsetFetchResponse:
        """See `Coordinator.OffsetFetch`."""
        response = OffsetFetchResponse()
        try:
            committer = codec.decode_committer(request)
            if request.topics:
                await check_partitions(request.topics, "the look-up")
                partitions = await listed(codec.decode_partitions(request.topics))
                results = await self.coordinator.fetch(
                    request.group_id, committer, partitions, stable=request.require_stable
                )
            else:
                results = await self.coordinator.fetch_all(
                    request.group_id,
                    committer,
                    (request.after_topic, request.after_partition if request.after_topic else -1),
                    OFFSETS_PER_PAGE,
                    stable=request.require_stable,
                )
                response.has_more = len(results) == OFFSETS_PER_PAGE
            results = await self.coordinator.epochs.known(results)
        except TidelogError as error:
            self._refuse(response, error, request.group_id, call)
        else:
            await written(results, partial(codec.encode_fetched, response))
        return response

    async def offset_delete(
        self, request: OffsetDeleteRequest, call: Call = LOCAL_CALL
    ) -> OffsetDeleteResponse:
        """See `Coordinator.OffsetDelete`."""
        response = OffsetDeleteResponse()
        try:
            await check_partitions(request.topics, "the deletion")
            partitions = await listed(codec.decode_partitions(request.topics))
            results = await self.coordinator.delete_offsets(request.group_id, partitions)
        except TidelogError as error:
            self._refuse(response, error, request.group_id, call)
        else:
            await written(results, partial(codec.encode_outcomes, response))
        return response

    # Groups

    async def list_groups(self, request: ListGroupsRequest) -> ListGroupsResponse:
        """See `Coordinator.ListGroups`."""
        response = ListGroupsResponse()
        if self.coordinator.runtime.loading:
            message = "this coordinator is reading some of its groups: they are missing here"
            response.error.CopyFrom(to_wire(CoordinatorLoadInProgressError(message)))
        ids = [one for one in await self.coordinator.group_ids() if one > request.after_group_id]
        response.has_more = len(ids) > GROUPS_PER_PAGE
        async for group_id in in_turns(ids[:GROUPS_PER_PAGE]):
            group = self.coordinator.peek(group_id, codec.list_group)
            if group is not None:
                response.groups.append(group)
        return response

    async def describe_groups(
        self, request: DescribeGroupsRequest, call: Call = LOCAL_CALL
    ) -> DescribeGroupsResponse:
        """See `Coordinator.DescribeGroups`."""
        response = DescribeGroupsResponse()
        if self._has_too_many(response, request.group_ids):
            return response
        size = 0
        async for group_id in in_turns(dict.fromkeys(request.group_ids)):
            described = DescribeGroupsResponse.Group(group_id=group_id)
            try:
                _check_room(size)
                found = await self.coordinator.look_at(group_id, codec.describe_group)
                if found is None:
                    raise GroupIdNotFoundError(f"group {group_id!r} does not exist")
                described = found
                codec.name_topics(described, self._image())
            except TidelogError as error:
                self._refuse(described, error, group_id, call)
            response.groups.append(described)
            size += described.ByteSize()
        return response

    async def delete_groups(
        self, request: DeleteGroupsRequest, call: Call = LOCAL_CALL
    ) -> DeleteGroupsResponse:
        """See `Coordinator.DeleteGroups`."""
        response = DeleteGroupsResponse()
        if self._has_too_many(response, request.group_ids):
            return response
        async for group_id in in_turns(dict.fromkeys(request.group_ids)):
            result = response.groups.add(group_id=group_id)
            try:
                await self.coordinator.delete_group(group_id)
            except TidelogError as error:
                self._refuse(result, error, group_id, call)
        return response

    # Refusals

    def _has_too_many(
        self, response: DescribeGroupsResponse | DeleteGroupsResponse, group_ids: Sequence[str]
    ) -> bool:
        """True if a request names too many groups, which the answer then says."""
        try:
            check_groups(group_ids)
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
            return True
        return False

    def _refuse(self, response: Any, error: TidelogError, group_id: str, call: Call) -> None:
        """Put an error into an answer, which has `error` and `coordinator`."""
        response.error.CopyFrom(to_wire(error))
        self._hint(response, group_id, call)

    def _hint(self, response: Any, group_id: str, call: Call) -> None:  # as `_refuse`
        if response.error.code == common_pb2.NOT_COORDINATOR:
            hint = coordinator_of(group_id, self._image(), call.listener)
            if hint is not None:
                response.coordinator.CopyFrom(hint)


def _check_room(size: int) -> None:
    if size >= DESCRIBED_BYTES_MAX:
        raise InvalidRequestError(
            f"the answer has {size} bytes without this group: describe fewer at a time"
        )
