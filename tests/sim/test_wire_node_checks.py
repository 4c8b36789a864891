"""Checks of a node's listeners in the wire suite: steps are counted, and narrow requests pass."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.virtual_loop import run_virtual

from tidelog.broker.coordinator.classic_calls import ClassicCalls
from tidelog.broker.coordinator.classic_messages import LeaveRequest
from tidelog.core.errors import KafkaError, UnknownMemberIdError
from tidelog.core.turns import PER_TURN, in_turns
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.net.call import Call
from tidelog.node.kafka_apis.groups_classic import SEVERAL_LEAVE_FROM, LeaveGroupHandler
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.simulation.wire.node_checks import OWN_STEPS, Stepped, find_wide_steps

ELEMENTS = 3_000


async def handled(count: int) -> int:
    found = 0
    async for _ in in_turns(range(count)):
        found += 1
    return found


def test_steps_of_a_wide_request_are_counted_and_its_result_is_passed_on() -> None:
    async def steps(count: int) -> tuple[int, int]:
        work = Stepped(handled(count))
        return await work, work.steps

    assert run_virtual(steps(PER_TURN - 1)) == (PER_TURN - 1, 1)
    found, counted = run_virtual(steps(ELEMENTS))
    assert (found, counted) == (ELEMENTS, ELEMENTS // PER_TURN + 1)
    assert not find_wide_steps(ELEMENTS, counted, ELEMENTS)


def test_a_wide_request_in_one_step_is_complained_about_unless_it_was_refused_as_a_whole() -> None:
    assert find_wide_steps(ELEMENTS, 1, ELEMENTS)
    assert find_wide_steps(ELEMENTS, OWN_STEPS + 1, ELEMENTS)
    assert not find_wide_steps(ELEMENTS, 1, 10)
    assert not find_wide_steps(PER_TURN, 1, ELEMENTS)


def test_a_wide_leave_is_read_and_answered_in_pieces() -> None:
    class Absent:
        async def leave(self, group_id: str, request: LeaveRequest) -> list[KafkaError | None]:
            return [UnknownMemberIdError(one.member_id) for one in request.members]

    async def story() -> tuple[int, int]:
        handler = LeaveGroupHandler(cast("ClassicCalls", Absent()))
        members = [MemberIdentity(f"m{one}") for one in range(ELEMENTS)]
        call = ApiCall(cast("Call", None), SEVERAL_LEAVE_FROM)
        work = Stepped(handler(LeaveGroupRequest("g", members=members), call))
        return len((await work).members), work.steps

    answered, steps = run_virtual(story())
    assert answered == ELEMENTS
    assert not find_wide_steps(ELEMENTS, steps, ELEMENTS)


def test_an_error_and_a_cancellation_reach_the_work() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError

    async def waits(seen: list[str]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    async def story() -> list[str]:
        seen: list[str] = []
        with pytest.raises(KeyError):
            await Stepped(fails())

        async def work() -> None:
            await Stepped(waits(seen))

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seen

    assert run_virtual(story()) == ["ended"]
