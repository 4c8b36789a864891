"""The classic group of a seed whose members speak frames: its ways, its checks, its rest.

The groups suite's group (`groups.classic_group`) with its members, what strikes them and what must
hold of generations and commits. Here members read what the producers write, and at rest each record
was handed out and the end of each partition is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.chaos.faults.drawer import Span
from tidelog.chaos.workloads.plans import STEADY, TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.simulation import ClusterSimulation, Violated
from tidelog.simulation.cluster.simulation_config import (
    REPLICATION_FACTOR,
    ClusterSimulationConfig,
    offsets_min_insync,
)
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.engine.network import Host, Lateness
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_group import ClassicGroup, ClassicWays
from tidelog.simulation.groups.classic_member import ClassicMember
from tidelog.simulation.groups.classic_port import MemberPorts
from tidelog.simulation.groups.commits import shard_of
from tidelog.simulation.groups.coordinator_checks import coordinator_of
from tidelog.simulation.groups.log_ends import high_watermark
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP, ClassicTimes
from tidelog.simulation.wire.group_calls import FrameCalls
from tidelog.simulation.wire.group_frames import draw_versions as draw_group_versions
from tidelog.simulation.wire.group_reading import HANDED_OUT, HandedOut, MemberReading
from tidelog.simulation.wire.group_tap import GroupTap
from tidelog.simulation.wire.leader_claims import ClaimChecks
from tidelog.simulation.wire.tool_commits import ToolCommits
from tidelog.simulation.wire.versions import draw_versions
from tidelog.simulation.wire.wire_client import WireClient
from tidelog.simulation.wire.wire_reader import WireReader

GROUP_PROBABILITY = 0.35
"""Share of the seeds that have a group."""
OFFSETS_SEGMENT_BYTES = 30_000
LATE_S, LATE_FOR_S = Span(0.1, 3.0), Span(0.5, 4.0)
LATE_PROBABILITY = 0.5
FINAL_S_MAX, LOOK_EVERY_S = 10.0, 0.1
SHOWN_MAX = 5
IDS_FROM = 10
"""First version of Metadata that tells topics' ids."""


def draw_group(
    random: SeededRandom, config: ClusterSimulationConfig, *, is_certain: bool
) -> tuple[ClusterSimulationConfig, ClassicTimes | None]:
    """Draw a group for some seeds, or for certain, and brokers with times as short as its."""
    if random.random() >= GROUP_PROBABILITY and not is_certain:
        return config, None
    times = ClassicTimes(
        members=random.randrange(2, 4),
        session_timeout_ms=random.randrange(1_500, 4_000),
        rebalance_timeout_ms=random.randrange(2_000, 6_000),
    )
    factor = min(REPLICATION_FACTOR, len(config.broker_ids))
    groups = GroupConfig(
        offsets_topic_replication_factor=factor,
        offsets_topic_num_partitions=random.randrange(1, 3),
        offsets_topic_segment_bytes=OFFSETS_SEGMENT_BYTES,
        offsets_commit_timeout_ms=random.randrange(500, 4_000),
        group_min_session_timeout_ms=1_000,
        group_initial_rebalance_delay_ms=300,
    )
    offsets = TopicPlan(
        name=OFFSETS_TOPIC,
        partitions=groups.offsets_topic_num_partitions,
        min_insync_replicas=offsets_min_insync(factor),
        is_flushed=False,
        is_lossy=False,
        segment_bytes=OFFSETS_SEGMENT_BYTES,
        index_interval_bytes=1_000,
    )
    return replace(config, groups=groups, internal_topics=(offsets,)), times


class FrameWays:
    """See `ClassicWays`."""

    topic = STEADY

    def __init__(
        self,
        base: ClusterSimulation,
        claims: ClaimChecks,
        handed: HandedOut,
        random: SeededRandom,
        *,
        bootstrap: list[str],
        is_foreign: bool,
    ) -> None:
        self._is_foreign = is_foreign
        self._base = base
        self._claims = claims
        self._handed = handed
        self._random = random
        self._bootstrap = bootstrap
        self.static_members = random.randrange(0, 2)

    def begin(
        self, group: ClassicGroup, host: Host, random: SeededRandom, *, is_static: bool
    ) -> MemberPorts:
        """See `ClassicWays.begin`."""
        del group
        versions = draw_versions(random, needs_ids=False)
        of_groups = draw_group_versions(
            random,
            is_static=is_static,
            knows_static=self.static_members > 0,
            has_ids=versions.metadata >= IDS_FROM,
        )
        dialer = SimDialer(network=self._base.cluster.network, host=host)

        def client() -> WireClient:
            return WireClient(
                host.name,
                self.topic,
                dialer,
                self._bootstrap,
                replace(versions, of_groups=of_groups),
                self._claims,
                random,
            )

        reader = WireReader(client(), random, is_lossy=False, is_foreign=False)
        reading = MemberReading(host.name, reader, self._handed, host.loop, random)
        tool = ToolCommits(client(), random.fork("tool")) if self._is_foreign else None
        return MemberPorts(FrameCalls(client(), CLASSIC_GROUP, tool), reading)

    async def be_late(self, group: ClassicGroup, place: int, member: ClassicMember) -> None:
        """Have the member's requests to its coordinator late, while others come and go.

        Connections keep their order: a request is late when its connection was given up.
        """
        node_id = group.coordinator()
        if node_id is None:
            return
        group.count_fault("classic_late", member)
        link = member.name, self._base.machine(node_id).name
        lateness = self._base.cluster.network.lateness
        lateness[link] = Lateness(LATE_PROBABILITY, *LATE_S)
        before = 0 if member.joined is None else member.joined.generation
        if self._random.random() < 0.5:
            await group.replace_other(place, lambda: member.is_beyond(before))
        else:
            await asyncio.sleep(LATE_FOR_S.draw(self._random))
        lateness.pop(link, None)


class WireGroup:
    """See the module; also a `Guest` of the storm."""

    def __init__(
        self,
        base: ClusterSimulation,
        times: ClassicTimes,
        claims: ClaimChecks,
        random: SeededRandom,
        *,
        bootstrap: list[str],
        is_foreign: bool,
    ) -> None:
        """Begin; `is_foreign`: a tool commits beside the members."""
        report, count = base.findings.report, base.count_event
        self._base = base
        self._handed = HandedOut(STEADY, report, count)
        self._checks = ClassicChecks(report, count)
        ways: ClassicWays = FrameWays(
            *(base, claims, self._handed, random), bootstrap=bootstrap, is_foreign=is_foreign
        )
        self._group = ClassicGroup(
            base, times, self._checks, random, shards=self._shards, ways=ways
        )
        self.tap = GroupTap(self._checks, report, topic=STEADY, topic_id=self._topic_id)
        self._of_nodes = base.cluster.scheduler.after_step
        base.cluster.scheduler.after_step = self._after_step

    # See `Guest`

    def begin(self) -> None:
        """See `Guest.begin`."""
        self._group.start_all()

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """See `Guest.strike_until`."""
        await self._group.strike_until(is_over)

    def find_restless(self) -> Iterator[str]:
        """See `Guest.find_restless`."""
        yield from self._group.find_restless()
        topic_id, count = self._group.partition_ids()
        owned = sum(len(one.owned or ()) for one in self._group.members if one is not None)
        if owned != count:
            yield f"the classic group owns {owned} of {count} partitions"
        for number in range(count):
            end = high_watermark(self._base, STEADY, number)
            committed = self._committed(topic_id, number)
            if end and committed != end:
                yield f"{STEADY}-{number} ends at {end}, {committed} is committed"

    async def at_rest(self) -> None:
        """See `Guest.at_rest`."""
        deadline_s = self._base.now_s + FINAL_S_MAX
        while missing := list(self._handed.find_missing(self._base.history.polls)):
            if self._base.now_s > deadline_s:
                shown = ", ".join(missing[:SHOWN_MAX])
                what = f"{len(missing)} records were handed to no member: {shown}"
                self._base.findings.report(HANDED_OUT, what)
                return
            await asyncio.sleep(LOOK_EVERY_S)

    # Looks

    def _topic_id(self) -> bytes:
        return self._group.partition_ids()[0]

    def _committed(self, topic_id: bytes, partition: int) -> int | None:
        for shard in self._shards():
            offsets = shard.offsets._by_group.get(CLASSIC_GROUP, {})  # noqa: SLF001
            held = offsets.get((topic_id, partition))
            return None if held is None else held[1].offset
        return None

    def _shards(self) -> Iterator[GroupShard]:
        node_id = self._group.coordinator()
        coordinator = None if node_id is None else coordinator_of(self._base.machine(node_id))
        shard = None if coordinator is None else shard_of(coordinator, CLASSIC_GROUP)
        if shard is not None:
            yield shard

    def _after_step(self) -> None:
        if self._of_nodes is not None:
            self._of_nodes()
        loop = asyncio._get_running_loop()  # noqa: SLF001
        member = self._group.by_loop().get(loop)
        if member is not None:
            self._look_at_member(member)
        else:
            for machine in self._base.cluster.machines.values():
                if machine.host is not None and machine.host.loop is loop:
                    self._look_at_node(machine)
        if self._base.findings.violations:
            raise Violated

    def _look_at_member(self, member: ClassicMember) -> None:
        failure = member.failure()
        if failure is not None:
            self._base.findings.report("application", f"{member.name}: {failure!r}")

    def _look_at_node(self, machine: Machine) -> None:
        coordinator = coordinator_of(machine)
        if coordinator is not None and coordinator.runtime._hosted:  # noqa: SLF001
            self._checks.look(coordinator, machine)
