"""A voter whose disk is new: what it does not do before it holds again what it may have lost."""

from __future__ import annotations

from tests.raft.one_voter import (
    NO_OP_1,
    A,
    B,
    C,
    OneVoter,
    append,
    kinds,
    messages_in,
    pre_vote,
    rejoin,
    rejoin_reply,
    replies,
    request_vote,
)


async def asking() -> OneVoter:
    return await OneVoter().start(is_new=True)


async def following(*, last_index: int = 3, commit_index: int = 3) -> OneVoter:
    """Both others answered, in term 1."""
    voter = await asking()
    await voter.step(
        *(
            rejoin_reply(
                peer,
                1,
                asked=voter.wal.incarnation,
                last_index=last_index,
                commit_index=commit_index,
            )
            for peer in (2, 3)
        )
    )
    return voter


async def test_it_asks_those_who_have_not_answered_again_and_again() -> None:
    voter = await asking()
    assert kinds(await voter.pass_time(0.081)) == ["rejoin", "rejoin"]
    await voter.step(rejoin_reply(2, 1, asked=voter.wal.incarnation))

    ready = await voter.pass_time(0.081)

    assert kinds(ready) == ["rejoin"]
    assert messages_in(ready)[0].receiver_id == 3
    assert voter.engine.waits_for == [3]


async def test_before_all_answered_it_neither_votes_nor_promises_nor_takes_entries() -> None:
    voter = await asking()
    await voter.step(rejoin_reply(2, 1, asked=voter.wal.incarnation, last_index=3, commit_index=3))

    ready = await voter.step(
        append(2, 1, entries=(NO_OP_1, A)), pre_vote(3, 1, last=(9, 9)), request_vote(3, 2)
    )

    assert messages_in(ready) == []
    assert (voter.wal.term, voter.log()) == (0, [])
    assert ready.leadership.role == "rejoining"


async def test_answers_to_an_earlier_start_do_not_count() -> None:
    voter = await asking()
    await voter.step(*(rejoin_reply(peer, 0, asked=voter.wal.incarnation - 1) for peer in (2, 3)))

    assert voter.engine.waits_for == [2, 3]


async def test_one_voter_that_answers_twice_is_one() -> None:
    voter = await asking()
    answer = rejoin_reply(2, 0, asked=voter.wal.incarnation)

    await voter.step(answer, answer)

    assert voter.wal.is_rejoining
    assert voter.engine.waits_for == [3]


async def test_when_all_are_empty_it_takes_part_at_once_and_remembers_it() -> None:
    voter = await following(last_index=0, commit_index=0)

    assert not voter.wal.is_rejoining
    await voter.restart()
    assert not voter.wal.is_rejoining
    assert kinds(await voter.step(request_vote(2, 2))) == ["vote_granted"]


async def test_one_log_that_is_not_empty_makes_it_no_first_start() -> None:
    voter = await asking()

    await voter.step(
        rejoin_reply(2, 1, asked=voter.wal.incarnation, last_index=1),
        rejoin_reply(3, 1, asked=voter.wal.incarnation),
    )

    assert voter.wal.is_rejoining


async def test_the_vote_of_the_greatest_term_it_hears_of_is_spent() -> None:
    voter = await asking()

    await voter.step(
        rejoin_reply(2, 7, asked=voter.wal.incarnation, last_index=3, commit_index=3),
        rejoin_reply(3, 4, asked=voter.wal.incarnation, last_index=3, commit_index=3),
    )

    assert (voter.wal.term, voter.wal.voted_for) == (7, 1)


async def test_while_it_follows_it_acknowledges_but_neither_votes_nor_stands() -> None:
    voter = await following(last_index=4, commit_index=4)

    ready = await voter.step(append(2, 1, entries=(NO_OP_1, A, B), commit_index=3))
    assert [(answer.is_success, answer.next_index) for answer in replies(ready)] == [(True, 4)]

    ready = await voter.pass_time(0.601, request_vote(3, 5, last=(9, 9)))
    assert kinds(ready) == []
    ready = await voter.pass_time(0.601, pre_vote(3, 5, last=(9, 9)))
    assert kinds(ready) == ["pre_vote_reply"]
    assert not messages_in(ready)[0].pre_vote_reply.is_granted
    assert voter.wal.voted_for is None


async def test_a_leader_of_an_older_term_than_the_greatest_heard_is_not_followed() -> None:
    voter = await asking()
    await voter.step(
        *(rejoin_reply(peer, 7, asked=voter.wal.incarnation, last_index=3) for peer in (2, 3))
    )

    await voter.step(append(2, 6, entries=(A,)))

    assert voter.log() == []


async def test_it_takes_part_when_the_commit_index_heard_is_here_in_the_leaders_term() -> None:
    voter = await following()
    entries = NO_OP_1, A, B, C

    await voter.step(append(2, 1, entries=entries, commit_index=2))
    assert voter.wal.is_rejoining
    await voter.step(append(2, 1, after=(4, 1), commit_index=3))
    assert not voter.wal.is_rejoining


async def test_the_greatest_commit_index_heard_counts_whoever_answers_last() -> None:
    voter = await asking()
    await voter.step(
        rejoin_reply(2, 1, asked=voter.wal.incarnation, last_index=3, commit_index=3),
        rejoin_reply(3, 1, asked=voter.wal.incarnation, last_index=1, commit_index=1),
    )

    await voter.step(append(2, 1, entries=(NO_OP_1, A), commit_index=2))

    assert voter.wal.is_rejoining


async def test_entries_of_earlier_terms_alone_are_not_enough() -> None:
    voter = await following()
    await voter.step(append(2, 2, entries=(NO_OP_1, A, B), commit_index=3))
    assert voter.wal.is_rejoining

    await voter.step(append(2, 2, after=(3, 1), entries=((2, b"\1"),), commit_index=4))
    assert not voter.wal.is_rejoining


async def test_a_restart_before_it_has_caught_up_begins_with_asking_again() -> None:
    voter = await following()
    await voter.step(append(2, 1, entries=(NO_OP_1, A), commit_index=2))
    voter.storage.close()
    voter.disk.crash()

    await voter.start(is_new=True)

    assert voter.engine.waits_for == [2, 3]
    ready = await voter.step(append(2, 1, after=(2, 1), entries=(B,), commit_index=3))
    assert replies(ready) == []


async def test_every_voter_answers_with_what_it_holds_and_for_whom() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(NO_OP_1, A), commit_index=1))

    (answer,) = messages_in(await voter.step(rejoin(3, incarnation=77)))

    assert (answer.receiver_id, answer.term) == (3, 1)
    assert answer.rejoin_reply.asked_incarnation == 77
    assert (answer.rejoin_reply.last_index, answer.rejoin_reply.commit_index) == (2, 1)


async def test_a_voter_whose_clock_was_set_back_takes_an_incarnation_that_counts_again() -> None:
    voter = await asking()
    before = voter.wal.incarnation
    answer = rejoin_reply(2, 1, asked=before, last_index=3, commit_index=3)
    answer.rejoin_reply.known_incarnation = before + 500
    await voter.step(rejoin_reply(3, 1, asked=before, last_index=3), answer)

    assert voter.wal.incarnation == before + 501
    assert voter.engine.waits_for == [2, 3]  # nobody has answered to that one
    await voter.restart()
    assert voter.wal.incarnation > before + 501


async def test_a_rejoin_of_an_incarnation_that_counts_no_more_is_answered_with_the_known_one() -> (
    None
):
    voter = await OneVoter().start()
    (first,) = messages_in(await voter.step(rejoin(2, incarnation=900)))
    (second,) = messages_in(await voter.step(rejoin(2, incarnation=30)))

    assert first.rejoin_reply.known_incarnation == 0
    assert second.rejoin_reply.asked_incarnation == 30
    assert second.rejoin_reply.known_incarnation == 900
