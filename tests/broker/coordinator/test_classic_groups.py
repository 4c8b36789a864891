"""Requests of the classic protocol: joins, votes, assignments, sessions, static members."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.coordinator.classic_groups import (
    DELAY_MS,
    LIMITS,
    REBALANCE_MS,
    SESSION_MS,
    Coordinator,
    request,
)

from tidelog.broker.coordinator.classic_description import describe
from tidelog.broker.coordinator.classic_joins import INSTANCE_ID_CHARACTERS_MAX, PROTOCOLS_MAX
from tidelog.broker.coordinator.classic_messages import (
    JoinRequest,
    LeavingMember,
    MemberIdGivenError,
    SyncRequest,
)
from tidelog.broker.coordinator.classic_requests import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
)
from tidelog.core.errors import KafkaError, code_name


@pytest.fixture
def group() -> Coordinator:
    return Coordinator()


# Joining


def test_a_member_gets_its_id_before_it_is_one(group: Coordinator) -> None:
    with pytest.raises(MemberIdGivenError) as given:
        group.send(request())
    assert given.value.member_id == "id-1"
    assert group.state == "Empty"
    group.send(request("id-1"))
    assert group.state == "PreparingRebalance"


def test_an_id_that_nobody_takes_ends(group: Coordinator) -> None:
    with pytest.raises(MemberIdGivenError):
        group.send(request())
    group.after(SESSION_MS)
    assert group.refusal(request("id-1")) == "UNKNOWN_MEMBER_ID"
    assert group.group.is_unused


def test_an_old_client_joins_at_once(group: Coordinator) -> None:
    ticket = group.send(replace(request(), knows_required_id=False))
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    assert group.joined(ticket).member_id == f"id-{ticket}"


def test_an_empty_group_waits_for_further_members(group: Coordinator) -> None:
    first = group.join()
    group.after(DELAY_MS - 1)
    second = group.join()
    group.after(1)
    assert not group.answers  # one came meanwhile
    group.after(DELAY_MS)
    leader, other = group.joined(first), group.joined(second)
    assert {one.member_id for one in leader.members} == {leader.member_id, other.member_id}
    assert leader.leader == other.leader == leader.member_id
    assert (other.members, leader.generation, other.generation) == ((), 1, 1)
    assert group.state == "CompletingRebalance"


def test_the_wait_of_an_empty_group_has_an_end() -> None:
    group = Coordinator(replace(LIMITS, size_max=100, record_bytes_max=100_000))
    first = group.join()
    for _ in range(REBALANCE_MS // 1_000 + 1):
        group.after(1_000)
        if first in group.answers:
            break
        group.join()
    assert group.now_ms == REBALANCE_MS
    assert group.joined(first).generation == 1


def test_the_protocol_with_most_votes_is_taken(group: Coordinator) -> None:
    tickets = [group.join("range", "sticky"), group.join("sticky", "range")]
    tickets.append(group.join("roundrobin", "sticky", "range"))
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    assert {group.joined(one).protocol for one in tickets} == {"sticky"}


@pytest.mark.parametrize(
    ("join", "code"),
    [
        (request("", None, "other"), "INCONSISTENT_GROUP_PROTOCOL"),
        (replace(request(), protocols=()), "INCONSISTENT_GROUP_PROTOCOL"),
        (replace(request(), protocol_type=""), "INCONSISTENT_GROUP_PROTOCOL"),
        (replace(request(), protocol_type="connect"), "INCONSISTENT_GROUP_PROTOCOL"),
        (replace(request(), session_timeout_ms=5_999), "INVALID_SESSION_TIMEOUT"),
        (replace(request(), session_timeout_ms=1_800_001), "INVALID_SESSION_TIMEOUT"),
        (request("stranger"), "UNKNOWN_MEMBER_ID"),
        (request("stranger", "desk"), "UNKNOWN_MEMBER_ID"),
        (request("", "d" * (INSTANCE_ID_CHARACTERS_MAX + 1)), "INVALID_REQUEST"),
        (replace(request(), rebalance_timeout_ms=1 << 31), "INVALID_REQUEST"),
        (request("", ""), "INVALID_REQUEST"),
        (request("", None, "range", "range"), "INVALID_REQUEST"),
        (
            request("", None, "range", *(f"p{one}" for one in range(PROTOCOLS_MAX))),
            "INVALID_REQUEST",
        ),
        (request(metadata=b"x" * 4_000), "GROUP_MAX_SIZE_REACHED"),
    ],
)
def test_bad_joins_are_refused(group: Coordinator, join: JoinRequest, code: str) -> None:
    group.settled(2)
    before = describe(group.group)
    assert group.refusal(join) == code
    assert describe(group.group) == before


def test_a_group_has_only_so_many_members(group: Coordinator) -> None:
    group.settled(4)
    assert group.refusal(request()) == "GROUP_MAX_SIZE_REACHED"
    assert group.state == "Stable"


def test_ids_that_were_given_count_as_members(group: Coordinator) -> None:
    for _ in range(LIMITS.size_max):
        assert group.refusal(request()) == "MEMBER_ID_REQUIRED"
    assert group.refusal(request()) == "GROUP_MAX_SIZE_REACHED"


def test_a_newcomer_has_the_others_join_again(group: Coordinator) -> None:
    (first,) = group.settled(1)
    ticket = group.join()
    assert group.heartbeat(first) == "REBALANCE_IN_PROGRESS"
    again = group.send(request(first.member_id))
    assert group.joined(ticket).generation == group.joined(again).generation == 2
    assert group.heartbeat(first) == "ILLEGAL_GENERATION"


def test_one_that_does_not_join_again_is_out(group: Coordinator) -> None:
    first, second = group.settled(2)
    ticket = group.send(request(first.member_id, None, "range", metadata=b"new"))
    for _ in range(REBALANCE_MS // 5_000):
        group.heartbeat(second)
        group.after(5_000)
    assert [one.member_id for one in group.joined(ticket).members] == [first.member_id]
    assert group.heartbeat(second) == "UNKNOWN_MEMBER_ID"


def test_a_lost_answer_may_be_asked_for_again(group: Coordinator) -> None:
    first, second = group.settled(2)
    count = len(group.values)
    again = group.joined(group.send(request(second.member_id)))
    assert (again.generation, again.members) == (1, ())
    assert (len(group.values), group.state) == (count, "Stable")
    ticket = group.send(request(first.member_id))  # a leader that joins again rebalances
    late = group.send(request(first.member_id))
    assert group.refused(ticket) == "REBALANCE_IN_PROGRESS"
    assert late not in group.answers


def test_a_caller_that_has_gone_leaves_a_session_to_come_back_in(group: Coordinator) -> None:
    first, second = group.settled(2)
    ticket = group.send(request(first.member_id))
    group.requests.cancel(ticket, group.now)
    group.send(request(second.member_id))
    assert not group.group.waiting(ticket)
    assert group.group.next_deadline_ms == group.now_ms + SESSION_MS
    group.after(SESSION_MS)
    assert ticket not in group.answers
    assert list(group.group.members) == [second.member_id]


def test_a_newcomer_whose_caller_has_gone_may_ask_again(group: Coordinator) -> None:
    ticket = group.join(instance_id="desk")
    group.requests.cancel(ticket, group.now)
    member = group.group.instance("desk")
    assert member is not None
    again = group.send(request(member.member_id, "desk"))
    group.after(SESSION_MS)  # it waits: its session does not end
    assert group.joined(again).member_id == member.member_id


# Assignment


def test_the_leader_assigns_and_the_others_wait_for_it(group: Coordinator) -> None:
    tickets = [group.join(), group.join()]
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    leader, other = (group.joined(one) for one in tickets)
    waits = group.sync(other, {other.member_id: b"mine"})
    assert waits not in group.answers
    mine = group.sync(leader, {other.member_id: b"o", leader.member_id: b"l"})
    assert (group.synced(mine), group.synced(waits)) == (b"l", b"o")
    assert group.synced(group.sync(other)) == b"o"
    assert [one.is_complete for one in group.log] == [False, True]


def test_one_that_the_leader_forgot_has_nothing(group: Coordinator) -> None:
    ticket = group.join()
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    assert group.synced(group.sync(group.joined(ticket), {"stranger": b"x"})) == b""


def test_late_and_strange_syncs_are_refused(group: Coordinator) -> None:
    first, second = group.settled(2)
    for sync, code in (
        (SyncRequest("stranger", 1), "UNKNOWN_MEMBER_ID"),
        (SyncRequest(first.member_id, 0), "ILLEGAL_GENERATION"),
        (SyncRequest(first.member_id, 2), "ILLEGAL_GENERATION"),
        (SyncRequest(first.member_id, 1, protocol="other"), "INCONSISTENT_GROUP_PROTOCOL"),
        (SyncRequest(first.member_id, 1, protocol_type="x"), "INCONSISTENT_GROUP_PROTOCOL"),
    ):
        with pytest.raises(KafkaError) as refused:
            group.requests.sync(sync, group.ticket(), group.now)
        assert code_name(refused.value.code) == code
    group.send(request(first.member_id))
    with pytest.raises(KafkaError, match="another rebalance"):
        group.sync(second)


def test_an_assignment_that_is_too_large_is_refused_and_nothing_changes(
    group: Coordinator,
) -> None:
    ticket = group.join()
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    leader = group.joined(ticket)
    with pytest.raises(KafkaError, match="4000 at most"):
        group.sync(leader, {leader.member_id: b"x" * 4_000})
    assert group.state == "CompletingRebalance"
    assert group.synced(group.sync(leader, {leader.member_id: b"x"})) == b"x"


def test_one_that_does_not_ask_for_its_assignment_is_removed(group: Coordinator) -> None:
    tickets = [group.join(), group.join()]
    group.after(DELAY_MS)
    group.after(DELAY_MS)
    leader, other = (group.joined(one) for one in tickets)
    group.sync(leader, {leader.member_id: b"l"})
    for _ in range(REBALANCE_MS // 5_000):
        assert group.state == "Stable"
        assert group.heartbeat(other) == "NONE"
        group.heartbeat(leader)
        group.after(5_000)
    assert group.heartbeat(other) == "UNKNOWN_MEMBER_ID"
    assert group.heartbeat(leader) == "REBALANCE_IN_PROGRESS"


# Sessions


def test_a_silent_member_is_removed(group: Coordinator) -> None:
    first, second = group.settled(2)
    group.after(SESSION_MS - 1)
    assert group.heartbeat(first) == "NONE"
    group.after(1)
    assert group.heartbeat(second) == "UNKNOWN_MEMBER_ID"
    assert group.heartbeat(first) == "REBALANCE_IN_PROGRESS"
    assert "silent" in group.group.rebalances[-1].cause


def test_one_that_waits_for_the_others_is_not_silent(group: Coordinator) -> None:
    first, second = group.settled(2)
    ticket = group.send(request(first.member_id))
    for _ in range(SESSION_MS * 2 // 5_000):
        group.heartbeat(second)
        group.after(5_000)
    assert ticket not in group.answers
    group.send(request(second.member_id))
    assert group.joined(ticket).generation == 2


def test_a_new_member_that_waits_too_long_is_removed(group: Coordinator) -> None:
    (first,) = group.settled(1)
    slow = replace(request(first.member_id), rebalance_timeout_ms=10 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    group.joined(group.send(slow))
    group.sync(group.joined(group.tickets), {})
    ticket = group.join()
    newest = group.group.generation
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        assert ticket not in group.answers
        group.heartbeat(first._replace(generation=newest))
        group.after(5_000)
    assert group.refused(ticket) == "UNKNOWN_MEMBER_ID"


def test_members_leave(group: Coordinator) -> None:
    first, second, third = group.settled(3, "desk")
    outcomes = group.leave(
        LeavingMember(second.member_id, reason="done"),
        LeavingMember("stranger"),
        LeavingMember(instance_id="desk"),
        LeavingMember(instance_id="desk"),
        LeavingMember(third.member_id, "desk"),
    )
    assert outcomes == ["NONE", "UNKNOWN_MEMBER_ID", "NONE"] + ["UNKNOWN_MEMBER_ID"] * 2
    assert list(group.group.members) == [third.member_id]
    assert "left (done)" in group.group.rebalances[-1].cause
    assert first.member_id in group.group.rebalances[-1].cause
    group.leave(LeavingMember(third.member_id))
    assert group.state == "Empty"
    assert group.group.empty_since_ms == group.now.wall_ms
    assert not group.log[-1].members


def test_an_id_that_was_given_may_be_taken_back(group: Coordinator) -> None:
    first = group.join()
    assert group.refusal(request()) == "MEMBER_ID_REQUIRED"
    group.after(DELAY_MS)
    assert group.leave(LeavingMember(f"id-{group.tickets}")) == ["NONE"]
    group.after(DELAY_MS)
    assert group.joined(first).generation == 1
