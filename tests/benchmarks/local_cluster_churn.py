"""Clusters that come and go in one process, and what they leave: nothing, or it is a failure.

Each has a topic, a record that is acknowledged by all, and a node that is killed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.measures import Figure, spread

from tidelog.client import Producer
from tidelog.client.sync import Producer as SyncProducer
from tidelog.testing import LocalCluster

LATE_S = 5.0
"""gRPC gives descriptors and threads back a while after their server's end."""


class Held(NamedTuple):
    """What this process holds."""

    threads: int
    descriptors: int
    resident_mib: float


def one_after_the_other(clusters: int) -> Figure:
    """So many clusters, each at the end of the one before."""
    _use_one()  # gRPC's own threads and descriptors stay
    before, starts, ends, failures = held(), [], [], []
    addresses: list[str] = []
    folders: list[Path] = []
    for number in range(clusters):
        try:
            started_s, ended_s, cluster = _use_one(1 + number % 3)
        except Exception as error:  # noqa: BLE001 - each is counted
            failures.append(f"{number}: {error!r}")
            continue
        starts.append(started_s)
        ends.append(ended_s)
        addresses += cluster.addresses.values()
        folders.append(cluster.folder)
    failures += left(before, addresses, folders)
    return {
        "row": f"{clusters} one after the other",
        "start_s": spread(starts),
        "end_s": spread(ends),
        "resident_mib": [round(before.resident_mib), round(held().resident_mib)],
        "failures": failures,
    }


def side_by_side(clusters: int, brokers: int) -> Figure:
    """So many clusters at the same time, on a thread each, in one interpreter."""
    _use_one()
    return asyncio.run(_side_by_side(clusters, brokers))


async def _side_by_side(count: int, brokers: int) -> Figure:
    before, began_s = held(), time.perf_counter()
    several = [LocalCluster(brokers=brokers) for _ in range(count)]
    outcomes = await asyncio.gather(*(one.__aenter__() for one in several), return_exceptions=True)
    failures = [repr(error) for error in outcomes if isinstance(error, BaseException)]
    ready_s, most = time.perf_counter() - began_s, held()
    outcomes_of_use = await asyncio.gather(*map(_use, several), return_exceptions=True)
    failures += [repr(error) for error in outcomes_of_use if isinstance(error, BaseException)]
    used_s = time.perf_counter() - began_s - ready_s
    addresses = [address for one in several for address in one.addresses.values()]
    ends = [one.__aexit__(None, None, None) for one in several]
    ended = await asyncio.gather(*ends, return_exceptions=True)
    failures += [repr(error) for error in ended if isinstance(error, BaseException)]
    ended_s = time.perf_counter() - began_s - ready_s - used_s
    failures += left(before, addresses, [one.folder for one in several])
    return {
        "row": f"{count} side by side, of {brokers}",
        "ready_s": round(ready_s, 2),
        "used_s": round(used_s, 2),
        "ended_s": round(ended_s, 2),
        "threads": most.threads,
        "mib_each": round((most.resident_mib - before.resident_mib) / count, 1),
        "failures": failures,
    }


async def _use(cluster: LocalCluster) -> None:
    async with Producer[bytes, bytes](cluster.bootstrap) as producer:
        await producer.send("made-at-its-first-use", value=b"x")


def _use_one(killed: int = 1) -> tuple[float, float, LocalCluster]:
    began_s = time.perf_counter()
    cluster = LocalCluster()
    cluster.start_all()
    started_s = time.perf_counter() - began_s
    try:
        cluster.create_topic("t", partitions=1)
        with SyncProducer[bytes, bytes](cluster.bootstrap) as producer:
            producer.send("t", value=b"x")
        cluster.kill(killed)
    finally:
        began_s = time.perf_counter()
        cluster.close()
    return started_s, time.perf_counter() - began_s, cluster


def held() -> Held:
    """Count what this process holds now."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (resident,) = (line for line in lines if line.startswith("VmRSS:"))
    descriptors = len(os.listdir("/proc/self/fd"))
    return Held(threading.active_count(), descriptors, int(resident.split()[1]) / 1024)


def left(before: Held, addresses: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Say what is there that was not there before."""
    until_s = time.monotonic() + LATE_S
    while (now := held())[:2] > before[:2] and time.monotonic() < until_s:
        time.sleep(0.05)
    found = [f"folder {folder}" for folder in folders if folder.exists()]
    found += [f"port {address}" for address in addresses if not _is_free(address)]
    if now.threads > before.threads:
        found.append(f"threads {[one.name for one in threading.enumerate()]}")
    if now.descriptors > before.descriptors:
        found.append(f"{now.descriptors - before.descriptors} descriptors")
    return found


def _is_free(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return False
    return True
