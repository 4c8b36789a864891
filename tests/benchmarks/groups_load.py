"""The figure of a coordinator's load of 100,000 committed offsets, and of the node's stalls."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from pathlib import Path
from typing import Any

import aiohttp
from tests.benchmarks.groups_rows import Figure, spread
from tests.benchmarks.groups_sides import OFFSETS_TOPIC, TidelogSide, cpu_s

from tidelog.broker.coordinator.group_key import partition_of
from tidelog.client import Admin, Consumer

COMMITTED, PARTITIONS = 100_000, 500
OFFSETS_PARTITIONS = 50
PROBE_S = 0.005
LOADED = re.compile(r'"?records"?[=:]\s*(\d+).*?"?took_ms"?[=:]\s*(\d+)')
LIMIT_S = 60.0


async def load(side: TidelogSide, runs: int) -> Figure:
    """Move the leadership of a full partition of the internal topic, and back; each move loads it.

    Seconds by the node's own log, and its processor time of these seconds, which a busy machine
    disturbs less; the stall is the longest answer of a node to GET /health, asked every 5 ms from
    the kill to the end of the load, beside the longest without a kill.
    """
    await side.create_topic("load", PARTITIONS)
    groups = _groups_of_one_partition(COMMITTED // PARTITIONS)
    await _fill(side, groups)
    took_s, spent_s, stalls_ms, quiet_ms = [], [], [], []
    async with Admin(side.bootstrap) as admin:
        for _ in range(runs):
            leader = await _leader(admin, groups[0])
            pid = await side.pid(leader)
            assert pid is not None
            quiet_ms.append(await _longest_answer_ms(side, {1, 2, 3} - {leader}, 2.0))
            probing = asyncio.create_task(_longest_answer_ms(side, {1, 2, 3} - {leader}, LIMIT_S))
            marks = {one: _log(side, one).stat().st_size for one in {1, 2, 3} - {leader}}
            pids = {one: await side.pid(one) for one in marks}
            before_s = {one: cpu_s([pid]) for one, pid in pids.items() if pid is not None}
            await asyncio.to_thread(side.cluster.kill, leader)
            found_s, node_id = await _loaded_s(side, marks)
            took_s.append(found_s)
            spent_s.append(cpu_s([pids[node_id] or 0]) - before_s[node_id])
            probing.cancel()
            stalls_ms.append(await probing)
            await side.restart(leader)
            await admin.elect_leaders()
            await asyncio.sleep(3.0)
    figure = spread(took_s, "s")
    return figure | {
        "offsets": COMMITTED,
        "node_cpu_p50_s": round(sorted(spent_s)[len(spent_s) // 2], 2),
        "stall_ms": round(max(stalls_ms)),
        "stall_p50_ms": round(sorted(stalls_ms)[len(stalls_ms) // 2]),
        "stall_without_ms": round(max(quiet_ms)),
    }


def _groups_of_one_partition(count: int) -> list[str]:
    names = (f"load-{number}" for number in range(10**9))
    wanted = partition_of("load", OFFSETS_PARTITIONS)
    found: list[str] = []
    while len(found) < count:
        name = next(names)
        if partition_of(name, OFFSETS_PARTITIONS) == wanted:
            found.append(name)
    return found


async def _fill(side: TidelogSide, groups: list[str]) -> None:
    for group in groups:
        consumer: Consumer[Any, Any] = Consumer(
            side.bootstrap, group_id=group, enable_auto_commit=False
        )
        async with consumer:
            await consumer.commit({("load", number): number for number in range(PARTITIONS)})


async def _leader(admin: Admin, group: str) -> int:
    topic = await admin.describe_topic(OFFSETS_TOPIC)
    leader = topic.partitions[partition_of(group, OFFSETS_PARTITIONS)].leader
    assert leader is not None
    return leader


def _log(side: TidelogSide, node_id: int) -> Path:
    return side.cluster.folder / f"node-{node_id}.log"


async def _loaded_s(side: TidelogSide, marks: dict[int, int]) -> tuple[float, int]:
    """Seconds that the load took, as the next leader's log says, and that leader."""
    until_s = time.monotonic() + LIMIT_S
    while time.monotonic() < until_s:
        for node_id, mark in marks.items():
            with _log(side, node_id).open(encoding="utf-8") as file:
                file.seek(mark)
                for line in file:
                    found = LOADED.search(line)
                    if found is not None and int(found[1]) >= COMMITTED:
                        return int(found[2]) / 1000, node_id
        await asyncio.sleep(0.05)
    raise RuntimeError("no node said that it has loaded the offsets")


async def _longest_answer_ms(side: TidelogSide, nodes: set[int], seconds: float) -> float:
    """Of any of the nodes, until the time is over or the task is cancelled."""
    longest_s = dict.fromkeys(nodes, 0.0)

    async def probe(session: aiohttp.ClientSession, node_id: int) -> None:
        url = f"http://127.0.0.1:{side.cluster.ports[2 + node_id]}/health"
        while True:
            began_s = time.monotonic()
            async with session.get(url) as answer:
                await answer.read()
            longest_s[node_id] = max(longest_s[node_id], time.monotonic() - began_s)
            await asyncio.sleep(PROBE_S)

    async with aiohttp.ClientSession() as session:
        probes = [asyncio.create_task(probe(session, one)) for one in nodes]
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(seconds)
        for one in probes:
            one.cancel()
        await asyncio.gather(*probes, return_exceptions=True)
    return max(longest_s.values()) * 1000
