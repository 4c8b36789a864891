"""Figures of many partitions: three nodes of its own, on ports of its own, stopped at the end.

creation   1,000 topics of 5 partitions RF 3 in one CreateTopics: seconds until each live broker
           names a leader of each, the terms that passed, the longest stall of each node's loop, ms
restart    a cluster of 3,000 partitions RF 3, stopped and started: seconds until `cluster start`
           says that all nodes are ready, and until every partition has a leader and a whole ISR
idle       CPU share of each of its nodes with nothing to do, per cent of a core
six        CPU of three brokers a record, ms, produced to 6 partitions beside those 3,000, and in a
           cluster that has these 6 alone, in turns; `ratio` is the first by the second
batches    one-record batches, one to each of 300 partitions RF 3, sent together again and again:
           CPU of three brokers a batch, ms

A stall is the longest answer of a node to GET /health, asked every 10 ms: what the loop and the
machine make a caller wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, NewTopic, Producer, require_all
from tidelog.client.errors import TidelogError

TOPICS, TOPIC_PARTITIONS = 1_000, 5
MANY = 3_000
SIX, BUNDLED = "six", "bundled"
BUNDLE = 300
PROBE_S = 0.01
SETTLED_S = 30.0
"""Until new logs have had their first checkpoints, and the files of their folders are written."""
IDLE_S, PRODUCE_S, BUNDLES_S = 20.0, 10.0, 10.0
READY_S_MAX = 300.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def many_figures(runs: int) -> Iterable[dict[str, Any]]:
    """Each run of each figure; quote those of a quiet machine."""
    for _ in range(runs):
        for figure in (_creation, _many, _batches):
            yield from figure()


def _creation() -> Iterator[dict[str, Any]]:
    with _started() as cluster:
        yield {"name": "creation", **asyncio.run(_create_at_once(cluster)), **_load()}


def _many() -> Iterator[dict[str, Any]]:
    with _started() as few, _started() as many:
        for cluster in (few, many):
            asyncio.run(_create(cluster, [NewTopic(SIX, 6, 3)]))
        for first in range(0, MANY // TOPIC_PARTITIONS, 100):
            topics = [NewTopic(f"t-{n}", TOPIC_PARTITIONS, 3) for n in range(first, first + 100)]
            asyncio.run(_create(many, topics))
        asyncio.run(_until_whole(many, MANY))
        time.sleep(SETTLED_S)
        yield {"name": "idle", "cpu_percent": _idle_percent(many), **_load()}
        spent: dict[str, list[float]] = {"beside_many": [], "alone": []}
        for _ in range(2):
            for name, cluster in (("alone", few), ("beside_many", many)):
                spent[name].append(asyncio.run(_produce_six(cluster)))
        ratio = min(spent["beside_many"]) / min(spent["alone"])
        yield {"name": "six", "cpu_ms_a_record": spent, "ratio": round(ratio, 2), **_load()}
        few.stop()
        many.stop()
        began_s = time.monotonic()
        _start(many)
        ready_s = round(time.monotonic() - began_s, 1)
        asyncio.run(_until_whole(many, MANY))
        whole_s = round(time.monotonic() - began_s, 1)
        yield {"name": "restart", "ready_s": ready_s, "whole_s": whole_s, **_load()}


def _batches() -> Iterator[dict[str, Any]]:
    with _started() as cluster:
        asyncio.run(_create(cluster, [NewTopic(BUNDLED, BUNDLE, 3, {"min.insync.replicas": "2"})]))
        asyncio.run(_until_whole(cluster, BUNDLE))
        asyncio.run(_produce_bundles(cluster, 2.0))
        found = [asyncio.run(_produce_bundles(cluster, BUNDLES_S)) for _ in range(2)]
        yield {"name": "batches", "cpu_ms_a_batch": found, **_load()}


# Clusters


@contextmanager
def _started() -> Iterator[LocalCluster]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        cluster = LocalCluster(Path(folder))
        try:
            _start(cluster)
            yield cluster
        finally:
            cluster.stop()


def _start(cluster: LocalCluster) -> None:
    started = cluster.start()
    if started.returncode:
        raise SystemExit(started.stderr)


async def _create(cluster: LocalCluster, topics: list[NewTopic]) -> None:
    async with Admin(cluster.bootstrap) as admin:
        require_all(await admin.create_topics(topics))


async def _until_whole(cluster: LocalCluster, partitions: int) -> None:
    """Every partition has a leader and its whole ISR."""
    async with Admin(cluster.bootstrap) as admin, asyncio.timeout(READY_S_MAX):
        while True:
            try:
                topics = require_all(await admin.describe_topics())
            except TidelogError:
                topics = {}
            whole = [
                partition
                for topic in topics.values()
                for partition in topic.partitions
                if partition.leader is not None and len(partition.isr) == len(partition.replicas)
            ]
            if len(whole) >= partitions:
                return
            await asyncio.sleep(0.5)


# What is measured


async def _create_at_once(cluster: LocalCluster) -> dict[str, Any]:
    topics = [NewTopic(f"t-{number}", TOPIC_PARTITIONS, 3) for number in range(TOPICS)]
    async with Admin(cluster.bootstrap) as admin:
        before = (await admin.describe_quorum()).term
        probes = [asyncio.create_task(_longest_answer(port)) for port in cluster.ports[3:6]]
        began_s = time.monotonic()
        require_all(await admin.create_topics(topics))
        seconds = time.monotonic() - began_s
        after = (await admin.describe_quorum()).term
        for probe in probes:
            probe.cancel()
        stalls = await asyncio.gather(*probes)
    return {
        "topics": TOPICS,
        "partitions": TOPICS * TOPIC_PARTITIONS,
        "seconds": round(seconds, 1),
        "terms_passed": after - before,
        "longest_stall_ms": [round(one * 1000) for one in stalls],
    }


async def _longest_answer(port: int) -> float:
    """Seconds, when it is cancelled."""
    longest = 0.0
    try:
        async with aiohttp.ClientSession() as session:
            while True:
                began_s = time.monotonic()
                async with session.get(f"http://127.0.0.1:{port}/health") as answer:
                    await answer.read()
                longest = max(longest, time.monotonic() - began_s)
                await asyncio.sleep(PROBE_S)
    except asyncio.CancelledError:
        return longest


async def _produce_six(cluster: LocalCluster) -> float:
    """CPU milliseconds of three brokers for each record, about 600 a second."""
    before_s, sent = _cpu_s(cluster), 0
    async with Producer(cluster.bootstrap) as producer:
        until_s = time.monotonic() + PRODUCE_S
        while time.monotonic() < until_s:
            outcomes = [
                await producer.submit(SIX, value=b"v" * 100, partition=number)
                for number in range(6)
            ]
            for outcome in outcomes:
                await outcome
            sent += len(outcomes)
            await asyncio.sleep(0.01)
    return round((_cpu_s(cluster) - before_s) / sent * 1000, 3)


async def _produce_bundles(cluster: LocalCluster, seconds: float) -> float:
    """CPU milliseconds of three brokers for each batch of one record."""
    before_s, sent = _cpu_s(cluster), 0
    async with Producer(cluster.bootstrap, linger_ms=20) as producer:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            outcomes = [
                await producer.submit(BUNDLED, value=b"v" * 100, partition=number)
                for number in range(BUNDLE)
            ]
            for outcome in outcomes:
                await outcome
            sent += BUNDLE
    return round((_cpu_s(cluster) - before_s) / sent * 1000, 3)


def _idle_percent(cluster: LocalCluster) -> list[float]:
    pids = _pids(cluster)
    before = {pid: _cpu_of(pid) for pid in pids}
    time.sleep(IDLE_S)
    return [round((_cpu_of(pid) - before[pid]) / IDLE_S * 100, 1) for pid in pids]


def _cpu_s(cluster: LocalCluster) -> float:
    return sum(_cpu_of(pid) for pid in _pids(cluster))


def _pids(cluster: LocalCluster) -> list[int]:
    return [pid for pid in cluster.pids().values() if pid is not None]


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _load() -> dict[str, float]:
    return {"load_average": round(os.getloadavg()[0], 2)}


if __name__ == "__main__":
    figures = {"creation": _creation, "many": _many, "batches": _batches}
    for wanted in sys.argv[1:] or figures:
        for found in figures[wanted]():
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
