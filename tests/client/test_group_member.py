"""A member's connection: answers that come after everything was lost."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.client.groups.group_member import GroupMember
from tidelog.client.groups.membership import Membership, Subscription
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.coordinator_pb2 import ConsumerGroupHeartbeatResponse

SAID = Subscription()


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


@pytest.mark.asyncio
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
