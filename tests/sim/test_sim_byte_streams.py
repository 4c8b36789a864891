"""Kafka's protocol over the simulated network: the connection code of real nodes, and faults."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from struct import unpack_from
from typing import Any

import pytest
from tests.broker.kafka.kafka_frames import FETCH, METADATA, PRODUCE, frame
from tests.broker.kafka.memory_streams import LISTENER, Answered, server

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import Handler
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import UnreachableError
from tidelog.net.byte_streams import ByteStream
from tidelog.net.call import Call
from tidelog.net.listeners import CLIENT, KAFKA, Listener, one_listener
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.simulation.engine.byte_streams import WINDOW_BYTES, SimDialer
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

pytestmark = pytest.mark.sim

ADDRESS = "server:9"


class Caller:
    """A client: sends what it is given, and collects answers as they come."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read_bytes = bytearray()
        self.end = asyncio.get_running_loop().create_future()
        self.stream: ByteStream | None = None
        self._space = memoryview(bytearray(1 << 16))

    def __call__(self, stream: ByteStream) -> Caller:
        self.stream = stream
        return self

    def space(self) -> memoryview:
        return self._space

    def received(self, count: int) -> None:
        self.read_bytes += self._space[:count]

    def outgoing(self) -> Sequence[bytes]:
        return [self.data] if self.data else []

    def sent(self, count: int) -> None:
        self.data = self.data[count:]

    def ended(self) -> None:
        self.end.set_result(None)

    async def answers(self, count: int) -> list[tuple[int, int]]:
        """Correlation id and size of so many answers."""
        while True:
            found, at = [], 0
            while at + 4 <= len(self.read_bytes):
                size, correlation_id = unpack_from(">ii", self.read_bytes, at)
                at += 4 + size
                if at <= len(self.read_bytes):
                    found.append((correlation_id, size - 4))
            if len(found) >= count:
                return found
            await asyncio.sleep(0.01)


class Net:
    """A server and a client, as in `test_sim_network`."""

    def __init__(self, handler: Handler) -> None:
        self.trace: list[str] = []
        self.scheduler = Scheduler(
            trace=Trace(sink=self.trace.append), limits=SchedulerLimits(virtual_s=1000)
        )
        self.network = SimNetwork(scheduler=self.scheduler, random=SeededRandom(1))
        self.client = self._add("client:1")
        self.server = self._add(ADDRESS)
        self.kafka = server(handler)
        self.server.services = {}
        self.server.acceptors = {ADDRESS: self.kafka.acceptor(LISTENER)}
        self.dialer = SimDialer(network=self.network, host=self.client)

    def _add(self, address: str) -> Host:
        name = address.partition(":")[0]
        host = Host(name=name, loop=self.scheduler.new_loop(name), address=address)
        self.network.attach(host)
        return host

    async def connect(self, data: bytes) -> Caller:
        caller = Caller(data)
        await self.dialer.connect(ADDRESS, caller)
        return caller

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.scheduler.run(self.client.loop, work)


async def echo(request: Request, _call: Call) -> Answered:
    await asyncio.sleep(0.05 if request.header.api_key == FETCH else 0)
    return [bytes(request.body)]


REQUESTS = [(METADATA, 10), (PRODUCE, 3 * WINDOW_BYTES), (PRODUCE, 0), (FETCH, 5000), (METADATA, 1)]


def bytes_of(requests: list[tuple[int, int]]) -> bytes:
    return b"".join(frame(key, number, bytes(size)) for number, (key, size) in enumerate(requests))


def test_requests_and_answers_cross_the_network_in_order() -> None:
    net = Net(echo)

    async def story() -> None:
        caller = await net.connect(bytes_of(REQUESTS))
        sizes = [size for _, size in REQUESTS]
        assert await caller.answers(len(sizes)) == list(enumerate(sizes))
        assert not caller.end.done()
        assert caller.stream is not None
        caller.stream.close()

    net.run(story())
    assert net.kafka.stats()["kafka_queued_request_bytes"] == 0


def test_the_same_story_has_the_same_trace() -> None:
    def trace() -> list[str]:
        net = Net(echo)

        async def story() -> None:
            await (await net.connect(bytes_of(REQUESTS))).answers(len(REQUESTS))

        net.run(story())
        return net.trace

    assert trace() == trace()


def test_an_answer_beyond_the_window_waits_for_its_reader() -> None:
    async def handle(_request: Request, _call: Call) -> Answered:
        return [bytes(4 * WINDOW_BYTES)]

    net = Net(handle)

    async def story() -> None:
        caller = await net.connect(b"")
        assert caller.stream is not None
        caller.stream.set_reading(is_reading=False)
        caller.data = frame(FETCH, 1)
        caller.stream.flush()
        await asyncio.sleep(5)
        assert caller.read_bytes == b""
        caller.stream.set_reading(is_reading=True)
        assert await caller.answers(1) == [(1, 4 * WINDOW_BYTES)]

    net.run(story())


def test_a_crash_and_a_cut_end_the_connection() -> None:
    net = Net(echo)

    async def story() -> None:
        caller = await net.connect(frame(METADATA, 1))
        await caller.answers(1)
        other = await net.connect(frame(METADATA, 1))
        await other.answers(1)
        net.network.cut("client", "server")
        assert other.stream is not None
        other.data = frame(METADATA, 2)
        other.stream.flush()
        await asyncio.sleep(1)
        assert not other.end.done(), "nobody knows yet"
        net.network.heal("client", "server")
        await other.end
        net.network.crash(net.server)
        net.server.loop.kill()
        await caller.end
        with pytest.raises(UnreachableError, match="refuses"):
            await net.connect(b"")

    net.run(story())


def test_what_is_no_request_ends_the_connection() -> None:
    net = Net(echo)

    async def story() -> None:
        caller = await net.connect(frame(METADATA, 1) + b"GET / HTTP/1.1\r\n\r\n")
        await caller.end
        assert await caller.answers(1) == [(1, 0)]

    net.run(story())


def two(name: str) -> tuple[Listener, ...]:
    address = f"{name}:9092"
    of_kafka = Listener("KAFKA", address, address, protocol=KAFKA, services=frozenset({CLIENT}))
    return (*one_listener(f"{name}:9192"), of_kafka)


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    made = SimCluster(seed=1, config=SimClusterConfig(listeners=two))
    yield made
    made.close()


def test_whole_nodes_listen_where_their_configuration_says(cluster: SimCluster) -> None:
    async def story() -> None:
        dialer = cluster.client.dialer
        while True:
            try:
                caller = Caller(frame(METADATA, 1))
                await dialer.connect("node-1:9092", caller)
                break
            except UnreachableError:
                await asyncio.sleep(1)
        await caller.end
        with pytest.raises(UnreachableError):
            await dialer.connect("node-1:9192", caller)

    cluster.run(story())
