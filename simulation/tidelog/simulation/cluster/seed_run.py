"""A seed of the cluster suite: a storm over a new simulation, then a calm, then the verdict.

It owns the story of a run and what its result holds; never what strikes or what is judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from tidelog.chaos.story.scenario_run import ScenarioRun, StoryOver
from tidelog.chaos.workloads.plans import CHURNED
from tidelog.chaos.workloads.workload import Workload
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.history.checks.delivery import complaints, counts
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.coverage import COVERAGE
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.faults import Faults
from tidelog.simulation.cluster.lasting_faults import LastingFaults
from tidelog.simulation.cluster.mixed_clients import MixedClients
from tidelog.simulation.cluster.node_lines import error_text, nodes_logging_to, nodes_silent
from tidelog.simulation.cluster.passing_topics import USED_PROBABILITY, PassingTopics
from tidelog.simulation.cluster.scenarios import SCENARIOS, STORM, shape
from tidelog.simulation.cluster.simulation import ClusterSimulation, Violated
from tidelog.simulation.cluster.simulation_config import draw_config, with_broad_topic
from tidelog.simulation.cluster.strangers import Strangers
from tidelog.simulation.suites.findings import Findings, SeedResult

READY_S_MAX = 30.0
CONTROL_S = 8.0
"""Time for which a run without faults produces."""
AFTERMATH_S = 2.0
"""Clients go on for so long after the last fault."""
CALM_S_MAX = 40.0
"""I29: what must have come to rest by then (sessions, elections, retries, a client's patience)."""
LOOK_EVERY_S = 0.2
VIOLATIONS_NOTED_MAX = 10


class Guest(Protocol):
    """Clients of a suite's own, beside the workload's."""

    def begin(self) -> None:
        """Start: the topics are there."""

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """Strike the clients, beside the storm; return when that is over and all of them run."""

    def find_restless(self) -> Iterator[str]:
        """Yield what has not come to rest."""

    async def at_rest(self) -> None:
        """Judge, when everything is read."""


class Company(Protocol):
    """Callers that are no clients of the workload, from the first fault to the end."""

    async def stay(self) -> None:
        """Call until cancelled."""


def run_seed(
    seed: int,
    *,
    choice: str = STORM,
    engine: str = ENGINES[0],
    has_faults: bool = True,
    timeline_sink: Callable[[str], None] | None = None,
) -> SeedResult:
    """Run the story under `seed`; an error of the run is a violation like the checks'.

    `choice` is a scenario's name, or the random storm; `engine` is the controllers'. Without faults
    it is the control.
    """
    random = SeededRandom(seed)
    findings = Findings()
    scenario = SCENARIOS.get(choice)
    is_separate = scenario is not None and scenario.needs.has_separate_controllers
    config = draw_config(random.fork("config"), is_separate=is_separate, is_storm=scenario is None)
    if scenario is None:
        config = with_broad_topic(random.fork("broad"), config)
    else:
        config = shape(scenario, config)
    config = replace(config, raft=replace(config.raft, engine=engine))
    of_passing = random.fork("passing")
    # A topic of the workload that is deleted may not be made by a send that came late.
    has_passing = scenario is None and has_faults and of_passing.random() < USED_PROBABILITY
    has_passing &= not config.cluster_defaults
    has_passing &= all(one.name != CHURNED for one in config.topics)
    config = replace(config, creates_topics=has_passing)
    simulation = ClusterSimulation(
        seed=seed, config=config, findings=findings, timeline_sink=timeline_sink
    )
    clients = MixedClients(simulation, random.fork("clients")) if scenario is None else None
    workload = Workload(simulation, random.fork("workload"), clients)
    return play(
        simulation,
        workload,
        random,
        choice=choice if has_faults else "",
        coverage=COVERAGE,
        strangers=Strangers(simulation, random.fork("strangers"), simulation.topics[0].name),
        visitor=PassingTopics(simulation, of_passing).come if has_passing else None,
    )


def play(
    simulation: ClusterSimulation,
    workload: Workload,
    random: SeededRandom,
    *,
    choice: str,
    coverage: Sequence[str],
    guest: Guest | None = None,
    strangers: Company | None = None,
    visitor: Callable[[], Awaitable[None]] | None = None,
    lasts_with_guest: bool = False,
) -> SeedResult:
    """Run the story of a scenario, the random storm, or ("") no faults, over a new simulation.

    `visitor` comes after a storm, when all is at rest, unless some fault stays. Beside a guest none
    stays, but `lasts_with_guest`: then all brokers that are left reach each other.
    """
    findings = simulation.findings
    scenario = SCENARIOS.get(choice)
    story = _Story(simulation, workload, random, choice=choice, guest=guest)
    story.strangers = strangers if choice == STORM else None
    story.has_lasting = choice == STORM and (guest is None or lasts_with_guest)
    story.visitor = visitor if choice == STORM else None
    with nodes_logging_to(simulation.timeline, None if scenario is None else story.port):
        try:
            simulation.cluster.run(story.run())
        except (Violated, StoryOver):
            pass
        except Exception as error:  # noqa: BLE001  # whatever a run ends with is its outcome
            findings.report(type(error).__name__, error_text(error))
        finally:
            simulation.observer.finish()
            workload.write_pending()
    with nodes_silent():
        simulation.cluster.close()
    for complaint in complaints(simulation.history) if not findings.violations else ():
        findings.report(complaint.kind, str(complaint))
    counted = counts(simulation.history)
    if not findings.violations:
        story.scenario_run.conclude(simulation.history, counted)
    for violation in findings.violations[:VIOLATIONS_NOTED_MAX]:
        simulation.timeline.note("VIOLATED", f"{violation.invariant}: {violation.what}")
    return SeedResult(
        seed=simulation.seed,
        violation=findings.violations[0] if findings.violations else None,
        faults=dict(findings.faults),
        coverage={name: findings.coverage[name] for name in coverage},
        operations=workload.operations,
        acknowledged=workload.acknowledged,
        steps=simulation.cluster.scheduler.steps,
        virtual_s=round(simulation.now_s, 3),
        trace_hash=simulation.cluster.trace.hexdigest(),
        counts=counted,
    )


class _Story:
    def __init__(
        self,
        simulation: ClusterSimulation,
        workload: Workload,
        random: SeededRandom,
        *,
        choice: str,
        guest: Guest | None,
    ) -> None:
        self.strangers: Company | None = None
        self.has_lasting = False
        self.visitor: Callable[[], Awaitable[None]] | None = None
        self._simulation = simulation
        self._guest = guest
        self._workload = workload
        self._scenario = SCENARIOS.get(choice)
        actions = FaultActions(simulation, random.fork("strikes"))
        self.port = SimClusterPort(actions, workload)
        self.scenario_run = ScenarioRun(self.port)
        if self._scenario is not None:
            self.port.listen()
        self._faults = Faults(actions, random.fork("faults"), self.scenario_run)
        self._lasting = LastingFaults(
            actions, random.fork("lasting"), are_brokers_joined=guest is not None
        )
        self._choice = choice

    async def run(self) -> None:
        simulation = self._simulation
        simulation.timeline.note("config", str(simulation.config))
        for machine in simulation.cluster.machines.values():
            machine.disk.slow_down(simulation.config.sync_latency_s_max)
        if not await self._comes_to_rest(READY_S_MAX, "ready"):
            return
        watching = asyncio.create_task(simulation.watch(), name="watch")
        await self._workload.begin()
        if await self._comes_to_rest(READY_S_MAX, "topics"):
            if self._guest is not None:
                self._guest.begin()
            beside = [watching]
            if self.strangers is not None:
                beside.append(asyncio.create_task(self.strangers.stay(), name="strangers"))
            await self._strike()
            await self._calm_down()
            for task in beside:
                task.cancel()
            for end in await asyncio.gather(*beside, return_exceptions=True):
                if isinstance(end, Exception):
                    simulation.findings.report(type(end).__name__, error_text(end))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def _strike(self) -> None:
        if self._choice == "":
            await asyncio.sleep(CONTROL_S)
            return
        if self._scenario is not None:
            await self._scenario.story(self.scenario_run)
            self._workload.is_churn_over = True
            self._workload.is_held = False
        churning = asyncio.create_task(self._workload.churn(), name="churn")
        if self._scenario is None:
            await self._storm(self._simulation.now_s + self._simulation.config.storm_s)
        await self._faults.heal()
        self._simulation.timeline.note("fault", "all is healed")
        if self.has_lasting and self._lasting.is_drawn:
            self._workload.is_churn_over = True
            await churning
            await self._lasting.strike(self._storm_again)
        await asyncio.sleep(AFTERMATH_S)
        self._workload.is_churn_over = True
        await churning

    async def _storm_again(self) -> None:
        await self._storm(self._simulation.now_s + self._simulation.config.storm_s / 2)
        await self._faults.heal()
        self._simulation.timeline.note("fault", "all that heals is healed")

    async def _storm(self, end_s: float) -> None:
        if self._guest is None:
            await self._faults.strike_until(end_s)
            return
        is_over = partial(self._simulation.is_storm_over, end_s)
        striking = asyncio.create_task(self._guest.strike_until(is_over), name="guest")
        await self._faults.strike_until(end_s)
        await striking

    async def _calm_down(self) -> None:
        stopping = asyncio.create_task(self._workload.stop_sending(), name="stop-sending")
        if not await self._comes_to_rest(CALM_S_MAX, "I29"):
            stopping.cancel()
            return
        await asyncio.gather(stopping)
        await self._workload.close()
        try:
            await self._workload.read_all()
        except (TimeoutError, TidelogError) as error:
            self._simulation.findings.report("I29", f"final reads: {error!r}")
        else:
            self._simulation.invariants.at_quiet()
            if self._guest is not None:
                await self._guest.at_rest()
            if self.visitor is not None and not self._simulation.exempt:
                await self.visitor()

    async def _comes_to_rest(self, within_s: float, invariant: str) -> bool:
        """Wait for it; a report when it takes too long."""
        simulation = self._simulation
        deadline_s = simulation.now_s + within_s
        while left := [*self._unready(), *simulation.find_unsettled(), *self._unended(invariant)]:
            if simulation.now_s > deadline_s:
                simulation.findings.report(invariant, f"{within_s} s later: {'; '.join(left)}")
                return False
            await asyncio.sleep(LOOK_EVERY_S)
            simulation.restart_failed()
        return True

    def _unready(self) -> Iterator[str]:
        for broker_id in self._simulation.config.broker_ids:
            if broker_id not in self._simulation.image.brokers:
                yield f"broker {broker_id} is not registered"

    def _unended(self, invariant: str) -> Iterator[str]:
        if invariant == "I29":
            yield from self._workload.find_unfinished()
            if self._guest is not None:
                yield from self._guest.find_restless()
