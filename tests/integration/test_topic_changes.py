"""Topics that change on a running cluster: partitions added, deleted and made anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]


def describe(cluster: LocalCluster) -> dict[str, Any]:
    done = cluster.run("topics", "describe", "t", "--json")
    assert done.returncode == 0, done.stderr
    described: dict[str, Any] = json.loads(done.stdout)
    return described


def must(cluster: LocalCluster, *arguments: str, stdin: str = "") -> str:
    done = cluster.run(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_partitions_are_added_and_a_topic_made_anew_is_empty(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    must(cluster, "topics", "create", "t", "--replica-assignment", "3:1,1:2")
    replicas = [one["replicas"] for one in describe(cluster)["partitions"]]
    assert replicas == [[3, 1], [1, 2]]
    assert "4 partitions" in must(cluster, "topics", "alter", "t", "--partitions", "4")
    before = describe(cluster)
    assert [one["replicas"] for one in before["partitions"][:2]] == replicas
    assert all(len(set(one["replicas"])) == 2 for one in before["partitions"])
    refused = cluster.run("topics", "alter", "t", "--partitions", "4")
    assert refused.returncode == 1
    assert "would be no increase" in refused.stderr
    must(cluster, "produce", "t", "--partition", "3", stdin="old\n")

    must(cluster, "topics", "delete", "t")
    must(cluster, "topics", "create", "t", "--partitions", "4", "--replication-factor", "3")
    after = describe(cluster)
    assert after["topic_id"] != before["topic_id"]
    assert [one["log_end_offset"] for one in after["partitions"]] == [0] * 4
