"""The shell: persist, then tell; how a proposal ends; what ends the node. All on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.chaos.sim_stage.scheduler import Scheduler, SchedulerLimits
from tidelog.chaos.sim_stage.trace import Trace
from tidelog.log.errors import KafkaError, MessageTooLargeError, StorageError, TidelogError
from tidelog.raft.config import RaftConfig
from tidelog.raft.pysyncobj_engine import build_replicated_log
from tidelog.raft.replicated_log import (
    CommittedEntry,
    NotLeaderError,
    ProposalUnknownError,
    ReplicatedLog,
)
from tidelog.raft.transport import RaftReceiver
from tidelog.v1 import common_pb2
from tidelog.v1.raft_pb2 import (
    AppendEntriesReply,
    PreVoteReply,
    RaftMessage,
    RequestVote,
    VoteGranted,
)

SYNC_S = 0.05


class Followers:
    """Implements `RaftTransport`: nodes 2 and 3, who grant all votes and acknowledge if told to."""

    def __init__(self) -> None:
        self.peer_ids = [2, 3]
        self.acknowledge = True
        self.sent: list[tuple[float, RaftMessage]] = []
        self.receiver: RaftReceiver | None = None

    async def start(self, receiver: RaftReceiver) -> None:
        self.receiver = receiver
        for peer_id in self.peer_ids:
            receiver.on_connected(peer_id)

    async def stop(self) -> None:
        self.receiver = None

    def is_connected(self, peer_id: int) -> bool:
        return True

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        self.sent.append((asyncio.get_running_loop().time(), message))
        answer = RaftMessage(sender_id=peer_id, receiver_id=1, incarnation=1, term=message.term)
        match message.WhichOneof("body"):
            case "pre_vote":
                answer.pre_vote_reply.CopyFrom(
                    PreVoteReply(asked_term=message.term, is_granted=True)
                )
            case "request_vote":
                answer.vote_granted.CopyFrom(VoteGranted())
            case "append_entries" if self.acknowledge:
                body = message.append_entries
                answer.append_entries_reply.CopyFrom(
                    AppendEntriesReply(
                        next_index=body.previous_index + len(body.entries) + 1, is_success=True
                    )
                )
            case _:
                return True
        if self.receiver is not None:
            self.receiver.on_message(peer_id, answer)
        return True


class Node:
    """Node 1 with all it needs."""

    def __init__(self, scheduler: Scheduler, *, config: RaftConfig | None = None) -> None:
        self.loop = scheduler.new_loop("n1")
        self.disk = SimDisk(SimRandom(3), sync_latency_s=SYNC_S)
        self.followers = Followers()
        self.handed_out: list[CommittedEntry] = []
        self.fatal: list[BaseException] = []
        self.log = self._build(voters=3, config=config or RaftConfig())

    def _build(self, *, voters: int, config: RaftConfig) -> ReplicatedLog:
        return build_replicated_log(
            node_id=1,
            voters={node_id: f"n{node_id}" for node_id in range(1, voters + 1)},
            directory="/data/meta",
            disk=self.disk,
            clock=self.loop.clock,
            random=SimRandom(5),
            transport=self.followers,
            config=config,
            on_fatal=self.fatal.append,
        )

    async def lead(self) -> None:
        await self.log.start(self.handed_out.append)
        await until_leading(self.log)


async def until_leading(log: ReplicatedLog) -> None:
    changed = asyncio.Event()
    log.on_leadership(changed.set)
    while not log.is_leader:
        await changed.wait()
        changed.clear()


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(trace=Trace(), limits=SchedulerLimits(steps=100_000, virtual_s=60))
    yield scheduler
    scheduler.close()


@pytest.fixture
def node(scheduler: Scheduler) -> Node:
    return Node(scheduler)


@pytest.fixture
def run(scheduler: Scheduler, node: Node) -> Callable[[Coroutine[Any, Any, None]], None]:
    return lambda main: scheduler.run(node.loop, main)


Run = Callable[[Coroutine[Any, Any, None]], None]


def test_a_proposal_is_handed_out_before_its_proposer_hears_of_it(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        entry = await node.log.propose(b"a", timeout_ms=1000)
        assert node.handed_out == [entry]
        assert (entry.command, entry.term) == (b"a", node.log.term)
        assert node.log.applied_index == node.log.commit_index == entry.index
        assert await node.log.read_barrier(timeout_ms=1000) == entry.index + 1
        assert node.handed_out == [entry]

    run(main())


def test_a_restarted_log_hands_out_again_what_was_committed(
    node: Node, run: Run, scheduler: Scheduler
) -> None:
    async def main() -> None:
        await node.lead()
        await node.log.propose(b"a", timeout_ms=1000)
        await node.log.stop()
        node.log = node._build(voters=3, config=RaftConfig())
        first, node.handed_out = node.handed_out, []
        await node.lead()
        assert node.handed_out == first

    run(main())


def test_a_sole_voter_commits_as_soon_as_its_own_copy_is_synced(node: Node, run: Run) -> None:
    async def main() -> None:
        node.followers.peer_ids = []
        node.log = node._build(voters=1, config=RaftConfig())
        await node.lead()
        proposed_s = node.loop.time()
        await node.log.propose(b"a", timeout_ms=1000)
        assert SYNC_S <= node.loop.time() - proposed_s < SYNC_S + 0.01
        assert [entry.command for entry in node.handed_out] == [b"a"]

    run(main())


def test_a_vote_leaves_only_after_its_sync(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.handed_out.append)
        await asyncio.sleep(2 * SYNC_S)
        asked_s = node.loop.time()
        node.followers.sent.clear()
        assert node.followers.receiver is not None
        node.followers.receiver.on_message(2, _vote_request())
        await asyncio.sleep(2 * SYNC_S)
        sent_s, vote = node.followers.sent[0]
        assert vote.HasField("vote_granted")
        assert sent_s - asked_s >= SYNC_S

    run(main())


def test_a_failed_sync_ends_the_node_and_tells_nobody(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.handed_out.append)
        await asyncio.sleep(2 * SYNC_S)
        node.followers.sent.clear()
        assert node.followers.receiver is not None
        node.followers.receiver.on_message(2, _vote_request())
        await asyncio.sleep(SYNC_S / 2)
        node.disk.crash()
        await asyncio.sleep(10)
        assert node.followers.sent == []
        assert [type(error) for error in node.fatal] == [StorageError]

    run(main())


def test_an_exception_of_on_committed_ends_the_node(node: Node, run: Run) -> None:
    def on_committed(entry: CommittedEntry) -> None:
        raise ValueError("cannot replay")

    async def main() -> None:
        await node.log.start(on_committed)
        await until_leading(node.log)
        with pytest.raises(ProposalUnknownError):
            await node.log.propose(b"a", timeout_ms=1000)
        assert [type(error) for error in node.fatal] == [ValueError]
        assert not node.log.is_leader

    run(main())


def test_without_leadership_nothing_is_appended(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.handed_out.append)
        with pytest.raises(NotLeaderError) as caught:
            await node.log.propose(b"a", timeout_ms=1000)
        assert caught.value.leader_id is None
        await until_leading(node.log)
        await node.log.read_barrier(timeout_ms=1000)
        assert node.handed_out == []

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
        assert [entry.command for entry in node.handed_out] == [b"a", b"b"]

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
    limit = RaftConfig().max_command_bytes

    async def main() -> None:
        await node.lead()
        with pytest.raises(MessageTooLargeError, match=f"the limit is {limit}"):
            await node.log.propose(bytes(limit + 1), timeout_ms=1000)
        await node.log.propose(bytes(limit), timeout_ms=1000)

    run(main())


def test_proposals_are_bounded(scheduler: Scheduler) -> None:
    node = Node(scheduler, config=RaftConfig(max_pending_proposals=2))

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


def _vote_request() -> RaftMessage:
    return RaftMessage(
        sender_id=2,
        receiver_id=1,
        incarnation=1,
        term=5,
        request_vote=RequestVote(last_log_index=1, last_log_term=0),
    )
