"""The safety rules as plain functions: what each answers at its edges."""

from __future__ import annotations

import pytest

from tidelog.raft import rules
from tidelog.raft.durable_state import WalEntry


def test_an_older_term_is_stale_and_the_present_one_is_not() -> None:
    assert rules.is_stale(4, 5)
    assert not rules.is_stale(5, 5)
    assert not rules.is_stale(6, 5)


def test_an_earlier_process_is_superseded() -> None:
    assert rules.is_superseded(1, 2)
    assert not rules.is_superseded(2, 2)
    assert not rules.is_superseded(3, 2)


def test_a_vote_goes_to_one_candidate_however_often_it_asks() -> None:
    assert rules.may_vote(None, 2)
    assert rules.may_vote(2, 2)
    assert not rules.may_vote(3, 2)
    assert not rules.may_vote(0, 2)


@pytest.mark.parametrize(
    ("theirs", "is_enough"),
    [((2, 5), True), ((2, 6), True), ((3, 1), True), ((2, 4), False), ((1, 9), False)],
)
def test_the_last_term_counts_before_the_last_index(
    theirs: tuple[int, int], is_enough: bool
) -> None:
    assert rules.is_up_to_date(theirs, (2, 5)) == is_enough


def test_a_leader_is_heard_until_the_time_out() -> None:
    assert rules.hears_leader(0.299, 0.3)
    assert not rules.hears_leader(0.3, 0.3)
    assert not rules.hears_leader(float("inf"), 0.3)


@pytest.mark.parametrize(
    ("commit", "has_caught_up"),
    [((7, 3), True), ((8, 3), True), ((6, 3), False), ((7, 2), False), ((9, None), False)],
)
def test_what_was_lost_is_caught_up_at_the_index_heard_in_the_leaders_term(
    commit: tuple[int, int | None], has_caught_up: bool
) -> None:
    assert rules.has_caught_up(commit, (7, 3)) == has_caught_up


@pytest.mark.parametrize(
    ("terms", "agreeing"),
    [({4: 2, 5: 2, 6: 2, 7: 2}, 3), ({4: 2, 5: 1, 6: 2}, 1), ({4: 2}, 1), ({}, 0)],
)
def test_entries_agree_up_to_the_first_of_another_term_or_the_end_of_the_log(
    terms: dict[int, int], agreeing: int
) -> None:
    entries = [WalEntry(b"", index, 2) for index in (4, 5, 6)]

    def term_at(index: int) -> int | None:
        return terms.get(index)

    assert rules.agreeing(entries, term_at) == agreeing


def test_entries_follow_only_the_very_entry_they_followed() -> None:
    assert rules.follows(2, 2)
    assert not rules.follows(2, 1)
    assert not rules.follows(2, None)
    assert not rules.follows(0, None)


def test_only_what_is_verified_is_committed() -> None:
    assert rules.verified_commit(9, 5) == 5
    assert rules.verified_commit(5, 9) == 5


def test_acknowledgements_never_fall() -> None:
    assert rules.next_match(5, 3) == 5
    assert rules.next_match(5, 7) == 7


@pytest.mark.parametrize(
    ("indexes", "reached"),
    [
        ([7], 7),
        ([7, 0], 0),
        ([7, 3, 0], 3),
        ([7, 7, 0], 7),
        ([9, 7, 3, 0], 3),
        ([9, 8, 3, 2, 1], 3),
        ([1, 2, 3, 8, 9], 3),
    ],
)
def test_a_quorum_is_more_than_half(indexes: list[int], reached: int) -> None:
    assert rules.quorum_index(indexes) == reached


def test_only_the_terms_own_entries_are_committed_by_counting() -> None:
    assert rules.may_commit(4, 4)
    assert not rules.may_commit(3, 4)
    assert not rules.may_commit(None, 4)


def test_a_log_is_kept_only_if_it_holds_the_snapshots_last_entry() -> None:
    assert rules.keeps_log(3, 3)
    assert not rules.keeps_log(3, 2)
    assert not rules.keeps_log(3, None)


def test_a_leader_without_its_quorum_is_out_after_the_time_out() -> None:
    assert rules.has_quorum_contact(0.6, 0.6)
    assert not rules.has_quorum_contact(0.601, 0.6)


def test_a_read_needs_a_round_that_began_with_it_or_later() -> None:
    assert rules.is_read_confirmed(3, 3)
    assert rules.is_read_confirmed(3, 4)
    assert not rules.is_read_confirmed(3, 2)


def test_a_read_waits_for_the_terms_first_entry() -> None:
    assert rules.may_read(5, 5)
    assert not rules.may_read(5, 4)
