"""Simulation of one seed of groups: the cluster, its topics, the group's members, all checks.

Owns what faults, members and checks share, and which checks run at which step; decides nothing by
itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.consumer_member import PartitionId
from tidelog.core.chance import SeededRandom, shuffled
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.simulation import ClusterSimulation, NodeOptions, Violated
from tidelog.simulation.engine.network import Host
from tidelog.simulation.engine.scheduler import SchedulerLimits
from tidelog.simulation.groups.call_notes import describe_call
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_group import ClassicGroup
from tidelog.simulation.groups.classic_plain import PlainWays
from tidelog.simulation.groups.commits import CommitChecks
from tidelog.simulation.groups.coordinator_checks import (
    CoordinatorChecks,
    coordinator_of,
    hosted_by,
)
from tidelog.simulation.groups.coordinator_nodes import coordinator_node
from tidelog.simulation.groups.handouts import Handouts
from tidelog.simulation.groups.late_requests import LateRequests
from tidelog.simulation.groups.member_process import MemberParts, MemberProcess
from tidelog.simulation.groups.ownership import OwnershipChecks
from tidelog.simulation.groups.simulation_config import (
    CLASSIC_GROUP,
    GROUP,
    TOOL_GROUP,
    GroupsConfig,
    MemberPlan,
)
from tidelog.simulation.groups.traffic import Traffic
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

LIMITS = SchedulerLimits(steps=3_000_000, virtual_s=600.0)
CLOSE_S_MAX = 30.0
POLL_S = 0.02


class GroupsSimulation:
    """The world of one seed."""

    def __init__(
        self,
        *,
        seed: int,
        config: GroupsConfig,
        findings: Findings,
        timeline_sink: Callable[[str], None] | None,
    ) -> None:
        self.config = config
        self.findings = findings
        self.random = SeededRandom(seed).fork("groups")
        self.base = ClusterSimulation(
            seed=seed,
            config=config.cluster,
            findings=findings,
            timeline_sink=timeline_sink,
            options=NodeOptions(limits=LIMITS),
        )
        count = self.base.count_event
        report = findings.report
        self.handouts = Handouts(report, count)
        self._parts = MemberParts(self.base, self.handouts, self.random, config.assignor)
        self.traffic = Traffic(self.base, config.topics, self.random.fork("traffic"))
        self.traffic.pause_s_max = config.produce_pause_s_max
        self.members: dict[str, MemberProcess] = {}
        """Running processes by the name of their plan; in the order of their starts."""
        self.commits = CommitChecks(report, count, self.handouts, self.traffic)
        self.expired: set[tuple[str, PartitionId]] = set()
        """Offsets that have gone because nobody subscribed to their topics."""
        self._late_requests = LateRequests(report, count)
        self.coordinators = CoordinatorChecks(
            report,
            count,
            self.random.fork("compaction"),
            retention_ms=config.groups.retention_ms,
            may_go=self._may_go,
            on_gone=self._on_offset_gone,
            on_group_gone=self._on_group_gone,
        )
        self._ownership = OwnershipChecks(
            self.members.values, self.traffic.incarnation_of, report, count
        )
        self.classic: ClassicGroup | None = None
        """None: the seed has no group of the classic protocol."""
        if config.classic is not None:
            random = self.random.fork("classic")
            self.classic = ClassicGroup(
                self.base,
                config.classic,
                ClassicChecks(report, count),
                random,
                shards=self.coordinators.newest,
                ways=PlainWays(random),
            )
        self._starts = 0
        self._by_loop: dict[object, MemberProcess] = {}
        self._breaks: dict[str, tuple[MemberProcess, int]] = {}
        self.base.cluster.network.tap = self.on_call
        self.base.cluster.scheduler.after_step = self._after_step

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.base.now_s

    # Members

    def free_plans(self) -> list[MemberPlan]:
        """Plans without a running process."""
        return [plan for plan in self.config.members if plan.name not in self.members]

    def draw_topics(self) -> Sequence[str]:
        """Draw a subscription: mostly every topic."""
        names = list(self.traffic.topics)
        if self.random.random() < 0.7:
            return names
        return sorted(shuffled(self.random, names)[: self.random.randrange(1, len(names) + 1)])

    def start_member(self, plan: MemberPlan, topics: Sequence[str] | None = None) -> MemberProcess:
        """Start a process under a plan that has none."""
        self._starts += 1
        member = MemberProcess(self._parts, plan, self._starts, topics or self.draw_topics())
        self.base.note(member.name, f"starts {plan.style} {plan.instance_id} {member.topics}")
        self.members[plan.name] = member
        self._by_loop[member.host.loop] = member
        return member

    def kill_member(self, member: MemberProcess) -> bool:
        """End a process at once; False if it has ended already."""
        if self.members.get(member.plan.name) is not member:
            return False
        self.base.note(member.name, "ends")
        del self.members[member.plan.name]
        del self._by_loop[member.host.loop]
        self.base.client_processes.remove(member.name)
        self.base.cluster.end_client_process(member.host)
        return True

    async def close_member(self, member: MemberProcess) -> bool:
        """Let a member close in order; False if it took too long, and was killed."""
        member.begin_close()
        deadline_s = self.now_s + CLOSE_S_MAX
        while not member.is_over:
            if self.now_s > deadline_s or self.members.get(member.plan.name) is not member:
                self.kill_member(member)
                return False
            await asyncio.sleep(POLL_S)  # on another loop
        return self.kill_member(member)

    # Coordinators

    def coordinator_node(self) -> int | None:
        """The node that leads the group's partition, by the newest image."""
        return coordinator_node(self.base.image, GROUP)

    def live_group(self) -> LiveGroup | None:
        """The group at its newest coordinator."""
        for shard in self.coordinators.newest():
            if GROUP in shard.groups:
                return shard.groups[GROUP]
        return None

    def forget(self, group_id: str) -> None:
        """The group's offsets may go from now on, and begin again."""
        self.commits.forget(group_id)
        self.coordinators.forget(group_id)

    def _on_offset_gone(self, group_id: str, partition: PartitionId) -> None:
        self.expired.add((group_id, partition))
        self.commits.forget_one(group_id, partition)
        if self.classic is not None and group_id == CLASSIC_GROUP:
            self.classic.checks.forget_one(partition)

    def _on_group_gone(self, group_id: str) -> None:
        if self.classic is not None and group_id == CLASSIC_GROUP:
            self.classic.checks.forget()

    def _may_go(self, group_id: str, topic_id: bytes) -> bool:
        return group_id == TOOL_GROUP or self.base.image.topic_by_id(topic_id) is None

    # Checks

    def _after_step(self) -> None:
        loop = asyncio._get_running_loop()  # noqa: SLF001
        member = self._by_loop.get(loop)
        if member is not None:
            self._look_at_member(member)
        elif self.classic is not None and (one := self.classic.by_loop().get(loop)) is not None:
            failure = one.failure()
            if failure is not None:
                self.findings.report("application", f"{one.name}: {failure!r}")
        else:
            for machine in self.base.cluster.machines.values():
                if machine.host is not None and machine.host.loop is loop:
                    self._look_at_node(machine)
        if self.findings.violations:
            raise Violated

    def _look_at_member(self, member: MemberProcess) -> None:
        self._ownership.look(member)
        failure = member.failure()
        if failure is not None:
            self.findings.report("application", f"{member.name}: {failure!r}")
        if member.is_excused and member.membership.epoch == 0:
            member.is_excused = False

    def _look_at_node(self, machine: Machine) -> None:
        coordinator = coordinator_of(machine)
        if coordinator is None or not coordinator.runtime._hosted:  # noqa: SLF001
            return
        self.coordinators.look(machine)
        if self.classic is not None:
            self.classic.checks.look(coordinator, machine)
        for hosted in hosted_by(coordinator).values():
            live = hosted.shard.groups.get(GROUP)
            if live is not None:
                self._note_breaks(live)

    def _note_breaks(self, live: LiveGroup) -> None:
        """Excuse members whose connection the coordinator saw break, and they not yet."""
        sessions = live.sessions._by_member  # noqa: SLF001
        for member in self.members.values():
            session = sessions.get(member.membership.member_id)
            if session is None:
                continue
            if session.disconnected_ms is None:
                member.is_excused = False
            elif not member.is_excused and member.lease.broken_s is None:
                member.is_excused = True

    def on_call(self, server: Host, request: object, response: object) -> None:
        """Called by the network for each call at its server, see `SimNetwork.tap`."""
        if self.base.is_diary_read:
            words = describe_call(request, response)
            if words is not None:
                self.base.note(server.name, words)
        if not isinstance(
            request, OffsetCommitRequest | OffsetFetchRequest | ConsumerGroupHeartbeatRequest
        ):
            return
        for machine in self.base.cluster.machines.values():
            coordinator = coordinator_of(machine) if machine.host is server else None
            if coordinator is not None:
                self.commits.on_call(coordinator, request, response)
                self._late_requests.on_call(coordinator, request, response)
