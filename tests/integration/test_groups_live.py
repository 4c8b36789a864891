"""Groups on real processes: members and nodes are killed, and no record is missed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.local_cluster import LocalCluster

from tidelog.core.config_sources import without_variables
from tidelog.node.config import NODE_KEYS

pytestmark = pytest.mark.process
WAIT_S = 120.0
RECORDS = 2_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    cluster = LocalCluster(tmp_path / "cluster")
    assert cluster.start().returncode == 0
    yield cluster
    cluster.stop()


class Member:
    """A process of `tidelog consume --group`, and what it printed."""

    def __init__(self, cluster: LocalCluster, path: Path, topic: str) -> None:
        self.path = path
        self._output = path.open("wb")
        self.process = subprocess.Popen(
            [
                str(Path(sys.executable).with_name("tidelog")),
                *("consume", topic, "--group", "g", "--from-beginning"),
            ],
            stdout=self._output,
            env={
                **without_variables(NODE_KEYS, os.environ),
                "TIDELOG_BOOTSTRAP": cluster.bootstrap,
            },
        )

    def lines(self) -> list[str]:
        """Whole lines that it printed so far."""
        return self.path.read_text(encoding="utf-8").split("\n")[:-1]

    def end(self, how: signal.Signals) -> int:
        """Send a signal, and wait for the end; its exit code."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=WAIT_S)
        self._output.close()
        return code


def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def produce(cluster: LocalCluster, first: int, count: int) -> None:
    lines = "".join(f"{number}\n" for number in range(first, first + count))
    done = cluster.run("produce", "t", stdin=lines)
    assert done.returncode == 0, done.stderr


def described(cluster: LocalCluster) -> dict[str, list[dict[str, object]]]:
    done = cluster.run("groups", "describe", "g", "--json")
    if done.returncode != 0:
        return {"members": [], "offsets": []}
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


def test_what_members_and_nodes_do_no_record_is_missed(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    done = cluster.run("topics", "create", "t", "--partitions", "6", "--replication-factor", "3")
    assert done.returncode == 0, done.stderr
    members = [Member(cluster, tmp_path / f"{number}.out", "t") for number in range(3)]
    try:
        until(lambda: len(described(cluster)["members"]) == 3)
        produce(cluster, 0, RECORDS)
        members[0].end(signal.SIGKILL)
        # The next coordinator gives every member that it loads a full session.
        until(lambda: len(described(cluster)["members"]) == 2)
        produce(cluster, RECORDS, RECORDS)
        coordinator = int(f"{described(cluster)['coordinator']}")
        cluster.kill(coordinator)
        produce(cluster, 2 * RECORDS, RECORDS)
        wanted = {f"{number}" for number in range(3 * RECORDS)}
        until(lambda: {line for one in members for line in one.lines()} == wanted)
        assert members[1].end(signal.SIGTERM) == 128 + signal.SIGTERM
        until(lambda: len(described(cluster)["members"]) == 1)
        # Ctrl-C does the same, where the shell that runs this has not switched it off.
        assert members[2].end(signal.SIGTERM) == 128 + signal.SIGTERM
        found = described(cluster)
        assert found["members"] == []
        assert [row["lag"] for row in found["offsets"]] == [0] * 6
    finally:
        for one in members:
            if one.process.poll() is None:
                one.end(signal.SIGKILL)
