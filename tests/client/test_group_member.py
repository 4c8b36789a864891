"""A member's connection: answers that come late, and what waits for an answer."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.client.groups.group_member import GroupMember
from tidelog.client.groups.membership import Membership, Subscription
from tidelog.core.system import SystemClock
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

SAID = Subscription()
WAIT_S = 3.0
"""Less than the time between two heartbeats."""


class Events:
    """Callbacks of a member that are noted."""

    def __init__(self) -> None:
        self.lost: list[str] = []

    def on_offer(self) -> None:
        raise AssertionError("no assignment was sent")

    def on_lost(self, why: str) -> None:
        self.lost.append(why)

    def on_failure(self, error: TidelogError) -> None:
        raise error

    def on_look(self) -> None:
        raise AssertionError("nobody looks")


class FakeStream:
    """A stream to a coordinator that answers when the test says so; also its calls and routing."""

    def __init__(self) -> None:
        self.requests: list[ConsumerGroupHeartbeatRequest] = []
        self.routing = self.transport = self
        self.clock, self.random = SystemClock(), random.Random(1)
        self._answers: asyncio.Queue[ConsumerGroupHeartbeatResponse] = asyncio.Queue()

    async def address(self, *, deadline_ms: int) -> str:
        return "node1:9192"

    async def open_stream(self, address: str, method: object) -> FakeStream:
        return self

    async def send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        self.requests.append(request)

    async def receive(self) -> ConsumerGroupHeartbeatResponse:
        return await self._answers.get()

    def close(self) -> None:
        """Nothing holds it open."""

    def answer(self, request: ConsumerGroupHeartbeatRequest, *, epoch: int) -> None:
        response = ConsumerGroupHeartbeatResponse(
            member_epoch=epoch,
            sequence=request.sequence,
            heartbeat_interval_ms=5_000,
            session_timeout_ms=45_000,
        )
        self._answers.put_nowait(response)

    async def sent(self, count: int) -> list[ConsumerGroupHeartbeatRequest]:
        """Wait for so many requests."""
        async with asyncio.timeout(WAIT_S):
            while len(self.requests) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return list(self.requests)


class Quiet(Events):
    def on_look(self) -> None:
        """Looks happen all the time."""


def _member(membership: Membership, stream: Any) -> GroupMember:
    return GroupMember(
        membership,
        stream,
        said=lambda: SAID,
        events=Quiet(),
        backoff=Backoff(20, 200),
        request_timeout_ms=10_000,
    )


async def test_an_answer_to_what_was_asked_before_everything_was_lost_changes_nothing() -> None:
    membership, events = Membership("g", "m", None), Events()

    class Calls:
        routing: Any = None

    calls: Any = Calls()
    member = GroupMember(
        membership,
        calls,
        said=lambda: SAID,
        events=events,
        backoff=calls,
        request_timeout_ms=1_000,
    )
    first = membership.request(SAID, 0)
    answer = ConsumerGroupHeartbeatResponse(member_epoch=3, sequence=first.sequence)
    member._take(answer)
    asked = membership.request(SAID, 0)
    refusal = Error(code=common_pb2.FENCED_MEMBER_EPOCH, message="fenced")
    member._take(ConsumerGroupHeartbeatResponse(error=refusal, sequence=asked.sequence))
    assert events.lost == ["fenced"]
    again = membership.request(SAID, 0)
    member._take(ConsumerGroupHeartbeatResponse(error=refusal, sequence=asked.sequence))
    member._take(ConsumerGroupHeartbeatResponse(member_epoch=9, sequence=first.sequence))
    assert (events.lost, membership.epoch) == (["fenced"], 0)
    with pytest.raises(CallFailedError, match="fenced"):
        member._take(ConsumerGroupHeartbeatResponse(error=refusal, sequence=again.sequence))


async def test_a_push_of_before_everything_was_lost_gives_nothing() -> None:
    membership = Membership("g", "m", None)
    member = _member(membership, FakeStream())
    first = membership.request(SAID, 0)
    member._take(ConsumerGroupHeartbeatResponse(member_epoch=3, sequence=first.sequence))
    member.lose("no answer for a session")
    push = ConsumerGroupHeartbeatResponse(member_epoch=4, assignment_version=7)
    push.assignment.topics.add(topic_id=b"t" * 16, partitions=[0])
    member._take(push)  # on its way when the member joined again; no offer, `Events` would refuse
    assert (membership.epoch, membership.offer.partitions) == (0, frozenset())
    again = membership.request(SAID, 0)
    assert not again.owned.topics
    member._take(ConsumerGroupHeartbeatResponse(member_epoch=5, sequence=again.sequence))
    assert membership.is_member


async def test_a_member_says_what_it_has_to_say_when_its_last_request_is_answered() -> None:
    """A slow coordinator gets one request of a member, and not one for each word."""
    stream, membership = FakeStream(), Membership("g", "m", None)
    member = _member(membership, stream)
    member.start()
    (first,) = await stream.sent(1)
    for _ in range(3):
        member.say()
        await asyncio.sleep(0.1)
    assert len(stream.requests) == 1
    stream.answer(first, epoch=1)
    _, second = await stream.sent(2)
    assert second.member_epoch == 1
    stream.answer(second, epoch=1)
    await asyncio.sleep(1.0)
    assert len(stream.requests) == 2  # all three words were one
    member.say()
    await stream.sent(3)
    await member.stop()


async def test_a_join_waits_for_no_answer_to_what_was_sent_before() -> None:
    stream, membership = FakeStream(), Membership("g", "m", None)
    member = _member(membership, stream)
    member.start()
    (first,) = await stream.sent(1)
    stream.answer(first, epoch=1)
    member.say()
    await stream.sent(2)
    member.lose("the test wants it")
    membership.leave_request(
        SystemClock().monotonic_ms()
    )  # by another call, whose answer is not this stream's
    began_s = asyncio.get_running_loop().time()
    member.rejoin()
    (*_, join) = await stream.sent(3)
    assert join.member_epoch == 0
    assert asyncio.get_running_loop().time() - began_s < 1.0
    await member.stop()


async def test_a_join_is_not_repeated_while_its_answer_may_come() -> None:
    """The coordinator takes a second one for a member that owns nothing, and then the first
    one's answer gives it partitions that another member may have.
    """
    stream, membership = FakeStream(), Membership("g", "m", None)
    membership.heartbeat_interval_ms = 50
    member = _member(membership, stream)
    member.start()
    (join,) = await stream.sent(1)
    await asyncio.sleep(0.3)
    assert len(stream.requests) == 1
    stream.answer(join, epoch=1)
    (_, beat) = await stream.sent(2)
    assert beat.member_epoch == 1
    await member.stop()
