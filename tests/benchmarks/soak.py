"""A soak: minutes of load while nodes are killed, paused and restarted, one at a time, by a seed.

    python -m tests.benchmarks.soak --minutes 20 --seed 1

Three nodes of its own on free ports, in a folder that goes away. Idempotent acks=all producers and
consumers that read along are one other process (`soak_clients.py`). A node at a time gets SIGKILL,
SIGTERM or SIGSTOP, and comes back; the next follows when all replicas are in sync again.

In the end everything is read back. The last line is one JSON object of whole numbers, but for the
errors that clients saw. Exit code 1 when an acknowledged record is missing, not where it was
acknowledged, there twice or out of its producer's order; when anything is there that nobody sent or
that certainly failed; when a consumer that read along read anything else; when replicas did not get
in sync; or when memory is not bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.benchmarks.memory_samples import Growth, Memory
from tests.benchmarks.soak_ledger import VIOLATIONS, Digest, Ledger, Place, Receipt
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Consumer, NewTopic, require_all
from tidelog.client.errors import TidelogError

TOPICS = {"soak-a": 4, "soak-b": 3, "soak-c": 1}
PLACES: list[Place] = [(name, one) for name, count in TOPICS.items() for one in range(count)]
STRIKES = ("kill", "restart", "pause")
CALM_S = (0.2, 4.0)
DOWN_S = (0.0, 5.0)
PAUSED_S = (0.2, 12.0)
"""Up to beyond the session time-out, so that some are fenced and some are not."""
HEAL_S = 120.0
HEALED_ANSWERS = 3
"""One after the other: the first may be that of a node that was paused and has not heard yet."""
SAMPLE_S = 2.0
FINISH_S = 400.0
NODE_RSS_MAX = 256 << 20
CLIENT_GROWTH_MAX = 16 << 20
"""Of the clients' process, in the last half."""


@dataclass(slots=True)
class Sampler:
    """Memory of the clients and of each node, sampled until cancelled."""

    clients: list[tuple[float, float]] = field(default_factory=list)
    """(seconds, bytes)"""
    nodes: dict[int, int] = field(default_factory=dict)
    """The most of each."""
    pids: dict[int, int | None] = field(default_factory=dict)

    async def run(self, client_pid: int) -> None:
        """Every two seconds."""
        while True:
            memory = Memory.of(client_pid)
            if memory is not None:
                self.clients.append((time.monotonic(), memory.resident))
            for node_id, pid in self.pids.items():
                memory = None if pid is None else Memory.of(pid)
                if memory is not None:
                    self.nodes[node_id] = max(self.nodes.get(node_id, 0), memory.resident)
            await asyncio.sleep(SAMPLE_S)

    def figures(self) -> dict[str, int]:
        """In KiB; nodes by the most of any, since a restart begins anew."""
        return {
            "node_rss_max_kib": max(self.nodes.values(), default=0) >> 10,
            "client_rss_max_kib": int(max((y for _, y in self.clients), default=0)) >> 10,
            "client_growth_last_half_kib": int(Growth.of_last_half(self.clients).size) >> 10,
        }

    @property
    def is_bounded(self) -> bool:
        """Whether neither outgrew what it may take."""
        is_client_flat = Growth.of_last_half(self.clients).is_below(CLIENT_GROWTH_MAX)
        return is_client_flat and max(self.nodes.values(), default=0) <= NODE_RSS_MAX


class Striker:
    """Does one thing after the other to one node after the other, by a seed."""

    def __init__(self, cluster: LocalCluster, admin: Admin, sampler: Sampler, seed: int) -> None:
        self._cluster = cluster
        self._admin = admin
        self._sampler = sampler
        self.random = random.Random(seed)
        self.strikes = Counter(dict.fromkeys(STRIKES, 0))
        self.unhealed = 0
        self.longest_heal_s = 0.0

    async def run(self, until_s: float) -> None:
        """Until that time of the monotonic clock; ends with all replicas in sync."""
        rng = self.random
        await self.heal()
        while not self.unhealed and time.monotonic() < until_s:
            await asyncio.sleep(rng.uniform(*CALM_S))
            kind, node_id = rng.choice(STRIKES), rng.randrange(1, 4)
            sys.stderr.write(f"{until_s - time.monotonic():.0f} s left: {kind} node {node_id}\n")
            await self.strike(kind, node_id)
            await self.heal()

    async def strike(self, kind: str, node_id: int) -> None:
        """Do this to a node; what is down is started again, which `unhealed` counts if it fails."""
        pid = self._sampler.pids[node_id]
        assert pid is not None
        self.strikes[kind] += 1
        if kind == "pause":
            os.kill(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(self.random.uniform(*PAUSED_S))
            finally:
                os.kill(pid, signal.SIGCONT)
            return
        self._sampler.pids[node_id] = None
        os.kill(pid, signal.SIGKILL if kind == "kill" else signal.SIGTERM)
        async with asyncio.timeout(HEAL_S):
            while await self._is_alive(node_id):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await asyncio.sleep(self.random.uniform(*DOWN_S))
        started = await asyncio.to_thread(self._cluster.start)
        if started.returncode:
            sys.stderr.write(started.stderr)
            self.unhealed += 1

    async def _is_alive(self, node_id: int) -> bool:
        return (await asyncio.to_thread(self._cluster.pids))[node_id] is not None

    async def heal(self) -> None:
        """All replicas of all partitions in sync; notes the nodes' processes."""
        began_s = time.monotonic()
        in_sync = 0
        while in_sync < HEALED_ANSWERS:
            if time.monotonic() - began_s > HEAL_S:
                self.unhealed += 1
                return
            in_sync = in_sync + 1 if await self._is_in_sync() else 0
            await asyncio.sleep(0.2)
        self.longest_heal_s = max(self.longest_heal_s, time.monotonic() - began_s)
        self._sampler.pids = await asyncio.to_thread(self._cluster.pids)

    async def _is_in_sync(self) -> bool:
        try:
            topics = require_all(await self._admin.describe_topics(list(TOPICS)))
        except TidelogError:
            return False
        return all(len(one.isr) == 3 for topic in topics.values() for one in topic.partitions)


async def soak(
    cluster: LocalCluster, folder: Path, *, minutes: float, seed: int, rate: float
) -> dict[str, Any]:
    """The result of one run."""
    sampler = Sampler()
    async with Admin(cluster.bootstrap) as admin:
        configs = {"min.insync.replicas": "2"}
        topics = [NewTopic(name, count, 3, configs) for name, count in TOPICS.items()]
        require_all(await admin.create_topics(topics))
        striker = Striker(cluster, admin, sampler, seed)
        clients = await asyncio.create_subprocess_exec(
            *_command(cluster, folder, seed=seed, rate=rate),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        sampling = asyncio.create_task(sampler.run(clients.pid))
        try:
            await striker.run(time.monotonic() + minutes * 60)
            async with asyncio.timeout(FINISH_S):
                printed, _ = await clients.communicate(b"")
        finally:
            sampling.cancel()
            if clients.returncode is None:
                clients.kill()
    ledger, digests = await read_back(cluster, folder)
    return _verdict(striker, sampler, ledger, digests, printed)


def _command(cluster: LocalCluster, folder: Path, *, seed: int, rate: float) -> list[str]:
    program = ("-m", "tests.benchmarks.soak_clients")
    topics = [f"{name}:{count}" for name, count in TOPICS.items()]
    return [sys.executable, *program, cluster.bootstrap, str(folder), str(seed), str(rate), *topics]


async def read_back(cluster: LocalCluster, folder: Path) -> tuple[Ledger, list[Digest]]:
    """Everything up to the high watermarks, judged by what producers were told."""
    ledger = Ledger(Receipt.iter_bytes((folder / "receipts").read_bytes()))
    digests = [Digest() for _ in PLACES]
    indexes = {place: number for number, place in enumerate(PLACES)}
    async with Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(PLACES)
        async with asyncio.timeout(FINISH_S):
            while any((await consumer.lag()).values()):
                for record in await consumer.getmany(timeout_ms=1_000):
                    place = indexes[record.topic, record.partition]
                    ledger.read(place, record.offset, record.value)
                    digests[place].add(record.offset, record.value)
    return ledger, digests


def _verdict(
    striker: Striker, sampler: Sampler, ledger: Ledger, digests: Sequence[Digest], printed: bytes
) -> dict[str, Any]:
    """One object of all figures; `violations` counts what must never be."""
    clients: dict[str, Any] = json.loads(printed.splitlines()[-1]) if printed else {}
    counts = ledger.counts()
    final = [[one.records, one.crc] for one in digests]
    differs = sum(
        one != other
        for reader in clients.get("digests", [])
        for one, other in zip(reader, final, strict=True)
    )
    violations = sum(counts[kind] for kind in VIOLATIONS) + differs + striker.unhealed
    violations += (not sampler.is_bounded) + (not clients) + (not counts["acknowledged"])
    return {
        "figure": "soak",
        **counts,
        "read_along_differs": differs,
        "kills": striker.strikes["kill"],
        "restarts": striker.strikes["restart"],
        "pauses": striker.strikes["pause"],
        "unhealed": striker.unhealed,
        "longest_heal_ms": round(striker.longest_heal_s * 1000),
        **sampler.figures(),
        "memory_bounded": int(sampler.is_bounded),
        "producer_errors": clients.get("producer_errors"),
        "consumer_errors": clients.get("consumer_errors"),
        "examples": ledger.examples,
        "violations": violations,
    }


class Soak(Protocol):
    """A soak of nodes that run; its object of figures has `violations`."""

    async def __call__(
        self, cluster: LocalCluster, folder: Path, *, minutes: float, seed: int, rate: float
    ) -> dict[str, Any]: ...


def run_soak(
    soak: Soak, doc: str | None, *, minutes: float, rate: float, has_kafka: bool = False
) -> None:
    """Soak nodes of its own as the command line says, print, judge: the exit code."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=minutes)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=rate, help="records a second, all together")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it cleans up then, too
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        cluster = LocalCluster(Path(folder, "data"), has_kafka=has_kafka)
        try:
            started = cluster.start()
            if started.returncode:
                raise SystemExit(started.stderr)
            running = soak(
                cluster,
                Path(folder),
                minutes=options.minutes,
                seed=options.seed,
                rate=options.rate,
            )
            figure = asyncio.run(_awaited(running))
        finally:
            cluster.stop()
    figure |= {"minutes": round(options.minutes, 1), "seed": options.seed}
    sys.stdout.write(json.dumps(figure) + "\n")
    sys.exit(1 if figure["violations"] else 0)


async def _awaited(running: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    return await running


def main() -> None:
    """Soak, print, judge."""
    run_soak(soak, __doc__, minutes=20, rate=1_500)


if __name__ == "__main__":
    main()
