"""Each toxic does on a real connection what its file says, and a healed one does it no more."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.chaos.fault_cluster_port import FakeSocketPort

from tidelog.chaos.faults.fault import Fault, lasting
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxics import (
    Bandwidth,
    Latency,
    LimitData,
    LinkDown,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
)
from tidelog.chaos.sockets.proxies import ToxiproxyProxies
from tidelog.chaos.sockets.toxiproxy import Toxiproxy
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.topology import CLIENTS, Link
from tidelog.net.quiet_ports import HOST, quiet_ports

pytestmark = pytest.mark.chaos
LINK = Link(CLIENTS, 4, "broker")
ASKED, ANSWERED = Reach(((CLIENTS, 4),)), Reach(((4, CLIENTS),))
WORD = b"a word of a client"
ANSWER_S_MAX = 10.0
SILENCE_S, POLL_S = 0.3, 0.02


class Echo:
    """Answers what it is told, with the same."""

    def __init__(self) -> None:
        self.heard = b""
        self.pieces = 0
        self.is_ended = asyncio.Event()
        """Some connection was closed by the other side."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                self.heard += data
                self.pieces += 1
                writer.write(data)
                await writer.drain()
        self.is_ended.set()
        writer.close()

    async def has_heard(self, data: bytes) -> bool:
        """Whether this came, and no more; the client may be ahead of it."""
        async with asyncio.timeout(ANSWER_S_MAX):
            while len(self.heard) < len(data):  # noqa: ASYNC110 (of several connections)
                await asyncio.sleep(POLL_S)
        return self.heard == data


class Client:
    """A connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self, length: int) -> bytes:
        async with asyncio.timeout(ANSWER_S_MAX):
            return await self.reader.readexactly(length)

    async def hears_nothing(self) -> bool:
        """For some time, though the connection is there."""
        try:
            async with asyncio.timeout(SILENCE_S):
                await self.reader.read(1)
        except TimeoutError:
            return True
        return False

    async def end(self) -> bytes:
        """What comes before the connection ends. Errors: `ConnectionResetError`."""
        async with asyncio.timeout(ANSWER_S_MAX):
            return await self.reader.read()


class Line:
    """An echo behind a proxy."""

    def __init__(self, echo: Echo, port: int, run: ScenarioRun) -> None:
        self.echo, self.port, self.run = echo, port, run
        self._clients: list[Client] = []

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(HOST, self.port))
        self._clients.append(client)
        return client

    async def is_well(self) -> bool:
        """Whether a new connection is answered at once."""
        client = await self.connect()
        await client.say(WORD)
        return await client.hear(len(WORD)) == WORD

    def close(self) -> None:
        for client in self._clients:
            client.writer.close()


@pytest.fixture
async def line(tmp_path: Path) -> AsyncIterator[Line]:
    echo, (port, listen) = Echo(), quiet_ports(2)
    cluster = FakeSocketPort()
    async with await asyncio.start_server(echo.serve, HOST, port):
        server = await Toxiproxy.start(tmp_path, {})
        try:
            await server.populate([(LINK.name, f"{HOST}:{listen}", f"{HOST}:{port}")])
            cluster.proxies = ToxiproxyProxies(server, [LINK])  # type: ignore[assignment]
            line = Line(echo, listen, ScenarioRun(cluster))
            yield line
            line.close()
        finally:
            server.child.send(signal.SIGKILL)
            assert await server.child.wait_ended(within_s=ANSWER_S_MAX)


async def _took_s(client: Client, data: bytes) -> float:
    began_s = asyncio.get_running_loop().time()
    await client.say(data)
    assert await client.hear(len(data)) == data
    return asyncio.get_running_loop().time() - began_s


async def test_latency_delays_what_is_said_and_passes_it(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, Latency(ASKED, latency_ms=200)):
        assert await _took_s(client, WORD) >= 0.2

    assert await line.is_well()


async def test_bandwidth_is_of_each_connection(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, Bandwidth(ASKED, kilobytes_per_s=10)):
        assert await _took_s(client, bytes(4000)) >= 0.3

    assert await line.is_well()


async def test_a_slowly_closed_connection_is_half_open(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, SlowClose(ASKED, delay_ms=60_000)):
        await client.say(WORD)
        assert await client.hear(len(WORD)) == WORD
        client.writer.close()
        await client.writer.wait_closed()
        await asyncio.sleep(SILENCE_S)
        assert not line.echo.is_ended.is_set()

    async with asyncio.timeout(ANSWER_S_MAX):
        await line.echo.is_ended.wait()
    assert await line.is_well()


async def test_a_blackhole_swallows_requests_and_accepts_connections(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, Timeout(ASKED)):
        newer = await line.connect()
        for one in (client, newer):
            await one.say(WORD)
            assert await one.hears_nothing()
        assert line.echo.heard == b""

    assert await client.end() == b""  # its stream has a hole
    assert await line.is_well()


async def test_a_blackhole_of_answers_lets_requests_pass(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, Timeout(ANSWERED)):
        await client.say(WORD)
        assert await client.hears_nothing()
        assert await line.echo.has_heard(WORD)

    assert await line.is_well()


async def test_a_timeout_closes_a_connection_on_which_nothing_was_said(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, Timeout(ASKED, close_after_ms=100)):
        assert await client.end() == b""


async def test_a_connection_made_meanwhile_is_reset_at_its_first_word(line: Line) -> None:
    old = await line.connect()
    await old.say(WORD)
    await old.hear(len(WORD))

    async with lasting(line.run, ResetPeer(ANSWERED)):
        new = await line.connect()
        await new.say(WORD)
        with pytest.raises(ConnectionResetError):
            await new.end()
        await old.say(WORD)
        with contextlib.suppress(ConnectionResetError):
            assert await old.end() == b""  # what is said is dropped, whatever the end looks like

    assert await line.echo.has_heard(3 * WORD)  # the requests came, their answers were lost
    assert await line.is_well()


async def test_a_slicer_loses_nothing(line: Line) -> None:
    client = await line.connect()
    data = bytes(range(256)) * 4

    async with lasting(line.run, Slicer(ASKED, 64, 8, delay_us=2000)):
        await client.say(data)
        assert await client.hear(len(data)) == data

    assert line.echo.pieces > 4


async def test_a_connection_ends_after_so_many_bytes_each_time(line: Line) -> None:
    old = await line.connect()
    await old.say(WORD)
    await old.hear(len(WORD))

    async with lasting(line.run, LimitData(ASKED, limit_bytes=5)):
        for client in (old, await line.connect()):
            line.echo.heard = b""
            line.echo.is_ended.clear()
            with contextlib.suppress(ConnectionError):
                await client.say(WORD)
                await client.end()
            async with asyncio.timeout(ANSWER_S_MAX):
                await line.echo.is_ended.wait()  # the client may see the end first
            assert line.echo.heard == WORD[:5]

    assert await line.is_well()


async def test_a_link_that_is_down_refuses(line: Line) -> None:
    client = await line.connect()

    async with lasting(line.run, LinkDown(ASKED)):
        assert await client.end() == b""
        with pytest.raises(ConnectionRefusedError):
            await line.connect()

    assert await line.is_well()


@pytest.mark.parametrize("fault", [Timeout(ASKED), Slicer(ASKED), LinkDown(ASKED)])
async def test_to_heal_twice_is_to_heal(fault: Fault, line: Line) -> None:
    async with lasting(line.run, fault):
        pass
    await fault.heal(line.run)

    assert await line.is_well()
