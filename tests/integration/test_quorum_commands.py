"""The quorum of a running cluster is described and read, also when its leader has died."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]


def lines(cluster: LocalCluster, *arguments: str) -> list[dict[str, Any]]:
    """What a command that works says, an object a line."""
    done = cluster.run("quorum", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_quorum_is_described_and_its_log_read_from_nodes_and_files(
    cluster: LocalCluster,
) -> None:
    assert cluster.start().returncode == 0
    assert cluster.run("topics", "create", "flights", "--replication-factor", "3").returncode == 0
    (status,) = lines(cluster, "status")
    leader_id, roles = status["leader_id"], {v["node_id"]: v["role"] for v in status["voters"]}
    assert roles == {n: "leader" if n == leader_id else "follower" for n in (1, 2, 3)}
    from_node = lines(cluster, "log")
    created = next(line for line in from_node if line["type"] == "topic")
    assert created["record"]["name"] == "flights"
    assert created["term"] == status["term"]

    cluster.kill(leader_id)
    assert cluster.run("topics", "create", "delays", "--replication-factor", "2").returncode == 0
    (after,) = lines(cluster, "status")
    assert after["leader_id"] not in (None, leader_id)
    assert after["term"] > status["term"]
    (dead,) = (v for v in after["voters"] if v["node_id"] == leader_id)
    assert (dead["role"], dead["commit_index"]) == ("unreachable", None)
    newer = lines(cluster, "log", "--from", str(created["index"]))
    assert newer[-1]["term"] == after["term"]
    whole = lines(cluster, "log", "--snapshot")
    assert [x["record"]["name"] for x in whole if x["type"] == "topic"] == ["flights", "delays"]

    files = lines(cluster, "log", "--data-dir", str(cluster.folder / f"node-{leader_id}"))
    assert [line for line in files if line in from_node] == from_node
