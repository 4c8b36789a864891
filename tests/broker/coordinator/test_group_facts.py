"""What changes of groups are said to be: bounded, whatever comes at once and however often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.broker.coordinator.consumer_groups import joining
from tests.broker.coordinator.test_group_shard import CONFIG, Shards

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.event_budget import (
    EVENTS_PER_MINUTE_MAX,
    GROUP_EVENTS_PER_MINUTE_MAX,
    MINUTE_MS,
    EventBudget,
)
from tidelog.broker.coordinator.group_facts import (
    MEMBERS_SHOWN_MAX,
    GroupFacts,
    MemberFacts,
    events_of,
    touched_by,
)
from tidelog.broker.coordinator.group_journal import PENDING_MAX, GroupJournal
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.core.journal import Event
from tidelog.v1.coordinator_records_pb2 import (
    ClassicGroupKey,
    ClassicGroupValue,
    CoordinatorKey,
    OffsetCommitKey,
    OffsetCommitValue,
)


def facts(members: Sequence[str], *, count: int | None = None) -> GroupFacts:
    known = {one: MemberFacts(None, "client", "") for one in members}
    return GroupFacts("consumer", 2, len(known) if count is None else count, known)


def test_many_members_of_one_change_have_an_event_each_up_to_a_number() -> None:
    names = [f"m{number}" for number in range(MEMBERS_SHOWN_MAX + 30)]
    events = list(events_of("g", facts(()), facts(names)))
    assert len(events) == MEMBERS_SHOWN_MAX + 1
    assert events[0].cause == "member m0 (client) joined"
    assert events[-1].cause == "30 further members joined or went at once"
    gone = list(events_of("g", facts(names), facts(()), "all at once"))
    assert len(gone) == MEMBERS_SHOWN_MAX + 1
    assert gone[0].cause == "member m0 (client) was removed: all at once"


def test_nothing_happened_to_a_group_that_stays_as_it_is() -> None:
    assert list(events_of("g", facts(["a"]), facts(["a"]))) == []
    assert list(events_of("g", None, None)) == []


def test_records_of_each_kind_name_their_groups() -> None:
    records = [
        CoordinatorRecord(
            CoordinatorKey(classic_group=ClassicGroupKey(group_id="old")), ClassicGroupValue()
        ),
        CoordinatorRecord(CoordinatorKey(offset_commit=OffsetCommitKey(group_id="o")), None),
        CoordinatorRecord(CoordinatorKey(), None),  # of a later version
    ]
    assert touched_by(records) == {"old": [], "o": []}


# The bound


def test_a_group_has_so_many_events_a_minute_and_the_rest_is_counted() -> None:
    budget = EventBudget()
    assert sum(budget.admits("busy") for _ in range(500)) == GROUP_EVENTS_PER_MINUTE_MAX
    assert budget.admits("calm")
    assert list(budget.report(MINUTE_MS - 1)) == []
    (said,) = budget.report(MINUTE_MS)
    assert said.group == "busy"
    assert said.cause == "400 further events of the group within a minute were left out"
    assert budget.left_out == 400
    assert budget.admits("busy")
    assert list(budget.report(2 * MINUTE_MS)) == []


def test_all_groups_have_so_many_events_a_minute_whatever_their_names() -> None:
    budget = EventBudget()
    admitted = sum(budget.admits(f"g{number}") for number in range(100_000))
    assert admitted == EVENTS_PER_MINUTE_MAX
    assert len(budget._by_group) == EVENTS_PER_MINUTE_MAX
    (said,) = budget.report(MINUTE_MS)
    assert said.group == ""
    assert said.cause == "99000 further events of groups within a minute were left out"


class Led:
    """The part of a `Hosted` that a journal looks at."""

    def __init__(self, shards: Shards) -> None:
        self.shard = shards.shard
        self.leadership = Leadership("__consumer_offsets", b"i" * 16, 0, 5)
        self.end_offset = self.high_watermark = 0
        self.end_cause = "DEPOSED"


class Journals:
    """A journal over one shard, whose records are committed when the test says so."""

    def __init__(self) -> None:
        self.noted: list[Event] = []
        clock: Any = SimpleNamespace(monotonic_ms=lambda: 0, wall_ms=lambda: 0)
        self.journal = GroupJournal(note=self.noted.append, clock=clock)
        self.shards = Shards(replace(CONFIG, groups_max=2 * PENDING_MAX))
        self.hosted: Any = Led(self.shards)

    def load(self) -> None:
        self.journal.on_loaded(self.hosted, records=0, took_ms=7)

    def append(self, records: list[CoordinatorRecord]) -> None:
        self.hosted.end_offset += len(records)
        replay: Callable[[], None] = lambda: self.shards.append(records)  # noqa: E731
        self.journal.replaying(self.hosted, records, replay)

    def commit(self) -> None:
        self.hosted.high_watermark = self.hosted.end_offset
        self.journal.on_committed(self.hosted)


@pytest.fixture
def journals() -> Journals:
    journals = Journals()
    journals.load()
    return journals


def join(journals: Journals, member_id: str) -> None:
    request = joining(member_id)
    shard = journals.shards.shard
    journals.append(shard.heartbeat("g", request, journals.shards.now).records)


def test_events_wait_for_the_commit_of_their_records(journals: Journals) -> None:
    join(journals, "a")
    assert journals.noted == []
    journals.commit()
    assert [one.after for one in journals.noted] == ["consumer group", "members 1", "epoch 2"]
    join(journals, "b")
    journals.journal.on_ended(journals.hosted)
    assert len(journals.noted) == 4
    assert journals.noted[-1].cause.endswith("of 2 last events the outcome is unknown")


def test_only_so_many_events_wait_for_their_commit(journals: Journals) -> None:
    for number in range(PENDING_MAX):
        key = OffsetCommitKey(group_id=f"g{number}", topic_id=b"t" * 16)
        value = OffsetCommitValue(offset=1, topic="orders")
        journals.append([CoordinatorRecord(CoordinatorKey(offset_commit=key), value)])
    assert journals.journal.left_out == 0
    join(journals, "a")
    assert journals.journal.left_out == 3
    journals.commit()
    assert len(journals.noted) == PENDING_MAX


def test_a_rebalance_that_another_coordinator_began_is_said_to_be_complete() -> None:
    before = Journals()
    before.load()
    join(before, "a")
    later = Journals()
    later.shards.shard = later.hosted.shard = before.shards.loaded(
        before.shards.log, leader_epoch=2
    )
    later.load()
    live = later.hosted.shard.groups["g"]
    target = later.hosted.shard.target_of(live)
    while not target.is_done:
        later.append(target.next_slice())
    step = live.heartbeats.advance("a", later.shards.now)
    assert step is not None
    later.append(step.records)
    later.commit()
    (read, complete) = later.noted
    assert read.cause == "read 1 groups, offsets of 0: 0 records, in 7 ms"
    assert (complete.before, complete.after) == ("epoch 2", "Stable")
    later.append(live.heartbeats.decide(Heartbeat("a", 2), later.shards.now).records)
    later.commit()
    assert len(later.noted) == 2
