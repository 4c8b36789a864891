"""Requests that wait for patterns: until they are matched, or for so long."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.coordinator.pattern_matching import MATCH_TIMEOUT_S, PatternMatching
from tidelog.core.background import Background
from tidelog.core.errors import CoordinatorLoadInProgressError, InvalidRegularExpressionError

pytestmark = pytest.mark.asyncio


def matching_of(count: int) -> PatternMatching:
    image: Any = SimpleNamespace(
        topics={f"t{number}": None for number in range(count)}, topics_by_id=object()
    )

    def fail(error: BaseException) -> None:
        raise error

    return PatternMatching(lambda: image, Background(fail))


async def test_all_who_wait_have_their_answer_when_it_is_there() -> None:
    matching = matching_of(5_000)
    asked = [f"t.*{number % 5}" for number in range(20)]
    await asyncio.gather(*(matching.match([], one) for one in asked))
    assert matching.are_known(asked)
    assert len(matching.topics) == 5
    assert not matching.topics.is_busy


async def test_others_have_the_loop_while_a_pattern_is_matched() -> None:
    matching = matching_of(20_000)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while not matching.are_known(["t.*"]):
            turns += 1
            await asyncio.sleep(0)

    await asyncio.gather(turn(), matching.match([], "t.*"))
    assert turns >= 10


async def test_a_refused_one_does_not_keep_others_waiting() -> None:
    matching = matching_of(10)
    results = await asyncio.gather(
        *(matching.match([], one) for one in ("(", "t1")), return_exceptions=True
    )
    assert isinstance(results[0], InvalidRegularExpressionError)
    assert results[1] is None


async def test_loaded_patterns_are_matched_before_a_request_is_decided() -> None:
    matching = matching_of(10)
    await matching.match(["t1", "(a+)+"], None)
    assert matching.topics.matching("t1") == {"t1"}
    await matching.match(["t1"], "t2")
    assert matching.topics.matching("t2") == {"t2"}


async def test_a_request_waits_only_so_long_for_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    matching = matching_of(10)
    monkeypatch.setattr(matching, "_work", lambda: asyncio.sleep(3_600))
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(CoordinatorLoadInProgressError, match="matching patterns"):
        await matching.match([], "t1")
    assert asyncio.get_running_loop().time() - began_s >= MATCH_TIMEOUT_S


async def test_without_patterns_nothing_is_done() -> None:
    matching = matching_of(10)
    await matching.follow([], timeout_s=1)
    assert len(matching.topics) == 0
