"""Sessions tell a slow broker from a silent one (decision 0075)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.metadata.fake_quorum import CONFIG, Nodes, attempt, start_broker, until

from tidelog.metadata.sessions import DOUBTED_BEFORE_MS
from tidelog.net.transport import Dialled, DialOutcome

if TYPE_CHECKING:
    from tests.metadata.conftest import World

SESSION_MS = CONFIG.session_timeout_ms
OF_INCARNATION_1 = Dialled(DialOutcome.ANSWERED, bytes([1]) * 16)


async def some_checks() -> None:
    for _ in range(20):
        await asyncio.sleep(CONFIG.session_check_interval_ms / 1000)


async def fall_silent(nodes: Nodes, answer: Dialled) -> None:
    """A broker, silent until a moment before its session ends, then to its end."""
    await start_broker(nodes.quorums[0], 1)
    nodes.answers["h:1"] = answer
    nodes.clock.now_ms += SESSION_MS - DOUBTED_BEFORE_MS
    await until(lambda: bool(nodes.dialled))
    await some_checks()
    assert nodes.quorums[0].image.is_alive(1)
    nodes.clock.now_ms += DOUBTED_BEFORE_MS


async def test_a_broker_whose_process_answers_a_dial_has_a_session_from_then(
    nodes: Nodes,
) -> None:
    active = nodes.quorums[0]
    await fall_silent(nodes, OF_INCARNATION_1)
    await some_checks()
    assert active.image.is_alive(1)
    nodes.clock.now_ms += SESSION_MS - DOUBTED_BEFORE_MS - 1
    await some_checks()
    assert active.image.is_alive(1)
    nodes.clock.now_ms += 1
    await until(lambda: not active.image.is_alive(1))
    assert nodes.dialled == ["h:1"], "no second answer counts while no heartbeat comes"


async def test_a_broker_that_is_silent_when_dialled_is_fenced_at_the_end_of_its_session(
    nodes: Nodes,
) -> None:
    active = nodes.quorums[0]
    await fall_silent(nodes, Dialled(DialOutcome.SILENT))
    await until(lambda: not active.image.is_alive(1))
    assert nodes.dialled == ["h:1"]


async def test_after_a_heartbeat_a_broker_may_be_slow_again(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    beat = await start_broker(active, 1)
    nodes.answers["h:1"] = OF_INCARNATION_1
    for silences in (1, 2, 3):
        nodes.clock.now_ms += SESSION_MS - DOUBTED_BEFORE_MS
        await some_checks()
        assert len(nodes.dialled) == silences
        await some_checks()
        nodes.clock.now_ms += SESSION_MS - 1
        await some_checks()
        assert active.image.is_alive(1)
        await active.submit(attempt(active, beat))


async def test_time_in_which_the_controllers_loop_stood_still_counts_for_nobody(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    loop = asyncio.get_running_loop()
    now_s, stood_still_s = loop.time, SESSION_MS / 1000

    def stands_still() -> None:
        monkeypatch.setattr(loop, "time", lambda: now_s() + stood_still_s)
        nodes.clock.now_ms += SESSION_MS

    loop.call_soon(stands_still)
    await some_checks()
    assert active.image.is_alive(1)
    assert not nodes.dialled
    nodes.clock.now_ms += SESSION_MS
    await until(lambda: not active.image.is_alive(1))


def test_an_answer_before_there_is_doubt_prolongs_no_session(world: World) -> None:
    world.start(1, 2)
    epoch = world.epoch(1)
    world.controller.note_answered(1, epoch, world.image, world.now_ms + 1_000)
    world.pass_session_but(2)
    assert not world.image.is_alive(1)


def test_an_answer_of_another_incarnation_prolongs_no_session(world: World) -> None:
    world.start(1, 2)
    world.now_ms += SESSION_MS - DOUBTED_BEFORE_MS
    world.beat(2)
    assert world.controller.find_doubtful(world.image, world.now_ms) == [1]
    assert world.controller.find_doubtful(world.image, world.now_ms) == []
    world.controller.note_answered(1, world.epoch(1) - 1, world.image, world.now_ms)
    world.pass_session_but(2)
    assert not world.image.is_alive(1)


def test_a_held_cluster_doubts_nobody(world: World) -> None:
    world.start(1)
    world.controller.hold(world.now_ms + 10 * SESSION_MS)
    world.now_ms += SESSION_MS
    assert world.controller.find_doubtful(world.image, world.now_ms) == []
