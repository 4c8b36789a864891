"""One voter of a controller quorum as a process of its own, driven by lines on its standard input.

    python -m tests.benchmarks.quorum_voter ID DIRECTORY 1=127.0.0.1:5001,2=…  [KEY=VALUE …]

KEY=VALUE are fields of `RaftConfig`, or sync_ms: how much longer a sync takes here. Every command
is answered by one line of JSON:

    status              its `QuorumStatus`
    propose N K BYTES   N commands, K at a time: seconds, and milliseconds of each
    first SECONDS       proposes until one is committed: the monotonic clock then; null: too late
    cpu SECONDS         CPU seconds used while idle for so long
    memory              resident MiB
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import structlog

from tidelog.core.env import Disk, File
from tidelog.core.errors import TidelogError
from tidelog.core.system import SystemClock, SystemDisk, SystemRandom
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_streams import connect
from tidelog.net.listeners import one_listener
from tidelog.raft.config import RaftConfig
from tidelog.raft.driver import RaftDriver
from tidelog.raft.factory import build_replicated_log
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.raft.stream_transport import RaftPeerHandler, RaftStreamTransport

TIMEOUT_MS = 10_000
STATE_BYTES = 1 << 20


class SlowDisk:
    """A disk whose syncs take so much longer."""

    def __init__(self, disk: Disk, *, sync_ms: int) -> None:
        self._disk = disk
        self._sync_ms = sync_ms

    def __getattr__(self, name: str) -> Any:  # whatever the disk has
        return getattr(self._disk, name)

    def open(self, path: str, *, create: bool = False) -> File:
        """See `Disk`."""
        return cast("File", SlowFile(self._disk.open(path, create=create), sync_ms=self._sync_ms))

    async def sync_directory(self, path: str) -> None:
        """See `Disk`."""
        await asyncio.sleep(self._sync_ms / 1000)
        await self._disk.sync_directory(path)


class SlowFile:
    """One of its files."""

    def __init__(self, file: File, *, sync_ms: int) -> None:
        self._file = file
        self._sync_ms = sync_ms

    def __getattr__(self, name: str) -> Any:  # whatever the file has
        return getattr(self._file, name)

    async def sync(self) -> None:
        """See `File`."""
        await asyncio.sleep(self._sync_ms / 1000)
        await self._file.sync()


class LastCommands:
    """A state machine of bounded size: what it saw last."""

    def __init__(self) -> None:
        self.commands: list[bytes] = []
        self._bytes = 0

    def apply(self, entry: CommittedEntry) -> None:
        """Keep it for a while."""
        self.commands.append(entry.command)
        self._bytes += len(entry.command)
        if self._bytes > STATE_BYTES:
            self.commands, self._bytes = [entry.command], len(entry.command)

    def records(self) -> Iterator[bytes]:
        """One a command."""
        return iter(list(self.commands))

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        """As they were."""
        self.commands = list(records)


async def main() -> None:
    """Run until standard input ends."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    node_id, directory, voters = int(sys.argv[1]), sys.argv[2], _voters(sys.argv[3])
    settings: dict[str, Any] = {
        key: int(value) if value.isdigit() else value
        for key, _, value in (pair.partition("=") for pair in sys.argv[4:])
    }
    sync_ms = settings.pop("sync_ms", 0)
    disk = cast("Disk", SlowDisk(SystemDisk(), sync_ms=sync_ms)) if sync_ms else SystemDisk()
    config = RaftConfig(**settings)
    transport = RaftStreamTransport(node_id=node_id, voters=voters, connect=connect, config=config)
    server = GrpcServer(
        listeners=one_listener(voters[node_id]),
        services={"tidelog.v1.RaftPeer": RaftPeerHandler(transport)},
        on_fatal=_end,
    )
    await server.start()
    log = build_replicated_log(
        node_id=node_id,
        voters=voters,
        directory=directory,
        disk=disk,
        clock=SystemClock(),
        random=SystemRandom(),
        transport=transport,
        config=config,
        on_fatal=_end,
    )
    began_s = time.monotonic()
    await log.start(LastCommands())
    _answer({"opened_s": time.monotonic() - began_s})
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).split():
        _answer(await _obey(log, *line))


async def _obey(log: RaftDriver, command: str, *arguments: str) -> dict[str, Any]:
    match command:
        case "status":
            return dataclasses.asdict(log.status()) | {"is_leader": log.is_leader}
        case "propose":
            return await _propose(log, *map(int, arguments))
        case "first":
            return await _first(log, float(arguments[0]))
        case "cpu":
            before_s = time.process_time()
            await asyncio.sleep(float(arguments[0]))
            return {"cpu_s": time.process_time() - before_s}
        case "memory":
            return {"resident_mib": _resident_mib()}
    raise ValueError(command)


async def _propose(log: RaftDriver, count: int, in_flight: int, size_bytes: int) -> dict[str, Any]:
    left = iter(range(count))
    took_ms: list[float] = []

    async def client() -> None:
        for _ in left:
            began_s = time.perf_counter()
            await log.propose(random.randbytes(size_bytes), timeout_ms=TIMEOUT_MS)
            took_ms.append((time.perf_counter() - began_s) * 1000)

    began_s = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(in_flight)))
    return {"seconds": time.perf_counter() - began_s, "ms": took_ms}


async def _first(log: RaftDriver, limit_s: float) -> dict[str, Any]:
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        try:
            await log.propose(b"first", timeout_ms=TIMEOUT_MS)
        except TidelogError:
            await asyncio.sleep(0.002)
        else:
            return {"at_s": time.monotonic()}
    return {"at_s": None}


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _voters(text: str) -> dict[int, str]:
    pairs = (pair.partition("=") for pair in text.split(","))
    return {int(node_id): address for node_id, _, address in pairs}


def _answer(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def _end(error: BaseException) -> None:
    sys.stderr.write(f"fatal: {error!r}\n")
    os._exit(1)


if __name__ == "__main__":
    asyncio.run(main())
