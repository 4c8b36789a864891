"""One voter, hand-written messages: terms, votes, what it takes from a leader. One claim each."""

from __future__ import annotations

import pytest
from tests.raft.one_voter import (
    NO_OP_1,
    A,
    B,
    C,
    OneVoter,
    append,
    command,
    holds,
    kinds,
    messages_in,
    piece,
    pre_vote,
    pre_vote_reply,
    replies,
    request_vote,
    snapshot_content,
    vote,
)

from tidelog.simulation.mutants.raft import MUTANTS

X = (2, command("x"))

# Appending, as a follower


async def test_an_old_append_that_arrives_late_removes_nothing() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    ready = await voter.step(append(2, 1, entries=(A,)))

    assert voter.log() == [A, B, C]
    assert [(answer.is_success, answer.next_index) for answer in replies(ready)] == [(True, 2)]


async def test_a_heartbeat_behind_the_end_removes_nothing() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    await voter.step(append(2, 1, after=(1, 1)))

    assert voter.log() == [A, B, C]


async def test_a_contradiction_removes_the_entry_and_all_after_it_durably() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    await voter.step(append(3, 2, after=(1, 1), entries=(X,)))
    await voter.restart()

    assert voter.log() == [A, X]


async def test_a_contradiction_below_the_commit_index_is_not_taken() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C), commit_index=2))

    ready = await voter.step(append(3, 2, after=(1, 1), entries=(X,)))

    assert voter.log() == [A, B, C]
    assert [(answer.is_success, answer.is_reset) for answer in replies(ready)] == [(False, False)]


async def test_nothing_is_put_behind_a_gap_or_a_foreign_entry() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    gap = replies(await voter.step(append(3, 2, after=(5, 2), entries=(X,))))
    foreign = replies(await voter.step(append(3, 2, after=(3, 2), entries=(X,))))

    assert voter.log() == [A, B, C]
    assert [(answer.is_success, answer.is_reset) for answer in gap + foreign] == [
        (False, True),
        (False, True),
    ]
    assert [answer.next_index for answer in gap + foreign] == [4, 1]


async def test_only_entries_verified_by_the_leader_are_committed() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))

    ready = await voter.step(append(3, 2, after=(1, 1), commit_index=3))

    assert [entry.command for entry in voter.committed] == [b"a"]
    assert ready.commit_index == 1


async def test_the_commit_index_never_falls() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B), commit_index=2))

    ready = await voter.step(append(2, 1, after=(2, 1), commit_index=0))

    assert ready.commit_index == 2
    assert [entry.index for entry in voter.committed] == [1, 2]


async def test_a_leader_of_an_older_term_is_told_the_newer_one_and_heard_no_further() -> None:
    voter = await OneVoter().start()
    await voter.step(append(3, 5))

    ready = await voter.step(append(2, 1, entries=(A,), commit_index=1))

    assert voter.log() == []
    assert [(m.receiver_id, m.term) for m in messages_in(ready)] == [(2, 5)]
    assert not replies(ready)[0].is_success
    assert not replies(ready)[0].is_reset
    assert ready.leadership.leader_id == 3


async def test_messages_of_an_older_incarnation_are_dropped() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A,), incarnation=8))

    ready = await voter.step(append(2, 1, after=(1, 1), entries=(B,), incarnation=7))

    assert voter.log() == [A]
    assert kinds(ready) == ["rejoin_reply"]
    assert messages_in(ready)[0].rejoin_reply.known_incarnation == 8


async def test_nothing_but_the_rule_drops_messages_of_an_older_incarnation() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A,), incarnation=8))

    with MUTANTS["old_incarnations_accepted"].applied():
        await voter.step(append(2, 1, after=(1, 1), entries=(B,), incarnation=7))

    assert voter.log() == [A, B]


async def test_messages_of_strangers_and_for_others_are_dropped() -> None:
    voter = await OneVoter().start()
    for_another = append(2, 1, entries=(A,))
    for_another.receiver_id = 3

    ready = await voter.step(append(9, 1, entries=(A,)), for_another)

    assert voter.log() == []
    assert messages_in(ready) == []
    assert voter.wal.term == 0


async def test_a_second_leader_in_one_term_is_none() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1))

    ready = await voter.step(append(3, 1, entries=(A,)))

    assert voter.log() == []
    assert ready.messages == []
    assert ready.leadership.leader_id == 2


async def test_a_leader_takes_nothing_from_a_second_one_of_its_term() -> None:
    voter = await OneVoter().start()
    await voter.lead()
    log = voter.log()

    ready = await voter.step(append(3, voter.wal.term, entries=(X,)))

    assert voter.log() == log
    assert ready.leadership.leader_id == 1


async def test_what_is_below_the_logs_begin_is_taken_for_agreed() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B), commit_index=2))
    await voter.snapshot(b"a", b"b", index=2)

    ready = await voter.step(append(2, 1, entries=(A, B, C), commit_index=3))

    assert voter.log() == [C]
    assert [(answer.is_success, answer.next_index) for answer in replies(ready)] == [(True, 4)]
    assert [entry.index for entry in voter.committed] == [1, 2, 3]


async def test_committed_entries_are_handed_out_a_bounded_number_at_a_time() -> None:
    voter = await OneVoter(append_batch_entries=2).start()

    ready = await voter.step(append(2, 1, entries=(A, B, C), commit_index=3))
    assert [entry.index for entry in ready.committed] == [1, 2]
    assert ready.next_step_in_s == 0

    assert [entry.index for entry in (await voter.step()).committed] == [3]


# Snapshots, as a follower


async def test_a_snapshot_replaces_a_log_that_lacks_its_last_entry() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B)))
    content = await snapshot_content((2, 2), b"state")

    ready = await voter.step(piece(3, 2, snapshot=(2, 2), content=content))
    assert (ready.restored, ready.commit_index) == (None, 2)  # not on stable storage yet
    ready = await voter.step()
    await voter.step(append(3, 2, after=(2, 2), entries=(X,), commit_index=3))

    assert ready.restored == voter.storage.snapshots.latest
    assert ready.commit_index == 2
    assert voter.log() == [X]
    assert voter.storage.snapshots.records() == [b"state"]
    assert [entry.index for entry in voter.committed] == [3]


async def test_a_snapshot_leaves_a_log_alone_that_holds_its_last_entry() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))
    content = await snapshot_content((2, 1), b"state")

    ready = await voter.step(piece(2, 1, snapshot=(2, 1), content=content))

    assert voter.log() == [A, B, C]
    assert (ready.commit_index, ready.committed) == (2, [])
    await voter.step(append(2, 1, after=(3, 1), commit_index=3))
    assert [entry.index for entry in voter.committed] == [3]


async def test_a_snapshot_of_what_is_committed_changes_nothing() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B), commit_index=2))
    content = await snapshot_content((1, 1), b"old")

    ready = await voter.step(piece(2, 1, snapshot=(1, 1), content=content))

    assert ready.restored is None
    assert voter.log() == [A, B]
    (answer,) = messages_in(ready)
    assert answer.install_snapshot_reply.next_offset == len(content)


async def test_a_snapshot_of_no_bytes_is_none() -> None:
    voter = await OneVoter().start()

    ready = await voter.step(piece(2, 1, snapshot=(5, 1), content=b""))

    assert ready.restored is None
    assert (voter.wal.base_index, ready.commit_index) == (0, 0)


async def test_an_installed_snapshot_survives_a_power_cut_with_its_log() -> None:
    voter = await OneVoter().start()
    content = await snapshot_content((5, 2), b"state")
    await voter.step(piece(2, 2, snapshot=(5, 2), content=content))

    await voter.restart()

    assert voter.storage.snapshots.records() == [b"state"]
    assert (voter.wal.base_index, voter.wal.base_term, voter.wal.last_index) == (5, 2, 5)


async def test_a_whole_snapshot_is_not_dropped_for_the_next_ones_first_piece() -> None:
    voter = await OneVoter().start()
    first = await snapshot_content((5, 2), b"first")
    second = await snapshot_content((9, 2), b"second")

    await voter.step(
        piece(2, 2, snapshot=(5, 2), content=first),
        piece(2, 2, snapshot=(9, 2), content=second, length=512),
    )
    ready = await voter.step()

    assert ready.restored is not None
    assert (ready.restored.index, ready.commit_index) == (5, 5)
    assert voter.storage.snapshots.records() == [b"first"]


# Voting


async def test_nobody_is_elected_without_winning_the_pre_vote() -> None:
    voter = await OneVoter().start()
    for _ in range(5):
        assert kinds(await voter.pass_time(0.601)) == ["pre_vote", "pre_vote"]
    assert voter.wal.term == 0

    ready = await voter.step(pre_vote_reply(2, 0))

    assert kinds(ready) == ["request_vote", "request_vote"]
    assert (voter.wal.term, voter.wal.voted_for) == (1, 1)


async def test_promises_for_another_term_and_refusals_are_not_counted() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 4))
    await voter.pass_time(0.601)

    await voter.step(pre_vote_reply(2, 4, asked_term=3), pre_vote_reply(3, 4, is_granted=False))

    assert voter.wal.term == 4


async def test_a_promise_from_a_lower_term_counts() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 4))
    await voter.pass_time(0.601)

    await voter.step(pre_vote_reply(3, 2, asked_term=4))

    assert voter.wal.term == 5


async def test_a_rejected_pre_vote_teaches_the_higher_term() -> None:
    voter = await OneVoter().start()
    await voter.pass_time(0.601)

    await voter.step(pre_vote_reply(2, 9, asked_term=0, is_granted=False))
    ready = await voter.pass_time(0.601)

    assert (voter.wal.term, voter.wal.voted_for) == (9, None)
    assert [message.term for message in messages_in(ready)] == [9, 9]


async def test_a_rejection_carries_the_responders_term_and_changes_nothing() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 4, entries=(A,)))

    (answer,) = messages_in(await voter.pass_time(0.301, pre_vote(3, 2, last=(9, 2))))[:1]

    assert (answer.term, answer.pre_vote_reply.is_granted) == (4, False)
    assert (answer.pre_vote_reply.asked_term, voter.wal.term) == (2, 4)


async def test_who_hears_a_leader_neither_votes_nor_promises_to() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1))
    asked = pre_vote(3, 1, last=(9, 1)), request_vote(3, 7, last=(9, 1))

    ready = await voter.step(*asked)

    assert [m.pre_vote_reply.is_granted for m in messages_in(ready)] == [False]
    assert voter.wal.term == 1
    ready = await voter.pass_time(0.301, *asked)
    assert kinds(ready)[:2] == ["pre_vote_reply", "vote_granted"]
    assert messages_in(ready)[0].pre_vote_reply.is_granted


async def test_a_lost_connection_to_the_leader_ends_its_protection() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1))
    voter.connected = [3]

    ready = await voter.step(pre_vote(3, 1))

    assert messages_in(ready)[0].pre_vote_reply.is_granted


async def test_a_shorter_log_gets_no_promise() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B)))

    ready = await voter.pass_time(0.301, pre_vote(3, 1, last=(1, 1)))

    assert not messages_in(ready)[0].pre_vote_reply.is_granted


@pytest.mark.parametrize(("last", "is_enough"), [((1, 1), False), ((2, 1), True), ((1, 2), True)])
async def test_a_shorter_log_gets_no_vote(last: tuple[int, int], is_enough: bool) -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B)))

    ready = await voter.pass_time(0.301, request_vote(3, 2, last=last))

    assert ("vote_granted" in kinds(ready)) == is_enough
    assert voter.wal.term == 2


async def test_a_vote_is_not_given_twice_in_a_term_not_even_after_a_restart() -> None:
    voter = await OneVoter().start()
    assert kinds(await voter.step(request_vote(2, 5))) == ["vote_granted"]
    assert kinds(await voter.step(request_vote(3, 5))) == []
    assert kinds(await voter.step(request_vote(2, 5))) == ["vote_granted"]

    await voter.restart()

    assert (voter.wal.term, voter.wal.voted_for) == (5, 2)
    assert kinds(await voter.step(request_vote(3, 5))) == []


async def test_a_candidate_keeps_its_vote_for_itself() -> None:
    voter = await OneVoter().start()
    await voter.stand()
    assert (voter.wal.term, voter.wal.voted_for) == (1, 1)

    assert kinds(await voter.step(request_vote(3, 1, last=(9, 0)))) == []


async def test_a_vote_that_arrives_twice_counts_once() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.stand()

    ready = await voter.step(vote(2, 1), vote(2, 1))
    assert ready.leadership.own_term_index is None

    assert (await voter.step(vote(3, 1))).leadership.own_term_index == 1


async def test_votes_of_an_older_term_are_not_counted() -> None:
    voter = await OneVoter().start()
    await voter.stand()
    await voter.step()  # its own vote is stored: now it waits for others
    await voter.stand()
    assert voter.wal.term == 2

    assert (await voter.step(vote(2, 1))).leadership.own_term_index is None


async def test_a_candidate_follows_the_leader_of_its_term() -> None:
    voter = await OneVoter().start()
    await voter.stand()

    ready = await voter.step(append(3, 1, entries=(NO_OP_1,)), vote(2, 1))

    assert (ready.leadership.role, ready.leadership.leader_id) == ("follower", 3)


async def test_a_greater_term_in_an_answer_deposes_a_leader() -> None:
    voter = await OneVoter().start()
    await voter.lead()

    ready = await voter.step(holds(2, 7, index=1))

    assert (ready.leadership.role, voter.wal.term, voter.wal.voted_for) == ("follower", 7, None)


async def test_a_leader_is_not_deposed_by_a_candidate() -> None:
    voter = await OneVoter().start()
    await voter.lead()

    ready = await voter.step(request_vote(3, 50, last=(9, 9)))

    assert ready.leadership.own_term_index is not None
    assert voter.wal.term == 1
