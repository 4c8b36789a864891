"""A voter while its disk syncs: what leaves at once, what waits, and what a stop waits for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.raft.one_voter import append
from tests.raft.raft_node import CONFIG, SYNC_S, Node, Run

from tidelog.raft.replicated_log import ProposalUnknownError
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.v1.raft_pb2 import RaftMessage

AT_ONCE_S = SYNC_S / 10


def sent_messages(node: Node, kind: str) -> list[tuple[float, RaftMessage]]:
    return [(at_s, message) for at_s, message in node.followers.sent if message.HasField(kind)]


async def follow(node: Node) -> None:
    """Be in the term of leader 2, all of it on stable storage."""
    node.followers.elect = False
    await node.log.start(node.machine)
    await asyncio.sleep(4 * SYNC_S)
    node.hear(append(2, 4, entries=((4, b"\1"),)))
    await asyncio.sleep(3 * SYNC_S)
    node.followers.sent.clear()


def test_a_leaders_appends_leave_before_its_own_sync_and_commit_without_it(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await node.lead()
        await asyncio.sleep(3 * SYNC_S)
        node.followers.sent.clear()
        asked_s = node.loop.time()
        await node.log.propose(b"a", timeout_ms=1000)

        assert node.loop.time() - asked_s < AT_ONCE_S
        assert sent_messages(node, "append_entries")[0][0] - asked_s < AT_ONCE_S
        assert node.log.storage is not None
        assert node.log.storage.is_dirty

    run(main())


def test_a_leader_counts_its_own_copy_only_once_it_is_stored(node: Node, run: Run) -> None:
    async def main() -> None:
        node.followers.peer_ids = []
        node.log = node.build(voters=1)
        await node.lead()
        await asyncio.sleep(3 * SYNC_S)
        asked_s = node.loop.time()
        with pytest.raises(ProposalUnknownError):
            await node.log.propose(b"a", timeout_ms=int(SYNC_S * 900))
        await node.log.propose(b"b", timeout_ms=1000)
        assert node.loop.time() - asked_s >= 2 * SYNC_S

    run(main())


def test_a_leader_is_heard_at_once_and_acknowledged_when_its_entries_are_stored(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await follow(node)
        heard_s = node.loop.time()
        node.hear(append(2, 4, after=(1, 4), entries=((4, b"\0a"),)))
        await asyncio.sleep(AT_ONCE_S)
        node.hear(append(2, 4, after=(2, 4)))
        await asyncio.sleep(AT_ONCE_S)
        ((hello_s, hello),) = sent_messages(node, "append_entries_reply")
        assert not hello.append_entries_reply.is_success
        assert hello_s - heard_s < SYNC_S / 2

        await asyncio.sleep(2 * SYNC_S)
        _, first, second = sent_messages(node, "append_entries_reply")
        for at_s, answer in (first, second):
            assert answer.append_entries_reply.next_index == 3
            assert at_s - heard_s >= SYNC_S

    run(main())


def test_nothing_of_a_new_term_is_told_before_the_term_is_stored(node: Node, run: Run) -> None:
    async def main() -> None:
        await follow(node)
        heard_s = node.loop.time()
        node.hear(append(3, 9, after=(1, 4)))
        await asyncio.sleep(SYNC_S / 2)
        assert node.followers.sent == []
        await asyncio.sleep(SYNC_S)
        for at_s, message in node.followers.sent:
            assert message.term == 9
            assert at_s - heard_s >= SYNC_S
        assert sent_messages(node, "append_entries_reply")

    run(main())


def test_votes_are_asked_for_when_the_own_vote_is_stored(node: Node, run: Run) -> None:
    async def main() -> None:
        stood_s: list[float] = []

        def note() -> None:
            if node.log.status().role == "candidate":
                stood_s.append(node.loop.time())

        node.log.on_leadership(note)
        await node.lead()
        asked_s = sent_messages(node, "request_vote")[0][0]
        assert asked_s - stood_s[0] >= SYNC_S

    run(main())


def test_more_promises_than_may_wait_are_dropped(scheduler: Scheduler) -> None:
    node = Node(scheduler, config=replace(CONFIG, max_promises=3))

    async def main() -> None:
        await follow(node)
        for number in range(10):
            entry = (4, b"\0%d" % number)
            node.hear(append(2, 4, after=(number + 1, 4), entries=(entry,)))
        await asyncio.sleep(3 * SYNC_S)
        acknowledged = [m for _, m in sent_messages(node, "append_entries_reply")]
        assert len([m for m in acknowledged if m.append_entries_reply.is_success]) == 3

    scheduler.run(node.loop, main())


def test_a_stop_waits_for_the_sync_and_stores_the_rest(node: Node, run: Run) -> None:
    async def main() -> None:
        await follow(node)
        node.hear(append(2, 4, after=(1, 4), entries=((4, b"\0a"),)))
        await asyncio.sleep(AT_ONCE_S)
        node.hear(append(2, 4, after=(2, 4), entries=((4, b"\0b"),)))
        await asyncio.sleep(AT_ONCE_S)
        await node.log.stop()
        node.disk.crash()
        node.log = node.build()
        await node.log.start(node.machine)
        assert node.log.storage is not None
        assert node.log.storage.wal.last_index == 3
        assert node.fatal == []

    run(main())
