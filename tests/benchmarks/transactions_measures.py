"""What each row of the figures of transactions does, on our nodes or on a peer's.

produce             two producers, with transactions and without, in turns: `Loads.produce`
commits             begin, one record, commit, one after the other
coordinator-killed  the same, and SIGKILL of the broker that leads the id's partition
read, read-arrow    a topic of committed transactions, read in both isolation levels in turns
offsets             as many commits as is asked for, by several groups in one partition of
                    `__consumer_offsets`; its size on each node's disk in between
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.benchmarks.groups_rows import Figure, longest_gap, spread
from tests.benchmarks.groups_sides import OFFSETS_TOPIC, KafkaSide, TidelogSide
from tests.benchmarks.transactions_loads import Loads
from tests.benchmarks.transactions_peer_loads import PeerLoads
from tests.benchmarks.transactions_rows import compared, flatness

from tidelog.broker.coordinator.group_key import partition_of
from tidelog.client import Admin
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC

PARTITIONS = 3
COMMIT_EVERY_S = 0.1
CALM_S = 2.0
OFFSETS_PARTITIONS = 50
OFFSETS_CONFIGS = {"segment.bytes": f"{64 << 10}", "delete.retention.ms": "1000"}
"""So that compaction has segments to work on after a few hundred commits, and may drop markers
within a run: by default it keeps them for a day."""
GROUPS = 8
STEPS = 20

Side: TypeAlias = TidelogSide | KafkaSide
AnyLoads: TypeAlias = Loads | PeerLoads
Read: TypeAlias = Callable[..., Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of each is measured."""

    turns: int = 5
    seconds: float = 5.0
    records: int = 200_000
    commits: int = 100_000
    sink_rows: int = 1_000_000
    trigger_s: float = 30.0


async def measure(row: str, side: Side, loads: AnyLoads, amounts: Amounts) -> Figure:
    """Measures of a row."""
    name = f"transactions-{row}-{time.time_ns()}"  # a peer keeps the topics of other runs
    await side.create_topic(name, PARTITIONS)
    topic = side.topic(name)
    match row:
        case "produce":
            return await _produce(loads, topic, amounts)
        case "commits":
            return _latencies(await loads.commits(topic, amounts.turns * amounts.seconds))
        case "coordinator-killed":
            return await _coordinator_killed(side, loads, topic, amounts.turns)
        case "read":
            return await _read(loads, loads.read, topic, amounts)
    assert isinstance(loads, Loads)
    assert isinstance(side, TidelogSide)
    if row == "read-arrow":
        return await _read(loads, loads.read_arrow, topic, amounts)
    return await _offsets(side, loads, topic, amounts.commits)


async def _produce(loads: AnyLoads, topic: str, amounts: Amounts) -> Figure:
    with_them, without = [], []
    for _ in range(amounts.turns):
        with_them.append(await loads.produce(topic, amounts.seconds, COMMIT_EVERY_S))
        without.append(await loads.produce(topic, amounts.seconds, None))
    return compared(with_them, without, "records_per_s")


def _latencies(took_s: list[float]) -> Figure:
    found = spread([one * 1000 for one in took_s], "ms")
    return {"commits_per_s": round(len(took_s) / sum(took_s), 1), **found}


async def _read(loads: AnyLoads, read: Read, topic: str, amounts: Amounts) -> Figure:
    await loads.fill(topic, amounts.records)
    await read(topic, PARTITIONS, amounts.records, committed=True)  # warms up
    committed, uncommitted = [], []
    for _ in range(amounts.turns):
        committed.append(await read(topic, PARTITIONS, amounts.records, committed=True))
        uncommitted.append(await read(topic, PARTITIONS, amounts.records, committed=False))
    return compared(committed, uncommitted, "records_per_s")


async def _coordinator_killed(side: Side, loads: AnyLoads, topic: str, runs: int) -> Figure:
    """The longest time without a commit from each kill on."""
    until, kills_s = asyncio.Event(), []
    committing = asyncio.create_task(loads.commit_times(topic, "killed", until))
    try:
        for _ in range(runs):
            await asyncio.sleep(2 * CALM_S)
            node_id = await loads.coordinator("killed")
            pid = await side.pid(node_id)
            if pid is None:
                raise RuntimeError(f"the process of node {node_id} is not known")
            os.kill(pid, signal.SIGKILL)
            kills_s.append(time.monotonic())
            await asyncio.sleep(2 * CALM_S)
            await side.restart(node_id, TRANSACTIONS_TOPIC)
    finally:
        until.set()
        times_s = await committing
    return spread([longest_gap(times_s, one, one + 2 * CALM_S) for one in kills_s], "s")


# Offsets


async def _offsets(side: TidelogSide, loads: Loads, topic: str, commits: int) -> Figure:
    groups = _groups_of_one_partition(GROUPS)
    await loads.offsets(topic, groups[0], 0, 1)  # creates the internal topic
    async with Admin(side.bootstrap) as admin:
        await admin.alter_configs(OFFSETS_TOPIC, OFFSETS_CONFIGS)
    sizes, done = [], 0
    began_s = time.monotonic()
    for step in range(1, STEPS + 1):
        count = commits * step // STEPS // GROUPS - done
        await asyncio.gather(*(loads.offsets(topic, one, done, count) for one in groups))
        done += count
        sizes.append(_size_bytes(side, partition_of(f"of-{groups[0]}", OFFSETS_PARTITIONS)))
    took_s = time.monotonic() - began_s
    measured = flatness(sizes, done * GROUPS)
    return {**measured, "commits_per_s": round(done * GROUPS / took_s, 1)}


def _groups_of_one_partition(count: int) -> list[str]:
    """Ids of producers, whose groups `of-ID` share a partition."""
    wanted = partition_of("of-0", OFFSETS_PARTITIONS)
    names = (f"{number}" for number in range(10**9))
    found: list[str] = []
    while len(found) < count:
        name = next(names)
        if partition_of(f"of-{name}", OFFSETS_PARTITIONS) == wanted:
            found.append(name)
    return found


def _size_bytes(side: TidelogSide, partition: int) -> int:
    """Bytes of the partition's folder, of the node that has the most."""
    folders = side.cluster.folder.rglob(f"{OFFSETS_TOPIC}-{partition}*")
    sizes = [
        sum(file.stat().st_size for file in folder.glob("*.log"))
        for folder in folders
        if folder.is_dir()
    ]
    return max(sizes)
