"""`tidelog events` on a running cluster: a kill is told with its cause, also after a restart."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]
WAIT_S = 120


def events(cluster: LocalCluster, *arguments: str) -> list[dict[str, Any]]:
    done = cluster.run("events", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def until_led_by_another(cluster: LocalCluster, leader_id: int) -> dict[str, Any]:
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        for event in events(cluster, "--topic", "told", "--kind", "leader"):
            if event["before"] == str(leader_id):
                return event
        time.sleep(0.5)
    raise AssertionError("nobody told of a new leader")


def test_a_kill_is_told_with_its_cause_and_after_a_restart_too(
    running_cluster: LocalCluster,
) -> None:
    cluster = running_cluster
    cluster.run("topics", "create", "told", "--replication-factor", "3")
    described = json.loads(cluster.run("topics", "describe", "told", "--json").stdout)
    leader_id = described["partitions"][0]["leader"]
    cluster.kill(leader_id)
    led = until_led_by_another(cluster, leader_id)
    assert led["cause"].startswith(f"broker {leader_id} fenced")
    (fenced, *_) = [
        event
        for event in events(cluster, "--kind", "fencing", "--since", "1m")
        if event["broker_id"] == int(leader_id) and event["after"] == "fenced"
    ]
    assert "refuses connections" in fenced["cause"], "also where a partition's says no more"
    (began,) = events(cluster, "--topic", "told", "--kind", "epoch", "--since", "1m")[-1:]
    assert (str(began["nodes"][0]), began["leader_epoch"]) == (led["after"], led["leader_epoch"])
    assert cluster.stop().returncode == 0
    started = cluster.start()
    assert started.returncode == 0, started.stderr
    again = until_led_by_another(cluster, leader_id)
    assert (again["time_ms"], again["cause"]) == (led["time_ms"], led["cause"])
