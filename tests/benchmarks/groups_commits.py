"""Figures of commits: one at a time, of many groups at once, of many partitions."""

from __future__ import annotations

import asyncio

from tests.benchmarks.groups_programs import Program
from tests.benchmarks.groups_rows import Figure, spread
from tests.benchmarks.groups_sides import Side, cpu_s

ONE_BY_ONE = 3_000
GROUPS, COMMITTED_AT_ONCE = 50, 100
LARGE_COMMITTERS = 4
NODES = (1, 2, 3)


async def one_by_one(side: Side, count: int = ONE_BY_ONE) -> Figure:
    """`await commit()` of a member, one after the other, of one partition."""
    await side.create_topic("commit", 1)
    program = await Program.start(side.command("committer", "commit", "commit", count))
    try:
        await program.go()
        await program.done()
        took_ms = [(acked - sent) * 1000 for _, sent, acked in program.find("committed")]
        return spread(took_ms, "ms")
    finally:
        await program.stop()


async def at_once(side: Side, seconds: float) -> Figure:
    """Commits of one partition by many groups at once."""
    found = await _commits(side, "commits", GROUPS, 1, seconds)
    found["commits_per_s"] = round(found.pop("per_s"))
    return found


async def large(side: Side, seconds: float) -> Figure:
    """Commits of a hundred partitions, by four groups."""
    found = await _commits(side, "offsets", LARGE_COMMITTERS, COMMITTED_AT_ONCE, seconds)
    found["offsets_per_s"] = round(found.pop("per_s") * COMMITTED_AT_ONCE)
    return found


async def _commits(side: Side, topic: str, groups: int, partitions: int, seconds: float) -> Figure:
    """So many a second, and the processor time of a commit, of the clients and of the nodes."""
    await side.create_topic(topic, partitions)
    pids = [pid for pid in [await side.pid(one) for one in NODES] if pid is not None]
    program = await Program.start(side.command("commits", groups, topic, partitions, seconds))
    try:
        await program.go()
        await program.until(lambda: program.find("balanced"))
        before_s = cpu_s(pids)
        done = await program.done()
        nodes_s = cpu_s(pids) - before_s
        await program.leave()
    finally:
        await program.stop()
        await asyncio.sleep(1.0)
    count = done["commits"]
    figure = {"per_s": count / done["seconds"], "client_cpu_us": _us(done["cpu_s"], count)}
    return figure | ({"nodes_cpu_us": _us(nodes_s, count)} if pids else {})


def _us(seconds: float, count: int) -> int:
    return round(seconds / max(1, count) * 1e6)
