"""Nodes' own requests are refused at a listener for clients, before a handler sees them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import grpc
import pytest

from tidelog.core.errors import CallFailedError, CallUnauthorizedError
from tidelog.net.call import ANONYMOUS, Call
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import CLIENT, INTERNAL, Listener, PortTakenError
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import CreateTopicsRequest, DescribeClusterRequest
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FollowMetadataRequest,
)
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse, MetadataRequest, MetadataResponse
from tidelog.v1.methods import Method, Request, Response
from tidelog.v1.raft_pb2 import RaftExchangeEnd, RaftMessage
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    WriteTransactionMarkersRequest,
)

pytestmark = pytest.mark.real_time
CONTROLLER_METHODS = [
    one
    for one in vars(methods).values()
    if isinstance(one, Method) and one.service == "tidelog.v1.Controller"
]


class Handler:
    """Notes the calls that reach it."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, Call | None]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        async def other(request: object) -> object:
            self.calls.append((request, None))
            return MetadataResponse()

        return other

    async def metadata(self, request: MetadataRequest, call: Call) -> MetadataResponse:
        self.calls.append((request, call))
        return MetadataResponse()

    async def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        self.calls.append((request, None))
        return AlterPartitionResponse()

    async def describe_quorum(self, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        self.calls.append((request, None))
        return DescribeQuorumResponse()

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        self.calls.append((request, None))
        return FetchResponse()

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        async for request in requests:
            self.calls.append((request, None))
            yield FetchResponse()

    async def exchange(self, requests: AsyncIterator[RaftMessage]) -> RaftExchangeEnd:
        async for request in requests:
            self.calls.append((request, None))
        return RaftExchangeEnd()


class Ground:
    """A server with a listener for clients and one for nodes, and a transport to it."""

    def __init__(self) -> None:
        self.handler = Handler()
        self.client, self.internal = (
            Listener(name, bind=address, advertised=address, services=frozenset(services))
            for name, address, services in (
                ("OUTSIDE", free_address(), {CLIENT}),
                ("INSIDE", free_address(), {CLIENT, INTERNAL}),
            )
        )
        names = ("Broker", "Admin", "Controller", "RaftPeer", "TransactionCoordinator")
        self.server = GrpcServer(
            listeners=(self.client, self.internal),
            services={f"tidelog.v1.{name}": self.handler for name in names},
            on_fatal=fail,
        )
        self.transport = GrpcTransport()

    async def call(
        self, listener: Listener, method: Method[Request, Response], request: Request
    ) -> Response:
        return await self.transport.call(listener.advertised, method, request, timeout_ms=10_000)

    async def refused(
        self, method: Method[Request, Response], request: Request
    ) -> CallUnauthorizedError:
        with pytest.raises(CallUnauthorizedError) as caught:
            await self.call(self.client, method, request)
        assert not self.handler.calls
        return caught.value


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


def fail(error: BaseException) -> None:
    raise AssertionError(error)


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    made = Ground()
    await made.server.start()
    async with asyncio.timeout(30):
        yield made
    await made.transport.close()
    await made.server.stop(grace_s=0)


async def test_a_client_changes_no_isr(ground: Ground) -> None:
    error = await ground.refused(methods.ALTER_PARTITION, AlterPartitionRequest())
    assert error.code == common_pb2.CLUSTER_AUTHORIZATION_FAILED
    assert not error.is_retriable
    assert not error.is_outcome_unknown
    assert "tidelog.v1.Controller.AlterPartition is for the cluster's own nodes" in error.message
    assert "listener OUTSIDE is for clients" in error.message
    assert isinstance(error, CallFailedError), "callers that know no better take it for a failure"
    await ground.call(ground.internal, methods.ALTER_PARTITION, AlterPartitionRequest())
    assert ground.handler.calls


@pytest.mark.parametrize(
    ("method", "request_of"),
    [
        (methods.ADD_PARTITIONS_TO_TRANSACTIONS, AddPartitionsToTransactionsRequest),
        (methods.WRITE_TRANSACTION_MARKERS, WriteTransactionMarkersRequest),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
async def test_a_client_neither_adds_to_transactions_nor_ends_them_by_markers(
    ground: Ground, method: Any, request_of: Any
) -> None:
    error = await ground.refused(method, request_of())
    assert error.code == common_pb2.CLUSTER_AUTHORIZATION_FAILED
    await ground.call(ground.internal, method, request_of())
    assert ground.handler.calls


@pytest.mark.parametrize("method", CONTROLLER_METHODS, ids=lambda one: one.name)
async def test_a_client_asks_a_controller_only_how_its_quorum_is(
    ground: Ground, method: Method[Any, Any]
) -> None:
    if method.name == "DescribeQuorum":
        await ground.call(ground.client, method, method.request_type())
        return
    path = f"/{method.service}/{method.name}"
    async with grpc.aio.insecure_channel(ground.client.advertised) as channel:
        kind = channel.unary_stream if method.is_response_stream else channel.unary_unary
        call: Any = kind(path)(method.request_type().SerializeToString())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await (call.read() if method.is_response_stream else call)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert not ground.handler.calls


async def test_a_client_follows_no_metadata(ground: Ground) -> None:
    stream = ground.transport.stream(
        ground.client.advertised, methods.FOLLOW_METADATA, FollowMetadataRequest()
    )
    with pytest.raises(CallUnauthorizedError):
        await anext(stream)


async def test_a_client_is_no_voter(ground: Ground) -> None:
    async def said(listener: Listener) -> object:
        async with grpc.aio.insecure_channel(listener.advertised) as channel:
            exchange: Any = channel.stream_unary("/tidelog.v1.RaftPeer/Exchange")
            return await exchange(iter([RaftMessage(term=9).SerializeToString()]))

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await said(ground.client)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert not ground.handler.calls
    await said(ground.internal)
    assert ground.handler.calls


async def test_a_client_fetches_as_no_replica(ground: Ground) -> None:
    as_replica = FetchRequest(replica_id=2)
    error = await ground.refused(methods.FETCH, as_replica)
    assert "a fetch with a replica_id" in error.message
    await ground.call(ground.client, methods.FETCH, FetchRequest())
    await ground.call(ground.internal, methods.FETCH, as_replica)
    assert [request for request, _ in ground.handler.calls] == [FetchRequest(), as_replica]


async def test_no_request_of_a_stream_makes_a_client_a_replica(ground: Ground) -> None:
    stream = await ground.transport.open_stream(ground.client.advertised, methods.FETCH_STREAM)
    await stream.send(FetchRequest(max_bytes=1))
    await stream.receive()
    await stream.send(FetchRequest(replica_id=2))
    with pytest.raises(CallUnauthorizedError):
        await stream.receive()
    assert [request for request, _ in ground.handler.calls] == [FetchRequest(max_bytes=1)]


@pytest.mark.parametrize(
    "forwarded", [CreateTopicsRequest(forwarded=True), CreateTopicsRequest(from_broker=True)]
)
async def test_a_client_forwards_nothing(ground: Ground, forwarded: CreateTopicsRequest) -> None:
    async with grpc.aio.insecure_channel(ground.client.advertised) as channel:
        call: Any = channel.unary_unary("/tidelog.v1.Admin/CreateTopics")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(forwarded.SerializeToString())
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert not ground.handler.calls
        await call(CreateTopicsRequest().SerializeToString())
        describe: Any = channel.unary_unary("/tidelog.v1.Admin/DescribeCluster")
        await describe(DescribeClusterRequest().SerializeToString())
    assert len(ground.handler.calls) == 2


async def test_a_handler_is_given_the_call(ground: Ground) -> None:
    now_s = asyncio.get_running_loop().time()
    for listener in (ground.client, ground.internal):
        await ground.call(listener, methods.METADATA, MetadataRequest())
        _, call = ground.handler.calls[-1]
        assert call is not None
        assert call.listener is listener
        assert call.principal == ANONYMOUS == "User:ANONYMOUS"
        assert call.deadline_s is not None
        assert now_s < call.deadline_s
        assert call.connection.startswith("ipv4:127.0.0.1:")


async def test_a_taken_port_is_named_whichever_listeners_it_is(ground: Ground) -> None:
    taken = Listener("B", bind=ground.internal.bind, advertised=ground.internal.bind)
    free = free_address()
    other = GrpcServer(
        listeners=(Listener("A", bind=free, advertised=free), taken), services={}, on_fatal=fail
    )
    with pytest.raises(PortTakenError, match=f"cannot listen on {taken.bind}"):
        await other.start()
    await other.stop(grace_s=0)
