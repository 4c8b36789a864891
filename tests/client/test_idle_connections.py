"""Idle connections are closed and opened again; nothing in flight is lost with one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from random import Random
from typing import Any

import pytest
from tests.client.consumer_cases import consumer, filled, take
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, start_all

from tidelog.client import Producer
from tidelog.net.grpc_connections import connections_at
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.idle_timer import IdleTimer
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import quiet_ports
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse, MetadataRequest, MetadataResponse
from tidelog.v1.methods import FETCH_STREAM, METADATA

IDLE_MS = 1_000
IDLE_S = IDLE_MS / 1000
SOCKET_IDLE_MS = 300


class WatchedCluster(RealCluster):
    """Remembers every stream that a client opens."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Any] = []

    async def open_stream(self, address: str, method: Any) -> Any:
        stream = await super().open_stream(address, method)
        self.opened.append(stream._stream)
        return stream

    @property
    def open_streams(self) -> int:
        """The number of streams that a broker serves for clients."""
        return sum(stream._end is None for stream in self.opened)


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"connections_max_idle_ms": IDLE_MS, "retry_backoff_ms": 1, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def test_a_producers_idle_stream_is_closed_and_the_next_record_opens_another() -> None:
    cluster = await start_all(WatchedCluster())
    await cluster.create("t")
    async with producer(cluster) as p:
        await p.send("t", b"1")
        await asyncio.sleep(IDLE_S / 2)
        await p.send("t", b"2")
        assert len(cluster.opened) == 1
        await asyncio.sleep(0.9 * IDLE_S)
        assert cluster.open_streams == 1
        await asyncio.sleep(0.2 * IDLE_S)
        assert cluster.open_streams == 0
        assert (await p.send("t", b"3")).offset == 2
        assert len(cluster.opened) == 2
    assert cluster.values("t") == [[b"1", b"2", b"3"]]


@pytest.mark.parametrize("acks", ["all", 1])
async def test_pauses_around_the_idle_time_lose_and_repeat_nothing(acks: Any) -> None:
    """Without idempotence a request that a closing stream took with it would be stored twice."""
    cluster = await start_all(WatchedCluster())
    await cluster.create("t", partitions=3)
    random, sent = Random(1), [list[bytes](), list[bytes](), list[bytes]()]
    async with producer(cluster, acks=acks, enable_idempotence=False, batch_size=200) as p:
        futures = []
        for number in range(300):
            value, partition = b"%03d" % number, random.randrange(3)
            sent[partition].append(value)
            futures.append(await p.submit("t", value, partition=partition))
            if number % 10 == 9:
                # Turns of the loop around the moment at which the stream is idle for too long.
                await futures[-1]
                await asyncio.sleep(IDLE_S + random.uniform(-1e-4, 1e-4))
        await asyncio.gather(*futures)
    assert len(cluster.opened) > 30
    assert cluster.values("t") == sent


async def test_a_request_that_takes_longer_than_the_idle_time_keeps_its_stream() -> None:
    cluster = await start_all(WatchedCluster())
    await cluster.create("t")
    async with producer(cluster, request_timeout_ms=60_000) as p:
        await p.send("t", b"1")
        gate = cluster.gates[ADDRESSES[1]] = asyncio.Event()
        sending = asyncio.create_task(p.send("t", b"2"))
        await asyncio.sleep(2.5 * IDLE_S)
        assert not sending.done()
        gate.set()
        await sending
        assert len(cluster.opened) == 1
        assert len(cluster.requests("Produce")) == 2
        await asyncio.sleep(1.1 * IDLE_S)
        assert cluster.open_streams == 0


async def test_long_polls_keep_a_consumers_stream_and_a_pause_ends_it() -> None:
    cluster = await start_all(WatchedCluster())
    topic = await filled(cluster, batches=1)
    async with consumer(cluster, connections_max_idle_ms=IDLE_MS, fetch_max_wait_ms=400) as c:
        c.assign([("t", 0)])
        await take(c, 5)
        assert cluster.open_streams == 1
        assert await c.getmany(timeout_ms=5 * IDLE_MS) == []
        assert (cluster.open_streams, len(cluster.opened)) == (1, 1)
        c.pause(("t", 0))
        await asyncio.sleep(2 * IDLE_S)
        assert cluster.open_streams == 0
        await topic.partitions[0].append(topic.partitions[0].batches[0])
        c.resume(("t", 0))
        assert [record.offset for record in await take(c, 5)] == [5, 6, 7, 8, 9]
        assert (cluster.open_streams, len(cluster.opened)) == (1, 2)


async def test_an_idle_timer_runs_only_while_nothing_is_in_flight() -> None:
    loop = asyncio.get_running_loop()
    is_busy, expired = True, list[float]()
    timer = IdleTimer(IDLE_MS, is_busy=lambda: is_busy, expire=lambda: expired.append(loop.time()))
    await asyncio.sleep(3 * IDLE_S)
    assert not expired
    is_busy, began_s = False, loop.time()
    timer.touch()
    await asyncio.sleep(3 * IDLE_S)
    assert [round(at - began_s, 2) for at in expired] == [IDLE_S]
    timer.touch()
    timer.stop()
    timer.touch()
    await asyncio.sleep(3 * IDLE_S)
    assert len(expired) == 1


class Topics:
    """Answers Metadata, and nothing on a stream."""

    def __getattr__(self, _name: str) -> object:
        async def other(_request: object) -> object:
            raise AssertionError("not asked here")

        return other

    async def metadata(self, _request: MetadataRequest) -> MetadataResponse:
        return MetadataResponse()

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        async for _ in requests:
            yield FetchResponse()


class Stage:
    """A server, a transport to it, and what the kernel knows of the connections between them."""

    def __init__(self) -> None:
        (self.port,) = quiet_ports(1)
        self.address = f"127.0.0.1:{self.port}"
        self.transport = GrpcTransport(client_id="idler", max_idle_ms=SOCKET_IDLE_MS)
        self.server = GrpcServer(
            listeners=one_listener(self.address),
            services={"tidelog.v1.Broker": Topics()},
            on_fatal=lambda error: None,
        )

    async def call(self) -> None:
        await self.transport.call(self.address, METADATA, MetadataRequest(), timeout_ms=30_000)

    async def is_connected(self) -> bool:
        async with connections_at([self.port]) as found:
            return bool(found)

    async def disconnected(self) -> None:
        while await self.is_connected():  # noqa: ASYNC110  # of the kernel
            await asyncio.sleep(0.02)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    await stage.server.start()
    async with asyncio.timeout(60):
        yield stage
        await stage.transport.close()
    await stage.server.stop(grace_s=0)


@pytest.mark.real_time
async def test_an_idle_socket_is_closed_and_opened_again(stage: Stage) -> None:
    for _ in range(3):
        await stage.call()
        assert await stage.is_connected()
        await stage.disconnected()


@pytest.mark.real_time
async def test_a_stream_keeps_its_socket_until_it_is_closed(stage: Stage) -> None:
    stream = await stage.transport.open_stream(stage.address, FETCH_STREAM)
    await stream.send(FetchRequest())
    await stream.receive()
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + 3 * SOCKET_IDLE_MS / 1000
    while loop.time() < ends_s:
        await asyncio.sleep(0.02)
        assert await stage.is_connected()
    await stream.send(FetchRequest())
    await stream.receive()
    stream.close()
    await stage.disconnected()
