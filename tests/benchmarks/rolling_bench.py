"""A rolling restart of all nodes under load: `python -m tests.benchmarks.rolling_bench`.

Starts three nodes of its own, on free ports and in a folder that goes away. One idempotent producer
keeps one acks=all record on its way to each of 12 partitions (replication factor 3,
min.insync.replicas 2). Each node in turn is stopped (SIGTERM), started again, and the next follows
when all replicas are in sync. In the end everything is read back and judged by the history checker.

One JSON line: restarts, records acknowledged, errors that the producer's caller saw, what was lost,
duplicated or reordered, and the longest time without an acknowledgement on a partition that the
stopped node led (`planned`), of each restart. Exit code 1 unless there was no error and no anomaly.
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
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Consumer, Producer
from tidelog.client.errors import TidelogError
from tidelog.history.checks.delivery import complaints, counts
from tidelog.history.history import ACKS_ALL, History, Poll, Send

TOPIC = "rolling"
PARTITIONS = 12
CALM_S = 0.5
LIMIT_S = 120.0


@dataclass(slots=True)
class Load:
    """One record after the other to each partition; what became of each."""

    producer: Producer
    history: History = field(default_factory=History)
    acks_s: dict[int, list[float]] = field(default_factory=dict)
    is_over: bool = False

    async def run(self) -> None:
        """Until it is over."""
        await asyncio.gather(*(self._write(partition) for partition in range(PARTITIONS)))

    async def _write(self, partition: int) -> None:
        acks_s = self.acks_s[partition] = []
        while not self.is_over:
            invoked_s = time.monotonic()
            value = b"%d-%d" % (partition, len(self.history.sends))
            offset, reason, is_unknown = None, "", False
            try:
                stored = await self.producer.send(TOPIC, value=value, partition=partition)
                offset = stored.offset
            except TidelogError as error:
                reason, is_unknown = str(error), error.is_outcome_unknown
            acks_s.append(time.monotonic())
            self.history.sends.append(
                Send(
                    process=f"writer-{partition}",
                    number=len(self.history.sends),
                    topic=TOPIC,
                    incarnation=0,
                    partition=partition,
                    value=value,
                    acks=ACKS_ALL,
                    is_idempotent=True,
                    invoked_s=invoked_s,
                    ended_s=acks_s[-1],
                    outcome="unknown" if is_unknown else "fail" if reason else "ok",
                    offset=offset,
                    reason=reason,
                )
            )

    def silence_s(self, partition: int, since_s: float) -> float:
        """The longest time without an acknowledgement, from `since_s` on."""
        times = [since_s, *(one for one in self.acks_s[partition] if one > since_s)]
        return max((after - before for before, after in pairwise(times)), default=0.0)


async def roll(cluster: LocalCluster, rounds: int) -> dict[str, Any]:
    """The figure of so many rounds of three restarts."""
    silences_s = []
    async with Admin(cluster.bootstrap) as admin, Producer(cluster.bootstrap) as producer:
        load = Load(producer)
        writing = asyncio.create_task(load.run())
        for number in range(rounds * 3):
            await _until_in_sync(admin)
            await asyncio.sleep(CALM_S)
            silences_s.append(await _restart(cluster, admin, load, node_id=1 + number % 3))
            sys.stderr.write(f"{number + 1}/{rounds * 3}: {silences_s[-1]:.3f} s\n")
        await _until_in_sync(admin)
        load.is_over = True
        await writing
    history = load.history
    history.polls += await _read_back(cluster, history)
    errors = [send.reason for send in history.sends if send.outcome != "ok"]
    return {
        "figure": "rolling-restart",
        "restarts": rounds * 3,
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        **counts(history),
        "complaints": [str(one) for one in complaints(history)][:10],
        "planned_p50_ms": round(statistics.median(silences_s) * 1000),
        "planned_max_ms": round(max(silences_s) * 1000),
        "load": round(os.getloadavg()[0], 1),
    }


async def _until_in_sync(admin: Admin) -> None:
    """All replicas, and each node leads its share."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                topic = await admin.describe_topic(TOPIC)
                if all(len(one.isr) == 3 for one in topic.partitions):
                    if all(one.leader == one.replicas[0] for one in topic.partitions):
                        return
                    await admin.elect_leaders()
            except TidelogError:
                pass
            await asyncio.sleep(0.1)


async def _restart(cluster: LocalCluster, admin: Admin, load: Load, *, node_id: int) -> float:
    """Stop one node and start it; the longest silence on what it led, in seconds."""
    topic = await admin.describe_topic(TOPIC)
    led = [one.partition for one in topic.partitions if one.leader == node_id]
    pid = (await asyncio.to_thread(cluster.pids))[node_id]
    assert pid is not None
    since_s = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    async with asyncio.timeout(LIMIT_S):
        while (await asyncio.to_thread(cluster.pids))[node_id] is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    silence_s = max(load.silence_s(partition, since_s) for partition in led)
    started = await asyncio.to_thread(cluster.start)
    assert started.returncode == 0, started.stderr
    return silence_s


async def _read_back(cluster: LocalCluster, history: History) -> list[Poll]:
    """Everything up to the high watermarks, a poll a partition."""
    partitions = [(TOPIC, partition) for partition in range(PARTITIONS)]
    records: dict[int, list[tuple[int, bytes]]] = {one: [] for _, one in partitions}
    async with Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        ends = await consumer.end_offsets(partitions)
        consumer.assign(partitions)
        missing = sum(ends.values())
        while missing > 0:
            for record in await consumer.getmany(timeout_ms=int(LIMIT_S * 1000)):
                records[record.partition].append((record.offset, record.value or b""))
                missing -= 1
    now_s = time.monotonic()
    return [
        Poll(
            process="reader",
            number=len(history.sends) + partition,
            topic=TOPIC,
            incarnation=0,
            partition=partition,
            invoked_s=now_s,
            ended_s=now_s,
            position=0,
            records=tuple(read),
            is_final=True,
        )
        for partition, read in records.items()
    ]


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolling-") as folder:
        cluster = LocalCluster(Path(folder))
        started = cluster.start()
        if started.returncode:
            raise SystemExit(started.stderr)
        try:
            asyncio.run(_create(cluster))
            figure = asyncio.run(roll(cluster, options.rounds))
        finally:
            cluster.stop()
    sys.stdout.write(json.dumps(figure) + "\n")
    sys.exit(1 if figure["errors"] or figure["complaints"] else 0)


async def _create(cluster: LocalCluster) -> None:
    async with Admin(cluster.bootstrap) as admin:
        await admin.create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )


if __name__ == "__main__":
    main()
