"""Configs on a running cluster: a change counts at once, at every node, and outlives a restart."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]
LARGE = "x" * 5_000


def run(cluster: LocalCluster, *arguments: str) -> str:
    """What a command that works says."""
    done = cluster.run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def produce(cluster: LocalCluster, topic: str, line: str) -> subprocess.CompletedProcess[str]:
    return cluster.run("produce", topic, stdin=line + "\n")


def described(cluster: LocalCluster, address: str, *of: str) -> dict[str, tuple[str, str]]:
    """Value and source of what is set, as one node says."""
    answer = run(cluster, "configs", "describe", *of, "--json", "--bootstrap", address)
    return {one["name"]: (one["value"], one["source"]) for one in json.loads(answer)["configs"]}


def test_a_change_counts_for_the_next_write_and_deleting_it_too(
    running_cluster: LocalCluster,
) -> None:
    cluster = running_cluster
    run(cluster, "topics", "create", "flights", "--partitions", "1")
    assert produce(cluster, "flights", LARGE).returncode == 0
    for scope in ("flights", "--cluster"):
        run(cluster, "configs", "set", scope, "max.message.bytes=1000")
        refused = produce(cluster, "flights", LARGE)
        assert refused.returncode == 1
        assert "1000" in refused.stderr
        assert produce(cluster, "flights", "small").returncode == 0
        run(cluster, "configs", "delete", scope, "max.message.bytes")
        assert produce(cluster, "flights", LARGE).returncode == 0
    lines = run(cluster, "consume", "flights", "--from-beginning", "--max-records", "5")
    assert lines.split() == [LARGE, "small", LARGE, "small", LARGE]


@pytest.mark.turns(3)
def test_every_node_knows_of_a_change_once_it_is_answered_and_after_a_restart(
    running_cluster: LocalCluster,
) -> None:
    cluster = running_cluster
    run(cluster, "topics", "create", "delays")
    run(cluster, "configs", "set", "delays", "max.message.bytes=1000", "retention.ms=-1")
    run(cluster, "configs", "set", "--cluster", "flush.ms=60000")
    expected = {
        "max.message.bytes": ("1000", "DYNAMIC_TOPIC_CONFIG"),
        "retention.ms": ("-1", "DYNAMIC_TOPIC_CONFIG"),
        "flush.ms": ("60000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        "min.insync.replicas": ("2", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    }
    for address in cluster.addresses:
        assert described(cluster, address, "delays") == expected
    assert cluster.stop().returncode == 0
    started = cluster.start()
    assert started.returncode == 0, started.stderr
    for address in cluster.addresses:
        assert described(cluster, address, "delays") == expected
        assert described(cluster, address, "--cluster").keys() == {
            "flush.ms",
            "min.insync.replicas",
        }
    run(cluster, "configs", "delete", "--cluster", "flush.ms")
    refused = produce(cluster, "delays", LARGE)
    assert refused.returncode == 1
    assert "1000" in refused.stderr


def test_a_refused_change_leaves_everything_as_it_was(running_cluster: LocalCluster) -> None:
    cluster = running_cluster
    run(cluster, "topics", "create", "refused")
    words = ("configs", "set", "refused", "max.message.bytes=1000", "min.insync.replicas=0")
    refused = cluster.run(*words)
    assert refused.returncode == 1
    assert refused.stderr == (
        "tidelog: min.insync.replicas='0': must be a whole number from 1 to 2147483647\n"
    )
    assert "max.message.bytes" not in described(cluster, cluster.bootstrap, "refused")
    assert produce(cluster, "refused", LARGE).returncode == 0
