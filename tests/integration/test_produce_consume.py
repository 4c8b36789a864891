"""The whole path on real processes: command line, failover, restart, what is on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = pytest.mark.process


def describe(cluster: LocalCluster, topic: str) -> dict[str, Any]:
    done = cluster.run("topics", "describe", topic, "--json")
    assert done.returncode == 0, done.stderr
    described: dict[str, Any] = json.loads(done.stdout)
    return described


def create(cluster: LocalCluster, topic: str, *, partitions: int, config: str = "") -> None:
    arguments = ["--partitions", str(partitions), "--replication-factor", "3"]
    if config:
        arguments += ["--config", config]
    done = cluster.run("topics", "create", topic, *arguments)
    assert done.returncode == 0, done.stderr


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within some command calls, each of which takes a moment."""
    return any(condition() for _ in range(60))


def consumed(cluster: LocalCluster, topic: str, count: int) -> list[str]:
    done = cluster.run(
        *("consume", topic, "--from-beginning", "--max-records", str(count), "--timeout", "10")
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_lines_produced_are_lines_consumed_in_order(running_cluster: LocalCluster) -> None:
    create(running_cluster, "lines", partitions=1)
    lines = [f"line {number}" for number in range(2000)] + ["", "tab\tand end"]
    produced = running_cluster.run("produce", "lines", stdin="\n".join(lines) + "\n")
    assert produced.returncode == 0, produced.stderr
    assert produced.stderr.strip().splitlines()[-1] == "2002 records acknowledged"
    assert consumed(running_cluster, "lines", 2002) == lines


def test_compressed_keyed_records_keep_a_key_in_one_partition(
    running_cluster: LocalCluster,
) -> None:
    create(running_cluster, "keyed", partitions=6)
    lines = "".join(f"k{number % 17}:v{number}\n" for number in range(1000))
    produced = running_cluster.run(
        *("produce", "keyed", "--compression", "lz4", "--key-separator", ":"), stdin=lines
    )
    assert produced.returncode == 0, produced.stderr
    done = running_cluster.run(
        *("consume", "keyed", "--from-beginning", "--max-records", "1000", "--json")
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    partitions: dict[str, set[int]] = {}
    values: dict[str, list[int]] = {}
    for record in records:
        partitions.setdefault(record["key"], set()).add(record["partition"])
        values.setdefault(record["key"], []).append(int(record["value"][1:]))
    assert len(partitions) == 17
    assert all(len(found) == 1 for found in partitions.values())
    assert all(found == sorted(found) for found in values.values())


def test_description_shows_replicas_offsets_and_configs(running_cluster: LocalCluster) -> None:
    create(running_cluster, "described", partitions=2, config="min.insync.replicas=2")
    running_cluster.run("produce", "described", "--partition", "1", stdin="a\nb\n")
    described = describe(running_cluster, "described")
    assert described["configs"] == {"min.insync.replicas": "2"}
    first, second = described["partitions"]
    assert sorted(first["replicas"]) == sorted(first["isr"]) == [1, 2, 3]
    assert (first["log_end_offset"], second["log_end_offset"]) == (0, 2)
    assert second["high_watermark"] == 2


def test_acknowledged_lines_survive_kill_of_the_leader_and_of_all_nodes(
    cluster: LocalCluster,
) -> None:
    assert cluster.start().returncode == 0
    create(cluster, "kept", partitions=1, config="min.insync.replicas=2")
    first = [f"before {number}" for number in range(500)]
    assert cluster.run("produce", "kept", stdin="\n".join(first) + "\n").returncode == 0

    leader = describe(cluster, "kept")["partitions"][0]["leader"]
    cluster.kill(leader)
    second = [f"after {number}" for number in range(500)]
    produced = cluster.run("produce", "kept", stdin="\n".join(second) + "\n")
    assert produced.returncode == 0, produced.stderr
    after = describe(cluster, "kept")["partitions"][0]
    assert after["leader"] not in {None, leader}
    assert leader not in after["isr"]

    for node_id, pid in cluster.pids().items():
        if pid is not None:
            cluster.kill(node_id)
    assert cluster.start().returncode == 0
    read = consumed(cluster, "kept", 1000)
    assert list(dict.fromkeys(read)) == first + second


def test_stop_of_the_cluster_keeps_every_isr_and_every_record(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    create(cluster, "calm", partitions=6)
    assert cluster.run("produce", "calm", stdin="x\n" * 300).returncode == 0
    before = describe(cluster, "calm")["partitions"]
    stopped = cluster.stop()
    assert stopped.returncode == 0, stopped.stderr
    for node in (1, 2, 3):
        said = (cluster.folder / f"node-{node}.log").read_text().partition("about to stop")[2]
        assert "event=stopped" in said
        assert "isr changed" not in said
        assert "event=leading" not in said
    logs = {
        number: {
            (cluster.folder / f"node-{node}" / f"calm-{number}" / f"{0:020d}.log").read_bytes()
            for node in (1, 2, 3)
        }
        for number in range(6)
    }
    assert all(len(copies) == 1 for copies in logs.values()), "replicas differ"

    assert cluster.start().returncode == 0
    assert eventually(
        lambda: (
            [sorted(p["isr"]) for p in describe(cluster, "calm")["partitions"]]
            == [sorted(p["isr"]) for p in before]
        )
    )
    after = describe(cluster, "calm")["partitions"]
    assert sum(p["log_end_offset"] for p in after) == 300
