"""Processes as a cluster: files of replicas, whose image counts, and how all is taken back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from tests.virtual_loop import run_virtual

from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.cluster_port import RunClients, SocketClusterPort
from tidelog.chaos.sockets.sampler import Sampler
from tidelog.chaos.story.cluster_port import Load
from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.chaos.topology import Topology
from tidelog.core.chance import SeededRandom
from tidelog.history.history import History
from tidelog.metadata.image import EMPTY_IMAGE

IDLE = NodeSample(0, 0, 0.0, True, -1, False, -1, None)


class FakeProxies:
    """Counts resets."""

    def __init__(self) -> None:
        self.links = Topology().links()
        self.resets = 0

    async def reset(self) -> None:
        self.resets += 1


@dataclass
class FakeProcesses:
    """What is done to it, in words."""

    folder: Path
    topology: Topology = field(default_factory=Topology)
    proxies: FakeProxies = field(default_factory=FakeProxies)
    now_s: float = 5.0
    down: set[int] = field(default_factory=set)
    done: list[str] = field(default_factory=list)

    def data_dir(self, node_id: int) -> Path:
        return self.folder / f"node-{node_id}" / "data"

    def is_up(self, node_id: int) -> bool:
        return node_id not in self.down

    async def start(self, node_id: int) -> None:
        assert node_id in self.down
        self.down.discard(node_id)
        self.done.append(f"start {node_id}")

    async def resume(self, node_id: int) -> None:
        self.done.append(f"resume {node_id}")

    async def make_room(self, node_id: int) -> None:
        self.done.append(f"make room on {node_id}")

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        self.done.append(f"syncs of {node_id} take {sync_s}")


class FakeSampler:
    """Samples as a test has them."""

    def __init__(self) -> None:
        self.known: dict[int, NodeSample] = {}

    def sample(self, node_id: int) -> NodeSample | None:
        return self.known.get(node_id)

    def samples(self) -> list[NodeSample]:
        return list(self.known.values())


@pytest.fixture
def processes(tmp_path: Path) -> FakeProcesses:
    return FakeProcesses(tmp_path)


@pytest.fixture
def sampler() -> FakeSampler:
    return FakeSampler()


@pytest.fixture
def cluster(processes: FakeProcesses, sampler: FakeSampler) -> SocketClusterPort:
    return SocketClusterPort(
        cast("SocketCluster", processes),  # As much of it as is asked for,
        cast("Sampler", sampler),  # here as well,
        # and of the load nothing.
        clients=RunClients("steady", cast("Load", None), History(), []),
        random=SeededRandom(1),
        note=lambda *_: None,
        report=lambda *_: None,
        load_s=1.0,
    )


def _write(processes: FakeProcesses, name: str, content: bytes) -> str:
    path = processes.data_dir(4) / "steady-0" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def test_files_of_a_kind_are_sorted_and_not_empty(
    processes: FakeProcesses, cluster: SocketClusterPort
) -> None:
    later, sooner = _write(processes, "10.log", b"b"), _write(processes, "00.log", b"a")
    _write(processes, "20.log", b"")
    _write(processes, "00.index", b"c")

    assert cluster.files(4, ".log") == [sooner, later]
    assert cluster.files(5, ".log") == []


def test_files_are_changed_in_place(processes: FakeProcesses, cluster: SocketClusterPort) -> None:
    path = _write(processes, "00.log", bytes(8))

    run_virtual(cluster.flip(4, path, 2, 3))
    assert cluster.content(4, path) == b"\0\0\x08\0\0\0\0\0"
    run_virtual(cluster.overwrite(4, path, 6, b"xy"))
    assert cluster.content(4, path) == b"\0\0\x08\0\0\0xy"
    run_virtual(cluster.truncate(4, path, 3))
    assert cluster.content(4, path) == b"\0\0\x08"


def test_a_file_that_vanished_is_empty(
    processes: FakeProcesses, cluster: SocketClusterPort
) -> None:
    path = _write(processes, "00.log", b"abc")
    assert cluster.length(4, path) == 3

    run_virtual(cluster.vanish(4, path))
    run_virtual(cluster.vanish(4, path))

    assert (cluster.length(4, path), cluster.content(4, path)) == (0, b"")


def test_the_image_is_the_newest_of_controllers(
    cluster: SocketClusterPort, sampler: FakeSampler
) -> None:
    assert cluster.image is EMPTY_IMAGE
    for node_id, offset in ((1, 7), (2, 9), (4, 11)):
        sampler.known[node_id] = replace(IDLE, image=replace(EMPTY_IMAGE, offset=offset), term=3)

    assert cluster.image.offset == 9
    assert [cluster.metadata_offset(node_id) for node_id in (1, 2, 3)] == [7, 9, -1]


def test_the_active_controller_is_the_one_of_the_newest_term(
    cluster: SocketClusterPort, sampler: FakeSampler
) -> None:
    assert cluster.controller_id is None
    for node_id, term, is_active in ((1, 5, True), (2, 6, True), (3, 7, False)):
        sampler.known[node_id] = replace(
            IDLE, node_id=node_id, term=term, is_active_controller=is_active
        )

    assert cluster.controller_id == 2
    assert [one for one in (1, 2, 3, 4) if cluster.is_active(one)] == [1, 2]
    assert (cluster.term(3), cluster.term(4)) == (7, -1)


def test_a_replica_is_the_one_of_the_storys_partition(
    cluster: SocketClusterPort, sampler: FakeSampler
) -> None:
    other = ReplicaSample("other", "00", 0, "leader", 9, 0, 90, 99)
    ours = ReplicaSample("steady", "01", 0, "follower", 2, 0, 20, 22)
    sampler.known[4] = replace(IDLE, replicas=(other, ours))

    found = cluster.replica(4)

    assert found is not None
    assert (found.is_leader, found.leader_epoch) == (False, 2)
    assert (found.high_watermark, found.log_end_offset) == (20, 22)
    assert cluster.replica(5) is None


def test_healing_takes_everything_back_and_starts_who_is_down(
    processes: FakeProcesses, cluster: SocketClusterPort
) -> None:
    processes.down = {3, 5}
    cluster.count("kill", "node 3", 3)
    processes.now_s = 9.0

    run_virtual(cluster.heal())

    assert processes.proxies.resets == 1
    assert {f"resume {one}" for one in range(1, 7)} <= set(processes.done)
    assert {f"make room on {one}" for one in range(1, 7)} <= set(processes.done)
    assert {f"syncs of {one} take None" for one in range(1, 7)} <= set(processes.done)
    assert [what for what in processes.done if what.startswith("start")] == ["start 3", "start 5"]
    assert [(band.began_s, band.ended_s) for band in cluster.bands(4.0)] == [(1.0, 5.0)]


def test_starting_who_is_up_does_nothing(
    processes: FakeProcesses, cluster: SocketClusterPort
) -> None:
    run_virtual(cluster.start(4))

    assert processes.done == []
