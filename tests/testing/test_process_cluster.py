"""A cluster of processes: SIGKILL, SIGSTOP, and nothing that outlives the test's process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tidelog.client.sync import Consumer, Producer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.node.local_cluster.process import Started
from tidelog.testing import LocalCluster, LocalClusterError, process_node
from tidelog.testing.plans import make_plans
from tidelog.testing.process_node import ProcessNode

pytestmark = pytest.mark.process
ENDED_S_MAX = 60.0


def test_processes_are_killed_paused_and_started() -> None:
    with LocalCluster(processes=True) as cluster:
        cluster.create_topic("t", partitions=1)
        with Producer[bytes, bytes](cluster.bootstrap) as producer:
            for number, end in enumerate([cluster.kill, cluster.pause, cluster.stop]):
                leader = cluster.leader("t", 0)
                assert leader is not None
                end(leader)
                producer.send("t", value=b"%d" % number)
                (cluster.resume if end == cluster.pause else cluster.start)(leader)
                cluster.wait_until_in_sync(120)
        with Consumer[bytes, bytes](cluster.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            found: list[bytes | None] = []
            while len(found) < 3:
                found += [record.value for record in consumer.getmany(timeout_ms=10_000)]
        assert found == [b"0", b"1", b"2"]
        assert "event=started" in cluster.logs(1)
    assert not cluster.folder.exists()


def test_a_process_that_ends_by_itself_is_told() -> None:
    cluster = LocalCluster(brokers=1, processes=True)
    cluster.start_all()
    pid = int((cluster.folder / "node-1.pid").read_text())
    subprocess.run(["kill", "-9", str(pid)], check=True)
    while not cluster._nodes.failures():
        time.sleep(0.02)
    with pytest.raises(LocalClusterError, match="node 1 failed"):
        cluster.close()
    assert cluster.folder.exists(), "it is kept, for its log"
    subprocess.run(["rm", "-r", str(cluster.folder)], check=True)


def test_no_process_outlives_a_test_that_is_killed(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "data")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert told.returncode == -9, told.stderr
    pids = [int(word) for word in told.stdout.split()]
    assert len(pids) == 3
    until_s = time.monotonic() + ENDED_S_MAX
    while not all(map(_has_ended, pids)) or (tmp_path / "data").exists():
        assert time.monotonic() < until_s, "nodes go on without their test"
        time.sleep(0.02)


async def test_a_process_that_ignores_its_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_node, "STOP_S_MAX", 0.5)
    node, process = started(tmp_path, DEAF)
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    with closing(process.stdout):
        with pytest.raises(LocalClusterError, match=r"did not stop within 0\.5 s: it was killed"):
            await asyncio.wait_for(node.stop(), ENDED_S_MAX)
        assert process.poll() == -9


def started(folder: Path, text: str) -> tuple[ProcessNode, subprocess.Popen[bytes]]:
    """A node whose process runs a program instead."""
    (plan,) = make_plans(folder, cluster_id="c", brokers=1, controllers=None, configs={})
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    node = ProcessNode(plan, GrpcTransport())
    node._started = Started(process, 0)
    return node, process


DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("on", flush=True)
time.sleep(600)
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from tidelog.testing import LocalCluster

folder = Path(sys.argv[1])
cluster = LocalCluster(processes=True, folder=folder)
cluster.start_all()
print(*(path.read_text() for path in folder.glob("*.pid")), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"
