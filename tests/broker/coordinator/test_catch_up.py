"""Waits for metadata: until they are enough, or all there were; not for ever, nor by many."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.patience import until

from tidelog.broker.coordinator.catch_up import WAITING_MAX, CatchUp
from tidelog.core.errors import CoordinatorNotAvailableError
from tidelog.core.system import SystemClock

pytestmark = pytest.mark.asyncio

ASKED_MS = 1_000
LONG_MS = 60_000


class Controllers:
    """What this broker knows of the controllers' decisions."""

    def __init__(self) -> None:
        self.known_ms: int | None = None
        self.has_news = False
        self.catch_up = CatchUp(lambda: self.known_ms, SystemClock())

    def ask(self, timeout_ms: int = LONG_MS) -> asyncio.Task[None]:
        waiting = self.catch_up.wait(
            lambda: self.has_news, since_ms=ASKED_MS, timeout_ms=timeout_ms
        )
        return asyncio.create_task(waiting)


async def test_it_ends_with_the_news() -> None:
    controllers = Controllers()
    asked = controllers.ask()
    await asyncio.sleep(0)
    assert not asked.done()
    controllers.has_news = True
    await until(asked.done)
    await asked


@pytest.mark.parametrize("known_ms", [None, ASKED_MS - 1, ASKED_MS])
async def test_what_was_known_before_is_not_all(known_ms: int | None) -> None:
    controllers = Controllers()
    controllers.known_ms = known_ms
    asked = controllers.ask()
    await asyncio.sleep(0)
    assert not asked.done()
    controllers.known_ms = ASKED_MS + 1
    await until(asked.done)
    await asked


async def test_without_an_answer_of_the_controllers_its_time_is_over() -> None:
    with pytest.raises(CoordinatorNotAvailableError, match="for 1 ms"):
        await Controllers().ask(timeout_ms=1)


async def test_more_than_its_room_are_refused_at_once_and_room_comes_back() -> None:
    controllers = Controllers()
    asked = [controllers.ask() for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(CoordinatorNotAvailableError, match="try again"):
        await controllers.ask()
    controllers.has_news = True
    await asyncio.gather(*asked)
    await controllers.ask()
