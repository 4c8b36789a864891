"""A process of connections to listeners of Kafka's protocol that say nothing, or half a frame.

    python -m tidelog.chaos.sockets.half_open CONNECTIONS ADDRESS...

It opens all of them, waits until all were hung up on, and prints what it found as a JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from struct import Struct

from tidelog.chaos.workloads.kafka_frames import METADATA, head
from tidelog.chaos.workloads.tally import Tally

CONNECT_S_MAX, HUNG_UP_S_MAX = 10.0, 45.0
"""Cores are shared with whatever else runs there."""
DIALS_AT_ONCE = 100
_SIZE = Struct(">i")


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection. Raises `ConnectionError`, `TimeoutError`."""
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(CONNECT_S_MAX):
        return await asyncio.open_connection(host, int(port))


async def connect_and_wait(addresses: Sequence[str], *, connections: int) -> Tally:
    """Half of them say nothing, half a part of a frame; returns when all were hung up on."""
    tally, dialling = Tally(), asyncio.Semaphore(DIALS_AT_ONCE)

    async def wait(number: int) -> None:
        address = addresses[number // 2 % len(addresses)]
        async with dialling:
            reader, writer = await connect(address)
        tally.requests += 1
        try:
            writer.write(_SIZE.pack(1_000) + head(METADATA, 8, number) if number % 2 else b"")
            async with asyncio.timeout(HUNG_UP_S_MAX):
                await reader.read()
        except ConnectionError:
            tally.by_status["broken"] += 1
        except TimeoutError:
            tally.find(f"half-open connection {number} to {address} is still open")
        finally:
            writer.close()

    await asyncio.gather(*map(wait, range(connections)))
    return tally


def encode(tally: Tally) -> str:
    """Print a tally, for `decode`."""
    return json.dumps([tally.requests, tally.by_status, tally.findings])


def decode(printed: bytes) -> Tally:
    """Read what the process printed."""
    requests, by_status, findings = json.loads(printed)
    tally = Tally(requests=requests)
    tally.by_status.update(by_status)
    for finding in findings:
        tally.find(finding)
    return tally


def main() -> None:
    """Run the process."""
    connections, *addresses = sys.argv[1:]
    tally = asyncio.run(connect_and_wait(addresses, connections=int(connections)))
    sys.stdout.write(encode(tally))


if __name__ == "__main__":
    main()
