"""Terms and incarnations are climbed to: a number from nowhere ends no quorum and mutes nobody."""

from __future__ import annotations

import pytest
from tests.raft.one_voter import (
    OneVoter,
    append,
    kinds,
    pre_vote_reply,
    rejoin,
    rejoin_reply,
    replies,
)
from tests.raft.raft_stage import FixedRandom

from tidelog.raft import rules
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.snapshot_file import file_name, parse_name
from tidelog.raft.well_formed import NUMBER_MAX
from tidelog.v1.raft_pb2 import RaftMessage, RejoinReply

FAR = NUMBER_MAX - 1


@pytest.mark.parametrize(
    "message",
    [append(2, FAR), pre_vote_reply(2, FAR)],
    ids=["append", "pre-vote reply"],
)
async def test_a_term_from_nowhere_moves_a_voter_by_one_step_and_is_not_followed(
    message: RaftMessage,
) -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 5))

    ready = await voter.step(message)

    assert voter.wal.term == 5 + rules.LEAP_MAX
    assert ready.leadership.leader_id is None
    await voter.step(append(3, voter.wal.term))
    assert replies(await voter.step(append(3, voter.wal.term)))[0].is_success


async def test_a_voter_far_behind_reaches_the_quorums_term() -> None:
    voter = await OneVoter().start()
    term = 3 * rules.LEAP_MAX + 7
    answers = [replies(await voter.step(append(2, term))) for _ in range(4)]
    assert [bool(answer) for answer in answers] == [False, False, False, True]
    assert voter.wal.term == term


async def test_an_incarnation_from_nowhere_mutes_nobody() -> None:
    """The one that is muted is told, takes a greater incarnation, and is heard again."""
    receiver, sender = await OneVoter().start(), await OneVoter().start()
    await receiver.step(append(2, 1, incarnation=FAR))
    assert receiver.log() == []

    ready = await receiver.step(append(2, 1, incarnation=sender.wal.incarnation))
    reply = ready.messages[0].rejoin_reply
    assert reply.known_incarnation == rules.CLOCK_MS_MAX + rules.LEAP_MAX
    await sender.step(rejoin_reply_of(3, reply))

    assert sender.wal.incarnation == reply.known_incarnation + 1
    answer = await receiver.step(append(2, 1, incarnation=sender.wal.incarnation))
    assert replies(answer)[0].is_success
    sender.storage.close()
    await sender.start()
    assert sender.wal.incarnation == reply.known_incarnation + 2


async def test_a_receiver_that_just_started_climbs_to_a_great_incarnation() -> None:
    voter = await OneVoter().start()
    great = rules.CLOCK_MS_MAX + 3 * rules.LEAP_MAX
    heard = [bool(replies(await voter.step(append(2, 1, incarnation=great)))) for _ in range(4)]
    assert heard == [False, False, True, True]


async def test_a_new_disk_never_takes_the_incarnation_of_the_life_before_it() -> None:
    """However far that one had climbed: what it said may still be on its way."""
    voter = await OneVoter().start(is_new=True)
    known = rules.CLOCK_MS_MAX + rules.LEAP_MAX + 1
    taken = []
    while voter.wal.incarnation < known:
        reply = RejoinReply(asked_incarnation=voter.wal.incarnation, known_incarnation=known)
        await voter.step(rejoin_reply_of(2, reply))
        taken.append(voter.wal.incarnation)
    assert taken == [known - 1, known + 1]


async def test_an_old_answer_about_incarnations_raises_nothing() -> None:
    voter = await OneVoter().start()
    before = voter.wal.incarnation
    await voter.step(
        rejoin_reply_of(2, RejoinReply(asked_incarnation=before, known_incarnation=FAR))
    )
    above = voter.wal.incarnation
    assert before < above <= rules.CLOCK_MS_MAX + rules.LEAP_MAX + 1
    await voter.step(
        rejoin_reply_of(2, RejoinReply(asked_incarnation=before, known_incarnation=FAR))
    )
    assert voter.wal.incarnation == above


async def test_two_that_mute_each_other_are_both_heard_again_and_do_not_answer_for_ever() -> None:
    voter = await OneVoter().start()
    own = voter.wal.incarnation
    await voter.step(append(2, 1, incarnation=9))
    muted = rejoin_reply_of(2, RejoinReply(asked_incarnation=own, known_incarnation=own + 5))
    assert kinds(await voter.step(muted)) == []
    assert voter.wal.incarnation == own + 6


async def test_a_new_disk_climbs_to_a_great_term_before_it_takes_part() -> None:
    """Every vote up to the term that the others knew is spent."""
    voter = await OneVoter().start(is_new=True)
    asked, term = voter.wal.incarnation, rules.LEAP_MAX + 9
    answers = [rejoin_reply(peer, term, asked=asked, last_index=4) for peer in (2, 3)]
    await voter.step(*answers)
    assert (voter.wal.term, voter.wal.voted_for) == (rules.LEAP_MAX, 1)
    assert voter.engine.waits_for == [2]
    await voter.step(answers[0])
    assert (voter.wal.term, voter.wal.voted_for) == (term, 1)
    assert voter.engine.waits_for == []


async def test_a_rejoining_voter_whose_clock_was_set_back_outgrows_its_earlier_life() -> None:
    voter = await OneVoter().start()
    await voter.step(rejoin(2, incarnation=10))
    ready = await voter.step(rejoin(2, incarnation=3))
    assert ready.messages[0].rejoin_reply.known_incarnation == 10


async def test_a_new_disk_takes_no_number_that_a_later_life_of_the_old_one_may_have_had() -> None:
    """One of the others knows the life that the second one was told of, the other the next."""
    voter = OneVoter()
    voter.random = FixedRandom(2)
    await voter.start(is_new=True)
    own = voter.wal.incarnation
    await voter.step(
        rejoin_reply_of(2, RejoinReply(asked_incarnation=own, known_incarnation=own + 5))
    )
    assert voter.wal.incarnation > own + 5 + 1_000


def test_outgrown_incarnations_are_above_the_known_one_and_not_the_next() -> None:
    reached = [rules.outgrown_incarnation(100, 7, chance / 10) for chance in range(10)]
    assert len(set(reached)) == 10
    assert all(100 < one <= 100 + rules.LEAP_MAX // 2 for one in reached)
    far = rules.CLOCK_MS_MAX + 5 * rules.LEAP_MAX
    climbed = rules.outgrown_incarnation(far, 7, 0.5)
    assert climbed == rules.CLOCK_MS_MAX + rules.LEAP_MAX, "reached by and by"


def test_a_clock_of_any_year_leaves_room_for_incarnations() -> None:
    assert rules.first_incarnation(0, 2**63 - 1) == rules.CLOCK_MS_MAX
    assert rules.first_incarnation(rules.CLOCK_MS_MAX, 2**63 - 1) == rules.CLOCK_MS_MAX + 1
    assert rules.first_incarnation(7, 0) == 8


def test_a_snapshot_of_a_great_term_is_found_by_its_name() -> None:
    snapshot = SnapshotId(FAR, FAR)
    assert parse_name(file_name(snapshot)) == snapshot


def rejoin_reply_of(sender_id: int, reply: RejoinReply) -> RaftMessage:
    return RaftMessage(
        sender_id=sender_id, receiver_id=1, term=1, incarnation=1, rejoin_reply=reply
    )
