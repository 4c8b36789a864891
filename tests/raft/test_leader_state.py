"""One leader, hand-written answers: what it counts, sends, confirms, and when it gives up."""

from __future__ import annotations

from tests.raft.one_voter import (
    A,
    B,
    C,
    OneVoter,
    append,
    appends,
    command,
    holds,
    kinds,
    piece_taken,
    pieces,
    rejoin,
    wants,
)

LETTERS = tuple(b"%c" % letter for letter in b"abcdefgh")

# Counting


async def test_a_leader_commits_what_a_majority_holds_and_says_so_at_once() -> None:
    voter = await OneVoter().start()
    await voter.lead()
    sent = await voter.step(voter.agree(2, 1), proposals=(b"a", b"b"))
    assert sent.appended == [2, 3]
    assert [len(m.entries) for m in appends(sent, 2)] == [2]
    assert [entry.command for entry in voter.committed] == [None]

    ready = await voter.step(voter.agree(2, 3))

    assert [entry.command for entry in voter.committed] == [None, b"a", b"b"]
    assert [message.commit_index for message in appends(ready, 2)] == [3]


async def test_of_five_voters_two_are_not_enough() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.lead()

    await voter.step(voter.agree(2, 1))
    assert voter.committed == []

    await voter.step(voter.agree(5, 1))
    assert [entry.index for entry in voter.committed] == [1]


async def test_copies_of_an_older_terms_entry_do_not_commit_it() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B)))
    await voter.lead()

    await voter.step(voter.agree(2, 2), voter.agree(3, 2))
    assert voter.committed == []

    await voter.step(voter.agree(2, 3))
    assert [entry.index for entry in voter.committed] == [1, 2, 3]


async def test_acknowledgements_of_another_term_do_not_count() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A, B, C)))
    await voter.lead()
    assert voter.wal.term == 2

    await voter.step(holds(3, 1, index=4))

    assert voter.committed == []


async def test_acknowledgements_of_a_voters_earlier_process_do_not_count() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a",))
    await voter.step(rejoin(2, incarnation=5))

    await voter.step(voter.agree(2))

    assert [entry.index for entry in voter.committed] == [1]


async def test_what_a_voters_earlier_process_held_does_not_count() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a",))
    await voter.step(voter.agree(2))
    await voter.step(rejoin(2, incarnation=5))

    await voter.step(voter.agree(3))

    assert [entry.index for entry in voter.committed] == [1]
    assert {peer.node_id: peer.match_index for peer in voter.engine.peers(voter.now_s)} == {
        2: 0,
        3: 2,
        4: 1,
        5: 1,
    }


async def test_an_old_acknowledgement_never_moves_the_match_index_back() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a", b"b"))
    await voter.step(voter.agree(2, 3))

    sent = [
        *appends(await voter.step(voter.agree(2, 1)), 2),
        *appends(await voter.step(wants(2, 1, index=1)), 2),
        *appends(await voter.step(proposals=(b"c",)), 2),
    ]

    assert {message.previous_index for message in sent} == {3}
    assert voter.engine.peers(voter.now_s)[0].match_index == 3


async def test_an_acknowledgement_of_what_was_never_there_counts_for_nothing() -> None:
    voter = await OneVoter().start()
    await voter.lead()

    ready = await voter.step(voter.agree(2, 9))

    assert ready.commit_index == 0
    assert voter.engine.peers(voter.now_s)[0].match_index == 0


async def test_an_answer_to_a_round_that_never_was_confirms_no_read() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()

    await voter.step(voter.agree(2, round_=2**61))
    await voter.step(reads=(7,))

    assert voter.reads == []
    await voter.step(voter.agree(2, round_=1))
    assert [read.read_id for read in voter.reads] == [7]


async def test_a_sole_voter_counts_its_own_copy_only_once_it_is_synced() -> None:
    voter = await OneVoter(voters=1).start()
    await voter.pass_time(0.601)

    ready = await voter.step(proposals=(b"a",))
    assert [entry.command for entry in ready.committed] == [None]

    assert [entry.command for entry in (await voter.step()).committed] == [b"a"]


async def test_a_leaders_own_copy_does_not_count_before_its_sync() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a",))
    await voter.step(voter.agree(2, 2))

    # The answer is about an entry that this very step appends: only two of five hold it.
    ready = await voter.step(voter.agree(3, 1), proposals=(b"b",))

    assert ready.commit_index == 1


async def test_a_follower_appends_no_proposal() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1))

    ready = await voter.step(proposals=(b"a",))

    assert ready.appended == []
    assert voter.log() == []


# What is sent, and its bounds


async def test_a_follower_that_lacks_entries_gets_them_at_once() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a", b"b"))

    ready = await voter.step(wants(3, 1, index=2))

    assert [entry.command for entry in appends(ready, 3)[0].entries] == [
        command("a"),
        command("b"),
    ]


async def test_one_append_is_bounded_in_entries() -> None:
    voter = await OneVoter(append_batch_entries=3).start()
    await voter.lead_and_commit()

    ready = await voter.step(proposals=LETTERS)

    assert [len(message.entries) for message in appends(ready, 2)] == [3, 3, 2]


async def test_one_append_is_bounded_in_bytes_and_carries_at_least_one_entry() -> None:
    voter = await OneVoter(append_batch_bytes=100).start()
    await voter.lead_and_commit()

    ready = await voter.step(proposals=(bytes(48), bytes(48), bytes(48), bytes(98), bytes(120)))

    assert [len(message.entries) for message in appends(ready, 2)] == [2, 1, 1, 1]


async def test_appends_under_way_are_bounded_and_go_on_with_each_answer() -> None:
    voter = await OneVoter(append_batch_entries=1, max_inflight_appends=3).start()
    await voter.lead_and_commit()

    sent = appends(await voter.step(proposals=LETTERS), 2)
    assert [m.previous_index for m in sent] == [1, 2, 3]
    assert appends(await voter.step(), 2) == []
    assert appends(await voter.step(proposals=(b"i",)), 2) == []

    sent = appends(await voter.step(voter.agree(2, 3)), 2)
    assert [m.previous_index for m in sent] == [4, 5]


async def test_until_the_logs_are_known_to_agree_one_append_is_under_way() -> None:
    voter = await OneVoter(append_batch_entries=1).start()
    await voter.lead()

    assert appends(await voter.step(proposals=LETTERS), 2) == []
    sent = appends(await voter.step(wants(2, 1, index=1)), 2)
    assert [m.previous_index for m in sent] == [0]

    assert len(appends(await voter.step(voter.agree(2, 1)), 2)) == len(LETTERS)


async def test_what_was_under_way_on_a_lost_connection_is_sent_again() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    await voter.step(proposals=(b"a",))
    voter.connected = [3]
    await voter.step()
    voter.connected = [2, 3]

    sent = appends(await voter.step(), 2)

    assert [(m.previous_index, len(m.entries)) for m in sent] == [(1, 1)]


async def test_heartbeats_go_to_all_at_their_interval() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()

    assert kinds(await voter.pass_time(0.079)) == []
    assert kinds(await voter.pass_time(0.002)) == ["append_entries"] * 2


# Snapshots


async def lead_with_snapshot(*, chunk_bytes: int = 512) -> OneVoter:
    """The log begins after entry 3; follower 3 has none of it."""
    voter = await OneVoter(snapshot_chunk_bytes=chunk_bytes).start()
    await voter.lead()
    await voter.step(voter.agree(2, 1), proposals=(b"a", b"b"))
    await voter.step(voter.agree(2, 3))
    await voter.snapshot(b"state", index=3)
    return voter


async def test_a_follower_behind_the_logs_begin_gets_pieces_one_at_a_time_within_the_bound() -> (
    None
):
    voter = await lead_with_snapshot()
    content_bytes = voter.storage.snapshots.size_bytes

    offsets = []
    sent = pieces(await voter.step(wants(3, 1, index=1)), 3)
    while sent:
        (one,) = sent
        assert (one.last_index, one.last_term, one.total_bytes) == (3, 1, content_bytes)
        assert 0 < len(one.data) <= 512
        assert pieces(await voter.step(), 3) == []
        offsets.append(one.offset)
        end = one.offset + len(one.data)
        ready = await voter.step(piece_taken(3, 1, index=3, next_offset=end))
        sent = pieces(ready, 3)

    assert offsets == list(range(0, content_bytes, 512))
    assert voter.engine.peers(voter.now_s)[1].match_index == 3


async def test_a_follower_that_is_sent_a_snapshot_is_sent_no_entries() -> None:
    voter = await lead_with_snapshot()
    await voter.step(wants(3, 1, index=1))
    assert voter.engine.is_sending_snapshot

    ready = await voter.step(wants(3, 1, index=1), proposals=(b"c",))

    assert [len(message.entries) for message in appends(ready, 3)] == []
    assert [len(message.entries) for message in appends(ready, 2)] == [1]


async def test_a_piece_is_sent_again_only_when_it_must_be_lost() -> None:
    voter = await lead_with_snapshot()
    (first,) = pieces(await voter.step(wants(3, 1, index=1)), 3)

    assert pieces(await voter.pass_time(0.59, voter.agree(2)), 3) == []
    assert pieces(await voter.pass_time(0.011), 3) == [first]


async def test_an_answer_about_a_piece_of_a_round_that_never_was_confirms_no_read() -> None:
    voter = await lead_with_snapshot()
    await voter.step(wants(3, 1, index=1))
    await voter.step(reads=(7,))
    forged = piece_taken(3, 1, index=3, next_offset=512)
    forged.install_snapshot_reply.round = 99

    await voter.step(forged)

    assert voter.reads == []


async def test_an_answer_about_another_snapshot_says_nothing() -> None:
    voter = await lead_with_snapshot()
    await voter.step(wants(3, 1, index=1))

    ready = await voter.step(piece_taken(3, 1, index=2, next_offset=1 << 20))

    assert pieces(ready, 3) == []
    assert voter.engine.peers(voter.now_s)[1].match_index == 0


async def test_the_size_of_a_newer_snapshot_does_not_make_the_older_one_whole() -> None:
    voter = await OneVoter(snapshot_chunk_bytes=1536).start()
    await voter.lead()
    await voter.step(voter.agree(2, 1), proposals=(b"a", b"b"))
    await voter.step(voter.agree(2, 3))
    await voter.snapshot(bytes(5000), index=2)
    await voter.step(wants(3, 1, index=1))
    await voter.snapshot(index=3)
    assert voter.storage.snapshots.size_bytes <= 1536

    ready = await voter.step(piece_taken(3, 1, index=2, next_offset=1536))

    assert voter.engine.peers(voter.now_s)[1].match_index == 0
    assert [one.last_index for one in pieces(ready, 3)] == [3]


# Leading on, and reads


async def test_a_leader_without_answers_steps_down_within_the_election_timeout() -> None:
    voter = await OneVoter().start()
    assert (await voter.lead()).leadership.own_term_index == 1

    assert (await voter.pass_time(0.599)).leadership.own_term_index == 1
    voter.now_s += 0.002
    ready = await voter.step(proposals=(b"a",))

    assert ready.leadership.own_term_index is None
    assert ready.leadership.leader_id is None
    assert ready.appended == []


async def test_answers_of_a_minority_do_not_keep_a_leader() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.lead()
    await voter.pass_time(0.4, voter.agree(2))

    ready = await voter.pass_time(0.201, voter.agree(2))

    assert ready.leadership.own_term_index is None


async def test_a_read_is_confirmed_by_answers_to_a_message_sent_after_it_and_writes_nothing() -> (
    None
):
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    syncs = voter.disk.syncs

    sent = appends(await voter.step(reads=(1,)), 2)
    assert [message.round for message in sent] == [1]
    await voter.step(voter.agree(2, round_=0), voter.agree(3, round_=0))
    assert voter.reads == []
    await voter.step(voter.agree(2, round_=1))

    assert [(read.read_id, read.index) for read in voter.reads] == [(1, 1)]
    assert voter.disk.syncs == syncs


async def test_reads_of_one_step_share_a_round_and_a_later_one_has_its_own() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()

    first = appends(await voter.step(reads=(1, 2)), 2)
    second = appends(await voter.step(reads=(3,)), 2)
    assert [message.round for message in first + second] == [1, 2]

    await voter.step(voter.agree(3, round_=1))
    assert [read.read_id for read in voter.reads] == [1, 2]
    await voter.step(voter.agree(3, round_=2))
    assert [read.read_id for read in voter.reads] == [1, 2, 3]


async def test_of_five_voters_two_confirm_no_read() -> None:
    voter = await OneVoter(voters=5).start()
    await voter.lead_and_commit()
    await voter.step(reads=(1,))

    await voter.step(voter.agree(2, round_=1))
    assert voter.reads == []

    await voter.step(voter.agree(3, round_=1))
    assert len(voter.reads) == 1


async def test_a_read_waits_until_an_entry_of_the_leaders_term_is_committed() -> None:
    voter = await OneVoter().start()
    await voter.step(append(2, 1, entries=(A,)))
    await voter.lead()
    await voter.step(reads=(1,))

    await voter.step(voter.agree(2, 1, round_=1), voter.agree(3, 1, round_=1))
    assert voter.reads == []
    await voter.step(voter.agree(2, 2))

    assert [(read.read_id, read.index) for read in voter.reads] == [(1, 2)]


async def test_a_sole_voter_reads_at_once_but_not_before_its_first_commit() -> None:
    voter = await OneVoter(voters=1).start()
    voter.now_s += 0.601

    await voter.step(reads=(1,))
    await voter.step(reads=(2,))

    assert [read.index for read in voter.reads] == [1] * len(voter.reads)
    assert voter.reads[-1].read_id == 2


async def test_a_leader_that_steps_down_confirms_no_read_any_more() -> None:
    voter = await OneVoter().start()
    await voter.lead_and_commit()
    await voter.step(reads=(1,))
    await voter.step(append(3, 2))

    await voter.step(holds(2, 2, index=1, round_=1))

    assert voter.reads == []
