"""The checks of the live proof find what is planted: `live_history` and `live_wals`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.live_history import History
from tests.integration.live_nodes import LiveNode
from tests.integration.live_wals import WalWatch

from tidelog.core.system import SystemDisk
from tidelog.raft.wal import REGULAR, Wal
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch


@pytest.fixture
def node(tmp_path: Path) -> LiveNode:
    return LiveNode(
        1, roles=["controller"], address="x:1", voters={1: "x:1"}, folder=tmp_path, settings={}
    )


async def write(node: LiveNode, *changes: Callable[[Wal], None]) -> None:
    """Each change as a frame of its own, in one life of the node."""
    wal = await Wal.open(
        disk=SystemDisk(),
        directory=str(node.metadata_dir),
        node_id=node.node_id,
        wall_ms=1,
        reserve_bytes=4096,
    )
    for change in changes:
        change(wal)
        await wal.sync()
    wal.close()


def rejoined(wal: Wal) -> None:
    wal.write_rejoined()


def vote(term: int, candidate: int) -> Callable[[Wal], None]:
    return lambda wal: wal.write_vote(term=term, voted_for=candidate)


def entry(index: int, *, term: int = 1, leader: int = 1) -> Callable[[Wal], None]:
    batch = MetadataBatch(controller_id=leader, controller_epoch=term)
    command = REGULAR + batch.SerializeToString()
    return lambda wal: wal.write_entry(command, index=index, term=term)


async def test_vote_given_twice_over_an_emptied_disk_is_found(node: LiveNode) -> None:
    history = History()
    watch = WalWatch(history)
    await write(node, rejoined, vote(1, 2), vote(2, 3))
    watch.look([node])
    assert not history.violations
    shutil.rmtree(node.metadata_dir)
    watch.was_emptied(node.node_id)
    await write(node, rejoined, vote(2, 1))
    watch.look([node])
    assert history.violations == ["node 1 voted twice in term 2: for 3 and 1"]


async def test_vote_spent_by_a_node_that_forgot_it_is_none(node: LiveNode) -> None:
    history = History()
    watch = WalWatch(history)
    await write(node, rejoined, vote(2, 3))
    watch.look([node])
    shutil.rmtree(node.metadata_dir)
    watch.was_emptied(node.node_id)
    await write(node, vote(2, 1), rejoined, vote(3, 2))
    watch.look([node])
    assert not history.violations


async def test_forgotten_term_is_found(node: LiveNode) -> None:
    history = History()
    watch = WalWatch(history)
    await write(node, rejoined, vote(5, 1))
    watch.look([node])
    shutil.rmtree(node.metadata_dir)
    await write(node, rejoined, vote(4, 1))
    watch.look([node])
    assert history.violations == ["node 1 forgot term 5"]


async def test_lost_and_changed_committed_entries_are_found(node: LiveNode) -> None:
    history = History()
    watch = WalWatch(history)
    watch.commit_known(node.node_id, 2)
    await write(node, rejoined, vote(1, 1), entry(1), entry(2))
    watch.look([node])
    assert not history.violations
    await write(node, lambda wal: wal.write_truncation(2))
    watch.look([node])
    assert history.violations == ["node 1 lost committed entries 2 to 2"]
    await write(node, vote(2, 2), entry(2, term=2, leader=2))
    watch.look([node])
    assert history.violations[1:] == ["node 1 has committed another entry 2, of term 2"]


async def test_damaged_log_of_a_running_voter_is_found(node: LiveNode) -> None:
    history = History()
    await write(node, rejoined, vote(1, 1), entry(1))
    content = bytearray(node.wal_path.read_bytes())
    content[600] ^= 1
    node.wal_path.write_bytes(content)
    WalWatch(history).look([node])
    assert len(history.violations) == 1


def test_two_leaders_in_a_term_are_found() -> None:
    history = History()
    history.note_leader(3, 1, source="its status")
    history.note_leader(4, 2, source="its status")
    history.note_leader(3, 1, source="an entry")
    assert not history.violations
    history.note_leader(3, 2, source="an entry")
    assert len(history.violations) == 1


def create(history: History, name: str, *, epoch: int = 1) -> None:
    request = CreateTopicsRequest()
    request.topics.add(name=name)
    response = CreateTopicsResponse(controller_epoch=epoch)
    response.topics.add(name=name, topic_id=b"id")
    history.answered(history.asked(request), "x:1", request, response)


def reading(name: str) -> CreateTopicsRequest:
    request = CreateTopicsRequest(validate_only=True)
    request.topics.add(name=name)
    return request


def says(name: str, *, exists: bool, epoch: int = 1) -> CreateTopicsResponse:
    response = CreateTopicsResponse(controller_epoch=epoch)
    code = common_pb2.TOPIC_ALREADY_EXISTS if exists else common_pb2.NONE
    response.topics.add(name=name, error=common_pb2.Error(code=code))
    return response


def test_read_that_misses_what_was_acknowledged_before_it_is_found() -> None:
    history = History()
    before = history.asked(reading("t"))
    create(history, "t")
    after = history.asked(reading("t"))
    history.answered(before, "x:1", reading("t"), says("t", exists=False))
    history.answered(after, "x:1", reading("t"), says("t", exists=True))
    history.answered(after, "x:1", reading("t"), CreateTopicsResponse())  # decided nothing
    assert not history.violations
    history.answered(after, "x:1", reading("t"), says("t", exists=False))
    assert len(history.violations) == 1


def test_read_of_what_was_deleted_before_it_is_found() -> None:
    history = History()
    create(history, "t")
    request = DeleteTopicsRequest(names=["t"])
    early, asked = history.asked(reading("t")), history.asked(request)
    response = DeleteTopicsResponse(controller_epoch=1)
    response.topics.add(name="t")
    history.answered(asked, "x:1", request, response)
    for exists in (True, False):
        history.answered(early, "x:1", reading("t"), says("t", exists=exists))
    assert not history.violations
    history.answered(history.asked(reading("t")), "x:1", reading("t"), says("t", exists=True))
    assert len(history.violations) == 1


def test_epoch_that_falls_is_found() -> None:
    history = History()
    early = history.asked(reading("t"))
    create(history, "t", epoch=5)
    history.answered(early, "x:1", reading("t"), says("t", exists=False, epoch=4))
    assert not history.violations
    late = history.asked(reading("t"))
    history.answered(late, "x:1", reading("t"), says("t", exists=True, epoch=4))
    assert len(history.violations) == 1


def test_unanswered_value_stays_in_doubt() -> None:
    history = History()
    request = AlterConfigsRequest()
    request.resources.add(name="t").changes.add(key="retention.ms", value="7")
    asked = history.asked(request)
    assert history.configs["t"].in_doubt == {"7"}
    response = AlterConfigsResponse(controller_epoch=1)
    response.resources.add(name="t")
    history.answered(asked, "x:1", request, response)
    assert history.configs["t"].acknowledged == ["7"]
    assert history.configs["t"].in_doubt == set()
