"""A soak of a consumer group: members and nodes are killed, paused and restarted, by a seed.

    python -m tests.benchmarks.groups_soak --minutes 10 --seed 1

Three nodes of its own, and 12 members as processes, that share a topic of 48 partitions, each of
which gets a record every 0.2 s. Every 3 s a member gets SIGKILL, SIGSTOP for a while, or leaves; in
place of one that ended another starts. Every minute a node gets SIGKILL, and is started again.

The last line is one JSON object. `untouched_silent_s` is the longest time between two reads of a
partition by one member that nobody struck, while all nodes ran; it holds the 0.2 s between two
records. Exit code 1 when an acknowledged record was never read, nothing was acknowledged, or the
group did not come to a balance in the end; 2 when the soak itself failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.groups_programs import Program, ProgramError
from tests.benchmarks.groups_sides import TidelogSide, three_nodes
from tests.benchmarks.groups_soak_ledger import Interval, Read, missing, silences, verdict

from tidelog.client import Producer
from tidelog.client.errors import TidelogError

TOPIC, GROUP = "soak", "soak"
MEMBERS, PARTITIONS = 12, 48
PERIOD_S = 0.2
"""Between two records of a partition."""
STRIKE_S, NODE_S = 3.0, 60.0
STRIKES = ("kill", "pause", "restart")
PAUSED_S = (0.5, 6.0)
DOWN_S = (0.5, 5.0)
AFTERMATH_S = 3.0
"""After a node is back, its outage still counts: leaderships move back to it."""
CATCH_UP_S = 240.0


class Members:
    """The members' processes, those that have ended included."""

    def __init__(self, side: TidelogSide, rng: random.Random) -> None:
        self.strikes: dict[int, list[Interval]] = defaultdict(list)
        """By number of the process."""
        self.counts: Counter[str] = Counter(dict.fromkeys(STRIKES, 0))
        self._command = side.command("member", GROUP, TOPIC)
        self._rng = rng
        self._all: list[Program] = []
        self._running: list[int] = []
        self._struck: set[int] = set()
        self._work: set[asyncio.Task[None]] = set()

    async def add(self) -> None:
        """Start one more."""
        program = await Program.start(self._command)
        self._all.append(program)
        self._running.append(len(self._all) - 1)
        await program.go()

    def strike(self) -> None:
        """Do something to one of those that are left alone now."""
        free = [one for one in self._running if one not in self._struck]
        if not free:
            return
        number, kind = self._rng.choice(free), self._rng.choice(STRIKES)
        self._struck.add(number)
        self.counts[kind] += 1
        task = asyncio.create_task(self._strike(number, kind, self._rng.uniform(*PAUSED_S)))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _strike(self, number: int, kind: str, paused_s: float) -> None:
        program, began_s = self._all[number], time.monotonic()
        if kind == "pause":
            program.process.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(paused_s)
            finally:
                program.process.send_signal(signal.SIGCONT)
        else:
            self._running.remove(number)
            await (program.stop() if kind == "kill" else program.leave())
            await self.add()
        self.strikes[number].append(Interval(began_s, time.monotonic() + PERIOD_S))
        self._struck.discard(number)

    async def rest(self) -> None:
        """Wait for the end of strikes."""
        await asyncio.gather(*self._work)

    def reads(self) -> Iterator[Read]:
        """What all have handed out."""
        for number, program in enumerate(self._all):
            for _, time_s, partitions, offsets in program.find("read"):
                for partition, offset in zip(partitions, offsets, strict=True):
                    yield Read(time_s, number, partition, offset)

    @property
    def is_balanced(self) -> bool:
        """True if the running members have a part each, of all partitions."""
        owned = [self._all[one].owned for one in self._running]
        share = PARTITIONS // MEMBERS
        is_even = all(len(one) == share for one in owned)
        return is_even and len({n for one in owned for n in one}) == PARTITIONS

    async def stop(self) -> None:
        """End all."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        for program in self._all:
            await program.stop()


class Load:
    """Records to all partitions, and those that were acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        self.failures = 0

    async def run(self, bootstrap: str, ending: asyncio.Event) -> None:
        """Produce until the end, and wait for every outcome."""
        async with Producer(bootstrap) as producer, asyncio.TaskGroup() as tasks:
            for partition in range(PARTITIONS):
                tasks.create_task(self._write(producer, partition, ending))

    async def _write(self, producer: Producer, partition: int, ending: asyncio.Event) -> None:
        while not ending.is_set():
            due_s = time.monotonic() + PERIOD_S
            try:
                sent = await producer.send(TOPIC, value=b"v" * 100, partition=partition)
                self.acknowledged[partition].append(sent.offset)
            except TidelogError as error:
                self.failures += 1
                sys.stderr.write(f"partition {partition}: {error}\n")
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))


async def strike_nodes(
    side: TidelogSide, rng: random.Random, outages: list[Interval], until_s: float
) -> None:
    """Kill a node and start it again, each minute, as long as there is time for it."""
    while time.monotonic() + NODE_S <= until_s + 1.0:
        await asyncio.sleep(NODE_S / 2)
        node_id, began_s = rng.randrange(1, 4), time.monotonic()
        sys.stderr.write(f"{until_s - began_s:.0f} s left: kill node {node_id}\n")
        pid = await side.pid(node_id)
        assert pid is not None  # all run
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(rng.uniform(*DOWN_S))
        await side.restart(node_id)
        outages.append(Interval(began_s, time.monotonic() + AFTERMATH_S))
        await asyncio.sleep(max(0.0, began_s + NODE_S / 2 - time.monotonic()))


async def soak(side: TidelogSide, *, minutes: float, seed: int) -> dict[str, Any]:
    """The result of one run."""
    await side.create_topic(TOPIC, PARTITIONS)
    members, load, ending = Members(side, random.Random(seed)), Load(), asyncio.Event()
    outages: list[Interval] = []
    began_s = time.monotonic()
    loading = asyncio.create_task(load.run(side.bootstrap, ending))
    try:
        for _ in range(MEMBERS):
            await members.add()
        until_s = time.monotonic() + minutes * 60
        nodes = asyncio.create_task(strike_nodes(side, random.Random(seed + 1), outages, until_s))
        while time.monotonic() < until_s:
            await asyncio.sleep(STRIKE_S)
            members.strike()
        await nodes
        await members.rest()
        ending.set()
        await loading
        is_balanced = await _catch_up(members, load)
        reads = list(members.reads())
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await members.stop()
    found = silences(reads, members.strikes, outages)
    return {
        "figure": "groups-soak",
        **verdict(load.acknowledged, reads, found, is_balanced=is_balanced),
        "strikes": dict(members.counts),
        "nodes_killed": len(outages),
        "producer_errors": load.failures,
        "seconds": round(time.monotonic() - began_s),
        "load": round(os.getloadavg()[0], 1),
    }


async def _catch_up(members: Members, load: Load) -> bool:
    """Wait until everything was read and the group is balanced; False: it never was."""

    def is_done() -> bool:
        return members.is_balanced and not missing(load.acknowledged, members.reads())

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CATCH_UP_S):
            while not is_done():  # noqa: ASYNC110
                await asyncio.sleep(1.0)
    return members.is_balanced


def main() -> None:
    """Soak, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it cleans up then, too
    try:
        with three_nodes() as side:
            figure = asyncio.run(soak(side, minutes=options.minutes, seed=options.seed))
    except (ProgramError, TidelogError, RuntimeError, TimeoutError) as error:
        sys.stderr.write(f"the soak failed: {type(error).__name__}: {error}\n")
        sys.exit(2)
    figure |= {"minutes": options.minutes, "seed": options.seed}
    sys.stdout.write(json.dumps(figure) + "\n")
    sys.exit(1 if figure["violations"] else 0)


if __name__ == "__main__":
    main()
