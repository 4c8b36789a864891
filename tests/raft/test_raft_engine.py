"""The rules that replace PySyncObj's own, each on one voter with hand-written messages."""

from __future__ import annotations

import ast
import inspect

import pytest
from one_voter import Entry, appends, kinds, pre_vote_reply, replies, to_me

from tidelog.chaos.sim_stage.clock import SimClock, SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.errors import InvariantError, StorageError
from tidelog.raft import pysyncobj_engine
from tidelog.raft.config import RaftConfig
from tidelog.raft.engine import EngineEntry, Ready
from tidelog.raft.pysyncobj_engine import SyncObj, check_library
from tidelog.raft.wal import Wal
from tidelog.v1.raft_pb2 import (
    AppendEntries,
    AppendEntriesReply,
    LogEntry,
    PreVote,
    RaftMessage,
    RequestVote,
    VoteGranted,
)

CONFIG = RaftConfig(election_timeout_min_ms=300, election_timeout_max_ms=600)


class Voter:
    """Node 1 of three or five, on a clock that moves by hand; syncs after every step."""

    def __init__(self, *, voters: int = 3) -> None:
        self.now_s = 100.0
        self.clock = SimClock(lambda: self.now_s)
        self.disk = SimDisk(SimRandom(1), sync_latency_s=0)
        self.voters = list(range(1, voters + 1))
        self.committed: list[EngineEntry] = []

    async def start(self) -> Voter:
        self.wal = await Wal.open(
            disk=self.disk, directory="/data/meta", node_id=1, wall_ms=0, reserve_bytes=16_384
        )
        self.engine = SyncObj(
            self.voters, self.wal, clock=self.clock, random=SimRandom(7), config=CONFIG
        )
        await self.wal.sync()
        return self

    async def restart(self) -> None:
        self.disk.crash()
        await self.start()

    async def step(
        self,
        *received: RaftMessage,
        proposals: tuple[bytes, ...] = (),
        reads: tuple[int, ...] = (),
    ) -> Ready:
        ready = self.engine.step(
            now_s=self.now_s,
            connected=self.voters[1:],
            received=received,
            proposals=list(proposals),
            reads=reads,
        )
        if self.wal.is_dirty:
            await self.wal.sync()
        self.committed += ready.committed
        return ready

    async def pass_election_timeout(self) -> Ready:
        self.now_s += 0.7
        return await self.step()

    async def lead(self) -> Ready:
        """Win pre-vote and election by node 2; only the own no-op follows the log."""
        await self.pass_election_timeout()
        term = self.wal.term
        await self.step(pre_vote_reply(2, term, asked_term=term, is_granted=True))
        return await self.step(RaftMessage(**to_me(2, term + 1), vote_granted=VoteGranted()))

    def log(self) -> list[Entry]:
        return [(entry.term, entry.command) for entry in self.wal.entries[1:]]


def append(
    sender_id: int,
    term: int,
    *,
    after: tuple[int, int] = (1, 0),
    entries: tuple[Entry, ...] = (),
    commit_index: int = 1,
    incarnation: int = 1,
) -> RaftMessage:
    """`after` is index and term of the previous entry."""
    return RaftMessage(
        **to_me(sender_id, term, incarnation=incarnation),
        append_entries=AppendEntries(
            previous_index=after[0],
            previous_term=after[1],
            commit_index=commit_index,
            entries=[LogEntry(term=entry[0], command=entry[1]) for entry in entries],
        ),
    )


def reply(
    sender_id: int, term: int, *, next_index: int, is_success: bool, is_reset: bool = False
) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term),
        append_entries_reply=AppendEntriesReply(
            next_index=next_index, is_success=is_success, is_reset=is_reset
        ),
    )


def request_vote(sender_id: int, term: int, *, last: tuple[int, int] = (1, 0)) -> RaftMessage:
    return RaftMessage(
        **to_me(sender_id, term),
        request_vote=RequestVote(last_log_index=last[0], last_log_term=last[1]),
    )


A, B, C = (1, b"\0a"), (1, b"\0b"), (1, b"\0c")


# Appending, as a follower


async def test_an_old_append_that_arrives_late_removes_nothing() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    ready = await voter.step(append(2, 1, entries=(A,)))

    assert voter.log() == [A, B, C]
    assert [answer.next_index for answer in replies(ready)] == [3]


async def test_a_heartbeat_behind_the_end_removes_nothing() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    await voter.step(append(2, 1, after=(2, 1)))

    assert voter.log() == [A, B, C]


async def test_a_contradiction_removes_the_entry_and_all_after_it_durably() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    await voter.step(append(3, 2, after=(2, 1), entries=((2, b"\0x"),)))
    await voter.restart()

    assert voter.log() == [A, (2, b"\0x")]


async def test_a_contradiction_below_the_commit_index_stops_the_node() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C), commit_index=3))

    with pytest.raises(InvariantError, match="what is committed stays"):
        await voter.step(append(3, 2, after=(2, 1), entries=((2, b"\0x"),)))


async def test_only_entries_verified_by_the_leader_are_committed() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    await voter.step(append(3, 2, after=(2, 1), commit_index=4))

    assert [entry.command for entry in voter.committed] == [b"a"]


async def test_a_leader_of_an_older_term_is_told_the_newer_one() -> None:
    voter = await Voter().start()
    await voter.step(append(3, 5))

    ready = await voter.step(append(2, 1, entries=(A,)))

    assert voter.log() == []
    assert [(m.receiver_id, m.term) for m in ready.messages] == [(2, 5)]
    assert not replies(ready)[0].is_success


async def test_a_gap_sends_the_leader_back_to_the_end_and_a_foreign_term_before_it() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    gap = replies(await voter.step(append(3, 2, after=(9, 2))))
    foreign = replies(await voter.step(append(3, 2, after=(4, 2))))

    assert [(answer.next_index, answer.is_reset) for answer in gap + foreign] == [
        (5, True),
        (2, True),
    ]
    assert voter.log() == [A, B, C]


async def test_messages_of_an_older_incarnation_are_dropped() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A,), incarnation=8))

    ready = await voter.step(append(2, 1, after=(2, 1), entries=(B,), incarnation=7))

    assert voter.log() == [A]
    assert ready.messages == []


async def test_a_second_leader_in_one_term_stops_the_node() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1))

    with pytest.raises(InvariantError, match="one leader in a term"):
        await voter.step(append(3, 1))


# Counting, as the leader


async def test_a_leader_commits_what_a_majority_holds_and_says_so_at_once() -> None:
    voter = await Voter().start()
    await voter.lead()
    sent = await voter.step(proposals=(b"a", b"b"))
    assert sent.appended == [3, 4]
    assert [len(m.entries) for m in appends(sent, 2)] == [2]
    assert voter.committed == []

    ready = await voter.step(reply(3, 1, next_index=5, is_success=True))

    assert [entry.command for entry in voter.committed] == [None, b"a", b"b"]
    assert [message.commit_index for message in appends(ready, 2)] == [4]


async def test_acknowledgements_of_another_term_do_not_count() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))
    await voter.lead()
    assert voter.wal.term == 2

    await voter.step(reply(3, 1, next_index=6, is_success=True))

    assert voter.committed == []


async def test_an_old_acknowledgement_never_moves_the_match_index_back() -> None:
    voter = await Voter().start()
    await voter.lead()
    await voter.step(proposals=(b"a", b"b"))
    await voter.step(reply(2, 1, next_index=5, is_success=True))

    sent = [
        *appends(await voter.step(reply(2, 1, next_index=2, is_success=True)), 2),
        *appends(await voter.step(reply(2, 1, next_index=2, is_success=False, is_reset=True)), 2),
        *appends(await voter.step(proposals=(b"c",)), 2),
    ]

    assert {message.previous_index for message in sent} == {4}


async def test_a_follower_that_lacks_entries_gets_them_soon_but_not_at_every_answer() -> None:
    voter = await Voter().start()
    await voter.lead()
    await voter.step(proposals=(b"a", b"b"))
    rejection = reply(3, 1, next_index=3, is_success=False, is_reset=True)

    assert appends(await voter.step(rejection), 3) == []
    voter.now_s += 0.011
    ready = await voter.step(rejection)

    assert [entry.command for entry in appends(ready, 3)[0].entries] == [b"\0a", b"\0b"]


async def test_a_leader_without_answers_steps_down_within_the_election_timeout() -> None:
    voter = await Voter().start()
    assert (await voter.lead()).leadership.own_term_index == 2

    voter.now_s += 0.601
    ready = await voter.step(proposals=(b"a",))

    assert ready.leadership.own_term_index is None
    assert ready.leadership.leader_id is None
    assert ready.appended == []


async def test_a_sole_voter_counts_its_own_copy_only_once_it_is_synced() -> None:
    voter = await Voter(voters=1).start()
    await voter.pass_election_timeout()

    ready = await voter.step(proposals=(b"a",))
    assert ready.committed == []

    assert [entry.command for entry in (await voter.step()).committed] == [b"a"]


async def test_one_append_is_bounded_in_entries() -> None:
    voter = await Voter().start()
    await voter.lead()

    ready = await voter.step(proposals=(b"x",) * 5000)

    assert [len(message.entries) for message in appends(ready, 2)] == [4096, 904]


# Voting


async def test_nobody_is_elected_without_winning_the_pre_vote() -> None:
    voter = await Voter().start()
    for _ in range(5):
        ready = await voter.pass_election_timeout()
        assert kinds(ready) == ["pre_vote", "pre_vote"]
    assert voter.wal.term == 0

    ready = await voter.step(pre_vote_reply(2, 0, asked_term=0, is_granted=True))

    assert kinds(ready) == ["request_vote", "request_vote"]
    assert (voter.wal.term, voter.wal.voted_for) == (1, 1)


async def test_a_rejected_pre_vote_teaches_the_higher_term() -> None:
    voter = await Voter().start()
    await voter.pass_election_timeout()

    await voter.step(pre_vote_reply(2, 9, asked_term=0, is_granted=False))
    ready = await voter.pass_election_timeout()

    assert (voter.wal.term, voter.wal.voted_for) == (9, None)
    assert [message.term for message in ready.messages] == [9, 9]


async def test_a_rejection_carries_the_responders_term_and_changes_nothing() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 4, entries=(A,)))
    voter.now_s += 1
    asked = RaftMessage(**to_me(3, 2), pre_vote=PreVote(last_log_index=9, last_log_term=2))

    (answer,) = [m for m in (await voter.step(asked)).messages if m.HasField("pre_vote_reply")]

    assert (answer.term, answer.pre_vote_reply.is_granted) == (4, False)


async def test_who_hears_a_leader_neither_votes_nor_grants_a_pre_vote() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1))
    asked = RaftMessage(**to_me(3, 1), pre_vote=PreVote(last_log_index=9, last_log_term=1))

    ready = await voter.step(asked, request_vote(3, 7, last=(9, 1)))

    assert [m.pre_vote_reply.is_granted for m in ready.messages] == [False]
    assert voter.wal.term == 1
    voter.now_s += 0.301
    ready = await voter.step(asked, request_vote(3, 7, last=(9, 1)))
    assert kinds(ready)[:2] == ["pre_vote_reply", "vote_granted"]
    assert ready.messages[0].pre_vote_reply.is_granted


async def test_a_leader_is_not_deposed_by_a_candidate() -> None:
    voter = await Voter().start()
    await voter.lead()

    ready = await voter.step(request_vote(3, 50, last=(9, 9)))

    assert ready.leadership.own_term_index is not None
    assert voter.wal.term == 1


async def test_a_vote_is_not_given_twice_in_a_term_not_even_after_a_restart() -> None:
    voter = await Voter().start()
    assert kinds(await voter.step(request_vote(2, 5))) == ["vote_granted"]
    assert kinds(await voter.step(request_vote(3, 5))) == []

    await voter.restart()

    assert (voter.wal.term, voter.wal.voted_for) == (5, 2)
    assert kinds(await voter.step(request_vote(3, 5))) == []


async def test_a_vote_that_arrives_twice_counts_once() -> None:
    voter = await Voter(voters=5).start()
    await voter.pass_election_timeout()
    await voter.step(
        pre_vote_reply(2, 0, asked_term=0, is_granted=True),
        pre_vote_reply(3, 0, asked_term=0, is_granted=True),
    )
    vote = RaftMessage(**to_me(2, 1), vote_granted=VoteGranted())

    ready = await voter.step(vote, vote)

    assert ready.leadership.own_term_index is None
    vote.sender_id = 3
    assert (await voter.step(vote)).leadership.own_term_index is not None


async def test_a_shorter_log_gets_no_vote() -> None:
    voter = await Voter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))
    voter.now_s += 0.301

    assert "vote_granted" not in kinds(await voter.step(request_vote(3, 2, last=(3, 1))))


# Reads and status


async def test_a_read_is_proven_by_a_no_op_of_its_own() -> None:
    voter = await Voter().start()
    await voter.lead()
    await voter.step(reply(2, 1, next_index=3, is_success=True))

    ready = await voter.step(proposals=(b"a",), reads=(7, 8))
    assert ready.appended == [3]
    assert ready.reads == []

    ready = await voter.step(reply(2, 1, next_index=5, is_success=True))
    assert [(read.read_id, read.index) for read in ready.reads] == [(7, 4), (8, 4)]
    assert [entry.command for entry in ready.committed] == [b"a", None]


async def test_reads_end_with_the_leadership() -> None:
    voter = await Voter().start()
    await voter.lead()
    await voter.step(reads=(7,))
    await voter.step(append(3, 2, after=(3, 1), commit_index=3))

    assert (await voter.step(append(3, 2, after=(3, 1), commit_index=3))).reads == []


async def test_a_log_that_was_cut_for_our_own_engine_is_refused() -> None:
    voter = await Voter().start()
    voter.wal.write_base(index=9, term=1)
    await voter.wal.sync()
    voter.wal.close()

    with pytest.raises(StorageError, match="snapshot"):
        await voter.start()


async def test_a_leader_says_what_it_knows_of_the_others() -> None:
    voter = await Voter().start()
    await voter.lead()
    voter.now_s += 0.25
    await voter.step(reply(2, 1, next_index=3, is_success=True))

    assert [peer.match_index for peer in voter.engine.peers(voter.now_s)] == [2, 0]
    assert voter.engine.peers(voter.now_s)[0].last_contact_ms == 0
    assert voter.engine.last_contact_ms(voter.now_s) == 0


# The library


def test_another_pysyncobj_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_library()
    monkeypatch.setattr(pysyncobj_engine, "KNOWN_SHA256", "0" * 64)

    with pytest.raises(InvariantError, match=r"install pysyncobj==0\.3\.17"):
        check_library()


async def test_every_private_name_of_the_library_used_here_exists() -> None:
    tree = ast.parse(inspect.getsource(SyncObj))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    private = {name for name in used if name.startswith("__") and not name.endswith("__")}
    fresh = (await Voter().start()).engine
    library = {*vars(SyncObj.__mro__[1]), *vars(fresh)}

    assert len(private) > 20
    assert {f"_SyncObj{name}" for name in private} <= library
