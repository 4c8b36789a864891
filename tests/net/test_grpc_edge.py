"""What cannot be read, or names too much, is answered with a code of its own, and not logged."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import grpc
import pytest

from tidelog.core.errors import InvariantError, UnknownTopicOrPartitionError
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.listeners import one_listener
from tidelog.net.request_elements import ELEMENTS_MAX
from tidelog.v1 import methods
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse, MetadataRequest, MetadataResponse
from tidelog.v1.raft_pb2 import RaftExchangeEnd, RaftMessage

pytestmark = pytest.mark.real_time

UNREADABLE = b"\x80"
HEALTH = "/grpc.health.v1.Health"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class Handler:
    """Counts what reaches it."""

    def __init__(self) -> None:
        self.asked = 0
        self.fatal: list[BaseException] = []

    def __getattr__(self, _name: str) -> object:
        return self.metadata

    async def metadata(self, request: MetadataRequest) -> MetadataResponse:
        self.asked += 1
        if request.topics[:1] == ["fail"]:
            raise ValueError("a bug of a handler's")
        if request.topics[:1] == ["break"]:
            raise InvariantError("two leaders")
        if request.topics[:1] == ["refuse"]:
            raise UnknownTopicOrPartitionError("there is no such topic")
        if request.topics[:1] == ["wait"]:
            await asyncio.Event().wait()
        return MetadataResponse(cluster_id="c")

    async def exchange(self, requests: AsyncIterator[RaftMessage]) -> RaftExchangeEnd:
        async for _ in requests:
            self.asked += 1
        return RaftExchangeEnd()

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        async for _ in requests:
            self.asked += 1
            yield FetchResponse()


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
async def channel(handler: Handler) -> AsyncIterator[grpc.aio.Channel]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"

    server = GrpcServer(
        listeners=one_listener(address),
        services={"tidelog.v1.Broker": handler, "tidelog.v1.RaftPeer": handler},
        on_fatal=handler.fatal.append,
    )
    await server.start()
    async with grpc.aio.insecure_channel(address) as channel, asyncio.timeout(120):
        yield channel
    await server.stop(grace_s=0)


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    """How the call ended; of gRPC's calls each type has its own class."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details() or ""


@pytest.mark.parametrize("path", [methods.METADATA.path, f"{HEALTH}/Check", f"{HEALTH}/List"])
async def test_an_unreadable_request_is_refused_by_every_service_without_a_line_in_the_log(
    channel: grpc.aio.Channel, handler: Handler, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    call: Any = channel.unary_unary(path)
    code, details = await refused(call(UNREADABLE))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "the bytes are not a " in details
    assert handler.asked == 0
    assert capfd.readouterr() == ("", "")


async def test_an_unreadable_request_ends_its_stream_after_those_before_were_answered(
    channel: grpc.aio.Channel, handler: Handler, capfd: pytest.CaptureFixture[str]
) -> None:
    call: Any = channel.stream_stream(methods.FETCH_STREAM.path)()  # of bytes both ways
    await call.write(b"")
    assert await call.read() == b""
    await call.write(UNREADABLE)
    code, _ = await refused(call.read())
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert handler.asked == 1
    assert capfd.readouterr() == ("", "")


async def test_reflection_and_watches_go_through_the_same_edge(channel: grpc.aio.Channel) -> None:
    call: Any = channel.stream_stream(REFLECTION)()
    await call.write(UNREADABLE)
    assert (await refused(call.read()))[0] is grpc.StatusCode.INVALID_ARGUMENT
    watch: Any = channel.unary_stream(f"{HEALTH}/Watch")
    assert (await refused(watch(UNREADABLE).read()))[0] is grpc.StatusCode.INVALID_ARGUMENT
    good = watch(b"")
    assert await good.read() is not grpc.aio.EOF
    good.cancel()


async def test_what_a_service_does_not_do_it_says(channel: grpc.aio.Channel) -> None:
    call: Any = channel.unary_unary(f"{HEALTH}/List")
    code, details = await refused(call(b""))
    assert code is grpc.StatusCode.UNIMPLEMENTED
    assert "Error" not in details


async def test_a_request_of_too_many_elements_is_refused_before_its_handler_sees_it(
    channel: grpc.aio.Channel, handler: Handler
) -> None:
    call: Any = channel.unary_unary(methods.METADATA.path)
    code, details = await refused(call(b"\x0a\x00" * (ELEMENTS_MAX + 1)))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(ELEMENTS_MAX) in details
    assert handler.asked == 0
    assert await call(b"\x0a\x00" * ELEMENTS_MAX)
    assert handler.asked == 1


async def test_what_a_handler_did_not_expect_is_logged_and_its_outcome_unknown(
    channel: grpc.aio.Channel,
) -> None:
    call: Any = channel.unary_unary(methods.METADATA.path)
    request = MetadataRequest(topics=["fail"]).SerializeToString()
    code, details = await refused(call(request))
    assert code is grpc.StatusCode.INTERNAL
    assert "outcome unknown" in details


async def test_a_broken_invariant_ends_the_node_and_no_other_error_does(
    channel: grpc.aio.Channel, handler: Handler
) -> None:
    call: Any = channel.unary_unary(methods.METADATA.path)
    for topic, ended in [("fail", []), ("break", [InvariantError])]:
        code, _ = await refused(call(MetadataRequest(topics=[topic]).SerializeToString()))
        assert code is grpc.StatusCode.INTERNAL
        assert [type(error) for error in handler.fatal] == ended


@pytest.mark.parametrize(
    "path",
    [
        methods.METADATA.path,
        methods.FETCH_STREAM.path,
        methods.RAFT_EXCHANGE.path,
        f"{HEALTH}/Watch",
    ],
    ids=["unary", "streams", "stream of requests", "stream of responses"],
)
async def test_no_message_comes_before_the_status_of_a_refused_call(
    channel: grpc.aio.Channel, path: str
) -> None:
    """A caller that reads a stream took an empty message for its answer."""
    call: Any = channel.stream_stream(path)()
    await call.write(UNREADABLE)
    await call.done_writing()
    code, _ = await refused(call.read())
    assert code is grpc.StatusCode.INVALID_ARGUMENT


@contextmanager
def left_to_a_collection() -> Iterator[list[str]]:
    """Functions of the edge whose frames only a full collection of the garbage frees."""
    left: list[str] = []
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left += [
            frame.f_code.co_qualname
            for frame in gc.garbage
            if isinstance(frame, FrameType) and frame.f_code.co_filename.endswith("grpc_edge.py")
        ]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize(
    "request_",
    [
        UNREADABLE,
        b"\x0a\x00" * (ELEMENTS_MAX + 1),
        *(
            MetadataRequest(topics=[topic]).SerializeToString()
            for topic in ("ok", "refuse", "fail", "break", "wait")
        ),
    ],
    ids=["unreadable", "too many", "ok", "refused", "failed", "broken", "caller gone"],
)
async def test_no_call_however_it_ends_leaves_its_request_to_a_collection(
    channel: grpc.aio.Channel, request_: bytes
) -> None:
    """A node collects rarely (decision 0033): until then each refused call kept its request."""
    single: Any = channel.unary_unary(methods.METADATA.path)
    stream: Any = channel.stream_stream(methods.FETCH_STREAM.path)
    tasks = len(asyncio.all_tasks())
    with left_to_a_collection() as left:
        for _ in range(3):
            with suppress(grpc.aio.AioRpcError):
                await single(request_, timeout=0.5)
            call = stream()
            with suppress(grpc.aio.AioRpcError):
                await call.write(request_)
                await call.read()
            call.cancel()
        while len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110  # of the server
            await asyncio.sleep(0.01)
    assert not left
