"""`tidelog` in this process against three simulated nodes, real ones on virtual time."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shlex
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from tests.cli.commands import without_logs
from tests.cluster_view import ClusterView

from tidelog.cli import input_lines
from tidelog.cli.main import main
from tidelog.client import ports
from tidelog.client.arrow import tables
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig

T = TypeVar("T")
_TOPIC_ID = re.compile(r"\b[0-9a-f]{32}\b")
_CELL_NUMBER = re.compile(r"\t\d+")
"""Indexes and times of the controllers, which every change of their work moves."""
_TIME = re.compile(r'(?<=_ms": )\d+')


class Invocation(NamedTuple):
    """A command line, its standard input, and what came of it: output, errors, exit code."""

    line: str
    stdin: tuple[str, ...]
    outcome: tuple[str, ...]


def parse(text: str) -> list[Invocation]:
    """The invocations of a golden file: `$` command, `<` input, `!` error, `=` exit code."""
    found: list[Invocation] = []
    for block in text.split("\n$ ")[1:]:
        line, *rest = block.rstrip("\n").split("\n")
        stdin = tuple(one[2:] for one in rest if one.startswith("< "))
        outcome = tuple(one for one in rest if not one.startswith("< "))
        found.append(Invocation(line, stdin, outcome))
    return found


class VirtualThread:
    """The `LoopThread` of readers of tables, on virtual time: callers take turns."""

    turn = threading.Lock()

    def __init__(self, cluster: GoldenCluster) -> None:
        self._cluster = cluster

    def __enter__(self) -> VirtualThread:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing runs between two turns."""

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """See `LoopThread.iterate`."""
        try:
            while (item := self._drive(anext(items, None))) is not None:
                yield item
        finally:
            self._drive(items.aclose())

    def _drive(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        with self.turn:
            return self._cluster.drive(awaited())


class GoldenCluster:
    """Three nodes, brokers and controllers, with the command line as their client."""

    def __init__(self, folder: Path) -> None:
        self._sim = SimCluster(seed=7, config=SimClusterConfig(node_ids=(1, 2, 3)))
        self._folder = folder
        self._sim.run(ClusterView(self._sim).until_ready())

    def close(self) -> None:
        """Drop the nodes."""
        self._sim.close()

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a client's coroutine on virtual time."""
        return self._sim.scheduler.run(self._sim.client_host.loop, work)

    def crash(self, node_id: int, seconds: float) -> None:
        """Cut a node's power and let virtual time pass."""
        self._sim.crash(node_id)
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.drive(asyncio.sleep(seconds))

    def run(self, line: str, stdin: tuple[str, ...]) -> tuple[str, ...]:
        """The outcome of a command line, as a golden file holds it."""
        path = self._folder / "stdin"
        path.write_text("".join(f"{one}\n" for one in stdin))
        out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
        sys.argv = shlex.split(line)
        with path.open() as file, redirect_stdout(out), redirect_stderr(err):
            sys.stdin = file
            with pytest.raises(SystemExit) as ended:
                main()
        shown = out.buffer.getvalue().decode(errors="backslashreplace")
        shown = _TOPIC_ID.sub("TOPIC-ID", shown)
        if line.startswith("tidelog quorum"):
            shown = _CELL_NUMBER.sub("\tN", shown)
        if line.startswith("tidelog groups"):
            shown = _TIME.sub("N", shown)
        return (
            *(f"  {one}".rstrip() for one in shown.splitlines()),
            *(f"! {one}".rstrip() for one in err.getvalue().splitlines()),
            f"= {ended.value.code}",
        )


@contextmanager
def golden_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GoldenCluster]:
    """A cluster whose clients are on its virtual time."""
    with without_logs(), closing(GoldenCluster(folder)) as cluster:
        _put_in_place(cluster, folder, monkeypatch)
        yield cluster


def _put_in_place(cluster: GoldenCluster, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = cluster._sim.client

    async def read(fd: int) -> bytes:
        return os.read(fd, input_lines.CHUNK_BYTES)

    async def close() -> None:
        """The transport of all commands stays open."""

    monkeypatch.setattr(client.transport, "close", close, raising=False)
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: client.transport)
    monkeypatch.setattr(ports, "SystemClock", lambda: client.clock)
    monkeypatch.setattr(ports, "SystemRandom", lambda: client.random)
    monkeypatch.setattr(asyncio, "run", cluster.drive)
    monkeypatch.setattr(input_lines, "_read", read)
    monkeypatch.setattr(tables, "LoopThread", lambda: VirtualThread(cluster))
    monkeypatch.setattr(sys, "stdin", sys.stdin)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", "node-1:9192,node-2:9192,node-3:9192")
    monkeypatch.chdir(folder)
