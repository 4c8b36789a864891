"""Figures of Kafka's protocol by its own clients: `python -m tests.benchmarks.kafka_bench [ROW …]`.

Beside `tidelog bench run --only wire`, which measures how fast they are. Starts three nodes of its
own for each row, on free ports and in a folder that goes away; the client is confluent-kafka, which
must be importable (PYTHONPATH), with its defaults.

    failover     a producer keeps one record on its way to each of 12 partitions; kill -9 of a
                 broker: the longest time without an acknowledgement on a partition that it led
    failover-java
                 the same with Java's producer (VerifiableProducer), whose jars TIDELOG_KAFKA_JARS
                 names; skipped without them
    join         50 members of 100 partitions join at once, in each protocol, to balanced
    connections  1,000 connections that are silent after ApiVersions: memory of the node, each;
                 2,000 more at once: a producer's p99 meanwhile, by its p99 before
    idle         a consumer of 1,000 partitions without records: the nodes' processor time

With `--peer BOOTSTRAP --peer-control COMMAND`, see `groups_sides`, a running Apache Kafka is
measured after ours in the same sitting. One JSON line a figure, with the load that it found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.groups_joins import join
from tests.benchmarks.groups_programs import Program
from tests.benchmarks.groups_rows import spread
from tests.benchmarks.groups_sides import (
    OFFSETS_TOPIC,
    PROTOCOLS,
    KafkaSide,
    TidelogSide,
    confluent,
    cpu_s,
)
from tests.benchmarks.kafka_loads import LIMIT_S, Acks, JavaLoad, Load
from tests.benchmarks.memory_samples import Memory
from tests.integration.local_cluster import LocalCluster

NODES = (1, 2, 3)
FAILOVER_PARTITIONS = 12
MEMBERS, MEMBERS_PARTITIONS = 50, 100
SILENT, OPENED_AT_ONCE = 1_000, 2_000
IDLE_PARTITIONS, IDLE_S = 1_000, 20.0
WARM_S, LATE_S, SAMPLE_S = 2.0, 0.5, 10.0

JARS = "TIDELOG_KAFKA_JARS"

Figure = dict[str, Any]  # what a JSON line holds


class OwnSide(KafkaSide):
    """Our nodes, to Kafka's clients."""

    def __init__(self, cluster: LocalCluster, protocol: str = PROTOCOLS[0]) -> None:
        super().__init__(cluster.kafka_bootstrap, protocol, None)
        self.name = f"tidelog {protocol}"
        self._cluster = cluster
        self._nodes = TidelogSide(cluster)  # with the process ids of now

    async def pid(self, node_id: int) -> int | None:
        """See `Side`."""
        return await self._nodes.pid(node_id)

    async def restart(self, node_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """See `Side`; `failover` waits for its replicas itself."""
        del node_id, topic
        started = await asyncio.to_thread(self._cluster.start)
        if started.returncode:
            raise RuntimeError(started.stderr)
        self._nodes = TidelogSide(self._cluster)


async def failover(
    side: KafkaSide, runs: int, load_of: Callable[[str, str, int], Acks] = Load
) -> Figure:
    """So many kills, of one broker after the other."""
    await side.create_topic("failover", FAILOVER_PARTITIONS)
    topic, silent_s = side.topic("failover"), []
    for number in range(runs):
        victim = NODES[number % len(NODES)]
        led = await _led(side, topic, victim)
        pid = await side.pid(victim)
        assert pid is not None
        with load_of(side.bootstrap, topic, FAILOVER_PARTITIONS) as load:
            await load.until_acknowledged(range(FAILOVER_PARTITIONS), 0.0)
            await asyncio.sleep(WARM_S)
            os.kill(pid, signal.SIGKILL)
            since_s = time.monotonic()
            # Acknowledgements of before the kill are told a little later.
            await load.until_acknowledged(led, since_s + LATE_S)
        silent_s.append(max(load.silence_s(one, since_s) for one in led))
        await side.restart(victim)
    return spread(silent_s, "s")


async def _led(side: KafkaSide, topic: str, node_id: int) -> list[int]:
    """Partitions that a broker leads, once all are in sync and it leads some."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            admin = confluent("confluent_kafka.admin").AdminClient(
                {"bootstrap.servers": side.bootstrap, "log_level": 0}
            )
            found = await asyncio.to_thread(admin.list_topics, topic, 10)
            partitions = found.topics[topic].partitions
            led = [number for number, one in partitions.items() if one.leader == node_id]
            if led and all(len(one.isrs) == len(one.replicas) for one in partitions.values()):
                return led
            types = confluent("confluent_kafka")
            names = [types.TopicPartition(topic, number) for number in partitions]
            await asyncio.to_thread(
                admin.elect_leaders(types.ElectionType.PREFERRED, names).result, LIMIT_S
            )
            await asyncio.sleep(0.5)


async def connections(side: KafkaSide) -> Figure:
    """Memory of silent connections to one node; a producer's p99 while many more are opened."""
    await side.create_topic("connections", 1)
    pid = await side.pid(1)
    assert pid is not None
    host, _, port = side.bootstrap.split(",")[0].rpartition(":")
    command = (sys.executable, "-m", "tests.benchmarks.kafka_connections", host, port)
    holder = await Program.start(command)
    try:
        with Load(side.bootstrap, side.topic("connections"), 1) as load:
            await asyncio.sleep(SAMPLE_S)
            before_ms = load.took_ms
            memory = Memory.of(pid)
            await _open(holder, SILENT, in_all=SILENT)
            await asyncio.sleep(WARM_S)
            grown = Memory.of(pid)
            load.took_ms = []
            began_s = time.monotonic()
            await _open(holder, OPENED_AT_ONCE, in_all=SILENT + OPENED_AT_ONCE)
            took_s, during_ms = time.monotonic() - began_s, load.took_ms
    finally:
        await holder.leave()
    assert memory is not None  # the node runs
    assert grown is not None
    before, during = spread(before_ms, "ms"), spread(during_ms, "ms")
    return {
        "kib_a_connection": round((grown.resident - memory.resident) / 1024 / SILENT, 1),
        "p99_ms": before["p99_ms"],
        "p99_ms_meanwhile": during["p99_ms"],
        "times": round(during["p99_ms"] / before["p99_ms"], 1),
        "opened_s": round(took_s, 2),
    }


async def _open(holder: Program, count: int, *, in_all: int) -> None:
    holder.say(f"open {count}")
    await holder.until(lambda: ["open", in_all] in holder.words)


async def idle(side: KafkaSide) -> Figure:
    """Processor time of the nodes while a consumer waits for 1,000 partitions, by one core's."""
    await side.create_topic("idle", IDLE_PARTITIONS, replicas=1)
    types, topic = confluent("confluent_kafka"), side.topic("idle")
    pids = [pid for pid in [await side.pid(one) for one in NODES] if pid is not None]
    await asyncio.sleep(SAMPLE_S)
    without = await _percent(pids)
    consumer = types.Consumer({"bootstrap.servers": side.bootstrap, "group.id": topic})
    consumer.assign([types.TopicPartition(topic, n, 0) for n in range(IDLE_PARTITIONS)])
    polling = asyncio.create_task(asyncio.to_thread(consumer.poll, IDLE_S + 2 * SAMPLE_S))
    await asyncio.sleep(SAMPLE_S)
    percent = await _percent(pids)
    await polling
    consumer.close()
    return {"percent_of_core": percent, "percent_without": without}


async def _percent(pids: list[int]) -> float:
    before_s = cpu_s(pids)
    await asyncio.sleep(IDLE_S)
    return round((cpu_s(pids) - before_s) / IDLE_S * 100, 1)


async def failover_java(side: KafkaSide, runs: int) -> Figure:
    """As `failover`, without a jar nothing."""
    jars = os.environ.get(JARS)
    if jars is None:
        return {"skipped": f"{JARS} is not set"}
    return await failover(side, runs, partial(JavaLoad, jars=jars))


ROWS: Mapping[str, Callable[[KafkaSide, int], Awaitable[Figure]]] = {
    "failover": failover,
    "failover-java": failover_java,
    "join": lambda side, runs: join(side, runs, members=MEMBERS, partitions=MEMBERS_PARTITIONS),
    "connections": lambda side, _: connections(side),
    "idle": lambda side, _: idle(side),
}


def kafka_figures(
    runs: int, rows: Sequence[str] = tuple(ROWS), peer: Callable[[str], KafkaSide] | None = None
) -> Iterator[Figure]:
    """Figures of the named rows, ours and the peer's; `join` in each protocol."""
    for row in rows:
        for protocol in PROTOCOLS if row == "join" else PROTOCOLS[:1]:
            with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
                cluster = LocalCluster(Path(folder, "data"), has_kafka=True)
                try:
                    started = cluster.start()
                    if started.returncode:
                        raise SystemExit(started.stderr)
                    yield _measured(row, OwnSide(cluster, protocol), runs)
                finally:
                    cluster.stop()
            if peer is not None:
                yield _measured(row, peer(protocol), runs)


def _measured(row: str, side: KafkaSide, runs: int) -> Figure:
    load = round(os.getloadavg()[0], 1)
    sys.stderr.write(f"{side.name}: {row}\n")
    try:
        found = asyncio.run(_awaited(ROWS[row](side, runs)))
    except (RuntimeError, TimeoutError, OSError) as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    return {"row": row, "side": side.name, **found, "load": load}


async def _awaited(measuring: Awaitable[Figure]) -> Figure:
    return await measuring


def main() -> None:
    """Measure what the command line names; exit code 1 when a row could not be measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW")
    parser.add_argument("--runs", type=int, default=10, help="of failover and join")
    parser.add_argument("--peer", metavar="BOOTSTRAP", help="a running Apache Kafka")
    parser.add_argument("--peer-control", metavar="COMMAND", help="names and starts its brokers")
    options = parser.parse_args()
    confluent("confluent_kafka")

    def peer(protocol: str) -> KafkaSide:
        return KafkaSide(options.peer, protocol, options.peer_control)

    found = kafka_figures(
        options.runs, options.rows or tuple(ROWS), None if options.peer is None else peer
    )
    is_whole = True
    for figure in found:
        is_whole = is_whole and "error" not in figure
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()
    sys.exit(not is_whole)


if __name__ == "__main__":
    main()
