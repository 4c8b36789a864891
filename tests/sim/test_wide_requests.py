"""No request holds a node's loop, however wide: every API and every RPC, by their schemas.

Work is counted in calls, since time is another on a busy machine; `python -m
tests.sim.wide_requests` prints the milliseconds. An API or an RPC that is new is asked, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.sim.wide_requests import SERVED_RPCS, Steps, WideWorld, play

from tidelog.kafka.apis import APIS
from tidelog.net.request_elements import ELEMENTS_MAX
from tidelog.node.handlers.group_limits import PARTITIONS_MAX

pytestmark = pytest.mark.sim

ELEMENTS = 4_096
TURN_CALLS_MAX = 10_000
"""Calls of a turn: 64 elements of up to 150 calls."""
STEP_CALLS_MAX = 150_000
"""Calls of a step at the limit of elements that are read, listed or written in one piece: 40 ms."""
CONTROLLER_MAX = 10_000
"""Partitions, as many as a cluster may have, of a command that is decided in one step."""
LIMITS = {
    "Admin.ElectLeaders": CONTROLLER_MAX,
    "Controller.ElectLeaders": CONTROLLER_MAX,
    "Coordinator.": PARTITIONS_MAX,
    "TransactionCoordinator.": 1_000,
}
"""Limits that handlers have, below that of every request."""
GARBAGE_MAX = ELEMENTS // 4
"""Objects that a request may leave to a collection: a circle for each element is more."""
PARTS = 3


def calls_max(limit: int) -> int:
    """Calls that a step may take under `ELEMENTS` elements, so that it is short at `limit`."""
    return max(TURN_CALLS_MAX, STEP_CALLS_MAX * ELEMENTS // limit)


def too_long(world: WideWorld, names: Sequence[str], limit: int) -> list[str]:
    most = calls_max(limit)
    return [
        f"{one}: {world.longest[one]:.0f} > {most}" for one in names if world.longest[one] > most
    ]


def left_to_a_collection(world: WideWorld) -> list[str]:
    return [f"{name}: {count}" for name, count in world.garbage.items() if count > GARBAGE_MAX]


@pytest.mark.turns(2)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_wide_request_of_kafkas_protocol_takes_a_long_step(part: int) -> None:
    found: list[str] = []

    async def story(world: WideWorld) -> None:
        for row in world.rows[part::PARTS]:
            before = set(world.longest)
            await world.ask_by_kafka(row, min(ELEMENTS, row.elements_max))
            asked = [one for one in world.longest if one not in before]
            found.extend(too_long(world, asked, row.elements_max))

    world = play(story, Steps())
    assert not found
    assert not left_to_a_collection(world)
    assert not world.unanswered
    assert len(world.longest) > 10, "the lists are found in the schemas"


@pytest.mark.turns(2)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_wide_request_of_grpc_takes_a_long_step(part: int) -> None:
    found: list[str] = []

    async def story(world: WideWorld) -> None:
        for method in SERVED_RPCS[part::PARTS]:
            before = set(world.longest)
            await world.ask_by_grpc(method, ELEMENTS)
            for one in world.longest.keys() - before:
                limit = next((LIMITS[a] for a in LIMITS if one.startswith(a)), ELEMENTS_MAX)
                found.extend(too_long(world, [one], limit))

    world = play(story, Steps())
    assert not found
    assert not left_to_a_collection(world)
    assert len(world.longest) > 10, "the lists are found in the descriptors"


def test_every_served_api_has_a_limit_that_its_answers_can_tell_or_close_by() -> None:
    async def story(world: WideWorld) -> None:
        for row in world.rows:
            assert row.elements_max <= ELEMENTS_MAX // 2, APIS[row.key].name

    play(story, Steps())
