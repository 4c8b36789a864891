"""Snapshots beside the running node: when they are made, what they hold, what a full disk costs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.raft.one_voter import append, piece, snapshot_content
from tests.raft.raft_node import CONFIG, DIRECTORY, SYNC_S, Commands, Node, Run

from tidelog.core.errors import StorageError
from tidelog.raft import snapshots
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.snapshot_file import file_name
from tidelog.raft.snapshotting import RETRY_S
from tidelog.raft.storage import Storage
from tidelog.simulation.engine.scheduler import Scheduler

SMALL = replace(CONFIG, snapshot_interval_bytes=8 * 1024)


@pytest.fixture
def config() -> RaftConfig:
    return SMALL


def storage_of(node: Node) -> Storage:
    assert node.log.storage is not None
    return node.log.storage


async def propose(node: Node, count: int, *, every_s: float = 0) -> None:
    for number in range(count):
        await node.log.propose(b"%d " % number + bytes(400), timeout_ms=5000)
        await asyncio.sleep(every_s)


async def until_snapshot(node: Node) -> SnapshotId:
    async with asyncio.timeout(10):
        while storage_of(node).snapshots.latest is None:  # noqa: ASYNC110  # polled
            await asyncio.sleep(0.01)
    await asyncio.sleep(1)
    latest = storage_of(node).snapshots.latest
    assert latest is not None
    return latest


def test_a_snapshot_is_made_at_the_interval_and_the_log_loses_its_head(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await node.lead()
        await propose(node, 4)
        assert storage_of(node).snapshots.latest is None
        await propose(node, 12)
        latest = await until_snapshot(node)

        wal = storage_of(node).wal
        assert wal.base_index == latest.index - SMALL.retained_entries > 0
        assert wal.size_bytes < 2 * SMALL.snapshot_interval_bytes
        held = storage_of(node).snapshots.records()
        assert held == node.machine.state[: len(held)]
        assert len(held) == latest.index - 1  # the first entry is a no-op
        assert node.machine.happened.count("records") == 1

    run(main())


def test_what_is_kept_behind_a_snapshot_is_bounded_in_bytes_too(
    scheduler: Scheduler, run: Run
) -> None:
    node = Node(scheduler, config=replace(SMALL, retained_entries=1000))

    async def main() -> None:
        await node.lead()
        await propose(node, 16)
        latest = await until_snapshot(node)
        assert 1 <= latest.index - storage_of(node).wal.base_index <= 8 * 1024 // 4 // 400

    run(main())


def test_a_snapshot_holds_the_state_at_its_begin_while_the_node_goes_on(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await node.lead()
        while "records" not in node.machine.happened:
            await propose(node, 1)
            await asyncio.sleep(0.001)
        await propose(node, 3)
        assert storage_of(node).snapshots.latest is None
        latest = await until_snapshot(node)

        assert storage_of(node).snapshots.records() == node.machine.frozen
        assert latest.index == 1 + len(node.machine.frozen) < 1 + len(node.machine.state)

    run(main())


def test_a_start_restores_the_snapshot_before_it_applies_what_follows(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        await propose(node, 18)
        latest = await until_snapshot(node)
        await propose(node, 2)
        state = node.machine.state
        await node.restart()

        assert node.machine.happened[0] == f"restore {latest.index}/{latest.term}"
        assert node.machine.happened[1] == f"apply {latest.index + 1}"
        assert node.machine.state == state

    run(main())


def test_a_full_disk_costs_a_snapshot_nothing_but_time(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.disk.capacity_bytes = node.disk.used_bytes()
        await propose(node, 20)
        await asyncio.sleep(1)
        assert storage_of(node).snapshots.latest is None
        assert "records" in node.machine.happened
        assert node.fatal == []
        assert node.log.is_leader

        tried = node.machine.happened.count("records")
        await propose(node, 1)
        assert node.machine.happened.count("records") == tried  # not again at once
        node.disk.capacity_bytes = None
        await asyncio.sleep(RETRY_S)
        await propose(node, 1)
        await until_snapshot(node)
        assert storage_of(node).wal.base_index > 0

    run(main())


def test_a_state_too_large_for_a_snapshot_stays_in_the_log_until_it_fits(
    node: Node, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        await node.lead()
        monkeypatch.setattr(snapshots, "SNAPSHOT_BYTES_MAX", 2_000)
        await propose(node, 24)
        await asyncio.sleep(1)
        assert storage_of(node).snapshots.latest is None
        assert node.disk.list(DIRECTORY) == [
            one for one in node.disk.list(DIRECTORY) if ".checkpoint" not in one
        ]
        tried = node.machine.happened.count("records")
        assert tried == 1
        await asyncio.sleep(RETRY_S)
        await propose(node, 1)
        assert node.machine.happened.count("records") == tried  # not before it has grown
        assert node.fatal == []
        assert node.log.is_leader

        monkeypatch.setattr(snapshots, "SNAPSHOT_BYTES_MAX", 1 << 30)
        await propose(node, 24)
        await until_snapshot(node)
        assert storage_of(node).wal.base_index > 0

    run(main())


@pytest.mark.parametrize("action", ["write", "sync"])
def test_any_other_error_of_a_snapshot_ends_the_node(node: Node, run: Run, action: str) -> None:
    async def main() -> None:
        await node.lead()
        for index in range(60):
            name = file_name(SnapshotId(index, 1))
            node.disk.faults.fail(action, f"{DIRECTORY}/{name}.tmp")
        with pytest.raises(Exception, match=r"stopped|not the active controller"):
            await propose(node, 50, every_s=SYNC_S)
        assert [type(error) for error in node.fatal] == [StorageError]

    run(main())


def test_a_leaders_snapshot_is_on_disk_before_it_is_acknowledged_and_applied_first(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        content = await snapshot_content((9, 4), b"x", b"y")
        node.followers.elect = False
        await node.log.start(node.machine)
        await asyncio.sleep(3 * SYNC_S)
        node.followers.sent.clear()
        sent_s = node.loop.time()
        node.hear(piece(2, 4, snapshot=(9, 4), content=content))
        node.hear(append(2, 4, after=(9, 4), entries=((4, b"\0z"),), commit_index=10))
        await asyncio.sleep(5 * SYNC_S)

        kinds = [message.WhichOneof("body") for _, message in node.followers.sent]
        assert kinds == ["install_snapshot_reply", "append_entries_reply"]
        assert node.followers.sent[0][0] - sent_s >= SYNC_S
        assert storage_of(node).snapshots.records() == [b"x", b"y"]
        assert node.machine.happened == ["restore 9/4", "apply 10"]
        assert node.log.applied_index == node.log.commit_index == 10
        await node.log.stop()
        node.log, node.machine = node.build(), Commands()
        await node.log.start(node.machine)
        assert node.machine.happened == ["restore 9/4"]

    run(main())


def test_a_leaders_snapshot_waits_for_room_on_a_full_disk(node: Node, run: Run) -> None:
    async def main() -> None:
        content = await snapshot_content((9, 4), b"x", b"y")
        node.followers.elect = False
        await node.log.start(node.machine)
        await asyncio.sleep(3 * SYNC_S)
        node.disk.capacity_bytes = node.disk.used_bytes()
        node.followers.sent.clear()
        node.hear(piece(2, 4, snapshot=(9, 4), content=content))
        await asyncio.sleep(3 * SYNC_S)
        (_, answer), *_ = node.followers.sent
        assert answer.install_snapshot_reply.next_offset == 0
        assert node.fatal == []

        node.disk.capacity_bytes = None
        node.hear(piece(2, 4, snapshot=(9, 4), content=content))
        await asyncio.sleep(5 * SYNC_S)
        assert node.machine.happened == ["restore 9/4"]

    run(main())


def test_status_says_what_a_leader_knows(node: Node, run: Run) -> None:
    async def main() -> None:
        status = node.log.status()
        assert (status.role, status.term, status.leader_id) == ("follower", 0, None)
        await node.lead()
        await propose(node, 18)
        latest = await until_snapshot(node)
        status = node.log.status()

        assert (status.node_id, status.role, status.leader_id) == (1, "leader", 1)
        assert status.term == node.log.term
        assert status.last_index == status.commit_index == status.applied_index == 19
        assert status.snapshot_index == latest.index
        assert status.snapshot_bytes == storage_of(node).snapshots.size_bytes > 0
        assert status.wal_bytes == storage_of(node).wal.size_bytes > 0
        assert status.last_contact_ms is not None
        assert 0 <= status.last_contact_ms <= 100
        assert [(p.node_id, p.match_index) for p in status.peers] == [(2, 19), (3, 19)]
        assert all(0 <= (peer.last_contact_ms or 0) <= 100 for peer in status.peers)

    run(main())


def test_status_says_what_a_follower_knows(node: Node, run: Run) -> None:
    async def main() -> None:
        node.followers.elect = False
        await node.log.start(node.machine)
        await asyncio.sleep(3 * SYNC_S)
        assert node.log.status().last_contact_ms is None
        node.hear(append(2, 4, entries=((4, b"\0z"),)))
        await asyncio.sleep(2 * SYNC_S)
        status = node.log.status()

        assert (status.role, status.term, status.leader_id) == ("follower", 4, 2)
        assert (status.last_index, status.commit_index, status.applied_index) == (1, 0, 0)
        assert status.last_contact_ms == round(2 * SYNC_S * 1000)
        assert status.peers == ()

    run(main())


@pytest.mark.parametrize(
    "bound",
    [{"max_inbox_messages": 3}, {"max_inbox_bytes": 3 * append(2, 4).ByteSize()}],
    ids=["messages", "bytes"],
)
def test_the_inbox_is_bounded(scheduler: Scheduler, bound: dict[str, int]) -> None:
    node = Node(scheduler, config=replace(CONFIG, **bound))  # type: ignore[arg-type]  # numbers

    async def main() -> None:
        node.followers.elect = False
        await node.log.start(node.machine)
        await asyncio.sleep(3 * SYNC_S)
        node.followers.sent.clear()
        for _ in range(5):
            node.hear(append(2, 4))
        await asyncio.sleep(3 * SYNC_S)
        kinds = [message.WhichOneof("body") for _, message in node.followers.sent]
        assert kinds.count("append_entries_reply") == 3

    scheduler.run(node.loop, main())
