"""The journal of events: bounded whatever comes, and repeated refusals are one."""

from __future__ import annotations

from dataclasses import replace

from tests.metadata.fake_quorum import FakeClock

from tidelog.core.journal import CAUSE_CHARACTERS_MAX, Event, Kind
from tidelog.node.journal.node_journal import PAGE_EVENTS_MAX, NodeJournal
from tidelog.node.journal.ring import REPEAT_MS_MAX, Journal
from tidelog.v1.admin_pb2 import ListEventsRequest

LED = Event(Kind.LEADER, "broker 1 fenced", before="1", after="2", topic="t", partition=0)
REFUSED = Event(
    Kind.REFUSAL, "too few", before="append refused", after="NOT_ENOUGH_REPLICAS", topic="t"
)


def test_events_are_told_in_the_order_they_came_page_by_page() -> None:
    journal = Journal(size_max=100, bytes_max=1 << 20)
    for number in range(5):
        journal.note(replace(LED, partition=number), 1000 + number)
        journal.note(replace(REFUSED, partition=number), 1000 + number)
    first = journal.page(after=0, limit=4)
    rest = journal.page(after=first[-1].sequence, limit=100)
    assert [one.sequence for one in (*first, *rest)] == list(range(1, 11))
    assert [one.event.partition for one in first] == [0, 0, 1, 1]
    only = journal.page(after=0, limit=9, matches=lambda one: one.event.partition == 3)
    assert [one.event.kind for one in only] == [Kind.LEADER, Kind.REFUSAL]


def test_it_holds_no_more_than_its_size_and_its_bytes() -> None:
    journal = Journal(size_max=8, bytes_max=1 << 20)
    for number in range(1000):
        journal.note(replace(LED, partition=number), number)
        journal.note(replace(REFUSED, partition=number), number)
    assert len(journal) <= 8
    assert [one.event.partition for one in journal.page(after=0, limit=9)][-1] == 999
    narrow = Journal(size_max=1_000_000, bytes_max=40_000)
    for number in range(1000):
        narrow.note(replace(LED, cause="x" * number * 10), number)
        narrow.note(replace(REFUSED, partition=number), number)
    assert narrow.size_bytes <= 40_000
    newest = narrow.page(after=0, limit=10_000)[-2]
    assert len(newest.event.cause) == CAUSE_CHARACTERS_MAX


def test_what_it_forgot_of_refusals_leaves_nothing_behind() -> None:
    journal = Journal(size_max=8, bytes_max=1 << 20)
    for number in range(1000):
        journal.note(replace(REFUSED, partition=number), number)
    assert len(journal._repeating) <= 2


def test_a_storm_of_equal_refusals_is_one_event_with_its_count() -> None:
    journal = Journal(size_max=100, bytes_max=1 << 20)
    for number in range(10_000):
        journal.note(replace(REFUSED, cause=f"{number} bytes are in flight"), 50 + number)
    (reported,) = journal.page(after=0, limit=10)
    assert (reported.count, reported.time_ms, reported.last_ms) == (10_000, 50, 10_049)
    assert reported.event.cause == "0 bytes are in flight"
    journal.note(REFUSED, 50 + REPEAT_MS_MAX)
    assert len(journal) == 2, "one that goes on is told again each minute"
    journal.note(replace(REFUSED, after="THROTTLING_QUOTA_EXCEEDED"), 50 + REPEAT_MS_MAX)
    assert len(journal) == 3


def test_no_storm_of_refusals_however_different_flushes_what_happened_to_leaders() -> None:
    journal = Journal(size_max=100, bytes_max=1 << 20)
    journal.note(LED, 1)
    for number in range(10_000):
        journal.note(replace(REFUSED, topic=f"t{number}"), 2)
    assert journal.page(after=0, limit=1)[0].event == LED


def test_no_storm_of_groups_flushes_what_happened_to_leaders_or_was_refused() -> None:
    journal = Journal(size_max=100, bytes_max=1 << 20)
    journal.note(LED, 1)
    journal.note(REFUSED, 1)
    for number in range(10_000):
        journal.note(Event(Kind.GROUP, "member a joined", group=f"g{number}"), 2)
    found = journal.page(after=0, limit=1_000)
    assert [one.event for one in found[:2]] == [LED, REFUSED]
    assert len(found) == 2 + 25
    assert found[-1].event.group == "g9999"
    narrow = Journal(size_max=1_000_000, bytes_max=40_000)
    for number in range(1000):
        narrow.note(Event(Kind.GROUP, "x", group="g" * number), number)
    assert narrow.size_bytes <= 10_000


def test_sequences_grow_over_a_restart() -> None:
    first = Journal(size_max=9, bytes_max=1 << 20, first_sequence=1_000)
    first.note(LED, 1)
    again = Journal(size_max=9, bytes_max=1 << 20, first_sequence=2_000)
    again.note(LED, 1)
    assert again.page(after=first.page(after=0, limit=1)[0].sequence, limit=1)


def test_a_page_is_bounded_whatever_is_asked() -> None:
    journal = NodeJournal(node_id=1, clock=FakeClock(), size_max=4_000, bytes_max=4 << 20)
    for number in range(PAGE_EVENTS_MAX + 1):
        journal.note(replace(LED, partition=number))
    answer = journal.list_events(ListEventsRequest(limit=10**9))
    assert len(answer.events) == PAGE_EVENTS_MAX
