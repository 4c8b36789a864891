"""Static members, new coordinators, and commits of the classic protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest
from tests.broker.coordinator.classic_groups import (
    DELAY_MS,
    LIMITS,
    REBALANCE_MS,
    SESSION_MS,
    Coordinator,
    request,
)

from tidelog.broker.coordinator.classic_group import CAUSE_CHARACTERS_MAX
from tidelog.broker.coordinator.classic_joins import INSTANCE_ID_CHARACTERS_MAX
from tidelog.broker.coordinator.classic_member import (
    MEMBER_BYTES,
    NAME_CHARACTERS_MAX,
    member_id_of,
)
from tidelog.broker.coordinator.classic_messages import (
    LeavingMember,
)
from tidelog.broker.coordinator.classic_requests import (
    REASON_CHARACTERS_MAX,
)
from tidelog.core.errors import KafkaError, code_name


@pytest.fixture
def group() -> Coordinator:
    return Coordinator()


# Static members


def test_a_static_member_that_comes_back_keeps_its_assignment(group: Coordinator) -> None:
    leader, other = group.settled(2, "desk", "chair")
    back = group.joined(group.join(instance_id="chair"))
    assert (back.generation, back.leader, group.state) == (1, leader.member_id, "Stable")
    assert group.synced(group.sync(back)) == other.member_id.encode()
    assert group.heartbeat(other) == "UNKNOWN_MEMBER_ID"
    with pytest.raises(KafkaError) as fenced:
        group.group.require(other.member_id, "chair")
    assert code_name(fenced.value.code) == "FENCED_INSTANCE_ID"


def test_a_static_leader_that_comes_back_has_not_to_assign(group: Coordinator) -> None:
    leader, _ = group.settled(2, "desk", "chair")
    back = group.joined(group.join(instance_id="desk"))
    assert back.skip_assignment
    assert back.leader == back.member_id
    assert len(back.members) == 2
    old = group.send(replace(request("", "desk"), knows_skipped_assignment=False))
    again = group.joined(old)
    assert (again.skip_assignment, again.members) == (False, ())
    assert again.leader == back.member_id != again.member_id
    assert group.synced(group.sync(again, {again.member_id: b"x"})) == leader.member_id.encode()


def test_a_static_member_with_other_protocols_rebalances(group: Coordinator) -> None:
    tickets = [group.join("range", "sticky", instance_id=one) for one in ("desk", "chair")]
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    leader = group.joined(tickets[0])
    group.sync(leader, {})
    group.sync(group.joined(tickets[1]))
    group.join("sticky", instance_id="chair")
    assert group.state == "PreparingRebalance"


def test_a_full_group_takes_a_static_member_back(group: Coordinator) -> None:
    group.settled(4, "desk")
    assert group.joined(group.join(instance_id="desk")).generation == 1


def test_a_static_member_whose_metadata_does_not_fit_beside_the_assignment_rebalances(
    group: Coordinator,
) -> None:
    ticket = group.join(instance_id="desk")
    group.after(DELAY_MS)
    leader = group.joined(ticket)
    group.sync(leader, {leader.member_id: b"x" * 2_000})
    again = group.joined(group.send(request("", "desk", "range", metadata=b"y" * 2_500)))
    assert again.generation == 2


def test_the_former_self_of_a_static_member_that_waits_is_fenced(group: Coordinator) -> None:
    old = group.join(instance_id="desk")
    new = group.join(instance_id="desk")
    assert group.refused(old) == "FENCED_INSTANCE_ID"
    group.after(DELAY_MS)
    assert group.joined(new).member_id == f"id-{new}"


def test_a_static_member_may_be_away_for_its_session(group: Coordinator) -> None:
    away, here = group.settled(2, "desk")
    group.send(request(here.member_id, None, "range", metadata=b"new"))
    group.after(SESSION_MS - 1)
    assert away.member_id in group.group.members
    group.after(1)
    assert away.member_id not in group.group.members
    assert group.group.generation == 2


# A new coordinator


def test_a_new_coordinator_goes_on_with_the_generation(group: Coordinator) -> None:
    first, second = group.settled(2)
    group.after(SESSION_MS - 1)
    group.load()
    group.after(SESSION_MS - 1)
    assert [group.heartbeat(one) for one in (first, second)] == ["NONE", "NONE"]
    assert group.synced(group.sync(second)) == second.member_id.encode()


def test_a_generation_without_an_assignment_is_made_again(group: Coordinator) -> None:
    ticket = group.join()
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    joined = group.joined(ticket)
    group.load()
    with pytest.raises(KafkaError, match="rebalance"):
        group.sync(joined, {joined.member_id: b"late"})
    again = group.joined(group.send(request(joined.member_id)))
    assert again.generation == 2


def test_a_group_that_is_too_large_for_a_new_coordinator_is_made_again() -> None:
    group = Coordinator()
    members = group.settled(3)
    group.limits = replace(LIMITS, size_max=2)
    group.load()
    assert group.state == "PreparingRebalance"
    for one in members[:2]:
        group.send(request(one.member_id))
    assert group.refusal(request(members[2].member_id)) == "GROUP_MAX_SIZE_REACHED"
    group.after(REBALANCE_MS)
    assert len(group.group.members) == 2


def test_static_members_that_are_too_many_are_refused_by_a_new_coordinator() -> None:
    group = Coordinator()
    group.settled(3, "a", "b", "c")
    group.limits = replace(LIMITS, size_max=2)
    group.load()
    for one in "ab":
        group.join(instance_id=one)
    assert group.refusal(request("", "c")) == "GROUP_MAX_SIZE_REACHED"


def test_a_loaded_group_has_as_many_bytes_as_before(group: Coordinator) -> None:
    group.settled(3, "desk")
    before = group.group.counted_bytes
    group.load()
    assert group.group.counted_bytes == before


@pytest.mark.parametrize("letter", ["i", "\u20ac"])
def test_no_record_is_larger_than_was_counted(letter: str) -> None:
    group = Coordinator(replace(LIMITS, record_bytes_max=20_000))
    long = letter * INSTANCE_ID_CHARACTERS_MAX
    joining = replace(request("", long, metadata=b"m" * 100), client_id=long, host="h" * 50)
    member_id = member_id_of(joining, UUID(int=1))
    assert len(member_id) == NAME_CHARACTERS_MAX + 1 + 36
    ticket = group.ticket()
    group.apply(group.requests.join(joining, ticket, member_id, group.now))
    group.after(DELAY_MS)
    assert group.joined(ticket).member_id == member_id
    assert group.values[-1].ByteSize() <= group.group.counted_bytes
    assert group.group.counted_bytes - group.values[-1].ByteSize() < MEMBER_BYTES


# Causes


def test_causes_of_rebalances_are_kept_in_short(group: Coordinator) -> None:
    first, second = group.settled(2)
    group.send(replace(request(first.member_id), reason="r" * 1_000))
    group.leave(LeavingMember(second.member_id, reason="s" * 1_000))
    group.send(replace(request(), client_id="c" * 2_000, knows_required_id=False))
    causes = [one.cause for one in group.group.rebalances]
    assert causes[1].endswith("r" * REASON_CHARACTERS_MAX)
    assert all(len(one) <= CAUSE_CHARACTERS_MAX for one in causes)
    generations = [one.generation for one in group.group.rebalances]
    assert generations[0] == 1
    assert generations == sorted(generations)


# Commits


def outcomes_of(check: Callable[[str, str | None, int], None]) -> Callable[..., str]:
    """Name the error of a check of a commit."""

    def outcome(member_id: str, generation: int, instance_id: str | None = None) -> str:
        try:
            check(member_id, instance_id, generation)
        except KafkaError as error:
            return code_name(error.code)
        return "NONE"

    return outcome


def test_who_may_commit(group: Coordinator) -> None:
    outcome = outcomes_of(group.group.check_commit)
    assert outcome("", -1) == "NONE"
    (first,) = group.settled(1, "desk")
    assert outcome("", -1) == "UNKNOWN_MEMBER_ID"
    assert outcome(first.member_id, 1) == outcome(first.member_id, 1, "desk") == "NONE"
    assert outcome(first.member_id, 0) == "ILLEGAL_GENERATION"
    assert outcome(first.member_id, 2) == "ILLEGAL_GENERATION"
    assert outcome("stranger", 1) == "UNKNOWN_MEMBER_ID"
    assert outcome("stranger", 1, "desk") == "FENCED_INSTANCE_ID"
    group.join()
    assert outcome(first.member_id, 1) == "NONE"  # before it joins again
    group.send(request(first.member_id, "desk"))
    assert outcome(first.member_id, 1) == "ILLEGAL_GENERATION"
    assert outcome(first.member_id, 2) == "REBALANCE_IN_PROGRESS"


def test_who_may_commit_in_a_transaction(group: Coordinator) -> None:
    """The generation is checked (KIP-447); who names no membership may, as in Kafka."""
    outcome = outcomes_of(group.group.check_transactional_commit)
    (first,) = group.settled(1, "desk")
    assert outcome("", -1) == "NONE"
    assert outcome(first.member_id, 1) == outcome(first.member_id, 1, "desk") == "NONE"
    assert outcome(first.member_id, -1) == "ILLEGAL_GENERATION"
    assert outcome(first.member_id, 0) == "ILLEGAL_GENERATION"
    assert outcome("stranger", 1) == "UNKNOWN_MEMBER_ID"
    assert outcome("stranger", 1, "desk") == "FENCED_INSTANCE_ID"
    group.join()
    assert outcome(first.member_id, 1) == "NONE"  # before it joins again
    group.send(request(first.member_id, "desk"))
    assert outcome(first.member_id, 1) == "ILLEGAL_GENERATION"
    assert outcome(first.member_id, 2) == "NONE"  # it has asked for no assignment yet


def test_topics_of_members_are_read_from_their_metadata(group: Coordinator) -> None:
    assert group.group.topics == frozenset()
    metadata = b"\x00\x01\x00\x00\x00\x02\x00\x01a\x00\x01b\xff\xff\xff\xff"
    ticket = group.send(replace(request(metadata=metadata), knows_required_id=False))
    assert "any" in group.group.topics  # nobody knows yet
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    group.sync(group.joined(ticket), {})
    assert group.group.topics == {"a", "b"}


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"m",
        b"\x00\x01\x00\x00\x00\x01\x00\x05a",
        b"\x00\x01\xff\xff\xff\xff",
        b"\x00\x01\x7f\xff\xff\xff",
        b"\x00\x01\x00\x00\x00\x01\x00\x01\xff",
    ],
)
def test_metadata_that_is_no_subscription_counts_for_all_topics(
    group: Coordinator, metadata: bytes
) -> None:
    ticket = group.send(replace(request(metadata=metadata), knows_required_id=False))
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    group.sync(group.joined(ticket), {})
    assert "any" in group.group.topics
