"""The shell: persist, then tell; how a proposal ends; what ends the node. All on virtual time."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
import structlog
from structlog.testing import capture_logs
from tests.raft.raft_node import CONFIG, SYNC_S, Commands, Node, Run, until_leading, vote_request

from tidelog.core.errors import KafkaError, MessageTooLargeError, StorageError, TidelogError
from tidelog.raft import driver
from tidelog.raft.replicated_log import (
    CommittedEntry,
    NotLeaderError,
    ProposalUnknownError,
)
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.v1 import common_pb2

LIMIT_MS = 5_000


def test_a_proposal_is_handed_out_before_its_proposer_hears_of_it(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        entry = await node.log.propose(b"a", timeout_ms=1000)
        assert node.machine.entries == [entry]
        assert (entry.command, entry.term) == (b"a", node.log.term)
        assert node.log.applied_index == node.log.commit_index == entry.index
        assert await node.log.read_barrier(timeout_ms=1000) == entry.index
        assert node.machine.entries == [entry]

    run(main())


def test_a_restarted_log_hands_out_again_what_was_committed(
    node: Node, run: Run, scheduler: Scheduler
) -> None:
    async def main() -> None:
        await node.lead()
        await node.log.propose(b"a", timeout_ms=1000)
        first = node.machine.entries
        await node.restart()
        assert node.machine.entries == first

    run(main())


def test_a_sole_voter_commits_as_soon_as_its_own_copy_is_synced(node: Node, run: Run) -> None:
    async def main() -> None:
        node.followers.peer_ids = []
        node.log = node.build(voters=1)
        await node.lead()
        proposed_s = node.loop.time()
        await node.log.propose(b"a", timeout_ms=1000)
        assert SYNC_S <= node.loop.time() - proposed_s < SYNC_S + 0.01
        assert [entry.command for entry in node.machine.entries] == [b"a"]

    run(main())


def test_a_new_disk_warns_only_when_the_others_are_silent_for_long(node: Node, run: Run) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))

    async def main() -> None:
        node.followers.rejoin = False
        with capture_logs() as logs:
            await node.log.start(node.machine)
            await asyncio.sleep(CONFIG.election_timeout_max_ms / 1000 / 2)
            assert {one["log_level"] for one in logs} == {"info"}
            await asyncio.sleep(10 * CONFIG.election_timeout_max_ms / 1000)
            assert [one["waits_for"] for one in logs if one["log_level"] == "warning"] == [[2, 3]]
            logs.clear()
            node.followers.rejoin = True
            await until_leading(node.log)
            assert {one["log_level"] for one in logs} == {"info"}

    run(main())


def test_a_vote_leaves_only_after_its_sync(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.machine)
        await asyncio.sleep(2 * SYNC_S)
        asked_s = node.loop.time()
        node.followers.sent.clear()
        node.hear(vote_request())
        await asyncio.sleep(2 * SYNC_S)
        (sent_s,) = [
            at_s for at_s, message in node.followers.sent if message.HasField("vote_granted")
        ]
        assert sent_s - asked_s >= SYNC_S

    run(main())


def test_a_message_in_another_voters_name_is_dropped(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.machine)
        await asyncio.sleep(2 * SYNC_S)
        assert node.followers.receiver is not None
        node.followers.receiver.on_message(3, vote_request())
        await asyncio.sleep(2 * SYNC_S)
        assert node.log.term < vote_request().term
        assert not any(message.HasField("vote_granted") for _, message in node.followers.sent)

    run(main())


def test_a_failed_sync_ends_the_node_and_tells_nobody(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.machine)
        await asyncio.sleep(2 * SYNC_S)
        node.followers.sent.clear()
        node.hear(vote_request())
        await asyncio.sleep(SYNC_S / 2)
        node.disk.crash()
        await asyncio.sleep(10)
        assert node.followers.sent == []
        assert [type(error) for error in node.fatal] == [StorageError]

    run(main())


def test_an_exception_of_the_state_machine_ends_the_node(node: Node, run: Run) -> None:
    class Broken(Commands):
        def apply(self, entry: CommittedEntry) -> None:
            raise ValueError("cannot replay")

    async def main() -> None:
        await node.log.start(Broken())
        await until_leading(node.log)
        with pytest.raises(ProposalUnknownError):
            await node.log.propose(b"a", timeout_ms=1000)
        assert [type(error) for error in node.fatal] == [ValueError]
        assert not node.log.is_leader

    run(main())


def test_without_leadership_nothing_is_appended(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.machine)
        with pytest.raises(NotLeaderError) as caught:
            await node.log.propose(b"a", timeout_ms=1000)
        assert caught.value.leader_id is None
        await until_leading(node.log)
        await node.log.read_barrier(timeout_ms=1000)
        assert node.machine.entries == []

    run(main())


def test_a_deadline_leaves_the_outcome_unknown_and_the_entry_may_follow(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        with pytest.raises(ProposalUnknownError, match="within 100 ms"):
            await node.log.propose(b"a", timeout_ms=100)
        node.followers.acknowledge = True
        await node.log.propose(b"b", timeout_ms=1000)
        assert [entry.command for entry in node.machine.entries] == [b"a", b"b"]

    run(main())


def test_lost_leadership_ends_proposals_before_their_deadline(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        with pytest.raises(ProposalUnknownError, match="lost the leadership"):
            await node.log.propose(b"a", timeout_ms=50_000)
        assert not node.log.is_leader

    run(main())


def test_stopping_ends_proposals_and_refuses_new_ones(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        appended = asyncio.create_task(node.log.propose(b"a", timeout_ms=50_000))
        await asyncio.sleep(3 * SYNC_S)
        await node.log.stop()
        with pytest.raises(ProposalUnknownError, match="stopped"):
            await appended
        with pytest.raises(NotLeaderError):
            await node.log.propose(b"b", timeout_ms=1000)

    run(main())


def test_a_command_above_the_limit_is_refused_and_one_at_it_is_not(node: Node, run: Run) -> None:
    limit = CONFIG.max_command_bytes

    async def main() -> None:
        await node.lead()
        with pytest.raises(MessageTooLargeError, match=f"exceeds the limit of {limit}"):
            await node.log.propose(bytes(limit + 1), timeout_ms=1000)
        await node.log.propose(bytes(limit), timeout_ms=1000)

    run(main())


def test_proposals_are_bounded(scheduler: Scheduler) -> None:
    node = Node(scheduler, config=replace(CONFIG, max_pending_proposals=2))

    async def main() -> list[TidelogError | CommittedEntry | BaseException]:
        await node.lead()
        proposals = [node.log.propose(b"%d" % i, timeout_ms=1000) for i in range(3)]
        return list(await asyncio.gather(*proposals, return_exceptions=True))

    first, second, third = scheduler.run(node.loop, main())

    assert isinstance(first, CommittedEntry)
    assert isinstance(second, CommittedEntry)
    assert isinstance(third, KafkaError)
    assert third.code == common_pb2.THROTTLING_QUOTA_EXCEEDED


def test_listeners_hear_of_every_change_of_leadership(node: Node, run: Run) -> None:
    heard: list[tuple[bool, int | None]] = []
    node.log.on_leadership(lambda: heard.append((node.log.is_leader, node.log.leader_id)))

    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        await asyncio.sleep(1)
        assert heard[0] == (False, None)
        assert heard[heard.index((True, 1)) - 1] == (False, 1)
        assert heard[-1][0] is False

    run(main())


def test_a_stop_does_not_wait_for_a_disk_that_never_ends_a_sync(
    node: Node, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "CLOSE_MS_MAX", LIMIT_MS)

    async def main() -> None:
        await node.lead()
        node.disk.slow_down(1e6)
        node.log._proposals.add(b"a")
        node.log._wake.set()
        await asyncio.sleep(1)
        began_s = node.loop.time()
        await node.log.stop()
        assert node.loop.time() - began_s == pytest.approx(LIMIT_MS / 1000)

    run(main())
