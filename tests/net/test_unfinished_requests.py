"""Requests that are begun and not ended: bounded for the node, and in time; no worker is hit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from tidelog.chaos.workloads.half_sent import FRAME_HEAD_BYTES, HalfSent
from tidelog.net.grpc_connections import resident_bytes
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.listeners import one_listener
from tidelog.net.unfinished_requests import (
    NOTED_BYTES_MIN,
    PROGRESS_BYTES_MIN,
    Traffic,
    UnfinishedLimits,
    UnfinishedRequests,
)
from tidelog.v1 import methods
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse

pytestmark = pytest.mark.real_time

MIB = 1 << 20
TIMEOUT_MS = 1_000
LIMITS = UnfinishedLimits(bytes_max=20 * MIB, timeout_ms=TIMEOUT_MS)


class Node:
    """Connections and what they sent, looked at every quarter of the time-out."""

    def __init__(self) -> None:
        self.requests = UnfinishedRequests(LIMITS)
        self._received: dict[str, int] = {}
        self._now_ms = 0

    def receive(self, connection: str, size_bytes: int) -> None:
        self._received[connection] = self._received.get(connection, 0) + size_bytes

    def look(self) -> list[str]:
        self._now_ms += TIMEOUT_MS // 4
        traffic = {one: Traffic(0, size) for one, size in self._received.items()}
        return self.requests.look(traffic, self._now_ms)


def test_who_holds_most_goes_while_all_hold_too_much() -> None:
    node = Node()
    for connection, size in (("a", 10), ("b", 14), ("c", 5)):
        node.receive(connection, size * MIB)
    assert node.look() == [], "seen for the first time, perhaps on its way to the loop"
    assert node.look() == ["b"]
    assert node.requests.size_bytes == 29 * MIB
    assert node.requests.hang_ups == 1


def test_what_became_requests_is_held_by_nobody() -> None:
    node = Node()
    for _ in range(100):
        node.receive("a", 30 * MIB + 100)
        node.requests.note_finished("a", 30 * MIB)
        assert node.look() == []
    assert node.requests.size_bytes <= 100


def test_a_connection_made_while_others_were_looked_for_is_left_alone() -> None:
    node = Node()
    node.requests.note_finished("new", 10 * MIB)
    assert node.look() == [], "not among those that were found"
    node.receive("new", 10 * MIB)
    for _ in range(10):
        assert node.look() == []
    assert node.requests.size_bytes <= 100


def test_a_connection_that_is_gone_leaves_nothing_to_the_next_of_its_name() -> None:
    node = Node()
    node.requests.note_finished("a", 10 * MIB)
    node.look()
    node.look()
    node.receive("a", 2 * MIB)
    assert [node.look() for _ in range(6)][-1] == ["a"]


def test_headers_and_frames_never_add_up_to_a_request() -> None:
    node = Node()
    for _ in range(300):
        for _ in range(1_000):
            node.receive("a", 300)
            node.requests.note_finished("a", 50)
        assert node.look() == []
    node.receive("a", 25 * MIB)
    node.look()
    assert node.look() == ["a"], "and hide none"


def test_news_of_windows_are_no_requests() -> None:
    requests, traffic = UnfinishedRequests(LIMITS), Traffic(0, 0)
    for step in range(100):
        traffic = Traffic(step << 30, (step << 30) // 8192 * 26)
        assert requests.look({"a": traffic}, step * TIMEOUT_MS) == []


def test_who_stops_in_the_middle_of_a_request_is_hung_up_on_in_time() -> None:
    node = Node()
    node.receive("a", 2 * MIB)
    ended = [node.look() for _ in range(6)]
    assert ended == [[], [], [], [], [], ["a"]]


def test_a_slow_sender_is_left_alone_while_there_is_room() -> None:
    node = Node()
    node.receive("a", 2 * MIB)
    for _ in range(200):
        node.receive("a", PROGRESS_BYTES_MIN // 4 + 1)
        assert node.look() == []


def test_a_sender_of_many_requests_is_left_alone_whatever_is_on_its_way() -> None:
    node = Node()
    for connection in map(str, range(30)):
        node.receive(connection, 2 * MIB)
    for _ in range(50):
        for connection in map(str, range(30)):
            node.receive(connection, 3 * MIB)
            node.requests.note_finished(connection, 3 * MIB)
        assert node.look() == []


def test_a_little_of_many_is_no_matter() -> None:
    node = Node()
    for connection in map(str, range(100)):
        node.receive(connection, NOTED_BYTES_MIN - 1)
    for _ in range(20):
        assert node.look() == []


class Handler:
    def __getattr__(self, _name: str) -> object:
        return self.produce

    async def produce(self, _: ProduceRequest) -> ProduceResponse:
        return ProduceResponse()

    async def produce_stream(
        self, requests: AsyncIterator[ProduceRequest]
    ) -> AsyncGenerator[ProduceAnswers, None]:
        async for _ in requests:
            yield ProduceAnswers()


@pytest.fixture
async def served() -> AsyncIterator[tuple[int, UnfinishedRequests]]:
    requests = UnfinishedRequests(UnfinishedLimits(bytes_max=64 * MIB, timeout_ms=TIMEOUT_MS))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = GrpcServer(
        listeners=one_listener(f"127.0.0.1:{port}"),
        services={"tidelog.v1.Broker": Handler()},
        on_fatal=on_fatal,
        unfinished=requests,
    )
    await server.start()
    yield port, requests
    await server.stop(grace_s=0)


async def send(port: int, half: HalfSent) -> int:
    """Send what may be sent until the server hangs up; the most memory that was taken meanwhile."""
    before = peak = resident_bytes()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def hear() -> None:
        while True:
            head = await reader.readexactly(FRAME_HEAD_BYTES)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            writer.write(half.hear(head, payload))

    hearing = asyncio.create_task(hear())
    writer.write(half.begin())
    async with asyncio.timeout(120):
        while not hearing.done():
            for said in half.more():
                writer.write(said)
            peak = max(peak, resident_bytes())
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0.001)
    await asyncio.wait([hearing])
    assert isinstance(hearing.exception(), (asyncio.IncompleteReadError, ConnectionError))
    writer.close()
    return peak - before


@pytest.mark.parametrize("path", [methods.PRODUCE.path, methods.PRODUCE_STREAM.path])
async def test_half_sent_requests_take_bounded_memory_and_end(
    served: tuple[int, UnfinishedRequests], path: str
) -> None:
    port, requests = served
    half = HalfSent(path, calls=120, message_bytes=16 * MIB)
    peak = await send(port, half)
    assert requests.hang_ups == 1
    assert half.sent_bytes > 64 * MIB
    assert peak < 768 * MIB, f"{peak / MIB:.0f} MiB of {half.sent_bytes / MIB:.0f} MiB sent"


async def test_a_request_that_does_not_end_is_ended(
    served: tuple[int, UnfinishedRequests],
) -> None:
    port, requests = served
    half = HalfSent(methods.PRODUCE.path, calls=2, message_bytes=16 * MIB)
    await send(port, half)
    assert half.is_all_sent
    assert requests.hang_ups == 1
