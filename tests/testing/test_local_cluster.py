"""A cluster within the test's process: real nodes, which end and start, and leave nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from tidelog.client import Admin, Producer
from tidelog.client.loop_thread import LoopThread
from tidelog.client.sync import Consumer as SyncConsumer
from tidelog.client.sync import Producer as SyncProducer
from tidelog.core.errors import StorageError
from tidelog.net.quiet_ports import quiet_ports
from tidelog.testing import LocalCluster, LocalClusterError, local_cluster, plans, shared_loop
from tidelog.testing.hosted_node import HostedNode
from tidelog.testing.local_cluster import PREFIX
from tidelog.testing.shared_loop import SharedLoop

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(configs={"num.partitions": 2}) as made:
        yield made


def send(cluster: LocalCluster, topic: str, *values: bytes) -> None:
    with SyncProducer[bytes, bytes](cluster.bootstrap) as producer:
        for value in values:
            producer.send(topic, value=value, partition=0)


def stored(cluster: LocalCluster, topic: str, count: int) -> list[bytes | None]:
    with SyncConsumer[bytes, bytes](cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        found: list[bytes | None] = []
        while len(found) < count:
            found += [record.value for record in consumer.getmany(timeout_ms=10_000)]
    return found


def listens(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> SharedLoop:
    """A loop of all clusters of a test, which no cluster of another test uses."""
    shared = SharedLoop()
    for module in (local_cluster, shared_loop):
        monkeypatch.setattr(module, "CLUSTERS_LOOP", shared)
    return shared


def used_now(shared: SharedLoop) -> LoopThread:
    loop = shared.take()
    shared.give_back(loop)
    return loop


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(6_000):
        if is_so():
            return
        time.sleep(0.01)
    assert is_so()


def test_what_was_acknowledged_outlives_the_end_of_any_node(cluster: LocalCluster) -> None:
    cluster.create_topic("t", partitions=1)
    assert cluster.node_ids == [1, 2, 3]
    for number, end in enumerate([cluster.kill, cluster.stop, cluster.kill]):
        leader = cluster.leader("t", 0)
        assert leader is not None
        send(cluster, "t", b"before %d" % number)
        end(leader)
        send(cluster, "t", b"after %d" % number)
        cluster.start(leader)
        cluster.wait_until_in_sync()
    values = [b"%s %d" % (when, number) for number in range(3) for when in (b"before", b"after")]
    assert stored(cluster, "t", 6) == values
    assert all("event=started" in cluster.logs(node_id) for node_id in cluster.node_ids)


async def test_a_cluster_beside_the_loop_of_a_test(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with LocalCluster(brokers=1, folder=folder) as one:
        async with Producer[bytes, bytes](one.bootstrap) as producer:
            await producer.send("made-at-its-first-use", value=b"x", partition=0)
        assert (folder / "node-1").is_dir()
    assert not folder.exists()


def test_loops_of_asyncio_run_end_without_a_word(
    cluster: LocalCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with Admin(cluster.bootstrap) as admin, Producer(cluster.bootstrap) as producer:
            await producer.send("run", value=b"x", partition=0)
            assert "run" in await admin.list_topics()

    for _ in range(10):
        asyncio.run(main())
    send(cluster, "run", b"y")
    assert [one.getMessage() for one in caplog.records if one.name == "asyncio"] == []


def test_controllers_may_be_nodes_of_their_own() -> None:
    with LocalCluster(brokers=1, controllers=1) as two:
        two.create_topic("t", partitions=1)
        send(two, "t", b"a")
        two.kill(2)
        send(two, "t", b"b")
        two.start(2)
        assert stored(two, "t", 2) == [b"a", b"b"]


def test_a_folder_that_is_kept_is_closed_in_order(tmp_path: Path) -> None:
    with LocalCluster(brokers=1, folder=tmp_path, keep=True) as kept:
        kept.create_topic("t", partitions=1)
        send(kept, "t", b"a")
    assert "clean=true" in (tmp_path / "node-1" / "start.properties").read_text()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"brokers": 0}, "brokers=0: a cluster in a test has 1 to 16"),
        ({"controllers": 0}, "controllers=0: 1 to 16, or None"),
        ({"configs": {"num.partitons": 1}}, "num.partitons"),
        ({"configs": {"num.partitions": "many"}}, "num.partitions"),
        ({"configs": {"listeners": "127.0.0.1:1"}}, "listeners is the cluster's own"),
        ({"security": "tls"}, "security='tls': None is all there is yet"),
        ({"folder": Path(__file__).parent}, "is not an empty folder"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(LocalClusterError, match=says):
        LocalCluster(**options)


def test_wrong_calls_say_what_to_do(cluster: LocalCluster) -> None:
    with pytest.raises(LocalClusterError, match=r"no node 9: the nodes are \[1, 2, 3\]"):
        cluster.kill(9)
    with pytest.raises(LocalClusterError, match="node 1 runs already"):
        cluster.start(1)
    with pytest.raises(LocalClusterError, match="use LocalCluster\\(processes=True\\)"):
        cluster.pause(1)
    with pytest.raises(LocalClusterError, match="runs already"):
        cluster.start_all()
    ended = LocalCluster(brokers=1)
    with pytest.raises(LocalClusterError, match="use it within its `with` block"):
        ended.create_topic("t")
    with ended:
        ended.kill(1)
        with pytest.raises(LocalClusterError, match="node 1 does not run: start it first"):
            ended.stop(1)
    with pytest.raises(LocalClusterError, match="make a new LocalCluster"):
        ended.start_all()


def test_replicas_have_their_time_to_be_in_sync() -> None:
    with LocalCluster(brokers=2, controllers=1) as three:
        three.create_topic("t", partitions=1)
        three.kill(3)  # nobody elects a leader now
        leader = three.leader("t", 0)
        assert leader is not None
        three.kill(leader)
        with pytest.raises(LocalClusterError, match=r"replicas are not in sync after 0\.5 s"):
            three.wait_until_in_sync(timeout_s=0.5)


def test_a_node_that_fails_ends_alone_and_is_told() -> None:
    with pytest.raises(LocalClusterError, match=r"node 2 failed: the disk is gone \(its log: "):
        use_a_cluster_whose_node_fails()


def use_a_cluster_whose_node_fails() -> None:
    with LocalCluster() as failing:
        failing.create_topic("t", partitions=1)
        node = failing._nodes.nodes[2]
        assert isinstance(node, HostedNode)

        async def fail() -> None:
            assert node._life is not None
            node._life._on_fatal(StorageError("the disk is gone"))

        failing._run(fail())
        with pytest.raises(LocalClusterError, match="node 2 failed"):
            failing.check()
        send(failing, "t", b"two are left")
        assert 'event=fatal error="the disk is gone"' in failing.logs(2)
    raise AssertionError("a failed node went unsaid")


def test_taken_ports_are_chosen_again(
    monkeypatch: pytest.MonkeyPatch, cluster: LocalCluster
) -> None:
    taken = [int(address.rpartition(":")[2]) for address in cluster.addresses.values()]
    free, calls = quiet_ports, 0

    def first_the_taken_ones(count: int) -> list[int]:
        nonlocal calls
        calls += 1
        return [*free(count - 1), taken[0]] if calls == 1 else free(count)

    monkeypatch.setattr(plans, "quiet_ports", first_the_taken_ones)
    with LocalCluster() as other:
        assert not set(other.addresses.values()) & set(cluster.addresses.values())
    assert calls == 2


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with LocalCluster() as first:  # gRPC's own threads and descriptors come with it
        first.create_topic("t", partitions=1)
        first.kill(1)
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    clusters = 6
    for number in range(clusters):
        with LocalCluster(folder=tmp_path / str(number)) as one:
            one.create_topic("t", partitions=1)
            one.kill(1 + number % 3)
    assert list(tmp_path.iterdir()) == []
    # The other tests' cluster is there, too, and begins threads of its disks when it needs them.
    assert threading.active_count() < threads + clusters
    assert len(os.listdir("/proc/self/fd")) <= files


async def test_clusters_side_by_side_are_different_ones() -> None:
    several = [LocalCluster(brokers=1) for _ in range(4)]
    await asyncio.gather(*(one.__aenter__() for one in several))
    for number, one in enumerate(several):
        one.create_topic(f"t-{number}", partitions=1)
        send(one, f"t-{number}", b"%d" % number)
    assert len({one.bootstrap for one in several}) == len(several)
    for number, one in enumerate(several):
        assert stored(one, f"t-{number}", 1) == [b"%d" % number]
    await asyncio.gather(*(one.__aexit__(None, None, None) for one in several))
    assert not any(one.folder.exists() for one in several)


def test_the_process_is_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    def state() -> list[object]:
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        return [
            *handlers,
            *(structlog.get_config().items(), structlog.is_configured()),
            *(list(logging.getLogger().handlers), logging.getLogger().level, dict(os.environ)),
            *(type(asyncio.get_event_loop_policy()), os.getcwd()),
        ]

    before = state()
    with LocalCluster(brokers=1) as one:
        one.create_topic("t", partitions=1)
        one.kill(1)
        one.start(1)
        assert state() == before
    assert state() == before
    assert capfd.readouterr() == ("", "")


async def test_all_clusters_share_one_thread_until_the_last_has_ended(
    shared: SharedLoop,
) -> None:
    def loops() -> int:
        return [one.name for one in threading.enumerate()].count("tidelog-loop")

    before = loops()
    several = [LocalCluster() for _ in range(6)]
    await asyncio.gather(*(one.__aenter__() for one in several))
    assert loops() == before + 1
    loop = used_now(shared)
    await asyncio.gather(*(one.__aexit__(None, None, None) for one in several[1:]))
    several[0].create_topic("t", partitions=1)
    send(several[0], "t", b"of the last one")
    assert stored(several[0], "t", 1) == [b"of the last one"]
    await several[0].__aexit__(None, None, None)
    assert loop.is_closed
    assert loops() == before


def test_a_running_cluster_that_is_given_up_ends_with_its_object(shared: SharedLoop) -> None:
    other, forgotten = LocalCluster(brokers=1), LocalCluster(brokers=1)
    other.start_all()
    forgotten.start_all()
    address, folder = forgotten.bootstrap, forgotten.folder
    assert listens(address)
    del forgotten
    gc.collect()
    until(lambda: not listens(address))
    until(lambda: not folder.exists())
    other.create_topic("t", partitions=1)
    loop = used_now(shared)
    other.close()
    until(lambda: loop.is_closed)


def test_a_kept_folder_outlives_a_cluster_that_is_given_up(tmp_path: Path) -> None:
    forgotten = LocalCluster(brokers=1, folder=tmp_path, keep=True)
    forgotten.start_all()
    address = forgotten.bootstrap
    del forgotten
    gc.collect()
    until(lambda: not listens(address))
    assert list(tmp_path.iterdir())


def test_a_fork_has_a_loop_of_its_own(shared: SharedLoop) -> None:
    async def answer() -> int:
        return 42

    before = shared.take()
    child = os.fork()
    if child == 0:  # pragma: no cover  # in the fork
        own = shared.take()
        os._exit(own.run(answer()) if own is not before else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 42
    assert before.run(answer()) == 42
    shared.give_back(before)
    assert before.is_closed


def test_a_cluster_that_is_given_up_goes_with_its_object() -> None:
    forgotten = LocalCluster(brokers=1)
    folder = forgotten.folder
    assert folder.name.startswith(PREFIX)
    del forgotten
    assert not folder.exists()
