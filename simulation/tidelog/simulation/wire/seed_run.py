"""A seed of the wire suite: the cluster suite's storm, with clients of Kafka's protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tidelog.chaos.workloads.plans import ProducerPlan
from tidelog.chaos.workloads.workload import Workload
from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.scenarios import STORM
from tidelog.simulation.cluster.seed_run import Guest, play
from tidelog.simulation.cluster.simulation import ClusterSimulation, NodeOptions
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig, draw_config
from tidelog.simulation.groups.simulation_config import ClassicTimes
from tidelog.simulation.suites.findings import Findings, SeedResult
from tidelog.simulation.wire import newcomer
from tidelog.simulation.wire.coverage import COVERAGE
from tidelog.simulation.wire.cramped import CRAMPED_PROBABILITY, cramped
from tidelog.simulation.wire.node_checks import NodeLimits
from tidelog.simulation.wire.server_tap import ServerTap
from tidelog.simulation.wire.strangers import Strangers
from tidelog.simulation.wire.wide_stranger import PROBABILITY, WideStranger
from tidelog.simulation.wire.wire_clients import WireClients, listeners
from tidelog.simulation.wire.wire_group import WireGroup, draw_group

ACKS_0_PROBABILITY = 0.4
"""Share of the seeds whose last producer, with acks 1, has acks 0 instead."""

BURST_MAX, PAUSE_S_MAX_LEAST = 4, 0.25
"""Producers of other suites send more than a storm of frames needs."""


def run_seed(
    seed: int,
    *,
    choice: str = STORM,
    engine: str = ENGINES[0],
    has_faults: bool = True,
    timeline_sink: Callable[[str], None] | None = None,
) -> SeedResult:
    """Run a storm under `seed`: see `cluster.seed_run.run_seed`.

    In the control nobody asks for less than a batch, or for no acknowledgement, and each seed has a
    group, as has one with a crowd.
    """
    random = SeededRandom(seed).fork("wire")
    drawn = _draw(random, has_faults=has_faults)
    config, times = drawn.config, drawn.times
    config = replace(config, raft=replace(config.raft, engine=engine))
    findings = Findings()
    limits = NodeLimits(
        answer_bytes_max=config.replica.unread.answer_bytes_max,
        member_bytes_max=config.groups.group_members_max_bytes,
    )
    tap = ServerTap(lambda: simulation.cluster.network.tap, findings.report, limits)
    simulation = ClusterSimulation(
        seed=seed,
        config=config,
        findings=findings,
        timeline_sink=timeline_sink,
        options=NodeOptions(listeners=listeners, on_built=tap.install),
    )
    clients = WireClients(simulation, random.fork("clients"), is_storm=has_faults)
    group: WireGroup | None = None
    if times is not None:
        group = clients.group(times)
        tap.of_group = group.tap
    workload = Workload(simulation, random.fork("workload"), clients)
    guest: Guest | None = group
    of_stranger = random.fork("stranger")
    if has_faults and of_stranger.random() < PROBABILITY:
        guest = WideStranger(simulation, of_stranger, beside=group)
    of_newcomer = drawn.newcomer
    company = random.fork("strangers")
    return play(
        simulation,
        workload,
        random,
        choice=choice if has_faults else "",
        coverage=COVERAGE,
        guest=guest,
        strangers=Strangers(simulation, company, clients.bootstrap, crowd=drawn.crowd),
        visitor=None
        if of_newcomer is None
        else newcomer.Newcomer(simulation, of_newcomer, clients.bootstrap).come,
    )


class _Drawn(NamedTuple):
    """A seed's configuration, and the randomness of who comes in some seeds alone."""

    config: ClusterSimulationConfig
    times: ClassicTimes | None
    crowd: SeededRandom | None
    newcomer: SeededRandom | None


def _draw(random: SeededRandom, *, has_faults: bool) -> _Drawn:
    config = _draw_load(random.fork("config"), has_faults=has_faults)
    crowd, of_newcomer = random.fork("crowd"), random.fork("newcomer")
    is_cramped = has_faults and crowd.random() < CRAMPED_PROBABILITY
    has_group = is_cramped or not has_faults
    config, times = draw_group(random.fork("group"), config, is_certain=has_group)
    # Among defaults at their worst a topic that states nothing promises nothing.
    has_newcomer = has_faults and of_newcomer.random() < newcomer.USED_PROBABILITY
    has_newcomer &= not config.cluster_defaults
    config = replace(config, creates_topics=has_newcomer)
    if is_cramped:
        config = cramped(crowd, config)
    return _Drawn(
        config, times, crowd if is_cramped else None, of_newcomer if has_newcomer else None
    )


def _draw_load(random: SeededRandom, *, has_faults: bool) -> ClusterSimulationConfig:
    config = draw_config(random, is_storm=True)
    producers = [_slowed(one) for one in config.producers]
    if has_faults and random.random() < ACKS_0_PROBABILITY:
        producers[-1] = replace(producers[-1], acks=0)
    return replace(config, producers=tuple(producers))


def _slowed(plan: ProducerPlan) -> ProducerPlan:
    return replace(
        plan,
        burst_max=min(plan.burst_max, BURST_MAX),
        pause_s_max=max(plan.pause_s_max, PAUSE_S_MAX_LEAST),
    )
