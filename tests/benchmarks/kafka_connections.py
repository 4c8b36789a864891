"""Silent connections of Kafka's protocol: `python -m tests.benchmarks.kafka_connections HOST PORT`.

A program as `groups_programs` has them: for each line `open COUNT` it opens so many at once, each
of which asks for ApiVersions and then nothing, and says `open TOTAL`.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time

from tests.benchmarks.groups_programs import emit

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A request of version 0 without a client id."""


async def hold(host: str, port: int) -> None:
    """Open what stdin asks for, and close all when it says `leave` or ends."""
    emit("ready", time.monotonic())
    held: list[asyncio.StreamWriter] = []
    while (line := await asyncio.to_thread(sys.stdin.readline)).startswith("open "):
        count = int(line.split()[1])
        held += await asyncio.gather(*(_open(host, port) for _ in range(count)))
        emit("open", len(held))
    for one in held:
        one.close()


async def _open(host: str, port: int) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(API_VERSIONS)
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    await reader.readexactly(size)
    return writer


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], int(sys.argv[2])))
