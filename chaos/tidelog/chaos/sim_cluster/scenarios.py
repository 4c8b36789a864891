"""Faults told by name instead of drawn: what strikes is scripted, the world around it is drawn.

Each is the storm of a run of its own; what comes before and after, and what is judged, is as ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tidelog.chaos.sim_cluster.strikes import Strikes
from tidelog.chaos.sim_cluster.world_config import STEADY

STORM = "storm"
"""No scenario: what the seed draws."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story; its docstring is its claim."""

    tell: Callable[[Strikes], Awaitable[None]]
    has_separate_controllers: bool = False
    """So that brokers can be cut from each other and reach the controllers."""


async def f01(strikes: Strikes) -> None:
    """The leader is killed under load, again and again; a new one leads within the session."""
    for _ in range(3):
        await strikes.last(0.5, 1.5)
        leader = strikes.leader(STEADY)
        strikes.count("kill", f"node {leader}")
        strikes.kill(leader)
        await strikes.until_led(STEADY, not_by=leader)
        await strikes.last(0.0, 1.0)
        strikes.world.start(leader)
        await strikes.until_in_sync(STEADY)


async def f03(strikes: Strikes) -> None:
    """The leader is paused for 10 s and goes on as a zombie: nothing of it is taken."""
    await strikes.last(0.5, 1.5)
    leader = strikes.leader(STEADY)
    strikes.count("pause", f"node {leader}")
    await strikes.pause(leader, 10.0, 10.0)
    await strikes.last(2.0, 4.0)


async def f04(strikes: Strikes) -> None:
    """The leader is cut from its followers, not from controllers and clients: it cannot commit."""
    await strikes.last(0.5, 1.5)
    leader = strikes.leader(STEADY)
    others = [one for one in strikes.state(STEADY).replicas if one != leader]
    strikes.count("cut from followers", f"node {leader}")
    await strikes.cut(strikes.links_between([leader], others), 3.0, 6.0)
    await strikes.last(2.0, 4.0)


async def f12(strikes: Strikes) -> None:
    """A leader with a tail nobody has dies and returns: the tail goes, the prefix stays."""
    await strikes.last(0.5, 1.5)
    leader = strikes.leader(STEADY)
    others = [one for one in strikes.state(STEADY).replicas if one != leader]
    links = strikes.links_between([leader], others)
    strikes.count("cut from followers", f"node {leader}")
    strikes.cut_now(links)
    await strikes.last(0.2, 0.4)
    strikes.count("kill", f"node {leader}")
    strikes.kill(leader)
    strikes.mend(links)
    await strikes.until_led(STEADY, not_by=leader)
    await strikes.last(0.5, 1.5)
    strikes.world.start(leader)
    await strikes.until_in_sync(STEADY)


SCENARIOS: dict[str, Scenario] = {
    "F01": Scenario(f01),
    "F03": Scenario(f03),
    "F04": Scenario(f04, has_separate_controllers=True),
    "F12": Scenario(f12, has_separate_controllers=True),
}
