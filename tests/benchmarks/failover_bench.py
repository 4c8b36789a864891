"""How long writes stand still when a broker ends: `python -m tests.benchmarks.failover_bench`.

Starts three nodes of its own, on free ports and in a folder that goes away. One producer keeps one
acks=all record on its way to each of 12 partitions (replication factor 3, min.insync.replicas 2).
A victim, another one each time, is ended; from then on the longest time without an acknowledgement
counts, on the worst partition that it led and on the worst of the others. It is started again, and
the next run begins when all replicas are in sync and preferred leaders lead.

    kill    kill -9
    stop    SIGSTOP, and SIGCONT once writes go on

One JSON line a figure, in seconds, with the load average of the machine as the runs found it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer

TOPIC = "failover"
PARTITIONS = 12
WARM_S = 1.0
"""Of load before the victim ends."""
CALM_S = 1.0
"""Of load after every partition was acknowledged again: a late second gap counts too."""
LIMIT_S = 60.0
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


@dataclass(slots=True)
class Run:
    """The longest silences of one run."""

    led_s: float
    others_s: float
    was_active_controller: bool
    load: float


@dataclass(slots=True)
class Load:
    """One record after the other to each partition, and when each was acknowledged."""

    producer: Producer
    acks_s: dict[int, list[float]] = field(default_factory=dict)

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(*(self._write(partition) for partition in range(PARTITIONS)))

    async def _write(self, partition: int) -> None:
        acks_s = self.acks_s[partition] = []
        while True:
            await self.producer.send(TOPIC, value=b"v" * 100, partition=partition)
            acks_s.append(time.monotonic())

    async def until_acknowledged(self, since_s: float) -> None:
        """Every partition has taken a record since then."""
        async with asyncio.timeout(LIMIT_S):
            while any(not a or a[-1] <= since_s for a in self.acks_s.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def silence_s(self, partition: int, since_s: float) -> float:
        """The longest time without an acknowledgement, from `since_s` on."""
        times = [since_s, *(ack_s for ack_s in self.acks_s[partition] if ack_s > since_s)]
        return max(after - before for before, after in pairwise(times))


async def measure(cluster: LocalCluster, how: str, runs: int) -> list[Run]:
    """So many failovers; the victims take turns."""
    async with Admin(cluster.bootstrap) as admin:
        done = []
        for number in range(runs):
            await _settle(admin)
            done.append(await _fail_over(cluster, admin, how=how, victim=1 + number % 3))
            sys.stderr.write(f"{how} {number + 1}/{runs}: {done[-1]}\n")
        return done


async def _settle(admin: Admin) -> None:
    """All in sync, and each node leads its share."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            topic = await admin.describe_topic(TOPIC)
            if all(len(one.isr) == 3 for one in topic.partitions):
                if all(one.leader == one.replicas[0] for one in topic.partitions):
                    return
                await admin.elect_leaders()
            await asyncio.sleep(0.1)


async def _fail_over(cluster: LocalCluster, admin: Admin, *, how: str, victim: int) -> Run:
    topic = await admin.describe_topic(TOPIC)
    led = [one.partition for one in topic.partitions if one.leader == victim]
    others = [one.partition for one in topic.partitions if one.leader != victim]
    controller_id = (await admin.describe_cluster()).controller_id
    pid = cluster.pids()[victim]
    assert pid is not None
    load_average = os.getloadavg()[0]
    async with Producer(cluster.bootstrap) as producer:
        load = Load(producer)
        writing = asyncio.create_task(load.run())
        await asyncio.sleep(WARM_S)
        os.kill(pid, SIGNALS[how])
        since_s = time.monotonic()
        await load.until_acknowledged(since_s)
        await asyncio.sleep(CALM_S)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    if how == "kill":
        await asyncio.to_thread(cluster.start)
    else:
        os.kill(pid, signal.SIGCONT)
    return Run(
        led_s=max(load.silence_s(one, since_s) for one in led),
        others_s=max(load.silence_s(one, since_s) for one in others),
        was_active_controller=controller_id == victim,
        load=load_average,
    )


def failover_figures(runs: int, kinds: Sequence[str] = tuple(SIGNALS)) -> Iterator[dict[str, Any]]:
    """So many runs of each kind, on nodes of their own."""
    with tempfile.TemporaryDirectory(prefix="failover-") as folder:
        cluster = LocalCluster(Path(folder))
        started = cluster.start()
        if started.returncode:
            raise SystemExit(started.stderr)
        try:
            asyncio.run(_create(cluster))
            for how in kinds:
                yield from _figures(how, asyncio.run(measure(cluster, how, runs)))
        finally:
            cluster.stop()


def _figures(how: str, runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    groups = {
        "any broker": runs,
        "active controller": [run for run in runs if run.was_active_controller],
        "other broker": [run for run in runs if not run.was_active_controller],
    }
    for victim, chosen in groups.items():
        if chosen:
            yield {
                "how": how,
                "victim": victim,
                "runs": len(chosen),
                "led_s": _spread([run.led_s for run in chosen]),
                "not_led_s": _spread([run.others_s for run in chosen]),
                "load": round(statistics.median(run.load for run in chosen), 1),
            }


def _spread(values: Sequence[float]) -> dict[str, float]:
    """By nearest rank: p99 of fewer than 100 runs is the worst."""
    ordered = sorted(values)
    ranks = {name: -(-len(ordered) * rank // 100) - 1 for name, rank in (("p50", 50), ("p99", 99))}
    return {name: round(ordered[rank], 3) for name, rank in ranks.items()}


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", choices=[[], *SIGNALS], metavar="KIND")
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    for figure in failover_figures(options.runs, options.kinds or tuple(SIGNALS)):
        sys.stdout.write(json.dumps({"figure": "failover", **figure}) + "\n")
        sys.stdout.flush()


async def _create(cluster: LocalCluster) -> None:
    async with Admin(cluster.bootstrap) as admin:
        configs = {"min.insync.replicas": "2"}
        await admin.create_topic(
            TOPIC, partitions=PARTITIONS, replication_factor=3, configs=configs
        )


if __name__ == "__main__":
    main()
