"""A seed of the Raft suite: a storm over a new simulation, a calm, a verdict.

It owns the story of a run and what its result holds; never what strikes or what is judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES
from tidelog.simulation.engine.scheduler import SimulationError
from tidelog.simulation.raft.coverage import COVERAGE
from tidelog.simulation.raft.faults import Faults
from tidelog.simulation.raft.lasting_faults import LastingFaults
from tidelog.simulation.raft.short_moments import ShortMoments, waits_for_moments
from tidelog.simulation.raft.simulation import RaftSimulation
from tidelog.simulation.raft.simulation_config import draw_config, for_short_moments
from tidelog.simulation.raft.strangers import Strangers
from tidelog.simulation.raft.workload import Workload
from tidelog.simulation.suites.findings import Findings, SeedResult

STORM_S = 17.0
RUN_S_MIN = 20.0
REST_S_MIN = 3.0
"""Time that clients go on for after the last fault."""
OPERATIONS_MIN = 200
CALM_S_MAX = 20.0
LOOK_EVERY_S = 1.0


def run_seed(
    seed: int,
    *,
    engine: str = ENGINES[0],
    has_faults: bool = True,
    timeline_sink: Callable[[str], None] | None = None,
) -> SeedResult:
    """Run the story under `seed`; an error of the run is a violation like the checks'.

    Without faults it is the control that every mutant must pass.
    """
    random = SeededRandom(seed)
    findings = Findings()
    config = draw_config(random.fork("config"), engine=engine, is_calm=not has_faults)
    if has_faults and waits_for_moments(seed):
        config = for_short_moments(config)
    simulation = RaftSimulation(
        random=random.fork("world"),
        config=config,
        findings=findings,
        timeline_sink=timeline_sink,
    )
    story = _Story(simulation, random, seed=seed, has_faults=has_faults)
    try:
        simulation.scheduler.run(simulation.loop, story.run())
    except SimulationError as error:
        findings.report(type(error).__name__, str(error))
    finally:
        simulation.scheduler.close()
    for violation in findings.violations:
        simulation.timeline.note("VIOLATED", f"{violation.invariant}: {violation.what}")
    return SeedResult(
        seed=seed,
        violation=findings.violations[0] if findings.violations else None,
        faults=dict(findings.faults),
        coverage={name: findings.coverage[name] for name in COVERAGE},
        operations=story.workload.operations,
        acknowledged=simulation.checks.states.acknowledged,
        steps=simulation.scheduler.steps,
        virtual_s=round(simulation.scheduler.now_s, 3),
        trace_hash=simulation.trace.hexdigest(),
    )


class _Story:
    def __init__(
        self, simulation: RaftSimulation, random: SeededRandom, *, seed: int, has_faults: bool
    ) -> None:
        self.workload = Workload(simulation, random.fork("workload"))
        self._simulation = simulation
        self._faults = Faults(simulation, random.fork("faults"), seed=seed)
        self._lasting = LastingFaults(simulation, random.fork("lasting"))
        self._moments = ShortMoments(
            simulation, random.fork("moments"), self.workload.witness(), seed=seed
        )
        self._strangers = Strangers(simulation, random.fork("strangers"), seed=seed)
        self._striking = self._moments if self._moments.are_awaited else self._faults
        self._has_faults = has_faults
        self._rest_s_min = 0.0

    async def run(self) -> None:
        simulation = self._simulation
        simulation.timeline.note("config", str(simulation.config))
        for voter in simulation.voters.values():
            simulation.start(voter)
        looking = asyncio.create_task(self._look(), name="look")
        clients = asyncio.create_task(self.workload.run(), name="clients")
        if self._has_faults:
            await asyncio.gather(
                self._striking.strike_until(STORM_S), self._strangers.speak_until(STORM_S)
            )
            await self._faults.heal()
            await self._lasting.strike(self._storm_again)
            self._rest_s_min = simulation.scheduler.now_s + REST_S_MIN
        await self._calm_down(clients)
        self.workload.is_over = True
        looking.cancel()
        if not simulation.findings.violations or clients.done():
            await clients
            await self._end()

    async def _storm_again(self) -> None:
        await self._striking.strike_until(self._simulation.scheduler.now_s + STORM_S / 2)
        await self._faults.heal()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._simulation.look_at_all()

    async def _calm_down(self, clients: asyncio.Task[None]) -> None:
        """Clients go on until the run is long enough."""
        while not (self._has_shown_enough() or clients.done()):  # noqa: ASYNC110  # virtual time
            await asyncio.sleep(0.1)

    def _has_shown_enough(self) -> bool:
        return self._is_long_enough() or bool(self._simulation.findings.violations)

    def _is_long_enough(self) -> bool:
        is_long = self._simulation.scheduler.now_s >= max(RUN_S_MIN, self._rest_s_min)
        return is_long and self.workload.operations >= OPERATIONS_MIN

    async def _end(self) -> None:
        simulation = self._simulation
        deadline_s = simulation.scheduler.now_s + CALM_S_MAX
        while not simulation.is_settled() and not simulation.findings.violations:
            if simulation.scheduler.now_s > deadline_s:
                simulation.findings.report("liveness", self._unsettled())
            await asyncio.sleep(0.05)
        await self.workload.read_all()
        simulation.look_at_all()
        machines = {
            voter.node_id: voter.machine
            for voter in simulation.asked()
            if voter.machine is not None
        }
        simulation.checks.finish(machines, self.workload.history)

    def _unsettled(self) -> str:
        drivers = [voter.driver for voter in self._simulation.voters.values()]
        found = "; ".join(str(driver.status()) for driver in drivers if driver is not None)
        return f"{CALM_S_MAX} s after the last fault: {found}"
