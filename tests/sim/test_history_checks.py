"""Each check finds the anomaly it is made for; nothing is found in what a right log may do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.history.group_histories import GROUP_KINDS
from tests.history.histories import KINDS, HistoryMaker, spoil
from tests.history.transaction_histories import TRANSACTION_KINDS

from tidelog.history.checks.delivery import CHECKS, complaints, counts
from tidelog.history.checks.record_parts import difference
from tidelog.history.history import History, Outcome, Parts, Poll, Send
from tidelog.history.history_lines import from_lines, to_lines

SEEDS = range(60)


def a_send(number: int, **fields: object) -> Send:
    """The nth acknowledged write of one producer, one second after the one before."""
    send = Send(
        process="producer",
        number=number,
        topic="t",
        incarnation=0,
        partition=0,
        value=b"%d" % number,
        acks=-1,
        is_idempotent=True,
        invoked_s=float(number),
        ended_s=number + 0.5,
        outcome="ok",
        offset=number,
    )
    return replace(send, **fields)


def a_poll(*values: bytes, position: int = 0, **fields: object) -> Poll:
    poll = Poll(
        process="reader",
        number=100,
        topic="t",
        incarnation=0,
        partition=0,
        invoked_s=20.0,
        ended_s=20.1,
        position=position,
        records=tuple(enumerate(values, start=position)),
    )
    return replace(poll, **fields)


def the_last(*values: bytes) -> Poll:
    return a_poll(*values, process="last", number=200, is_final=True)


def clean_history() -> History:
    """Four writes, a reader of two of them, a final reading."""
    return History(
        sends=[a_send(number) for number in range(4)],
        polls=[a_poll(b"0", b"1"), the_last(b"0", b"1", b"2", b"3")],
    )


def kinds(history: History) -> set[str]:
    return {complaint.kind for complaint in complaints(history)}


def test_a_clean_history_has_no_complaints() -> None:
    history = clean_history()

    assert complaints(history) == []
    numbers = counts(history)
    assert numbers["operations"] == 6
    assert numbers["acknowledged"] == numbers["read"] == 4
    assert numbers["lost"] == numbers["duplicated"] == numbers["reordered"] == 0


def _lose(history: History) -> None:
    history.polls[1] = the_last(b"0", b"2", b"1", b"3")


def _end_early(history: History) -> None:
    history.polls[1] = the_last(b"0", b"1", b"2")


def _read_nothing_at_the_end(history: History) -> None:
    history.polls.pop()


def _see_what_goes(history: History) -> None:
    history.sends.append(a_send(4, outcome="unknown", offset=None))
    history.polls[0] = a_poll(b"0", b"1", b"2", b"3", b"4")


def _show_another_value(history: History) -> None:
    history.polls[0] = a_poll(b"1")


def _acknowledge_another_offset(history: History) -> None:
    history.sends.append(a_send(4, offset=2))


def _swap_keys(history: History) -> None:
    history.sends[0].parts, history.sends[1].parts = Parts(key=b"a"), Parts(key=b"b")
    history.polls[0] = a_poll(b"0", b"1", parts=(Parts(key=b"b"), Parts(key=b"a")))


def _store_twice(history: History) -> None:
    history.polls[1] = the_last(b"0", b"1", b"2", b"3", b"3")


def _read_what_failed(history: History) -> None:
    history.sends.append(a_send(4, outcome="fail", offset=None))
    history.polls[1] = the_last(b"0", b"1", b"2", b"3", b"4")


def _read_what_nobody_sent(history: History) -> None:
    history.polls[1] = the_last(b"0", b"1", b"2", b"3", b"?")


def _read_what_was_sent_elsewhere(history: History) -> None:
    history.sends.append(a_send(4, partition=1, outcome="unknown", offset=None))
    history.polls[1] = the_last(b"0", b"1", b"2", b"3", b"4")


def _read_before_it_was_sent(history: History) -> None:
    history.sends[0] = replace(history.sends[0], invoked_s=30.0, ended_s=31.0)


def _read_the_old_topic(history: History) -> None:
    history.polls.append(replace(the_last(b"0"), incarnation=1, process="newest"))


def _skip_within_a_poll(history: History) -> None:
    history.polls[0] = a_poll(records=((0, b"0"), (2, b"2")))


def _skip_between_polls(history: History) -> None:
    history.polls.append(a_poll(b"3", position=3, number=101))


def _skip_as_if_truncated(history: History) -> None:
    history.polls.append(a_poll(b"3", position=3, number=101, is_rewound=True))


def _go_back(history: History) -> None:
    history.polls.append(a_poll(b"1", position=1, number=101))


def _turn_round(history: History) -> None:
    history.sends[1:3] = [a_send(1, offset=2), a_send(2, offset=1)]
    history.polls = [the_last(b"0", b"2", b"1", b"3")]


def _overtake(history: History) -> None:
    _turn_round(history)
    history.sends[1] = replace(history.sends[1], process="other")


@pytest.mark.parametrize(
    ("spoiled", "kind"),
    [
        (_lose, "lost-write"),
        (_end_early, "unseen"),
        (_read_nothing_at_the_end, "unseen"),
        (_see_what_goes, "vanished"),
        (_show_another_value, "inconsistent-offsets"),
        (_acknowledge_another_offset, "inconsistent-offsets"),
        (_store_twice, "duplicate"),
        (_read_what_failed, "G1a"),
        (_read_what_nobody_sent, "unwritten"),
        (_read_what_was_sent_elsewhere, "unwritten"),
        (_read_before_it_was_sent, "unwritten"),
        (_swap_keys, "altered-record"),
        (_read_the_old_topic, "old-incarnation"),
        (_skip_within_a_poll, "poll-skip"),
        (_skip_between_polls, "poll-skip"),
        (_skip_as_if_truncated, "poll-skip"),
        (_go_back, "nonmonotonic-poll"),
        (_turn_round, "nonmonotonic-send"),
        (_overtake, "realtime-order"),
    ],
)
def test_the_check_finds_its_anomaly(spoiled: Callable[[History], None], kind: str) -> None:
    history = clean_history()
    spoiled(history)

    found = [complaint for complaint in complaints(history) if complaint.kind == kind]

    assert found != []
    assert all(complaint.operations for complaint in found)
    assert kind in str(found[0])


def test_there_is_a_way_to_spoil_a_history_for_every_check() -> None:
    assert {*KINDS, *GROUP_KINDS, *TRANSACTION_KINDS} == set(CHECKS)


def test_an_unknown_outcome_may_be_read_or_not() -> None:
    history = clean_history()
    outcome: Outcome = "unknown"
    history.sends += [a_send(n, outcome=outcome, ended_s=None, offset=None) for n in (4, 5)]
    history.polls[1] = the_last(b"0", b"1", b"2", b"3", b"4")

    assert complaints(history) == []


def test_duplicates_and_order_without_idempotence_are_counted() -> None:
    history = History(
        sends=[
            a_send(0, is_idempotent=False, offset=1, ended_s=9.0),
            a_send(1, is_idempotent=False, offset=0),
        ],
        polls=[the_last(b"1", b"0", b"0")],
    )

    assert complaints(history) == []
    assert counts(history)["duplicated"] == 1
    assert counts(history)["reordered"] == 1


def test_what_acks_1_lost_is_counted_and_its_offset_may_be_given_anew() -> None:
    history = clean_history()
    history.sends.append(a_send(4, acks=1, is_idempotent=False, offset=3, invoked_s=2.6))

    assert complaints(history) == []
    assert counts(history)["lost_acks_1"] == 1
    assert counts(history)["lost"] == 0


def test_what_an_unclean_election_lost_is_counted() -> None:
    history = clean_history()
    history.polls[1] = the_last(b"0", b"3", b"2")
    assert kinds(history) >= {"lost-write", "inconsistent-offsets"}

    history.lossy_topics.add("t")

    assert complaints(history) == []
    assert counts(history)["lost_unclean"] == 1


def test_a_truncated_consumer_may_go_back_when_it_was_told() -> None:
    history = clean_history()
    history.polls.append(a_poll(b"1", position=1, number=101, is_rewound=True))

    assert complaints(history) == []


def test_a_send_on_its_way_when_the_topic_was_created_again_may_reach_it() -> None:
    history = clean_history()
    history.sends.append(a_send(4, ended_s=None, outcome="unknown", offset=None))
    newest = replace(the_last(b"4"), incarnation=1, process="newest")
    history.polls.append(newest)

    assert complaints(history) == []


def test_the_lag_is_from_the_acknowledgement_to_a_poll_that_ends_below_it() -> None:
    history = clean_history()
    history.polls[0] = a_poll(b"0", invoked_s=4.25)

    assert counts(history)["worst_lag_ms"] == 2750


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_right_log_did_has_no_complaints(seed: int) -> None:
    history = HistoryMaker(seed).make()

    assert complaints(history) == []
    assert from_lines(to_lines(history)) == history


@pytest.mark.parametrize("kind", KINDS)
def test_every_spoiled_history_is_found(kind: str) -> None:
    spoiled = 0
    for seed in SEEDS:
        history = HistoryMaker(seed).make()
        if spoil(kind, history, seed):
            spoiled += 1
            assert kind in kinds(history), seed

    assert spoiled >= len(SEEDS) // 4


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (Parts(key=b"k", headers=(("h", None),), timestamp_ms=5, codec="zstd"), ""),
        (Parts(key=b"k", headers=(("h", None),)), ""),
        (Parts(headers=(("h", None),), timestamp_ms=5), "its key was b'k', and is None"),
        (Parts(key=b"k"), "its headers were (('h', None),), and are ()"),
        (Parts(key=b"k", headers=(("h", None),), timestamp_ms=6), "its timestamp was 5, and is 6"),
        (Parts(key=b"k", headers=(("h", None),), codec="gzip"), "its codec was zstd, and is gzip"),
        (
            Parts(key=b"k", headers=(("h", None),), is_null=True),
            "its value is not null when sent, and is when read",
        ),
    ],
)
def test_each_part_is_compared_that_both_calls_have(read: Parts, told: str) -> None:
    sent = Parts(key=b"k", headers=(("h", None),), timestamp_ms=5, codec="zstd")

    assert difference(sent, read) == told


def test_nothing_is_compared_with_a_call_without_parts() -> None:
    """As of a history that was written before records had any."""
    history = clean_history()
    history.polls[0] = a_poll(b"0", b"1", parts=(Parts(key=b"b"), Parts(key=b"a")))

    assert complaints(history) == []
