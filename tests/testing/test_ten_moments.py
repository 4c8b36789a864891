"""A node that ends by itself in each of ten moments of a test: the run goes on and says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.testing.test_plugin import run_pytest

pytestmark = pytest.mark.process

HEAD = """
import os, signal, threading, time

import pytest

from tidelog.client.sync import Consumer, Producer
from tidelog.core.errors import StorageError
from tidelog.testing.cluster_nodes import ClusterNodes


def fail(cluster, node_id=2):
    node = cluster._nodes.nodes[node_id]

    async def end():
        node._life._on_fatal(StorageError("the disk is gone"))

    cluster._run(end())


def fail_soon(cluster, after_s):
    ended = threading.Timer(after_s, fail, [cluster])
    ended.start()
    return ended
"""
MOMENTS = (
    HEAD
    + """
@pytest.fixture
def failing_start(monkeypatch):
    are_ready = ClusterNodes._are_ready

    async def fail_first(nodes):
        nodes.nodes[2]._life._on_fatal(StorageError("the disk is gone"))
        return False

    monkeypatch.setattr(ClusterNodes, "_are_ready", fail_first)


def test_1_while_it_starts(failing_start, tidelog_fresh_cluster):
    pass


@pytest.fixture
def lost(tidelog_fresh_cluster):
    fail(tidelog_fresh_cluster)
    return tidelog_fresh_cluster


def test_2_before_the_test(lost):
    lost.create_topic("t")


def test_3_first(tidelog_fresh_cluster):
    fail(tidelog_fresh_cluster)


def test_4_while_topics_are_made(tidelog_fresh_cluster):
    ended = fail_soon(tidelog_fresh_cluster, 0.05)
    for number in range(10):
        tidelog_fresh_cluster.create_topic(f"t-{number}", partitions=1)
    ended.join()


def test_5_before_the_first_record(tidelog_fresh_cluster):
    tidelog_fresh_cluster.create_topic("t", partitions=1)
    fail(tidelog_fresh_cluster)
    with Producer(tidelog_fresh_cluster.bootstrap) as producer:
        producer.send("t", value=b"x")


def test_6_amid_sends(tidelog_fresh_cluster):
    tidelog_fresh_cluster.create_topic("t", partitions=1)
    with Producer(tidelog_fresh_cluster.bootstrap) as producer:
        producer.send("t", value=b"x")
        ended = fail_soon(tidelog_fresh_cluster, 0.1)
        while ended.is_alive():
            producer.send("t", value=b"x")
        producer.send("t", value=b"x")


def test_7_while_it_reads(tidelog_fresh_cluster):
    tidelog_fresh_cluster.create_topic("t", partitions=1)
    with Consumer(tidelog_fresh_cluster.bootstrap) as consumer:
        consumer.assign([("t", 0)])
        ended = fail_soon(tidelog_fresh_cluster, 0.1)
        while ended.is_alive():
            consumer.getmany(timeout_ms=100)


def test_8_with_an_error_of_the_users_own(tidelog_fresh_cluster):
    fail(tidelog_fresh_cluster)
    raise ValueError("the user's own")


@pytest.fixture
def late(tidelog_fresh_cluster):
    yield
    fail(tidelog_fresh_cluster)


def test_9_after_the_test(late):
    pass


@pytest.fixture
def between(tidelog_cluster):
    yield
    fail(tidelog_cluster)


def test_of_the_session_before(between):
    pass


def test_10_between_two_tests(tidelog_cluster):
    pass
"""
)
PROCESSES = (
    HEAD
    + """
def kill(cluster):
    os.kill(int((cluster.folder / "node-2.pid").read_text()), signal.SIGKILL)
    while not cluster._nodes.failures():
        time.sleep(0.02)


def test_in_the_test(tidelog_processes):
    kill(tidelog_processes)


@pytest.fixture
def late(tidelog_processes):
    yield
    kill(tidelog_processes)


def test_after_the_test(late):
    pass
"""
)


def test_a_node_lost_in_any_of_ten_moments_is_a_clear_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = tmp_path / "folders"
    folders.mkdir()
    monkeypatch.setenv("TMPDIR", str(folders))
    monkeypatch.setenv("COLUMNS", "300")
    done = run_pytest(tmp_path, MOMENTS, "-rfE", "--timeout=300")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    said = "LocalClusterError: node 2 failed: the disk is gone (its log: "
    for number in range(1, 11):
        found = [one for one in lines if f"test_orders.py::test_{number}_" in one]
        assert any(said in one for one in found), (number, done.stdout)
        failed = [one for one in found if one.startswith("FAILED ")]
        assert bool(failed) == (number not in {1, 9}), "those two are errors of a fixture"
        assert number == 8 or all(said in one for one in failed)
    kept = list(folders.glob("tidelog-test-*"))
    assert len(kept) == 10, "one of each cluster, for its log"
    assert all('error="the disk is gone"' in (one / "node-2.log").read_text() for one in kept)


def test_a_process_lost_in_a_test_or_after_it_is_a_clear_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = run_pytest(tmp_path, PROCESSES, "-rfE", "--timeout=300")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::test_in_the_test - " in done.stdout
    assert "ERROR test_orders.py::test_after_the_test - " in done.stdout
    assert done.stdout.count("node 2 failed: ") >= 2
    assert "1 failed" in done.stdout
    running = [
        one
        for one in Path("/proc").glob("[0-9]*/cmdline")
        if os.fsencode(tmp_path) in _content(one) and b"tidelog.node" in _content(one)
    ]
    assert running == []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
