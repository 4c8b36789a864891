"""Kafka's protocol on real sockets: bytes both ways, and clients that do not behave."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.broker.kafka.kafka_frames import FETCH, METADATA, PRODUCE, answers_in, frame
from tests.broker.kafka.memory_streams import Answered, by_api, echo, server

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import Handler
from tidelog.broker.kafka.server import KafkaServer, KafkaTimes
from tidelog.net import tcp_server
from tidelog.net.byte_streams import ByteStream
from tidelog.net.call import Call
from tidelog.net.listeners import KAFKA, Listener, PortTakenError
from tidelog.net.peer_names import peer_name
from tidelog.net.tcp_server import ACCEPT_PAUSE_S, ACCEPTS_PER_TURN, TcpServer

pytestmark = pytest.mark.real_time

MIB = 1 << 20
POLL_S = 0.005
HOST = "127.0.0.1"


def free_address(host: str = HOST) -> str:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port = int(probe.getsockname()[1])
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def at(address: str) -> Listener:
    return Listener("KAFKA", bind=address, advertised=address, protocol=KAFKA)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class Node:
    """A listener, the server behind it, and plain sockets of clients."""

    def __init__(self, of: KafkaServer) -> None:
        self.of = of
        self.listener = at(free_address())
        self.tcp = TcpServer(self.listener, of.acceptor(self.listener))

    async def connect(self) -> Socket:
        reader, writer = await asyncio.open_connection(HOST, self.listener.port)
        return Socket(reader, writer)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not is_so():  # noqa: ASYNC110  # of a server that knows no test
                await asyncio.sleep(POLL_S)


class Socket:
    """A client's end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, bytes]:
        size = await self.reader.readexactly(4)
        return answers_in(size + await self.reader.readexactly(int.from_bytes(size, "big")))[0]

    async def is_closed(self) -> bool:
        """Wait for the end."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.writer.close()


@pytest.fixture
async def nodes() -> AsyncIterator[Callable[..., Node]]:
    made: list[Node] = []

    def make(handler: Handler = echo, times: KafkaTimes | None = None) -> Node:
        made.append(Node(server(handler, times=times)))
        return made[-1]

    yield make
    for node in made:
        node.tcp.stop()
        await node.of.stop(grace_s=0)


async def test_bytes_come_back_as_they_were_sent(nodes: Callable[..., Node]) -> None:
    node = nodes()
    await node.tcp.start()
    client = await node.connect()
    bodies = [b"", b"x" * 100, os.urandom(5 * MIB), b"y" * 4096, os.urandom(100_000)]
    for number, body in enumerate(bodies):
        client.send(frame(PRODUCE, number, body))
    for number, body in enumerate(bodies):
        assert await client.answer() == (number, body)
    client.close()
    await node.until(lambda: node.of.stats()["kafka_connections"] == 0)


async def test_many_buffers_are_sent_in_order_to_a_slow_reader(nodes: Callable[..., Node]) -> None:
    pieces = [os.urandom(size) for size in (1, 10, 100_000, 7) * 60]

    async def handle(_request: Request, _call: Call) -> Answered:
        return pieces

    node = nodes(handle)
    await node.tcp.start()
    client = await node.connect()
    client.send(frame(FETCH, 1) + frame(FETCH, 2))
    await node.until(lambda: by_api(node.of.traffic)["kafka_requests"] == {"Fetch": 1})
    for number in (1, 2):
        assert await client.answer() == (number, b"".join(pieces))
    client.close()


async def test_a_reader_that_never_reads_holds_one_answer_and_is_hung_up_on(
    nodes: Callable[..., Node],
) -> None:
    asked = 0

    async def handle(_request: Request, _call: Call) -> Answered:
        nonlocal asked
        asked += 1
        return [bytes(16 * MIB)]

    node = nodes(handle, KafkaTimes(unsent_ms=1_500))
    await node.tcp.start()
    stubborn, other = await node.connect(), await node.connect()
    reading = stubborn.writer.transport
    assert isinstance(reading, asyncio.ReadTransport)
    reading.pause_reading()
    stubborn.send(b"".join(frame(FETCH, number) for number in range(50)))
    await node.until(lambda: asked == 1)
    other.send(frame(FETCH, 1))
    assert (await other.answer())[0] == 1
    assert asked == 2
    await node.until(lambda: node.of.traffic.hang_ups == 1)
    assert node.of.stats()["kafka_connections"] == 1
    stubborn.close()
    other.close()


async def test_cut_frames_and_other_protocols_leave_nothing(nodes: Callable[..., Node]) -> None:
    node = nodes()
    await node.tcp.start()
    before = descriptors()
    whole = frame(METADATA, 1, bytes(20_000))
    for cut in (1, 3, 4, 5, 12, 4096, 5000, len(whole) - 1):
        client = await node.connect()
        client.send(whole[:cut])
        await client.writer.drain()
        client.close()
    for first in (b"\xff" * 8, b"\x7f\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"):
        client = await node.connect()
        client.send(first)
        assert await client.is_closed()
        client.close()
    await node.until(lambda: node.of.stats()["kafka_connections"] == 0)
    await node.until(lambda: descriptors() <= before)
    assert node.of.stats()["kafka_queued_request_bytes"] == 0


async def test_a_reset_ends_a_connection(nodes: Callable[..., Node]) -> None:
    node = nodes()
    await node.tcp.start()
    client = await node.connect()
    sock: socket.socket = client.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    await node.until(lambda: node.of.stats()["kafka_connections"] == 1)
    client.close()
    await node.until(lambda: node.of.stats()["kafka_connections"] == 0)


async def test_hundreds_at_once_are_served_beside_as_many_half_open_ones(
    nodes: Callable[..., Node],
) -> None:
    node = nodes()
    await node.tcp.start()
    half_open = [await node.connect() for _ in range(5 * ACCEPTS_PER_TURN)]
    for client in half_open:
        client.send(b"\0\0\0")

    async def ask(number: int) -> None:
        client = await node.connect()
        client.send(frame(METADATA, number, b"hello"))
        assert await client.answer() == (number, b"hello")
        client.close()

    await asyncio.gather(*(ask(number) for number in range(5 * ACCEPTS_PER_TURN)))
    await node.until(lambda: node.of.stats()["kafka_connections"] == len(half_open))
    for client in half_open:
        client.close()


async def test_of_many_at_once_it_accepts_few_and_rests(
    nodes: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp_server, "ACCEPT_REST_S", 3_600)
    node = nodes()
    await node.tcp.start()
    address = (HOST, node.listener.port)
    waiting = [socket.create_connection(address) for _ in range(3 * ACCEPTS_PER_TURN)]
    await node.until(lambda: node.of.stats()["kafka_connections"] > 0)
    for _ in range(10):
        await asyncio.sleep(0)
    assert node.of.stats()["kafka_connections"] == ACCEPTS_PER_TURN
    for client in waiting:
        client.close()


async def test_a_taken_port_is_named(nodes: Callable[..., Node]) -> None:
    node = nodes()
    await node.tcp.start()
    other = TcpServer(node.listener, lambda _: None)
    with pytest.raises(PortTakenError, match=f"cannot listen on {node.listener.bind}"):
        await other.start()
    other.stop()
    node.tcp.stop()
    await other.start()
    other.stop()


async def test_a_refused_connection_is_closed_at_once() -> None:
    listener = at(free_address())
    tcp = TcpServer(listener, lambda _: None)
    await tcp.start()
    reader, writer = await asyncio.open_connection(HOST, listener.port)
    assert await Socket(reader, writer).is_closed()
    writer.close()
    tcp.stop()


@pytest.mark.parametrize("bound", ["::1", "::", "0.0.0.0"])
async def test_any_kind_of_address_is_bound_and_its_peers_are_named(bound: str) -> None:
    seen: list[ByteStream] = []
    listener = at(free_address(bound))
    tcp = TcpServer(listener, seen.append)
    await tcp.start()
    callers = {"::1": ["::1"], "::": ["::1", HOST], "0.0.0.0": [HOST]}[bound]
    for host in callers:
        reader, writer = await asyncio.open_connection(host, listener.port)
        name = writer.get_extra_info("sockname")
        assert await Socket(reader, writer).is_closed()
        writer.close()
        assert seen[-1].host == host
        assert seen[-1].peer == peer_name(name[0], name[1])
    tcp.stop()


async def test_without_descriptors_it_pauses_and_then_accepts(
    nodes: Callable[..., Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = nodes()
    await node.tcp.start()
    loop, failures = asyncio.get_running_loop(), 0
    until_s = loop.time() + ACCEPT_PAUSE_S / 2
    accept = socket.socket.accept

    def failing(sock: socket.socket) -> object:
        nonlocal failures
        if failures == 0 or loop.time() < until_s:
            failures += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(sock)

    monkeypatch.setattr(socket.socket, "accept", failing)
    client = await node.connect()
    client.send(frame(METADATA, 1, b"x"))
    assert await client.answer() == (1, b"x")
    assert failures == 1, "it does not try again and again meanwhile"
    client.close()
