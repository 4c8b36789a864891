"""Faults that stay: in some seeds something is dead to the end, and liveness is judged in the rest.

A minority of brokers, a rack, a controller, or one directed link, as TigerBeetle's VOPR has them.
Only what the product promises to do without: each partition keeps min.insync.replicas in sync, the
quorum its majority. Of the nodes named nothing is asked any more; all others must come to rest
without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from tidelog.core.chance import SeededRandom, one_of, shuffled
from tidelog.simulation.cluster.fault_actions import FaultActions

STAYS_PROBABILITY = 0.3
STORM_GOES_ON_PROBABILITY = 0.5
WAIT_S_MAX = 20.0
"""Time in which everything must be sound enough to do without something; and then must do so."""


class LastingFaults:
    """At most one in a run; `strike` is called when all other faults are healed.

    In half of these runs the storm goes on beside it, and all but this fault heals once more.
    """

    def __init__(
        self, actions: FaultActions, random: SeededRandom, *, are_brokers_joined: bool = False
    ) -> None:
        """Begin; `are_brokers_joined`: no link between two brokers dies.

        A transaction's markers go from any broker to any other, and no third one passes them on.
        """
        self._actions = actions
        self._simulation = actions.simulation
        self._random = random
        self._are_brokers_joined = are_brokers_joined
        self.is_drawn = random.random() < STAYS_PROBABILITY
        self._has_storm_after = random.random() < STORM_GOES_ON_PROBABILITY

    async def strike(self, go_on: Callable[[], Awaitable[None]]) -> None:
        """Let something die for good, as soon as the cluster can do without it.

        `go_on`: more of the storm, from its first fault until all is healed. Returns when a broker
        that is silent has been fenced, and a follower that is behind has left the ISR.
        """
        if not self.is_drawn:
            return
        await self._strike(go_on)
        config = self._simulation.config
        waits_ms = config.replica.replica_lag_time_max_ms + config.session_timeout_ms
        await asyncio.sleep(2 * waits_ms / 1000)

    async def _strike(self, go_on: Callable[[], Awaitable[None]]) -> None:
        kinds: list[Callable[[], bool]] = [self._kill_brokers, self._kill_controller, self._cut]
        if self._simulation.config.racks:
            kinds.append(self._kill_rack)
        kind = one_of(self._random, kinds)
        has_struck = await self._actions.until(kind, within_s=WAIT_S_MAX)
        if not (has_struck and self._has_storm_after):
            return
        # A replica that is dead and still in sync by name may be all that another fault leaves.
        if await self._actions.until(self._is_missed, within_s=WAIT_S_MAX):
            self._actions.count("storm_beside_the_dead")
            await go_on()

    def _is_missed(self) -> bool:
        image, dead = self._simulation.image, self._simulation.dead
        return not any(map(image.is_alive, dead)) and all(
            dead.isdisjoint(state.isr) for _, state in image.partitions()
        )

    def _kill_brokers(self) -> bool:
        broker_ids = self._simulation.config.broker_ids
        count = 1 + self._random.randrange(0, max(1, (len(broker_ids) - 1) // 2))
        return self._kill("dead_brokers", shuffled(self._random, broker_ids)[:count])

    def _kill_rack(self) -> bool:
        racks = self._simulation.config.racks
        rack = one_of(self._random, sorted({*racks.values()}))
        return self._kill("dead_rack", [one for one in racks if racks[one] == rack])

    def _kill_controller(self) -> bool:
        return self._kill(
            "dead_controller", [one_of(self._random, self._simulation.config.controller_ids)]
        )

    def _kill(self, kind: str, victims: Collection[int]) -> bool:
        if not self._can_do_without(victims):
            return False
        self._exempt(kind, victims)
        for node_id in victims:
            self._actions.kill(node_id)
            self._simulation.dead.add(node_id)
        return True

    def _cut(self) -> bool:
        """Cut a link between two nodes in one direction: neither can follow the other."""
        ends = shuffled(self._random, self._simulation.config.node_ids)[:2]
        is_between_brokers = set(ends) <= set(self._simulation.config.broker_ids)
        if is_between_brokers and self._are_brokers_joined:
            return False
        if len(ends) < 2 or not all(self._can_do_without([one]) for one in ends):
            return False
        self._exempt("dead_link", ends)
        self._actions.cut_now([(self._actions.host(ends[0]), self._actions.host(ends[1]))])
        return True

    def _exempt(self, kind: str, node_ids: Collection[int]) -> None:
        self._actions.count(kind, ", ".join(f"node-{one}" for one in node_ids))
        self._simulation.exempt.update(node_ids)
        for node_id in node_ids:
            self._simulation.budget.note_exempt(node_id)

    def _can_do_without(self, victims: Collection[int]) -> bool:
        simulation = self._simulation
        image, controllers = simulation.image, set(simulation.config.controller_ids)
        if any(simulation.budget.outstanding()):
            return False
        if 2 * len(controllers - set(victims)) <= len(controllers):
            return False
        if not all(image.is_alive(one) for one in simulation.config.broker_ids):
            return False
        for topic, state in image.partitions():
            least = simulation.config.plan(topic.name).min_insync_replicas
            left = [one for one in state.isr if one not in victims]
            if len(left) < min(least, len(state.replicas)) or state.leader_id is None:
                return False
        return True
