"""Figures of members that join: the first ever, a hundred at once, a thousand memberships."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.benchmarks.groups_programs import Program
from tests.benchmarks.groups_rows import Figure, spread
from tests.benchmarks.groups_sides import Side, cpu_s
from tests.benchmarks.memory_samples import Memory

JOINING, JOINED_PARTITIONS = 100, 200
CROWD = 1_000
IDLE_S = 30.0
SETTLED_S = 8.0
"""Until the connections of look-ups are closed."""


async def first_member(side: Side) -> float:
    """Seconds of the first member of a cluster without the internal topic, to its first record."""
    await side.create_topic("first", 1)
    loading = await Program.start(side.command("load", "first", 1, 20))
    member = await Program.start(side.command("member", "first", "first"))
    try:
        await asyncio.sleep(1.0)  # until there are records
        began_s = await member.go()
        await member.until(lambda: member.find("read"))
        return next(member.reads()) - began_s
    finally:
        await loading.stop()
        await member.leave()


async def join(
    side: Side, runs: int, *, members: int = JOINING, partitions: int = JOINED_PARTITIONS
) -> Figure:
    """Many members join at once, in one process; each run has a group of its own."""
    await side.create_topic("join", partitions)
    took_s = []
    for number in range(runs):
        words = (f"join-{number}", "join", members, partitions)
        program = await Program.start(side.command("join", *words))
        try:
            took_s.append(await _balanced_s(program))
            await program.leave()
        finally:
            await program.stop()
    return spread(took_s, "s")


async def _balanced_s(program: Program) -> float:
    began_s = await program.go()
    await program.until(lambda: program.find("balanced"))
    return float(program.find("balanced")[0][1]) - began_s


async def crowd(side: Side, members: int) -> Figure:
    """Memberships alone: to balanced, the coordinator's memory for each, its processor time."""
    await side.create_topic("crowd", members, replicas=1)
    await _remember(side, "crowd")
    program = await Program.start(side.command("crowd", "crowd", "crowd", members, members))
    try:
        pid = await side.pid(await side.coordinator("crowd"))
        before = None if pid is None else Memory.of(pid)
        measures: dict[str, Any] = {"members": members}
        measures["balanced_s"] = round(await _balanced_s(program), 2)
        await asyncio.sleep(SETTLED_S)
        if pid is not None and before is not None:
            after = Memory.of(pid)
            assert after is not None  # the node runs
            grown_kib = (after.resident - before.resident) / 1024
            measures["kib_a_member"] = round(grown_kib / members, 1)
            measures["idle_percent_of_core"] = await _idle_percent(pid)
        await program.leave()
        return measures
    finally:
        await program.stop()


async def _remember(side: Side, group: str) -> None:
    """Have a member come and go, so that the group's coordinator is known and warm."""
    member = await Program.start(side.command("member", group, group))
    await member.go()
    await member.until(lambda: member.owned)
    await member.leave()


async def _idle_percent(pid: int) -> float:
    began_s, before_s = time.monotonic(), cpu_s([pid])
    await asyncio.sleep(IDLE_S)
    return round((cpu_s([pid]) - before_s) / (time.monotonic() - began_s) * 100, 1)
