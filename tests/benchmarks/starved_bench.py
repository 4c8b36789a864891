"""Calm of a starved cluster: three nodes, each held to a share of a processor, under a small load.

    .venv/bin/python -m tests.benchmarks.starved_bench --partitions 1000 --share 0.1 --seconds 600

elections       Raft terms passed while the nodes were held
fenced          times that a live broker was found fenced by somebody who looks twice a second
leader_changes  leader epochs passed, of all partitions together
failed          sends that ended with an error, of `sent` (acks=all, one record each)
held_by         how: a cgroup's quota, or SIGSTOP in slices where none can be made
cpu_share       what each node used of a processor while it was held
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.measures import spread
from tests.integration.local_cluster import LocalCluster

from tidelog.chaos.sockets.cpu_share import CpuShare, hold
from tidelog.client import Admin, Producer
from tidelog.client.errors import TidelogError

TOPIC = "many"
LOOK_S = 0.5
READY_S_MAX = 300.0
VALUE = b"v" * 100
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """One run; its figures as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--share", type=float, default=0.1, help="of a processor, each node")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--records-per-second", type=float, default=100.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        cluster = LocalCluster(Path(folder))
        try:
            started = cluster.start()
            if started.returncode:
                raise SystemExit(started.stderr)
            pids = [pid for pid in cluster.pids().values() if pid is not None]
            found = asyncio.run(_run(cluster.bootstrap, pids, asked))
        finally:
            cluster.stop()
    sys.stdout.write(json.dumps({**vars(asked), **found}) + "\n")


async def _run(bootstrap: str, pids: Sequence[int], asked: argparse.Namespace) -> dict[str, Any]:
    async with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        await admin.create_topic(
            TOPIC,
            partitions=asked.partitions,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
        await _until_led(admin)
        before, used_s = await _state(admin), [_cpu_s(pid) for pid in pids]
        held = [hold(pid, asked.share) for pid in pids]
        began_s = time.monotonic()
        looking = asyncio.create_task(_count_fenced(admin))
        try:
            sent = await _send(producer, asked)
        finally:
            looking.cancel()
            used_s = [_cpu_s(pid) - cpu_s for pid, cpu_s in zip(pids, used_s, strict=True)]
            took_s = time.monotonic() - began_s
            await _release(held)
        after = await _state(admin)
        return {
            "elections": after["term"] - before["term"],
            "fenced": await _result(looking),
            "leader_changes": after["leader_epochs"] - before["leader_epochs"],
            **sent,
            "held_by": sorted({one.way for one in held}),
            "cpu_share": spread([round(seconds / took_s, 4) for seconds in used_s]),
            "load_average": round(os.getloadavg()[0], 2),
        }


async def _send(producer: Producer, asked: argparse.Namespace) -> dict[str, Any]:
    """Records at the rate, to one partition after another; each outcome is waited for."""
    latencies_s: list[float] = []
    failures: dict[str, int] = {}
    pending: set[asyncio.Task[None]] = set()

    async def send(number: int) -> None:
        began_s = time.monotonic()
        try:
            await producer.send(TOPIC, value=VALUE, partition=number % asked.partitions)
            latencies_s.append(time.monotonic() - began_s)
        except TidelogError as error:
            name = type(error).__name__
            failures[name] = failures.get(name, 0) + 1

    began_s = time.monotonic()
    for number in range(int(asked.seconds * asked.records_per_second)):
        due_s = began_s + number / asked.records_per_second
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        task = asyncio.create_task(send(number))
        pending.add(task)
        task.add_done_callback(pending.discard)
    await asyncio.gather(*pending)
    return {
        "sent": len(latencies_s) + sum(failures.values()),
        "failed": sum(failures.values()),
        "failures": failures,
        "latency_s": spread(latencies_s or [0.0]),
        "latency_s_worst": round(max(latencies_s, default=0.0), 3),
    }


async def _until_led(admin: Admin) -> None:
    deadline_s = time.monotonic() + READY_S_MAX
    while True:
        topic = await admin.describe_topic(TOPIC)
        if all(one.leader is not None and len(one.isr) == 3 for one in topic.partitions):
            return
        if time.monotonic() > deadline_s:
            raise SystemExit(f"not every partition has a whole ISR after {READY_S_MAX:.0f} s")
        await asyncio.sleep(LOOK_S)


async def _state(admin: Admin) -> dict[str, int]:
    topic = await admin.describe_topic(TOPIC)
    quorum = await admin.describe_quorum()
    epochs = sum(one.leader_epoch for one in topic.partitions)
    return {"term": quorum.term, "leader_epochs": epochs}


async def _count_fenced(admin: Admin) -> int:
    """Until it is cancelled: how many brokers became fenced."""
    count, fenced = 0, set[int]()
    try:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                brokers = (await admin.describe_cluster()).brokers
            except TidelogError:
                continue
            now = {one.broker_id for one in brokers if one.is_fenced}
            count += len(now - fenced)
            fenced = now
    except asyncio.CancelledError:
        return count


async def _result(task: asyncio.Task[int]) -> int:
    return await task


async def _release(held: Sequence[CpuShare]) -> None:
    for one in held:
        await one.release()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


if __name__ == "__main__":
    main()
