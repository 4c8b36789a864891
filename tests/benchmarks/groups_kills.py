"""Figures of members and coordinators that come and go while others read and commit."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence

from tests.benchmarks.groups_programs import Program, until_all
from tests.benchmarks.groups_rows import Figure, longest_gap, spread
from tests.benchmarks.groups_sides import Side

PARTITIONS, OTHERS = 12, 4
RATE = 250
"""Records a second, one after the other: of its three partitions a member gets one every 16 ms."""
WATCHED_S = 1.0
"""From a member's start on, the others are watched for so long."""
CALM_S = 1.0


async def churn(side: Side, runs: int) -> dict[str, Figure]:
    """One more member joins four, reads, and is killed; the same again."""
    await side.create_topic("churn", PARTITIONS)
    member = side.command("member", "churn", "churn")
    loading = await Program.start(side.command("load", "churn", PARTITIONS, RATE))
    others = [await Program.start(member) for _ in range(OTHERS)]
    first_s, silent_s, taken_s = [], [], []
    try:
        for one in others:
            await one.go()
        for number in range(runs):
            await _rest(others)
            more = await Program.start(member)
            try:
                took_s, silence_s = await _join(more, others)
                first_s.append(took_s)
                silent_s.append(silence_s)
                if number < side.kills_max:
                    taken_s.append(await _kill(more, others))
                else:
                    await more.leave()
            finally:
                await more.stop()
            sys.stderr.write(f"{side.name}: joined {took_s:.3f} s, silent {silence_s:.3f} s, ")
            sys.stderr.write(f"killed {taken_s[-1]:.3f} s\n")
    finally:
        for program in (loading, *others):
            await program.stop()
    silent = {f"others_silent_{name}": value for name, value in spread(silent_s, "s").items()}
    del silent["others_silent_runs"]
    return {"one-more": {**spread(first_s, "s"), **silent}, "member-killed": spread(taken_s, "s")}


async def _rest(others: Sequence[Program]) -> None:
    """Wait until the others own everything, and read it."""
    await until_all(others, lambda: sum(len(one.owned) for one in others) == PARTITIONS)
    await asyncio.sleep(CALM_S)


async def _join(more: Program, others: Sequence[Program]) -> tuple[float, float]:
    """Seconds to the first record of one more member; the longest silence of any other."""
    began_s = await more.go()
    await more.until(lambda: more.find("read"))
    await asyncio.sleep(WATCHED_S)
    first_s = next(more.reads()) - began_s
    until_s = began_s + first_s + WATCHED_S / 2
    return first_s, max(longest_gap(list(one.reads()), began_s, until_s) for one in others)


async def _kill(victim: Program, others: Sequence[Program]) -> float:
    """Seconds until each partition of a killed member is read by another."""
    owned = victim.owned
    victim.kill()
    killed_s = time.monotonic()

    def firsts() -> list[float | None]:
        return [_first_since(others, one, killed_s) for one in owned]

    await until_all(others, lambda: None not in firsts())
    return max(one - killed_s for one in firsts() if one is not None)


def _first_since(others: Sequence[Program], partition: int, since_s: float) -> float | None:
    times_s = (time_s for one in others for time_s in one.reads([partition]))
    return min((time_s for time_s in times_s if time_s > since_s), default=None)


async def coordinator_killed(side: Side, runs: int) -> Figure:
    """Kill the coordinator's broker under commits; the longest time without one, on the wall."""
    await side.create_topic("commits-on", 3)
    program = await Program.start(side.command("committer", "commits-on", "commits-on", 10**9))
    took_s = []
    try:
        await program.go()
        await program.until(lambda: program.find("committed"))
        for _ in range(runs):
            took_s.append(await _kill_coordinator(side, program))
            sys.stderr.write(f"{side.name}: coordinator killed {took_s[-1]:.3f} s\n")
        return spread(took_s, "s")
    finally:
        await program.stop()


async def _kill_coordinator(side: Side, program: Program) -> float:
    await asyncio.sleep(CALM_S)
    node_id = await side.coordinator("commits-on")
    pid = await side.pid(node_id)
    assert pid is not None  # the row is left out where pids are not known
    program.words.clear()
    os.kill(pid, signal.SIGKILL)
    killed_s = time.monotonic()
    # An acknowledgement that was under way may come at once; the one after it may be late.
    until_s = killed_s + CALM_S
    await program.until(lambda: any(sent > killed_s for _, sent, _ in program.find("committed")))
    await asyncio.sleep(max(CALM_S, until_s - time.monotonic()))
    acks_s = [acked for _, _, acked in program.find("committed")]
    silence_s = longest_gap(acks_s, killed_s, max(acks_s))
    await side.restart(node_id)
    return silence_s
