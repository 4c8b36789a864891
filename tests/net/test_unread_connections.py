"""Connections of the real server that read nothing: refused what is large, hung up on, freed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest

from tidelog.chaos.workloads.noise import DATA, HEADERS, PREFACE, SETTINGS, call_headers, frame
from tidelog.net.call import LOCAL_CALL, Call, counts_responses
from tidelog.net.grpc_connections import SLICE, connections_at, connections_of, descriptors_max
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.listeners import one_listener
from tidelog.net.unread_responses import NodeResponses, UnreadLimits, UnreadResponse
from tidelog.v1 import methods
from tidelog.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse
from tidelog.v1.data_pb2 import (
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionFetchResult,
)

pytestmark = pytest.mark.real_time

MIB = 1 << 20
TIMEOUT_MS = 400
NO_WINDOW = PREFACE + frame(SETTINGS, payload=b"\x00\x04\x00\x00\x00\x00")


class Handler:
    """Answers everything with a megabyte."""

    def __init__(self, unread: NodeResponses) -> None:
        self.asked = 0
        self._unread = unread

    def __getattr__(self, _name: str) -> object:
        return self.metadata

    async def metadata(self, _: MetadataRequest) -> MetadataResponse:
        self.asked += 1
        return MetadataResponse(cluster_id="x" * MIB)

    @counts_responses
    async def fetch(self, _: FetchRequest, call: Call = LOCAL_CALL) -> FetchResponse:
        self.asked += 1
        unread: UnreadResponse = self._unread.fetches.hold(call.connection, MIB)
        call.when_taken(unread.release)
        return FetchResponse(partitions=[PartitionFetchResult(records=bytes(MIB))])


class Node:
    async def status(self, _: NodeStatusRequest) -> NodeStatusResponse:
        return NodeStatusResponse(node_id=1)

    def __getattr__(self, _name: str) -> object:
        return self.status


class Stage:
    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        limits = UnreadLimits(16 * MIB, 8 * MIB, TIMEOUT_MS)
        self.unread = NodeResponses(limits, lambda: int(loop.time() * 1000))
        self.handler = Handler(self.unread)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self.server = GrpcServer(
            listeners=one_listener(f"127.0.0.1:{self.port}"),
            services={"tidelog.v1.Broker": self.handler, "tidelog.v1.Node": Node()},
            on_fatal=self._on_fatal,
            unread=self.unread,
        )

    @staticmethod
    def _on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    async def ask(self, path: str, calls: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection with a window of 0, on which so many calls were made."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(NO_WINDOW)
        for number in range(calls):
            stream = 1 + 2 * number
            writer.write(
                frame(HEADERS, flags=4, stream=stream, payload=call_headers(path.encode()))
                + frame(DATA, flags=1, stream=stream, payload=bytes(5))
            )
        return reader, writer

    async def until_asked(self, calls: int) -> None:
        while self.handler.asked < calls:  # noqa: ASYNC110  # of gRPC's calls
            await asyncio.sleep(0.01)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    one = Stage()
    await one.server.start()
    async with asyncio.timeout(120):
        yield one
    await one.server.stop(grace_s=0)


@pytest.mark.parametrize("path", [methods.FETCH.path, methods.METADATA.path])
async def test_who_reads_nothing_is_hung_up_on_and_its_answers_are_freed(
    stage: Stage, path: str
) -> None:
    reader, writer = await stage.ask(path, calls=1)
    await reader.read()
    writer.close()
    assert stage.handler.asked == 1
    while stage.unread.stats()["unread_response_bytes"]:  # noqa: ASYNC110  # of gRPC's calls
        await asyncio.sleep(0.01)
    assert stage.unread.stats()["unread_response_hang_ups"] == 1


async def test_who_has_not_read_is_refused_before_a_handler_makes_more(stage: Stage) -> None:
    """Two megabytes are what a connection may leave unread of calls that are no fetches."""
    _, writer = await stage.ask(methods.METADATA.path, calls=100)
    await stage.until_asked(2)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{stage.port}") as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            methods.METADATA.path
        )
        assert len(await call(b"")) > MIB, "another connection is answered"
    writer.close()
    assert stage.handler.asked == 3


async def test_who_reads_is_never_hung_up_on(stage: Stage) -> None:
    options = [("grpc.max_receive_message_length", -1)]
    address = f"127.0.0.1:{stage.port}"
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            methods.FETCH.path
        )
        loop = asyncio.get_running_loop()
        until_s = loop.time() + 3 * TIMEOUT_MS / 1000
        while loop.time() < until_s:
            assert len(await call(b"")) > MIB
    while stage.unread.stats()["unread_response_bytes"]:  # noqa: ASYNC110  # as above
        await asyncio.sleep(0.01)
    assert stage.unread.stats()["unread_response_hang_ups"] == 0


async def test_connections_are_found_by_their_peers_and_tell_what_was_taken() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as ours,
    ):
        theirs, (host, port) = server.accept()
        with theirs:
            peer = f"ipv4:{host}:{port}"
            theirs.sendall(bytes(1000))
            ours.recv(1000, socket.MSG_WAITALL)
            async with connections_of([peer, "ipv4:127.0.0.1:1", "unix:/x"]) as found:
                assert list(found) == [peer]
                assert found[peer].traffic().taken_bytes >= 1000
                found[peer].hang_up()
            assert ours.recv(1) == b""
            assert theirs.fileno() >= 0, "the descriptor stays its owner's"


async def test_a_look_at_many_descriptors_lets_others_have_the_loop() -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    with (
        ExitStack() as stack,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        for _ in range(4 * SLICE):
            stack.enter_context(socket.socket())
        ours = stack.enter_context(socket.create_connection(server.getsockname()))
        theirs = stack.enter_context(server.accept()[0])
        assert theirs.fileno() > 4 * SLICE
        others = asyncio.create_task(take_turns())
        async with connections_at({server.getsockname()[1]}) as found:
            assert list(found) == ["ipv4:{}:{}".format(*ours.getsockname())]
        others.cancel()
    assert turns >= 4


def test_looks_on_several_threads_do_not_multiply_each_others_descriptors() -> None:
    threads = 8

    async def look() -> int:
        async with connections_at({1}):
            return descriptors_max()

    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
        for _ in range(100):
            stack.enter_context(socket.create_connection(server.getsockname()))
            stack.enter_context(server.accept()[0])
        before = descriptors_max()
        with ThreadPoolExecutor(threads) as pool:
            sizes = list(pool.map(lambda _: asyncio.run(look()), range(20 * threads)))
    assert max(sizes) <= max(2 * before, 512), "a look holds what it was asked for, and no more"


async def test_connections_of_other_families_are_left_alone() -> None:
    with ExitStack() as stack:
        for pair in (socket.socketpair(), _connected_by_name("\0tidelog-any-name")):
            for one in pair:
                stack.enter_context(one)
        async with connections_at({1}) as found:
            assert found == {}


def _connected_by_name(name: str) -> tuple[socket.socket, ...]:
    server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    client.connect(name)
    return server, client, server.accept()[0]
