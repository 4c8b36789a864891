"""Fault made of others: a seeded storm of them, one to three at once, a quarter of the time quiet.

What is thrown and when is drawn before it begins (`storm_plan`), whom it strikes as it does
(`storm_victims`). A strike that takes records asks the budget first and is left out where there is
no room, so a lost record is the product's fault.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.bit_flip import BitFlip, Flip
from tidelog.chaos.faults.budget import Claims, DamageBudget
from tidelog.chaos.faults.fault import BehindProxies, Fault, FaultError, lasting
from tidelog.chaos.faults.storm_plan import MENU, TOXICS, Strike, draw
from tidelog.chaos.faults.storm_victims import Target, target_of
from tidelog.chaos.faults.together import Together
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError


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
        budget = DamageBudget(min_insync_replicas=self.min_insync_replicas)
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

    async def _strike(self, run: ScenarioRun, strike: Strike, budget: DamageBudget) -> None:
        await asyncio.sleep(strike.after_s)
        target = target_of(strike, run.cluster, held=self._claims.node_ids)
        if target is None:
            return
        try:
            with self._claims.holding(target.node_id):
                await self._let_it_strike(run, strike, target, budget)
        except (FaultError, UnsupportedFaultError):
            return  # Nobody leads at the moment, or there is no such file yet.

    async def _let_it_strike(
        self, run: ScenarioRun, strike: Strike, target: Target, budget: DamageBudget
    ) -> None:
        wound = None
        if target.is_lossy and target.node_id is not None:
            wound = budget.take(run.cluster, target.node_id)
            if wound is None:
                return
        try:
            async with lasting(run, target.fault):
                self.struck.append(strike.kind)
                await asyncio.sleep(strike.last_s)
        finally:
            if wound is not None:
                flips = _flips(target.fault)
                budget.close(wound, *flips, needs_start=target.needs_start)


def _flips(fault: Fault) -> list[Flip]:
    if isinstance(fault, Together):
        return [flip for one in fault.faults for flip in _flips(one)]
    return [fault.flip] if isinstance(fault, BitFlip) and fault.flip is not None else []
