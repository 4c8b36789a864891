"""A member as it sees itself: what it takes over, what it says, and when it owns nothing."""

from __future__ import annotations

import pytest

from tidelog.client.groups.membership import (
    NOTHING,
    UNANSWERED_MAX,
    Membership,
    Partitions,
    Subscription,
)
from tidelog.v1.coordinator_pb2 import ConsumerGroupHeartbeatResponse

TOPIC = b"t" * 16
SAID = Subscription(topics=frozenset({"b", "a"}), assignor="range", rebalance_timeout_ms=7)
SESSION_MS, GRACE_MS = 1_000, 100


def numbers(*of: int) -> Partitions:
    return frozenset((TOPIC, number) for number in of)


def answer(
    epoch: int, version: int, *assigned: int, sequence: int = 0, has_news: bool = True
) -> ConsumerGroupHeartbeatResponse:
    response = ConsumerGroupHeartbeatResponse(
        member_epoch=epoch,
        assignment_version=version,
        sequence=sequence,
        session_timeout_ms=SESSION_MS,
        disconnect_grace_ms=GRACE_MS,
        heartbeat_interval_ms=300,
    )
    if has_news:
        response.assignment.topics.add(topic_id=TOPIC, partitions=assigned)
    return response


@pytest.fixture
def member() -> Membership:
    return Membership("g", "m", None)


def joined(member: Membership, now_ms: int = 0) -> None:
    """Have it join and own 0 and 1 at epoch 1."""
    request = member.request(SAID, now_ms)
    member.take(answer(1, 1, 0, 1, sequence=request.sequence))
    member.note_owned(numbers(0, 1), member.offer)


def test_a_request_says_everything(member: Membership) -> None:
    joined(member)
    request = member.request(SAID, 0)
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "m", 1)
    assert (list(request.subscription.topics), request.assignor) == (["a", "b"], "range")
    assert request.rebalance_timeout_ms == 7
    assert list(request.owned.topics[0].partitions) == [0, 1]
    assert (request.assignment_version, request.sequence) == (1, 2)
    assert not request.HasField("instance_id")


def test_what_is_older_is_not_taken_over(member: Membership) -> None:
    joined(member)
    assert member.take(answer(3, 5, 2))
    for late in (answer(2, 6, 1), answer(3, 4, 1), answer(4, 3, 1)):
        assert not member.take(late)
    assert (member.epoch, member.offer.partitions) == (3, numbers(2))


def test_an_epoch_comes_only_with_an_assignment_that_is_known(member: Membership) -> None:
    joined(member)
    member.take(answer(2, 2, has_news=False))  # the push with version 2 was lost
    assert member.epoch == 1
    member.take(answer(2, 1, has_news=False))
    assert member.epoch == 2


def test_an_assignment_is_carried_out_when_all_of_it_is_owned(member: Membership) -> None:
    joined(member)
    member.take(answer(2, 2, 1, 2))
    member.note_owned(numbers(1), member.offer)
    assert (member.version, member.is_reconciled) == (1, False)
    member.note_owned(numbers(1, 2), member.offer)
    assert (member.version, member.is_reconciled) == (2, True)


def test_the_same_assignment_under_a_newer_version_is_to_be_said_again(member: Membership) -> None:
    joined(member)
    assert member.take(answer(1, 2, 0, 1))
    assert not member.is_reconciled
    member.note_owned(member.owned, member.offer)
    assert member.is_reconciled


def test_a_lease_counts_from_the_sending_of_what_was_answered(member: Membership) -> None:
    joined(member, now_ms=100)
    request = member.request(SAID, 500)
    member.take(answer(1, 1, sequence=request.sequence, has_news=False))
    assert not member.has_expired(500 + SESSION_MS - 1)
    assert member.has_expired(500 + SESSION_MS)
    member.take(answer(2, 2, 0))  # a push proves nothing
    assert member.has_expired(500 + SESSION_MS)
    assert member.next_look_ms(500 + SESSION_MS - 30) == 30


def test_a_late_answer_to_an_earlier_request_does_not_prolong_it(member: Membership) -> None:
    joined(member)
    first, second = member.request(SAID, 200), member.request(SAID, 400)
    member.take(answer(1, 1, sequence=second.sequence, has_news=False))
    assert not member.is_awaited(first.sequence)
    assert member.has_expired(400 + SESSION_MS)


def test_a_broken_connection_suspends_after_its_grace(member: Membership) -> None:
    joined(member)
    member.note_broken(500)
    member.note_broken(550)
    assert not member.is_suspended(500 + GRACE_MS - 1)
    assert member.next_look_ms(550) == 50
    assert member.is_suspended(500 + GRACE_MS)
    request = member.request(SAID, 700)
    member.take(answer(1, 1, sequence=request.sequence, has_news=False))
    assert not member.is_suspended(10_000)


def test_a_static_member_is_not_suspended_and_goes_for_a_while() -> None:
    member = Membership("g", "m", "desk")
    joined(member)
    member.note_broken(0)
    assert not member.is_suspended(10_000)
    leaving = member.leave_request(0)
    assert (leaving.member_epoch, leaving.instance_id) == (-2, "desk")


def test_one_that_loses_everything_joins_with_nothing(member: Membership) -> None:
    joined(member)
    asked = member.request(SAID, 0)
    member.lose()
    assert (member.epoch, member.owned, member.incarnation) == (0, NOTHING, 1)
    assert not member.is_member
    assert not member.has_expired(10**9)
    assert not member.is_awaited(asked.sequence)
    request = member.request(SAID, 0)
    assert (request.member_epoch, request.assignment_version) == (0, 0)
    assert request.sequence > asked.sequence
    member.take(answer(7, 3, 1, sequence=request.sequence))
    assert member.epoch == 7


def test_unanswered_time_is_that_of_the_oldest_request(member: Membership) -> None:
    member.request(SAID, 100)
    member.request(SAID, 200)
    assert member.unanswered_ms(350) == 250
    member.note_broken(400)
    assert member.unanswered_ms(500) == 0


def test_one_that_joins_by_another_connection_waits_afresh(member: Membership) -> None:
    asked = member.request(SAID, 100)
    member.note_broken(10_000)
    assert not member.is_awaited(asked.sequence)
    member.request(SAID, 10_100)
    assert member.unanswered_ms(10_150) == 50
    assert not member.is_suspended(10**6)


def test_only_so_many_unanswered_requests_are_remembered(member: Membership) -> None:
    sequences = [member.request(SAID, 0).sequence for _ in range(UNANSWERED_MAX + 1)]
    assert not member.is_awaited(sequences[0])
    assert member.is_awaited(sequences[1])


def test_leaving_says_so(member: Membership) -> None:
    joined(member)
    assert member.leave_request(0).member_epoch == -1
