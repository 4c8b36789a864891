"""Fault made of others: a seeded storm of them, one to three at once, a quarter of the time quiet.

What is thrown and when is drawn before it begins (`storm_plan`), whom it strikes as it does
(`storm_kinds`). A strike that takes records asks the budget first and is left out where there is
no room, so a lost record is the product's fault.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.bit_flip import BitFlip, Flip
from tidelog.chaos.faults.budget import Budget, Claims, Replica
from tidelog.chaos.faults.fault import BehindProxies, Fault, FaultError, lasting
from tidelog.chaos.faults.port_budget import budget_of
from tidelog.chaos.faults.storm_kinds import MENU, ROWS, TOXICS, Moment, Target
from tidelog.chaos.faults.storm_plan import Strike, draw
from tidelog.chaos.faults.together import Together
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError
from tidelog.core.chance import SeededRandom


@dataclass(slots=True)
class Storm:
    """See the module. `inject` returns after `for_s` seconds or a little later; it is healed then.

    `kinds`: by default what every cluster can do, and toxics where there are proxies.
    """

    kind: ClassVar[str] = "storm"
    seed: int
    for_s: float
    min_insync_replicas: int = 2
    kinds: tuple[str, ...] | None = None
    struck: list[str] = field(default_factory=list, init=False)
    """The kinds that did strike, in order."""
    _claims: Claims = field(default_factory=Claims, init=False)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        budget = budget_of(run.cluster, min_insync_replicas=self.min_insync_replicas)
        for each in draw(self.seed, for_s=self.for_s, kinds=self._kinds(run)):
            try:
                async with asyncio.TaskGroup() as group:
                    for strike in each.strikes:
                        group.create_task(self._strike(run, strike, budget))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
            await asyncio.sleep(each.quiet_s)

    async def heal(self, run: ScenarioRun) -> None:
        """Nothing: each strike is healed when it ends, however that comes."""

    def _kinds(self, run: ScenarioRun) -> tuple[str, ...]:
        if self.kinds is not None:
            return self.kinds
        return (*MENU, *TOXICS) if isinstance(run.cluster, BehindProxies) else MENU

    async def _strike(self, run: ScenarioRun, strike: Strike, budget: Budget) -> None:
        await asyncio.sleep(strike.after_s)
        moment = Moment(run.cluster, SeededRandom(strike.seed), self._claims.node_ids)
        target = ROWS[strike.kind].draw(moment)
        if target is None:
            return
        try:
            with self._claims.holding(target.node_id):
                await self._let_it_strike(run, strike, target, budget)
        except (FaultError, UnsupportedFaultError):
            return  # Nobody leads at the moment, or there is no such file yet.

    async def _let_it_strike(
        self, run: ScenarioRun, strike: Strike, target: Target, budget: Budget
    ) -> None:
        taken = None
        if target.is_lossy and target.node_id is not None:
            taken = Replica(target.node_id, run.cluster.topic, 0)
            if not budget.take(taken):
                return
        try:
            async with lasting(run, target.fault):
                self.struck.append(strike.kind)
                await asyncio.sleep(strike.last_s)
        finally:
            if taken is not None:
                flips = _flips(target.fault)
                budget.close(taken, *flips, needs_start=target.needs_start)


def _flips(fault: Fault) -> list[Flip]:
    if isinstance(fault, Together):
        return [flip for one in fault.faults for flip in _flips(one)]
    return [fault.flip] if isinstance(fault, BitFlip) and fault.flip is not None else []
