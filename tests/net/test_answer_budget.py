"""Room for answers: before they are made, by address, small ones beside large ones, in order."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.net.answer_budget import (
    ANSWER_COST_BYTES,
    SMALL_BYTES,
    SMALL_PARTS,
    Answer,
    AnswerBudget,
)

MIB = 1 << 20
ROOM = 32 * MIB


def ignore() -> None:
    """Hear of no room."""


def made(budget: AnswerBudget, address: str, size: int) -> Answer:
    answer = budget.begin(address, size)
    answer.ask(ignore)
    return answer


def test_answers_that_nobody_takes_fill_the_room_and_no_more() -> None:
    budget = AnswerBudget(ROOM)
    answers = [made(budget, f"{number % 50}", 8 * MIB) for number in range(1_000)]
    assert 1 < sum(one.has_room for one in answers) <= 4
    assert budget.held_bytes <= ROOM
    assert budget.is_short
    for one in answers:
        one.release()
    assert budget.held_bytes == 0
    assert not budget.is_short


def test_an_address_leaves_room_to_others_whatever_it_holds() -> None:
    budget = AnswerBudget(ROOM)
    strangers = [made(budget, "stranger", MIB) for _ in range(100)]
    assert sum(one.has_room for one in strangers) < 16
    assert made(budget, "client", 4 * MIB).has_room


def test_small_answers_have_room_whatever_large_ones_hold() -> None:
    budget = AnswerBudget(ROOM)
    for number in range(100):
        made(budget, f"{number}", 5 * MIB)
    assert made(budget, "99", SMALL_BYTES).has_room, "of an address whose large one waits, too"
    assert not made(budget, "99", SMALL_BYTES + 1).has_room


def test_empty_answers_are_counted_and_leave_the_room_of_large_ones() -> None:
    budget = AnswerBudget(ROOM)
    answers = [made(budget, "stranger", 0) for _ in range(200_000)]
    held = sum(one.has_room for one in answers) * ANSWER_COST_BYTES
    assert held == budget.held_bytes <= ROOM // 2 + ROOM // SMALL_PARTS
    assert made(budget, "client", 0).has_room
    assert made(budget, "client", 4 * MIB).has_room


def test_a_first_large_answer_may_take_more_than_half_and_one_beyond_all_room_waits_for_all() -> (
    None
):
    budget = AnswerBudget(ROOM)
    first, alone = made(budget, "a", 20 * MIB), made(budget, "b", 2 * ROOM)
    assert first.has_room
    assert not alone.has_room
    first.release()
    assert alone.has_room
    assert not made(budget, "c", MIB).has_room


def test_what_was_reserved_too_much_goes_to_those_who_wait() -> None:
    budget = AnswerBudget(ROOM)
    first = made(budget, "a", 20 * MIB)
    heard: list[str] = []
    second = budget.begin("b", 20 * MIB)
    assert not second.ask(lambda: heard.append("room"))
    first.settle(1_000)
    assert heard == ["room"]
    assert budget.held_bytes == 1_000 + 20 * MIB + 2 * ANSWER_COST_BYTES
    second.go_on()
    first.release()
    second.release()
    second.release()
    assert budget.held_bytes == 0


def test_none_overtakes_an_answer_that_was_granted_its_room_and_has_not_gone_on() -> None:
    budget = AnswerBudget(64 * ANSWER_COST_BYTES)
    blocking = [budget.begin("a", 0, is_small=True) for _ in range(100)]
    held = [one for one in blocking if one.ask(ignore)]
    order: list[str] = []
    waiting = [one for one in blocking if not one.has_room]
    held[0].release()
    granted = next(one for one in waiting if one.has_room)
    held[1].release()
    held[2].release()
    for one in waiting:
        if one is not granted:
            one.release()
    late = budget.begin("a", 0, is_small=True)
    assert not late.ask(lambda: order.append("late")), "though there is room"
    granted.go_on()
    budget.wake()
    assert order == ["late"]


def test_one_that_does_not_wait_leaves_no_trace() -> None:
    budget = AnswerBudget(ROOM)
    first = made(budget, "a", ROOM - MIB - ROOM // SMALL_PARTS)
    refused = budget.begin("a", 4 * MIB)
    assert not refused.try_now()
    assert not budget.is_short
    first.release()
    assert refused.try_now()


@settings(max_examples=30)
@given(st.integers(0, 1 << 32))
def test_any_story_of_answers_holds_the_bound_and_ends(seed: int) -> None:
    random_ = random.Random(seed)
    budget = AnswerBudget(MIB)
    answers: list[Answer] = []
    for _ in range(400):
        if not answers or random_.random() < 0.6:
            size = random_.choice([0, 100, SMALL_BYTES, 10_000, MIB // 8, MIB // 2])
            answers.append(made(budget, random_.choice("abcd"), size))
        else:
            one = random_.choice(answers)
            if one.has_room and random_.random() < 0.5:
                one.go_on()
                one.settle(max(0, one.size_bytes - ANSWER_COST_BYTES) // 2)
            else:
                answers.remove(one)
                one.release()
        assert 0 <= budget.held_bytes <= MIB
    while answers:
        going = [one for one in answers if one.has_room]
        assert going, "somebody always goes on"
        for one in going:
            answers.remove(one)
            one.release()
    assert budget.held_bytes == 0
    assert not budget.is_short
