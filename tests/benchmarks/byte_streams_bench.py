"""Ways to move a frame's bytes on asyncio: what each costs the server's processor.

    .venv/bin/python -m tests.benchmarks.byte_streams_bench [--seconds S] [WAY …]

One JSON line for each way and load: microseconds of the server's processor time for each request.
The client is a process of its own. Ways:

    sockets    `net.tcp_server`: `recv_into` the exact frame, `sendmsg` of the buffers
    buffered   asyncio's BufferedProtocol into the same buffers, and `writelines`
    protocol   asyncio's Protocol: received bytes are joined to frames, `write` of a joined answer

Loads: `produce` sends 1 MiB for 50 bytes, `fetch` gets 16 buffers of 64 KiB, of which the kernel
never takes all at once, `small` sends and gets 100 bytes, 16 requests at a time.

And `connections`: what 10,000 half-open connections cost, and 2,000 that are opened at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import Any

from tests.broker.kafka.kafka_frames import FETCH, METADATA, PRODUCE, frame
from tests.broker.kafka.memory_streams import Answered, server

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.connection import Request
from tidelog.core.system import raise_open_files_limit
from tidelog.net.byte_streams import Accept, Receiver
from tidelog.net.call import Call
from tidelog.net.grpc_connections import resident_bytes
from tidelog.net.listeners import KAFKA, Listener
from tidelog.net.tcp_server import TcpServer

HOST = "127.0.0.1"
RECORDS = bytes(64 << 10)
SENDS = {
    "produce": [frame(PRODUCE, 1, bytes(1 << 20))],
    "fetch": [frame(FETCH, 1, bytes(100))],
    "small": [frame(METADATA, number, bytes(80)) for number in range(16)],
}
HALF_OPEN, AT_ONCE = 10_000, 2_000


async def handle(request: Request, _call: Call) -> Answered:
    """Answer as the load wants it."""
    if request.header.api_key == FETCH:
        return [RECORDS] * 16
    return [bytes(42 if request.header.api_key == PRODUCE else 92)]


class BufferedStream(asyncio.BufferedProtocol):
    """A stream on asyncio's transport that receives into the receiver's buffers."""

    def __init__(self, accept: Accept) -> None:
        self.host, self.peer = HOST, "ipv4:127.0.0.1:1"
        self._accept = accept

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        receiver = self._accept(self)
        assert receiver is not None
        self.receiver: Receiver = receiver
        self._is_reading = True

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.receiver.space()

    def buffer_updated(self, nbytes: int) -> None:
        self.receiver.received(nbytes)

    def set_reading(self, *, is_reading: bool) -> None:
        if is_reading != self._is_reading:
            self._is_reading = is_reading
            (self.transport.resume_reading if is_reading else self.transport.pause_reading)()

    def flush(self) -> None:
        while buffers := self.receiver.outgoing():
            self.write(buffers)
            self.receiver.sent(sum(map(len, buffers)))

    def write(self, buffers: Sequence[Any]) -> None:
        self.transport.writelines(buffers)

    def close(self) -> None:
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.receiver.ended()


class ProtocolStream(asyncio.Protocol):
    """The same as most libraries do it: pieces are joined to frames, and answers to one buffer."""

    def __init__(self, accept: Accept) -> None:
        self._inner = BufferedStream(accept)
        self._inner.write = self._write_joined  # type: ignore[method-assign]
        self._data = bytearray()

    def _write_joined(self, buffers: Sequence[Any]) -> None:
        self._inner.transport.write(b"".join(buffers))

    def connection_made(self, transport: Any) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= 4:
            size = 4 + int.from_bytes(self._data[:4], "big")
            if len(self._data) < size:
                return
            whole = bytes(self._data[:size])
            del self._data[:size]
            while whole:
                space = self._inner.receiver.space()
                count = min(len(space), len(whole))
                space[:count] = whole[:count]
                whole = whole[count:]
                self._inner.receiver.received(count)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)


async def serve(way: str, port: int, pipe: Pipe) -> None:
    """Serve until the pipe says to end; answers questions for processor time and memory."""
    config = KafkaConfig(request_bytes_max=4 << 20, connections_max=1 << 20)
    of, loop = server(handle, config=config), asyncio.get_running_loop()
    listener = Listener("KAFKA", f"{HOST}:{port}", f"{HOST}:{port}", protocol=KAFKA)
    accept = of.acceptor(listener)
    if way == "sockets":
        await TcpServer(listener, accept).start()
    else:
        kind: Callable[[Accept], Any] = {"buffered": BufferedStream, "protocol": ProtocolStream}[
            way
        ]
        await loop.create_server(partial(kind, accept), HOST, port)
    pipe.send("ready")
    while True:
        asked = asyncio.Event()
        loop.add_reader(pipe.fileno(), asked.set)
        await asked.wait()
        loop.remove_reader(pipe.fileno())
        if pipe.recv() == "end":
            return
        use = resource.getrusage(resource.RUSAGE_SELF)
        pipe.send((use.ru_utime + use.ru_stime, resident_bytes()))


def run_server(way: str, port: int, pipe: Pipe) -> None:
    """Run `serve` in a process of its own."""
    raise_open_files_limit()
    asyncio.run(serve(way, port, pipe))


class Server:
    """The server's process."""

    def __init__(self, way: str) -> None:
        with socket.create_server((HOST, 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=run_server, args=(way, self.port, other))
        self.process.start()
        self.pipe.recv()

    def use(self) -> tuple[float, int]:
        """Processor seconds and resident bytes."""
        self.pipe.send("use")
        seconds, size_bytes = self.pipe.recv()
        return seconds, size_bytes

    def end(self) -> None:
        self.pipe.send("end")
        self.process.join()


def ask(sock: socket.socket, sends: Sequence[bytes], into: memoryview) -> None:
    """Send requests at once and receive their answers."""
    sock.sendall(b"".join(sends))
    for _ in sends:
        receive(sock, into[:4])
        receive(sock, into[: int.from_bytes(into[:4], "big")])


def receive(sock: socket.socket, into: memoryview) -> None:
    while into:
        count = sock.recv_into(into)
        assert count > 0, "the server hung up"
        into = into[count:]


def measure(way: str, load: str, *, seconds: float) -> dict[str, object]:
    """Processor microseconds of the server for each request."""
    of, sends, into = Server(way), SENDS[load], memoryview(bytearray(2 << 20))
    with socket.create_connection((HOST, of.port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask(sock, sends, into)
        before_s, _ = of.use()
        requests, end_s = 0, time.monotonic() + seconds
        while time.monotonic() < end_s:
            ask(sock, sends, into)
            requests += len(sends)
        after_s, _ = of.use()
    of.end()
    micros = round(1e6 * (after_s - before_s) / requests, 1)
    return {"way": way, "load": load, "requests": requests, "cpu_us_per_request": micros}


def measure_connections() -> dict[str, object]:
    """Memory of half-open connections, and a client's round trips while others open theirs."""
    raise_open_files_limit()
    of, into = Server("sockets"), memoryview(bytearray(1 << 20))
    worker = socket.create_connection((HOST, of.port))
    ask(worker, SENDS["small"][:1], into)
    _, before = of.use()
    half_open = [connected(of.port) for _ in range(HALF_OPEN)]
    for sock in half_open:
        sock.send(b"\0\0")
    ask(worker, SENDS["small"][:1], into)
    _, after = of.use()
    calm_ms = [trip_ms(worker, into) for _ in range(2_000)]
    opener = multiprocessing.Process(target=open_at_once, args=(of.port,))
    opener.start()
    stormy_ms = []
    while opener.is_alive():
        stormy_ms.append(trip_ms(worker, into))
    for sock in half_open:
        sock.close()
    of.end()
    return {
        "half_open": HALF_OPEN,
        "bytes_each": (after - before) // HALF_OPEN,
        "opened_at_once": AT_ONCE,
        "p99_ms_calm": round(p99(calm_ms), 2),
        "p99_ms_meanwhile": round(p99(stormy_ms), 2),
    }


def connected(port: int) -> socket.socket:
    return socket.create_connection((HOST, port))


def open_at_once(port: int) -> None:
    """Open connections without waiting for each other, and have each answer a request."""
    raise_open_files_limit()

    async def one() -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(SENDS["small"][0])
        await reader.readexactly(100)
        writer.close()

    async def each() -> None:
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))

    asyncio.run(each())


def trip_ms(sock: socket.socket, into: memoryview) -> float:
    began_s = time.monotonic()
    ask(sock, SENDS["small"][:1], into)
    return 1e3 * (time.monotonic() - began_s)


def p99(values: Sequence[float]) -> float:
    return sorted(values)[int(0.99 * len(values))]


def show(figures: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the ways named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ways", nargs="*", metavar="WAY")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    ways = options.ways or ["sockets", "buffered", "protocol", "connections"]
    for load in SENDS:
        for way in (one for one in ways if one != "connections"):
            show(measure(way, load, seconds=options.seconds))
    if "connections" in ways:
        show(measure_connections())


if __name__ == "__main__":
    main()
