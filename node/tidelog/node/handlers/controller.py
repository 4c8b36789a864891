"""Handlers of `tidelog.v1.Controller`; what this controller must not decide is forwarded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.core.errors import CallFailedError, KafkaError, UnreachableError
from tidelog.core.wire_errors import error_message, to_wire
from tidelog.metadata.quorum import Quorum
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.peers import Peers
from tidelog.raft.replicated_log import QuorumStatus
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.controller_pb2 import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FollowMetadataRequest,
    FollowMetadataResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
    ReportUnreachableBrokerRequest,
    ReportUnreachableBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataSnapshotPiece
from tidelog.v1.methods import Method, Request, Response

FORWARD_TIMEOUT_MS = 5000


class ControllerHandler:
    """Serves from the local quorum when it is active, else asks the active controller once."""

    def __init__(
        self,
        *,
        node_id: int,
        own: OwnCluster,
        quorum: Quorum,
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

    async def register_broker(self, request: RegisterBrokerRequest) -> RegisterBrokerResponse:
        """See `Controller.RegisterBroker`."""
        return await self._decide(methods.REGISTER_BROKER, self._quorum.register_broker, request)

    async def broker_heartbeat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        """See `Controller.BrokerHeartbeat`."""
        return await self._decide(methods.BROKER_HEARTBEAT, self._quorum.broker_heartbeat, request)

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """See `Controller.AlterPartition`."""
        return await self._decide(methods.ALTER_PARTITION, self._quorum.alter_partition, request)

    async def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """See `Controller.CreateTopics`."""
        return await self._decide(
            methods.CONTROLLER_CREATE_TOPICS, self._quorum.create_topics, request
        )

    async def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """See `Controller.DeleteTopics`."""
        return await self._decide(
            methods.CONTROLLER_DELETE_TOPICS, self._quorum.delete_topics, request
        )

    async def alter_configs(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """See `Controller.AlterConfigs`."""
        return await self._decide(
            methods.CONTROLLER_ALTER_CONFIGS, self._quorum.alter_configs, request
        )

    async def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse:
        """See `Controller.AllocateProducerIds`."""
        return await self._decide(
            methods.ALLOCATE_PRODUCER_IDS, self._quorum.allocate_producer_ids, request
        )

    async def report_replica_state(
        self, request: ReportReplicaStateRequest
    ) -> ReportReplicaStateResponse:
        """See `Controller.ReportReplicaState`."""
        return await self._decide(methods.REPORT_REPLICA_STATE, self._quorum.report_damage, request)

    async def report_unreachable_broker(
        self, request: ReportUnreachableBrokerRequest
    ) -> ReportUnreachableBrokerResponse:
        """See `Controller.ReportUnreachableBroker`."""
        return await self._decide(
            methods.REPORT_UNREACHABLE_BROKER, self._quorum.report_unreachable_broker, request
        )

    async def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """See `Controller.CreatePartitions`."""
        return await self._decide(
            methods.CONTROLLER_CREATE_PARTITIONS, self._quorum.create_partitions, request
        )

    async def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """See `Controller.ElectLeaders`."""
        return await self._decide(
            methods.CONTROLLER_ELECT_LEADERS, self._quorum.elect_leaders, request
        )

    async def follow_metadata(
        self, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        """See `Controller.FollowMetadata`; never forwarded."""
        self._own.check(request, who=f"broker {request.broker_id}")
        self._reports.heard(request.broker_id)
        try:
            async for response in self._followed(request):
                yield response
        except (asyncio.CancelledError, GeneratorExit):
            self._reports.hung_up(request.broker_id)
            raise

    async def _followed(
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

    async def describe_quorum(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        """See `Controller.DescribeQuorum`; never forwarded."""
        del request
        response = _described(self._quorum.status(), self._voters)
        self._own.stamp(response)
        return response

    async def _decide(
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
            response = await self._decide_or_forward(method, local, request)
        self._own.stamp(response)
        return response

    async def _decide_or_forward(
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
                _forwarded(request),
                timeout_ms=FORWARD_TIMEOUT_MS,
            )
            self._own.check(response, who=f"the node at {self._voters[leader_id]}")
        except (UnreachableError, KafkaError):
            return _answer(method, _not_controller(self._node_id, leader_id))
        except CallFailedError as error:
            return _answer(method, to_wire(error))
        return response


def _described(status: QuorumStatus, voters: Mapping[int, str]) -> DescribeQuorumResponse:
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
        voters=[
            Endpoint(node_id=node_id, address=address)
            for node_id, address in sorted(voters.items())
        ],
    )


def _answer(method: Method[Request, Response], error: common_pb2.Error) -> Response:
    answer: Any = method.response_type  # every Controller answer has .error
    response: Response = answer(error=error)
    return response


def _is_forwarded(request: Any) -> bool:  # every forwardable request has .forwarded
    return bool(request.forwarded)


def _forwarded(request: Request) -> Request:
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
