"""`tidelog quorum status | log`: output and exit codes, with answers of controllers by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.dumps import TOPIC_ID, flip
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP
from tests.virtual_loop import run_virtual

from tidelog.cli.main import main
from tidelog.client import ports
from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.core.system import SystemDisk
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.state_machine import MetadataStateMachine
from tidelog.net import grpc_transport
from tidelog.raft.durable_state import NO_OP, REGULAR, SnapshotId
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.raft.snapshots import SnapshotStore
from tidelog.raft.wal import Wal
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.controller_pb2 import (
    DescribeQuorumResponse,
    FollowMetadataRequest,
    FollowMetadataResponse,
)
from tidelog.v1.metadata_records_pb2 import (
    CommandRecord,
    ConfigRecord,
    MetadataBatch,
    MetadataRecord,
    MetadataSnapshotPiece,
    PartitionRecord,
    TopicRecord,
)
from tidelog.v1.methods import DESCRIBE_QUORUM

TOPIC = MetadataRecord(topic=TopicRecord(name="flights", topic_id=TOPIC_ID))
PARTITION = MetadataRecord(
    partition=PartitionRecord(topic_id=TOPIC_ID, replicas=[1, 2], isr=[2], leader_epoch=4)
)
CONFIG = MetadataRecord(
    config=ConfigRecord(resource_type=ConfigRecord.CLUSTER, key="retention.ms", value="a b\x1b")
)


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]


Run = Callable[..., Done]


class Controllers:
    """All describe the quorum; controller 1 does not stream what is committed, the others do."""

    def __init__(self) -> None:
        self.dead: set[int] = set()
        self.committed = MetadataStateMachine(ControllerConfig(cluster_id="c", follow_bytes_max=1))
        self.quorum = {n: DescribeQuorumResponse(node_id=n, cluster_id="c") for n in ADDRESSES}

    async def close(self) -> None:
        """Nothing to release."""

    async def call(self, address: str, method: Any, _request: object, *, timeout_ms: int) -> Any:
        del timeout_ms
        node_id = next(one for one, known in ADDRESSES.items() if known == address)
        if node_id in self.dead:
            raise UnreachableError("gone")
        if method is not DESCRIBE_QUORUM:
            raise CallFailedError("no broker runs here")
        return self.quorum[node_id]

    async def stream(
        self, address: str, _method: object, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        if address == ADDRESSES[1]:
            raise UnreachableError("gone")
        assert request.cluster_id == "c", "a controller tells it to its own cluster only"
        following = self.committed.follow(
            request.from_offset, accepts_snapshot=request.accepts_snapshot
        )
        async for followed in following:
            response = FollowMetadataResponse(committed_offset=self.committed.image.offset)
            if isinstance(followed, MetadataSnapshotPiece):
                response.snapshot.CopyFrom(followed)
            else:
                for offset, batch in followed:
                    response.entries.add(offset=offset, batch=batch)
            yield response


@pytest.fixture
def cluster() -> Controllers:
    return Controllers()


@pytest.fixture
def run(
    cluster: Controllers, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Runs `tidelog quorum` in this process."""
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: cluster)
    monkeypatch.setattr(asyncio, "run", run_virtual)
    monkeypatch.setattr(grpc_transport, "GrpcTransport", lambda: cluster)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", BOOTSTRAP)

    def run_command(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["tidelog", "quorum", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out, captured.err)

    return run_command


def describe(cluster: Controllers, *, leader_id: int | None, dead: int | None = None) -> None:
    for node_id in ADDRESSES:
        answer = DescribeQuorumResponse(
            node_id=node_id,
            role="leader" if node_id == leader_id else "follower",
            term=7,
            leader_id=leader_id,
            commit_index=42,
            applied_index=41,
            wal_bytes=5_000,
            snapshot_index=30,
            last_contact_ms=None if node_id == 1 else 12,
            voters=[Endpoint(node_id=n, address=a) for n, a in ADDRESSES.items()],
        )
        cluster.quorum[node_id] = answer
    cluster.dead = set() if dead is None else {dead}


def test_status_shows_every_controller(cluster: Controllers, run: Run) -> None:
    describe(cluster, leader_id=2, dead=3)
    done = run("status")
    assert done.code == 0
    title, header, *rows = done.stdout.splitlines()
    assert title == "leader 2, term 7"
    assert "applied" in header
    assert [row.split() for row in rows] == [
        ["1", "node1:9192", "follower", "7", "42", "41", "-", "5000", "30"],
        ["2", "node2:9192", "leader", "7", "42", "41", "12", "5000", "30"],
        ["3", "node3:9192", "unreachable", *"------"],
    ]


def test_status_as_json_is_one_object(cluster: Controllers, run: Run) -> None:
    describe(cluster, leader_id=2, dead=3)
    (found,) = run("status", "--json").lines
    assert (found["leader_id"], found["term"]) == (2, 7)
    one, other, dead = found["voters"]
    assert (one["node_id"], one["role"], one["last_contact_ms"]) == (1, "follower", None)
    assert (other["commit_index"], other["applied_index"], other["wal_bytes"]) == (42, 41, 5_000)
    assert (other["snapshot_index"], other["last_contact_ms"]) == (30, 12)
    assert (dead["node_id"], dead["role"], dead["term"]) == (3, "unreachable", None)
    assert one.keys() == dead.keys()


def test_status_fails_only_when_no_leader_is_known(cluster: Controllers, run: Run) -> None:
    describe(cluster, leader_id=None)
    done = run("status")
    assert done.code == 1
    assert done.stdout.startswith("leader unknown, term 7")
    assert len(run("status", "--json").lines) == 1
    cluster.dead = set(ADDRESSES)
    gone = run("status")
    assert (gone.code, gone.stdout) == (1, "")
    assert "is the cluster running?" in gone.stderr


def commit(cluster: Controllers, index: int, *records: MetadataRecord) -> None:
    batch = MetadataBatch(
        controller_id=2,
        controller_epoch=6,
        base_offset=cluster.committed.image.offset,
        records=records,
    )
    cluster.committed.apply(CommittedEntry(index, 6, batch.SerializeToString()))


def test_the_log_of_a_running_controller_is_a_line_a_record(cluster: Controllers, run: Run) -> None:
    commit(cluster, 3, TOPIC)
    commit(cluster, 5, CONFIG)
    done = run("log", "--json")
    assert done.code == 0
    topic, config = done.lines
    assert topic == {
        "index": 3,
        "term": 6,
        "type": "topic",
        "in_snapshot": False,
        "controller_id": 2,
        "base_offset": 0,
        "record": {"name": "flights", "topic_id": TOPIC_ID.hex()},
    }
    assert (config["index"], config["record"]["resource_type"]) == (5, "CLUSTER")
    text = run("log", "--from", "3").stdout
    assert text.split()[:4] == ["5", "term", "6", "config"]
    assert 'value="a b\\u001b"' in text, "nothing that a terminal would obey"


def test_the_metadata_of_a_running_controller_as_it_is(cluster: Controllers, run: Run) -> None:
    commit(cluster, 3, TOPIC)
    commit(cluster, 5, MetadataRecord(command=CommandRecord(command_id=b"c" * 16)), CONFIG)
    lines = run("log", "--snapshot", "--json").lines
    assert [line["type"] for line in lines] == ["config", "topic", "command"]
    assert {(line["index"], line["term"], line["in_snapshot"]) for line in lines} == {(5, 6, True)}


def test_a_log_with_nothing_in_it_ends(run: Run) -> None:
    assert run("log") == Done(0, "", "")


def test_a_log_that_no_controller_shows_is_an_error(run: Run) -> None:
    done = run("log", "--bootstrap", ADDRESSES[1])
    assert (done.code, done.stdout) == (1, "")
    assert "no controller answers at node1:9192" in done.stderr


@pytest.fixture
async def data_dir(tmp_path: Path, disk: SystemDisk) -> Path:
    """A stopped controller's folder: a snapshot, and a log behind it that was partly taken back."""
    folder = tmp_path / "__cluster_metadata-0"
    store = await SnapshotStore.open(disk=disk, directory=str(folder))
    piece = MetadataSnapshotPiece(offset=1, controller_epoch=1, is_last=True, records=[CONFIG])
    await store.write(SnapshotId(2, 1), [piece.SerializeToString()])
    store.close()
    wal = await Wal.open(
        disk=disk, directory=str(folder), node_id=3, wall_ms=99, reserve_bytes=16 * 512
    )
    batch = MetadataBatch(controller_id=3, controller_epoch=4, base_offset=1, records=[PARTITION])
    wal.write_vote(term=4, voted_for=3)
    wal.write_entry(NO_OP, index=1, term=1)
    wal.write_base(index=2, term=1)
    wal.write_entry(NO_OP, index=3, term=4)
    wal.write_entry(REGULAR + MetadataBatch().SerializeToString(), index=4, term=4)
    wal.write_entry(NO_OP, index=5, term=4)
    wal.write_entry(NO_OP, index=6, term=4)
    wal.write_truncation(5)
    wal.write_entry(REGULAR + batch.SerializeToString(), index=5, term=4)
    await wal.sync()
    wal.close()
    return tmp_path


def test_the_log_in_files_needs_no_node(data_dir: Path, run: Run) -> None:
    done = run("log", "--data-dir", data_dir, "--json")
    assert done.code == 0
    assert [(line["index"], line["term"], line["type"]) for line in done.lines] == [
        (1, 1, "config"),
        (3, 4, "raft_no_op"),
        (4, 4, "empty_batch"),
        (5, 4, "partition"),
    ]
    partition = done.lines[-1]["record"]
    assert (partition["partition"], partition["isr"], partition["leader_epoch"]) == (0, [2], 4)
    assert "leader_id" not in partition, "nobody leads"
    folder = data_dir / "__cluster_metadata-0"
    assert run("log", "--data-dir", folder, "--json") == done
    files = sorted(folder.iterdir())
    assert run("log", *files, "--json") == done
    assert run("log", folder / "raft.wal", "--json").lines == done.lines[1:]


def test_damage_in_files_is_told_after_what_can_be_read(data_dir: Path, run: Run) -> None:
    wal = data_dir / "__cluster_metadata-0" / "raft.wal"
    flip(wal, 700)
    done = run("log", wal)
    assert done.code == 1
    assert "raft.wal is damaged at byte" in done.stderr


def test_other_files_and_folders_are_refused(tmp_path: Path, run: Run) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("x")
    assert "is not a file of a metadata log" in run("log", other).stderr
    assert "holds no metadata log" in run("log", "--data-dir", tmp_path).stderr
