"""Real processes that end: which of them the controllers find dead by dialling, as they log it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]


def dialled(cluster: LocalCluster) -> list[tuple[int, str, bool]]:
    """Broker, verdict, and whether it was fenced then, as the nodes logged it."""
    texts = [(cluster.folder / f"node-{one}.log").read_text() for one in (1, 2, 3)]
    line = r'event="broker dialled" broker_id=(\d) .*verdict="(.*)" is_fenced(=false)?'
    return [
        (int(found[1]), found[2], found[3] is None)
        for text in texts
        for found in re.finditer(line, text)
    ]


def fenced(cluster: LocalCluster) -> list[int]:
    return [broker_id for broker_id, _, is_fenced in dialled(cluster) if is_fenced]


def eventually(condition: Callable[[], bool], *, within_s: float = 120.0) -> bool:
    ends = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


def is_led_without(cluster: LocalCluster, broker_id: int) -> bool:
    done = cluster.run("topics", "describe", "t", "--json")
    return done.returncode == 0 and f'"leader": {broker_id}' not in done.stdout


@pytest.mark.turns(3)
def test_a_killed_node_is_found_dead_a_paused_and_a_stopped_one_are_not(
    cluster: LocalCluster,
) -> None:
    assert cluster.start().returncode == 0
    created = cluster.run("topics", "create", "t", "--partitions", "3", "--replication-factor", "3")
    assert created.returncode == 0, created.stderr
    assert fenced(cluster) == []

    cluster.kill(1)
    assert eventually(lambda: fenced(cluster) == [1])
    assert (1, "its address refuses connections", True) in dialled(cluster)
    assert eventually(lambda: is_led_without(cluster, 1))
    assert cluster.start().returncode == 0

    paused = cluster.pids()[2]
    assert paused is not None
    os.kill(paused, signal.SIGSTOP)
    try:
        assert eventually(lambda: is_led_without(cluster, 2)), "by its session's end"
    finally:
        os.kill(paused, signal.SIGCONT)
    assert fenced(cluster) == [1]

    assert cluster.start().returncode == 0
    assert cluster.stop().returncode == 0
    assert fenced(cluster) == [1], "a cluster that stops as one fences nobody"
