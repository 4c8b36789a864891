"""Leaders on a running cluster: given away at a stop, given back when an operator asks."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = [pytest.mark.process]


def partitions(cluster: LocalCluster) -> list[dict[str, Any]]:
    done = cluster.run("topics", "describe", "t", "--json")
    assert done.returncode == 0, done.stderr
    described: list[dict[str, Any]] = json.loads(done.stdout)["partitions"]
    return described


def eventually(condition: Callable[[], bool], *, within_s: float = 120.0) -> bool:
    ends = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.2)
    return True


@pytest.mark.turns(3)
def test_leaderships_go_back_to_preferred_leaders_in_sync(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    created = cluster.run("topics", "create", "t", "--partitions", "3", "--replication-factor", "3")
    assert created.returncode == 0, created.stderr
    cluster.kill(1)
    assert eventually(lambda: all(one["leader"] in (2, 3) for one in partitions(cluster)))
    refused = cluster.run("topics", "elect-leaders")
    assert refused.returncode == 1
    assert "broker 1 is not in the ISR" in refused.stderr

    assert cluster.start().returncode == 0
    assert eventually(lambda: all(len(one["isr"]) == 3 for one in partitions(cluster)))
    said = (cluster.folder / "node-1.log").read_text()
    assert re.findall("disk=([a-z]+)", said) == ["new", "kept"]
    elected = cluster.run("topics", "elect-leaders", "--topic", "t")
    assert (elected.returncode, elected.stderr) == (0, "")
    assert len(elected.stdout.splitlines()) == 1
    assert all(one["leader"] == one["replicas"][0] for one in partitions(cluster))
    needless = cluster.run("topics", "elect-leaders", "--unclean")
    assert (needless.returncode, needless.stdout) == (0, "")
