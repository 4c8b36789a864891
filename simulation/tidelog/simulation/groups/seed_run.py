"""A seed of the groups suite: a storm over a group and its cluster, then a calm, then the verdict.

It owns the story of a run and what its result holds; never what strikes or what is judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.workloads.workload import Workload
from tidelog.client import Consumer, TopicPartition
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.lasting_faults import LastingFaults
from tidelog.simulation.cluster.node_lines import (
    clients_logging_to,
    error_text,
    nodes_logging_to,
    nodes_silent,
)
from tidelog.simulation.cluster.simulation import Violated
from tidelog.simulation.groups.coverage import COVERAGE
from tidelog.simulation.groups.faults import Faults
from tidelog.simulation.groups.rest import find_restless, find_unbalanced, rounds
from tidelog.simulation.groups.simulation import GroupsSimulation
from tidelog.simulation.groups.simulation_config import GROUP, draw_config
from tidelog.simulation.suites.findings import Findings, SeedResult

STORM = "storm"
READY_S_MAX = 30.0
CONTROL_S = 4.0
"""Time that each member of a run without faults reads."""
CALM_S = 30.0
"""Liveness: at rest within this, two sessions and two rebalance timeouts."""
LOOK_EVERY_S = 0.2
STAYS_S = 1.0
"""A group at rest stays so."""
VIOLATIONS_NOTED_MAX = 10
COUNTED = ("excused_handouts", "excused_owners", "handed_again")
"""Counts of what may happen: of the exception of docs/GROUPS.md, of repeats."""


def run_seed(
    seed: int,
    *,
    choice: str = STORM,
    engine: str = ENGINES[0],
    has_faults: bool = True,
    timeline_sink: Callable[[str], None] | None = None,
) -> SeedResult:
    """Run a storm under `seed`; an error of the run is a violation like the checks'.

    `engine` is the controllers'. Without faults it is the control.
    """
    del choice  # there is one
    random = SeededRandom(seed)
    findings = Findings()
    config = draw_config(seed, random.fork("config"), is_storm=has_faults)
    cluster = config.cluster
    config = replace(config, cluster=replace(cluster, raft=replace(cluster.raft, engine=engine)))
    simulation = GroupsSimulation(
        seed=seed, config=config, findings=findings, timeline_sink=timeline_sink
    )
    base = simulation.base
    story = _Story(simulation, random, has_faults=has_faults)
    with nodes_logging_to(base.timeline, None), clients_logging_to(base.timeline):
        try:
            base.cluster.run(story.run())
        except Violated:
            pass
        except Exception as error:  # noqa: BLE001  # whatever a run ends with is its outcome
            findings.report(type(error).__name__, error_text(error))
        finally:
            base.observer.finish()
    with nodes_silent():
        base.cluster.close()
    for violation in findings.violations[:VIOLATIONS_NOTED_MAX]:
        base.timeline.note("VIOLATED", f"{violation.invariant}: {violation.what}")
    return SeedResult(
        seed=seed,
        violation=findings.violations[0] if findings.violations else None,
        faults=dict(findings.faults),
        coverage={name: findings.coverage[name] for name in COVERAGE},
        operations=simulation.handouts.total,
        acknowledged=simulation.traffic.acknowledged,
        steps=base.cluster.scheduler.steps,
        virtual_s=round(base.now_s, 3),
        trace_hash=base.cluster.trace.hexdigest(),
        counts={name: findings.coverage[name] for name in COUNTED},
    )


class _Story:
    def __init__(
        self, simulation: GroupsSimulation, random: SeededRandom, *, has_faults: bool
    ) -> None:
        self._simulation = simulation
        self._base = simulation.base
        self._random = random.fork("story")
        self._has_faults = has_faults
        actions = FaultActions(self._base, random.fork("strikes"))
        workload = Workload(self._base, random.fork("workload"))  # it is asked for nothing
        run = ScenarioRun(SimClusterPort(actions, workload))
        self._base.cluster.network.tap = simulation.on_call
        self._faults = Faults(simulation, actions, random.fork("faults"), run)
        self._lasting = LastingFaults(actions, random.fork("lasting"))

    async def run(self) -> None:
        base = self._base
        base.timeline.note("config", str(self._simulation.config))
        for machine in base.cluster.machines.values():
            machine.disk.slow_down(base.config.sync_latency_s_max)
        if not await self._comes_to_rest(READY_S_MAX, base.find_unsettled):
            return
        watching = asyncio.create_task(base.watch(), name="watch")
        await self._simulation.traffic.begin()
        config = self._simulation.config
        if self._has_faults:
            for plan in config.members[: config.members_at_start]:
                self._simulation.start_member(plan)
            await asyncio.sleep(self._random.uniform(0.2, 3.0))
            await self._faults.strike_until(base.now_s + base.config.storm_s)
            await self._faults.heal()
            base.note("fault", "all is healed")
            await self._strike_for_good()
        else:
            await self._change_in_order()
        await self._calm_down()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def _strike_for_good(self) -> None:
        """Something may die for good; then members' sessions end, too: there is no rest before."""
        if not self._lasting.is_drawn:
            return
        await self._lasting.strike(self._storm_again)
        await asyncio.sleep(self._simulation.config.session_s)

    async def _storm_again(self) -> None:
        await self._faults.strike_until(self._base.now_s + self._base.config.storm_s / 2)
        await self._faults.heal()
        self._base.note("fault", "all that heals is healed")

    async def _change_in_order(self) -> None:
        """The control: a member goes, then another one comes, and none works on its records."""
        simulation = self._simulation
        if simulation.classic is not None:
            simulation.classic.start_all()
        first, second = (
            replace(one, work_s_max=0.0, instance_id=None) for one in simulation.config.members[:2]
        )
        member = simulation.start_member(first)
        await asyncio.sleep(CONTROL_S)
        await simulation.close_member(member)
        simulation.start_member(second)
        await asyncio.sleep(CONTROL_S)

    async def _calm_down(self) -> None:
        simulation = self._simulation
        config = simulation.config
        for member in simulation.members.values():
            member.is_hasty = True
        await simulation.traffic.stop()
        within_s = CALM_S + 2 * config.session_s + 2 * config.max_poll_s
        if not await self._comes_to_rest(within_s, self._restless):
            return
        before = rounds(simulation)
        await asyncio.sleep(STAYS_S)
        # Leaders return to their preferred replicas: the next one hears members one by one.
        if not await self._comes_to_rest(within_s, self._restless):
            return
        after, live = rounds(simulation), simulation.live_group()
        left = [f"{name} {after[name]} after {before[name]}" for name in before if after != before]
        left += find_unbalanced(simulation, live.state) if live is not None else ()
        if left:
            simulation.findings.report("liveness", f"at rest, and then: {'; '.join(left)}")
            return
        simulation.coordinators.at_rest()
        names = {topic for member in simulation.members.values() for topic in member.topics}
        await self._end(
            {
                TopicPartition(place.topic, place.partition): end
                for place, end in simulation.traffic.ends()
                if place.topic in names and end
            }
        )

    async def _end(self, ends: dict[TopicPartition, int]) -> None:
        """Members close; what they were done with at rest, up to `ends`, is committed."""
        simulation = self._simulation
        simulation.expired.clear()
        for member in list(simulation.members.values()):
            if not await simulation.close_member(member):
                simulation.findings.report("liveness", f"{member.name} does not close")
        reader: Consumer[bytes, bytes] = Consumer(
            self._base.bootstrap, group_id=GROUP, **self._base.client_ports("reader")
        )
        try:
            found = await reader.committed(ends)
        except TidelogError as error:
            simulation.findings.report("liveness", f"committed offsets: {error!r}")
            return
        for tp, end in ends.items():
            committed = found[tp]
            topic_id = self._base.image.topics[tp.topic].topic_id
            if (GROUP, (topic_id, tp.partition)) in simulation.expired:
                continue  # the last member that subscribed to it has gone, by a clock that is ahead
            # A produce request that comes late may have added to it since.
            if committed is None or committed.offset < end:
                what = f"{tp.topic}-{tp.partition}: {committed} is committed, its end is {end}"
                simulation.findings.report("committed", what)

    def _restless(self) -> Iterator[str]:
        yield from self._base.find_unsettled()
        yield from find_restless(self._simulation)

    async def _comes_to_rest(self, within_s: float, find_left: Callable[[], object]) -> bool:
        """Wait for it; a report when it takes too long."""
        base = self._base
        deadline_s = base.now_s + within_s
        while left := [*self._unready(), *find_left()]:  # type: ignore[misc]
            if base.now_s > deadline_s:
                base.findings.report("liveness", f"{within_s:.0f} s later: {'; '.join(left)}")
                return False
            await asyncio.sleep(LOOK_EVERY_S)
            base.restart_failed()
        return True

    def _unready(self) -> Iterator[str]:
        for broker_id in self._base.config.broker_ids:
            if broker_id not in self._base.image.brokers:
                yield f"broker {broker_id} is not registered"
