"""Figures of a controller quorum alone: three voter processes on loopback, fdatasync on.

commits     commands/s, p50 and p99 ms at 1, 50 and 500 in flight, 200 bytes each; beside them
            what one fdatasync of a small overwrite takes here
failover    kill -9 of the leader to the first committed command, milliseconds
idle        CPU share of each idle voter, per cent of a core; resident MiB
slow-disks  every disk takes so long a sync: commit p50 ms, one in flight, and elections meanwhile
restart     all three ended after 100,000 commands, then opened to the first committed, seconds
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.measures import spread

from tidelog.net.quiet_ports import quiet_ports

VOTER = ("-m", "tests.benchmarks.quorum_voter")
COMMAND_BYTES = 200
COMMITS = {1: 2_000, 50: 20_000, 500: 50_000}
IDLE_S = 20
SLOW_SYNC_MS = (20, 100, 200, 300, 1000)
SLOW_S = 60
RESTART_COMMANDS = 100_000
SETTLE_S = 30.0
FAILOVER_LIMIT_S = 3


class Voters:
    """Three processes and a line to each."""

    def __init__(self, directory: Path, settings: Iterable[str] = ()) -> None:
        self._directory = directory
        self._settings = list(settings)
        ports = quiet_ports(3)
        self._voters = ",".join(f"{n}=127.0.0.1:{port}" for n, port in enumerate(ports, 1))
        self.processes: dict[int, subprocess.Popen[str]] = {}

    def start(self, node_id: int) -> None:
        """Start one; it answers when its log is open."""
        command = [sys.executable, *VOTER, str(node_id), str(self._directory / str(node_id))]
        self.processes[node_id] = subprocess.Popen(
            [*command, self._voters, *self._settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start_all(self) -> None:
        """Start three and wait for each to have opened its log."""
        for node_id in (1, 2, 3):
            self.start(node_id)
        for node_id in (1, 2, 3):
            self.answer(node_id)

    def log_line(self, node_id: int, line: str) -> None:
        """Send a command."""
        stdin = self.processes[node_id].stdin
        assert stdin is not None
        stdin.write(line + "\n")
        stdin.flush()

    def answer(self, node_id: int) -> dict[str, Any]:
        """Read an answer."""
        stdout = self.processes[node_id].stdout
        assert stdout is not None
        found: dict[str, Any] = json.loads(stdout.readline())
        return found

    def ask(self, node_id: int, line: str) -> dict[str, Any]:
        """Send a command and read its answer."""
        self.log_line(node_id, line)
        return self.answer(node_id)

    def leader(self) -> int:
        """Wait for one."""
        until_s = time.monotonic() + SETTLE_S
        while time.monotonic() < until_s:
            for node_id in list(self.processes):
                if self.ask(node_id, "status")["is_leader"]:
                    return node_id
            time.sleep(0.02)
        raise TimeoutError(f"no leader within {SETTLE_S} s")

    def kill(self, node_id: int) -> None:
        """As kill -9."""
        process = self.processes.pop(node_id)
        process.kill()
        process.communicate()

    def kill_all(self) -> None:
        """Every one that is left."""
        for node_id in list(self.processes):
            self.kill(node_id)


@contextmanager
def voters(settings: Iterable[str] = ()) -> Iterator[Voters]:
    """Three running voters in a temporary folder of the working directory's disk."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        three = Voters(Path(folder), settings)
        try:
            three.start_all()
            yield three
        finally:
            three.kill_all()


def quorum_figures(runs: int) -> Iterable[dict[str, Any]]:
    """All of them."""
    yield from commits()
    yield from failover(max(runs, 30))
    yield from idle()
    yield from slow_disks()
    yield from restart()


def commits() -> Iterable[dict[str, Any]]:
    """How many, and how long one takes."""
    yield {"name": "fdatasync", "ms": spread(_sync_ms())}
    with voters() as three:
        leader = three.leader()
        three.ask(leader, f"propose 2000 50 {COMMAND_BYTES}")
        for in_flight, count in COMMITS.items():
            found = three.ask(leader, f"propose {count} {in_flight} {COMMAND_BYTES}")
            took_ms = sorted(found["ms"])
            yield {
                "name": "commits",
                "in_flight": in_flight,
                "per_s": round(count / found["seconds"]),
                "p50_ms": round(statistics.median(took_ms), 2),
                "p99_ms": round(took_ms[len(took_ms) * 99 // 100], 2),
            }
        yield {"name": "memory", "resident_mib": [_memory(three, n) for n in (1, 2, 3)]}


def failover(runs: int = 30) -> Iterable[dict[str, Any]]:
    """Kill the leader, and time until the others committed something."""
    took_ms = []
    with voters() as three:
        for _ in range(runs):
            leader = three.leader()
            three.ask(leader, f"propose 100 10 {COMMAND_BYTES}")
            rest = [node_id for node_id in three.processes if node_id != leader]
            for node_id in rest:
                three.log_line(node_id, f"first {FAILOVER_LIMIT_S}")
            time.sleep(0.2)
            killed_s = time.monotonic()
            three.kill(leader)
            answers = [three.answer(node_id)["at_s"] for node_id in rest]
            took_ms += [(at_s - killed_s) * 1000 for at_s in answers if at_s is not None]
            three.start(leader)
            three.answer(leader)
            time.sleep(0.5)
    assert len(took_ms) == runs, "one new leader each time"
    took_ms.sort()
    yield {
        "name": "failover",
        "runs": runs,
        "p50_ms": round(statistics.median(took_ms)),
        "p99_ms": round(took_ms[len(took_ms) * 99 // 100]),
    }


def idle() -> Iterable[dict[str, Any]]:
    """What a quorum costs that has nothing to do."""
    with voters() as three:
        leader = three.leader()
        time.sleep(1)
        for node_id in three.processes:
            three.log_line(node_id, f"cpu {IDLE_S}")
        percent = {
            node_id: round(three.answer(node_id)["cpu_s"] / IDLE_S * 100, 2)
            for node_id in three.processes
        }
        yield {"name": "idle", "cpu_percent": percent, "leader": leader}


def slow_disks() -> Iterable[dict[str, Any]]:
    """Commit for a minute while the syncs of all three are slow."""
    for sync_ms in SLOW_SYNC_MS:
        with voters([f"sync_ms={sync_ms}"]) as three:
            leader = three.leader()
            term = three.ask(leader, "status")["term"]
            count = SLOW_S * 1000 // (sync_ms + 10)
            found = three.ask(leader, f"propose {count} 1 {COMMAND_BYTES}")
            terms = [three.ask(node_id, "status")["term"] for node_id in three.processes]
            yield {
                "name": "slow-disks",
                "sync_ms": sync_ms,
                "commits": count,
                "seconds": round(found["seconds"], 1),
                "p50_ms": round(statistics.median(found["ms"]), 1),
                "elections": max(terms) - term,
            }


def restart() -> Iterable[dict[str, Any]]:
    """End all with kill -9 after many commands; start all; commit one."""
    with voters() as three:
        leader = three.leader()
        three.ask(leader, f"propose {RESTART_COMMANDS} 500 {COMMAND_BYTES}")
        three.kill_all()
        began_s = time.monotonic()
        three.start_all()
        for node_id in three.processes:
            three.log_line(node_id, f"first {FAILOVER_LIMIT_S}")
        answers = [three.answer(node_id)["at_s"] for node_id in three.processes]
        first_s = min(at_s for at_s in answers if at_s is not None)
        yield {
            "name": "restart",
            "commands": RESTART_COMMANDS,
            "seconds": round(first_s - began_s, 2),
        }


def _memory(three: Voters, node_id: int) -> float:
    return round(float(three.ask(node_id, "memory")["resident_mib"]), 1)


def _sync_ms() -> list[float]:
    took_ms = []
    with tempfile.TemporaryFile(dir=Path.cwd()) as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
        for place in range(0, 200 * 512, 512):
            began_s = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * COMMAND_BYTES, place)
            os.fdatasync(file.fileno())
            took_ms.append((time.perf_counter() - began_s) * 1000)
    return took_ms


if __name__ == "__main__":
    figures = {
        "commits": commits,
        "failover": lambda: failover(30),
        "idle": idle,
        "slow-disks": slow_disks,
        "restart": restart,
    }
    for name in sys.argv[1:] or figures:
        for figure in figures[name]():
            sys.stdout.write(json.dumps(figure) + "\n")
            sys.stdout.flush()
