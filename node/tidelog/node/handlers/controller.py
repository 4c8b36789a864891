"""The handler of `tidelog.v1.Controller`: decides while its controller is active, else forwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.core.errors import CallFailedError, KafkaError, UnreachableError
from tidelog.core.wire_errors import error_message, to_wire
from tidelog.metadata.commands import COMMANDS
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.peers import Peers
from tidelog.node.handlers.reached import controllers
from tidelog.raft.replicated_log import QuorumStatus
from tidelog.v1 import common_pb2, methods
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.controller_pb2 import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FollowMetadataRequest,
    FollowMetadataResponse,
    ReportUnreachableBrokerRequest,
    ReportUnreachableBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataSnapshotPiece
from tidelog.v1.methods import Method, Request, Response

FORWARD_TIMEOUT_MS = 5000


class ControllerHandler:
    """Serves from the local quorum while it is active, else asks the active controller once.

    Serves the commands of `tidelog.v1.Admin`, too, once a broker has passed them on.
    """

    def __init__(
        self,
        *,
        node_id: int,
        own: OwnCluster,
        quorum: QuorumController,
        peers: Peers,
        voters: Mapping[int, str],
        reports: UnreachableReports,
    ) -> None:
        self._node_id = node_id
        self._own = own
        self._quorum = quorum
        self._peers = peers
        self._voters = voters
        self._reports = reports

    def rpcs(self) -> Mapping[str, Callable[..., Any]]:
        """The callables of `tidelog.v1.Controller` by RPC: a command each, or a method below."""
        commands = {
            method.name: partial(self.decide, method)
            for method in methods.rpcs_of("tidelog.v1.Controller")
            if method.request_type in COMMANDS
        }
        return {
            **commands,
            methods.REPORT_UNREACHABLE_BROKER.name: self.report_unreachable_broker,
            methods.FOLLOW_METADATA.name: self.follow_metadata,
            methods.DESCRIBE_QUORUM.name: self.describe_quorum,
        }

    async def decide(self, method: Method[Request, Response], request: Request) -> Response:
        """Decide on the command that a request of `method` is, here or at the active controller."""
        return await self._serve(method, self._quorum.submit, request)

    async def report_unreachable_broker(
        self, request: ReportUnreachableBrokerRequest
    ) -> ReportUnreachableBrokerResponse:
        """See `Controller.ReportUnreachableBroker`: the active controller dials, and may fence."""
        return await self._serve(
            methods.REPORT_UNREACHABLE_BROKER, self._quorum.report_unreachable_broker, request
        )

    async def follow_metadata(
        self, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        """See `Controller.FollowMetadata`; never forwarded."""
        self._own.check(request, who=f"broker {request.broker_id}")
        self._reports.note_request(request.broker_id)
        try:
            async for response in self._follow(request):
                yield response
        except (asyncio.CancelledError, GeneratorExit):
            self._reports.hung_up(request.broker_id)
            raise

    async def _follow(
        self, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        following = self._quorum.follow(
            request.from_offset, accepts_snapshot=request.accepts_snapshot
        )
        async for followed in following:
            response = FollowMetadataResponse(
                cluster_id=self._own.cluster_id,
                committed_offset=self._quorum.image.offset,
                leader_id=self._quorum.leader_id,
                controller_epoch=self._quorum.term,
            )
            if isinstance(followed, MetadataSnapshotPiece):
                response.snapshot.CopyFrom(followed)
            else:
                for offset, batch in followed:
                    response.entries.add(offset=offset, batch=batch)
            yield response

    async def describe_quorum(
        self, request: DescribeQuorumRequest, call: Call = LOCAL_CALL
    ) -> DescribeQuorumResponse:
        """See `Controller.DescribeQuorum`; never forwarded."""
        del request
        voters = controllers(self._quorum.image, self._voters, call.listener)
        response = _describe(self._quorum.status(), voters)
        self._own.stamp(response)
        return response

    async def _serve(
        self,
        method: Method[Request, Response],
        local: Callable[[Request], Awaitable[Response]],
        request: Request,
    ) -> Response:
        try:
            self._own.check(request, who=f"a caller of {method.name}")
        except KafkaError as error:
            response = _answer(method, to_wire(error))
        else:
            response = await self._serve_or_forward(method, local, request)
        self._own.stamp(response)
        return response

    async def _serve_or_forward(
        self,
        method: Method[Request, Response],
        local: Callable[[Request], Awaitable[Response]],
        request: Request,
    ) -> Response:
        if self._quorum.is_active:
            return await local(request)
        leader_id = self._quorum.leader_id
        if _is_forwarded(request) or leader_id is None or leader_id == self._node_id:
            return _answer(method, _not_controller(self._node_id, leader_id))
        try:
            response = await self._peers.call(
                self._voters[leader_id],
                method,
                _forward(request),
                timeout_ms=FORWARD_TIMEOUT_MS,
            )
            self._own.check(response, who=f"the node at {self._voters[leader_id]}")
        except (UnreachableError, KafkaError):
            return _answer(method, _not_controller(self._node_id, leader_id))
        except CallFailedError as error:
            return _answer(method, to_wire(error))
        return response


def _describe(status: QuorumStatus, voters: Iterable[Endpoint]) -> DescribeQuorumResponse:
    peers = [
        DescribeQuorumResponse.Peer(
            node_id=peer.node_id,
            match_index=peer.match_index,
            last_contact_ms=peer.last_contact_ms,
        )
        for peer in status.peers
    ]
    return DescribeQuorumResponse(
        node_id=status.node_id,
        role=status.role,
        term=status.term,
        leader_id=status.leader_id,
        last_index=status.last_index,
        commit_index=status.commit_index,
        applied_index=status.applied_index,
        snapshot_index=status.snapshot_index,
        snapshot_bytes=status.snapshot_bytes,
        wal_bytes=status.wal_bytes,
        last_contact_ms=status.last_contact_ms,
        peers=peers,
        voters=voters,
    )


def _answer(method: Method[Request, Response], error: common_pb2.Error) -> Response:
    answer: Any = method.response_type  # every Controller answer has .error
    response: Response = answer(error=error)
    return response


def _is_forwarded(request: Any) -> bool:  # every forwardable request has .forwarded
    return bool(request.forwarded)


def _forward(request: Request) -> Request:
    copy = type(request)()
    copy.CopyFrom(request)
    copy.forwarded = True  # type: ignore[attr-defined]  # as above
    return copy


def _not_controller(node_id: int, leader_id: int | None) -> common_pb2.Error:
    known = "no controller leads" if leader_id is None else f"node {leader_id} leads"
    return error_message(
        common_pb2.NOT_CONTROLLER,
        f"node {node_id} is not the active controller ({known}): try again",
    )
