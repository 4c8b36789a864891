"""Faults that stay: in some seeds a voter or a link is dead to the end, and the others go on.

A minority of the voters never starts again, or one voter's messages never reach one other. Of those
voters nothing is asked any more; a leader, the others and all clients must come to rest without
them. In half of these runs the storm goes on beside it, and all but this fault heals once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES
from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.simulation import RaftSimulation

STAYS_PROBABILITY = 0.3
STORM_GOES_ON_PROBABILITY = 0.5
LINK_PROBABILITY = 0.4
WAIT_S_MAX = 10.0
"""Time in which all voters must run and have rejoined; else nothing strikes."""
_POLL_S = 0.05


class LastingFaults:
    """At most one in a run; `strike` is called when all other faults are healed."""

    def __init__(self, simulation: RaftSimulation, random: SeededRandom) -> None:
        self._simulation = simulation
        self._random = random
        self._actions = FaultActions(simulation, random)
        self.is_drawn = random.random() < STAYS_PROBABILITY
        self._has_storm_after = random.random() < STORM_GOES_ON_PROBABILITY

    async def strike(self, go_on: Callable[[], Awaitable[None]]) -> None:
        """Let something die for good; `go_on`: more of the storm, until all is healed."""
        if not self.is_drawn or not await self._until_whole():
            return
        voters = self._actions.shuffled()
        # The library's engine promises nothing where a link is dead in one direction.
        is_own = self._simulation.config.raft.engine == ENGINES[0]
        if is_own and self._random.random() < LINK_PROBABILITY:
            self._cut(*voters[:2])
        else:
            self._kill(voters[: self._random.randrange(1, (len(voters) + 1) // 2)])
        if self._has_storm_after:
            self._actions.count("storm_beside_the_dead")
            await go_on()

    async def _until_whole(self) -> bool:
        simulation = self._simulation
        deadline_s = simulation.scheduler.now_s + WAIT_S_MAX
        while not all(
            voter.is_running and not voter.is_rejoining for voter in simulation.voters.values()
        ):
            if simulation.scheduler.now_s > deadline_s:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    def _kill(self, victims: list[int]) -> None:
        self._actions.count("dead_voters", f"n{victims}")
        for node_id in victims:
            self._simulation.kill(self._simulation.voters[node_id])
        self._simulation.dead.update(victims)
        self._simulation.exempt.update(victims)

    def _cut(self, source: int, target: int) -> None:
        self._actions.count("dead_link", f"n{source}>n{target}")
        self._simulation.network.cut([(source, target)])
        self._simulation.exempt.update((source, target))
