"""Members of the wire suite by themselves: frames of groups, what they read, what is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidelog.broker.coordinator.classic_messages import (
    JoinRequest,
    MemberIdGivenError,
    MemberProtocol,
)
from tidelog.broker.coordinator.offsets import CommittedOffset, OffsetResult, TopicPartition
from tidelog.client import Record
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import UnknownMemberIdError
from tidelog.history.history import Poll
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.kafka.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.simulation.groups.classic_checks import I25, Arrival, ClassicChecks
from tidelog.simulation.wire import group_frames as frames
from tidelog.simulation.wire.cluster_map import Leader
from tidelog.simulation.wire.group_reading import HANDED_OUT, HandedOut, MemberReading
from tidelog.simulation.wire.group_tap import GroupTap
from tidelog.simulation.wire.wire_reader import WireReader
from tidelog.v1 import common_pb2

Stored = Record[bytes | None, bytes | None]
TOPIC, ID = "steady", bytes([1] * 16)
PLACE = ID, 0


class Found:
    """Implements `Report`: the invariants that do not hold."""

    def __init__(self) -> None:
        self.invariants: list[str] = []

    def __call__(self, invariant: str, what: str) -> None:
        del what
        self.invariants.append(invariant)


def ignore(_: str) -> None:
    """What a run counts is not looked at here."""


# Frames


def join(member_id: str) -> JoinRequest:
    return JoinRequest("consumer", (MemberProtocol("range", b""),), 10_000, member_id=member_id)


def test_a_join_is_answered_for_the_member_that_asked() -> None:
    assert frames.joined(join(""), JoinGroupResponse(member_id="b")).member_id == "b"
    assert frames.joined(join("b"), JoinGroupResponse(member_id="b")).member_id == "b"
    for asked, answered in (("a", "b"), ("", "")):
        with pytest.raises(frames.UnknownAnswerError, match="joined as"):
            frames.joined(join(asked), JoinGroupResponse(member_id=answered))


def test_a_given_id_is_no_refusal() -> None:
    answer = JoinGroupResponse(error_code=common_pb2.MEMBER_ID_REQUIRED, member_id="b")
    with pytest.raises(MemberIdGivenError) as given:
        frames.joined(join(""), answer)
    assert given.value.member_id == "b"


def test_an_error_is_one_that_clients_know_in_that_answer() -> None:
    frames.check(frames.HEARTBEAT, common_pb2.NONE)
    with pytest.raises(UnknownMemberIdError):
        frames.check(frames.HEARTBEAT, common_pb2.UNKNOWN_MEMBER_ID)
    with pytest.raises(frames.UnknownAnswerError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        frames.check(frames.HEARTBEAT, common_pb2.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.mark.parametrize("is_static", [True, False])
def test_versions_have_the_fields_of_static_members_where_there_are_some(is_static: bool) -> None:
    for seed in range(200):
        drawn = frames.draw_versions(
            SeededRandom(seed), is_static=is_static, knows_static=True, has_ids=False
        )
        least = frames.STATIC_FROM if is_static else {frames.JOIN_GROUP: 5}
        assert all(drawn[key] >= version for key, version in least.items())
        assert all(version in frames.VERSIONS[key] for key, version in drawn.items())
        assert max(drawn[frames.OFFSET_COMMIT], drawn[frames.OFFSET_FETCH]) < frames.TOPIC_IDS_FROM


# Commits and look-ups


def commit(offset: int, *, generation: int = 3) -> OffsetCommitRequest:
    part = OffsetCommitRequestPartition(0, offset)
    return OffsetCommitRequest(
        member_id="a",
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[part])],
    )


def tap_of(found: Found) -> GroupTap:
    checks = ClassicChecks(found, ignore)
    return GroupTap(checks, found, topic=TOPIC, topic_id=lambda: ID)


def found_at(offset: int) -> list[OffsetResult]:
    return [OffsetResult(TopicPartition(TOPIC, ID, 0), CommittedOffset(offset))]


def take(tap: GroupTap, offset: int, *, generation: int = 3) -> None:
    asked = commit(offset, generation=generation)
    (one,) = asked.topics[0].partitions
    tap.note_commit(asked)
    tap.take_commit(asked, one, Arrival("a", 1, 0, generation, None))


def test_commits_of_a_generation_in_another_order_leave_the_lowest() -> None:
    checks = ClassicChecks(Found(), ignore)
    tap = GroupTap(checks, Found(), topic=TOPIC, topic_id=lambda: ID)
    take(tap, 10)
    take(tap, 12)
    assert checks.acknowledged_now() == {PLACE: 12}
    take(tap, 11)
    assert checks.acknowledged_now() == {PLACE: 11}
    take(tap, 13)
    assert checks.acknowledged_now() == {PLACE: 11}
    take(tap, 14, generation=4)
    take(tap, 20, generation=4)
    assert checks.acknowledged_now() == {PLACE: 20}


def test_a_commit_that_came_last_and_was_taken_first_leaves_the_lower_one() -> None:
    checks = ClassicChecks(Found(), ignore)
    tap = GroupTap(checks, Found(), topic=TOPIC, topic_id=lambda: ID)
    tap.note_commit(commit(10))
    take(tap, 12)
    take(tap, 10)
    assert checks.acknowledged_now() == {PLACE: 10}


def test_an_offset_is_found_only_where_it_was_sent() -> None:
    found = Found()
    tap = tap_of(found)
    tap.note_commit(commit(10))
    tap.check_sent(found_at(10))
    tap.check_sent(found_at(-1))
    assert not found.invariants
    tap.check_sent(found_at(11))
    assert found.invariants == [I25]


def test_after_a_late_commit_a_look_up_that_was_on_its_way_may_find_it() -> None:
    found = Found()
    checks = ClassicChecks(found, ignore)
    arrival = Arrival("a", 1, 0, 3, None)
    checks.on_committed(3, arrival, PLACE, 10)
    before = checks.acknowledged_now()
    checks.forget_one(PLACE)
    checks.on_committed(3, arrival, PLACE, 7)
    checks.on_fetched(found_at(7), before)
    assert not found.invariants
    checks.on_fetched(found_at(6), before)
    assert found.invariants == [I25]


# Reading


def record(offset: int, value: bytes = b"v") -> Stored:
    return Record(TOPIC, 0, offset, 0, b"", value, ())


def poll(records: Sequence[tuple[int, bytes]], *, is_final: bool = True) -> Poll:
    return Poll("reader", 1, TOPIC, 0, 0, 0.0, 0.0, 0, tuple(records), is_final)


def test_what_the_last_readers_find_was_handed_out_as_it_is() -> None:
    found = Found()
    handed = HandedOut(TOPIC, found, ignore)
    handed.add("a", [record(0), record(1)])
    handed.add("b", [record(1)])
    along = poll([(9, b"read on the way")], is_final=False)
    assert not list(handed.find_missing([poll([(0, b"v"), (1, b"v")]), along]))
    assert len(list(handed.find_missing([poll([(1, b"other"), (2, b"v")])]))) == 2
    assert not found.invariants
    handed.add("b", [record(0, b"other")])
    assert found.invariants == [HANDED_OUT]


class StubReader:
    """Polls end when the test says so."""

    def __init__(self) -> None:
        self.polls: asyncio.Queue[list[Stored]] = asyncio.Queue()
        self.sought: list[tuple[int, int]] = []

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Taken."""

    def seek(self, partition: tuple[str, int], offset: int, *, last_epoch: int) -> None:
        """Note it."""
        del partition
        self.sought.append((offset, last_epoch))

    def last_epoch(self, _: int) -> int:
        """Any."""
        return 5

    async def getmany(self, **_: int) -> list[Stored]:
        """Wait for the test."""
        return await self.polls.get()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_member_commits_what_it_handed_out_of_its_present_assignment() -> None:
    reader: Any = StubReader()
    handed = HandedOut(TOPIC, Found(), ignore)
    loop: Any = asyncio.get_running_loop()
    reading = MemberReading("a", reader, handed, loop, SeededRandom(1))
    reading.begin({0: CommittedOffset(-1)})
    await settle()
    assert reading.next_commit() is None

    reading.begin({0: CommittedOffset(2, 4)})
    reader.polls.put_nowait([record(0)])  # of the assignment before
    await settle()
    assert reader.sought == [(0, -1), (2, 4)]
    assert reading.next_commit() is None
    assert list(handed.find_missing([poll([(0, b"v")])]))

    reader.polls.put_nowait([record(2), record(3)])
    await settle()
    assert reading.next_commit() == (0, CommittedOffset(4, 5))
    assert reading.next_commit() == (0, CommittedOffset(4, 5)), "the first one was not answered"
    reading.on_committed(0, 4)
    assert reading.next_commit() is None
    reading.stop()
    assert reading.next_commit() is None


async def test_a_member_whose_reading_ends_is_reported() -> None:
    reader: Any = StubReader()
    found, loop = Found(), asyncio.get_running_loop()
    reading = MemberReading(
        "a", reader, HandedOut(TOPIC, found, ignore), cast(Any, loop), SeededRandom(1)
    )
    reading.begin({0: CommittedOffset(0)})
    reader.polls.put_nowait(None)  # no list of records
    await settle()
    assert found.invariants == ["application"]


class StubClient:
    """A client that knows an old leader, and counts how often it asks for another."""

    name, topic, checks = "reader", TOPIC, None
    versions = SimpleNamespace(has_ids=False)
    timeout_s = 1.0

    def __init__(self) -> None:
        self.refreshed = self.asked = 0

    def leader(self, _: int) -> Leader:
        """Known from before."""
        return Leader(1, 3)

    async def refresh(self) -> None:
        """Count."""
        self.refreshed += 1

    async def link(self, _: int) -> None:
        """Count."""
        self.asked += 1


async def test_a_leader_of_before_is_not_asked_for_what_a_later_one_stored() -> None:
    client: Any = StubClient()
    reader = WireReader(client, SeededRandom(1), is_lossy=False, is_foreign=False)
    reader.assign([(TOPIC, 0)])
    reader.seek((TOPIC, 0), 7, last_epoch=4)
    assert await reader.getmany(timeout_ms=10, max_records=1) == []
    assert (client.refreshed, client.asked) == (1, 0)
