"""A process of strangers whose requests are wide, at the listeners of one protocol.

    python -m tidelog.chaos.sockets.wide_callers grpc|kafka SECONDS TOPIC ADDRESS...

It asks for so long, and prints what it found as a JSON object: see `half_open`. A process of its
own, as the load's clients in another one are timed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import cycle, islice
from struct import Struct
from typing import Any, TypeAlias

from tidelog.chaos.sockets.half_open import connect, decode, encode
from tidelog.chaos.workloads.kafka_frames import frame, head
from tidelog.chaos.workloads.tally import Tally
from tidelog.chaos.workloads.wide import WIDE_CALLS, WIDE_MESSAGES
from tidelog.core.errors import CallExhaustedError, TidelogError
from tidelog.net.grpc_transport import GrpcTransport

CALLERS = 2
"""At each address."""
ELEMENTS = 30_000
"""Elements of a request: nearly as many as a listener of Kafka's protocol takes."""
GROUPS = 8_000
"""The same for requests about groups and their members."""
ANSWERED_S_MAX = 180.0
"""A wide request has hundreds of turns, each after others', and cores are shared."""
REFUSED_S = 0.1
"""Pause after a request that found no room."""
GRACE_S = 30.0
"""Time of the process beside its work."""
PIECE_BYTES = 64 << 10
_SIZE = Struct(">i")
Named: TypeAlias = tuple[str, Any]
"""A request, of either protocol, and the name of what it asks for."""
_OF_GROUPS = ("LeaveGroup", "DescribeGroups")


async def in_a_process(
    protocol: str, addresses: Sequence[str], topic: str, *, seconds: float
) -> Tally:
    """Run the process; `topic` is one that is there."""
    arguments = (protocol, f"{seconds:.1f}", topic, *addresses)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(seconds + ANSWERED_S_MAX + GRACE_S):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return decode(said)


async def ask_by_kafka(address: str, requests: Iterator[Named], end_s: float, tally: Tally) -> None:
    """Send frames, one after the other, on one connection."""
    reader, writer = await connect(address)

    async def ask(data: bytes) -> None:
        writer.write(data)
        left = _SIZE.unpack(await reader.readexactly(4))[0]
        while left:
            left -= len(await reader.readexactly(min(left, PIECE_BYTES)))

    try:
        await _ask_until(end_s, address, requests, ask, tally)
    finally:
        writer.close()


async def ask_by_grpc(address: str, requests: Iterator[Named], end_s: float, tally: Tally) -> None:
    """Make calls, one after the other."""
    transport = GrpcTransport()

    async def ask(call: Any) -> None:  # of any RPC
        await transport.call(address, *call, timeout_ms=int(1000 * ANSWERED_S_MAX))

    try:
        await _ask_until(end_s, address, requests, ask, tally)
    finally:
        await transport.close()


async def _ask_until(
    end_s: float,
    address: str,
    requests: Iterator[Named],
    ask: Callable[[Any], Awaitable[None]],
    tally: Tally,
) -> None:
    while asyncio.get_running_loop().time() < end_s:
        name, request = next(requests)
        tally.requests += 1
        try:
            async with asyncio.timeout(ANSWERED_S_MAX):
                await ask(request)
        except CallExhaustedError:
            # Both callers share a connection, and requests at work hold the room of its address.
            tally.by_status["refused"] += 1
            await asyncio.sleep(REFUSED_S)
            continue
        except (OSError, EOFError, TimeoutError, TidelogError) as error:
            tally.find(f"a wide {name}: {address} does not answer: {error!r}")
            return
        tally.by_status["answered"] += 1


def _frame(name: str, topic: str) -> bytes:
    version, make = WIDE_MESSAGES[name]
    request = make(topic, GROUPS if name in _OF_GROUPS else ELEMENTS)
    return frame(head(request.API_KEY, version, 1) + b"".join(request.encode(version)))


async def _run(protocol: str, seconds: float, topic: str, addresses: Sequence[str]) -> Tally:
    tally, ask = Tally(), {"grpc": ask_by_grpc, "kafka": ask_by_kafka}[protocol]
    made: list[Named] = [(name, _frame(name, topic)) for name in WIDE_MESSAGES]
    if protocol == "grpc":
        made = [(method.name, (method, make(topic, ELEMENTS))) for method, make in WIDE_CALLS]
    # Made before anybody connects: making them takes a second.
    callers = [
        (address, islice(cycle(made), first, None))
        for address in addresses
        for first in range(CALLERS)
    ]
    end_s = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(ask(address, asked, end_s, tally) for address, asked in callers))
    return tally


def main() -> None:
    """Run the process."""
    protocol, seconds, topic, *addresses = sys.argv[1:]
    sys.stdout.write(encode(asyncio.run(_run(protocol, float(seconds), topic, addresses))))


if __name__ == "__main__":
    main()
