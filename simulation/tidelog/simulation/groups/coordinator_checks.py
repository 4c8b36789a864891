"""Coordinators seen from inside, after each step that changed one of their partitions.

    I24     no partition is held by two members, those that have not let go counted; the index of
            holders is that of the members; what a coordinator has committed, epochs included, no
            later one takes back
    I25     committed offsets do not go back
    replay  the log, and any compacted subset of it, gives the state in memory

Reads the nodes' objects and disks, never changes anything; no node knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import AWAY, PartitionId
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.offsets import CommittedOffset
from tidelog.broker.coordinator.runtime import Hosted, Status
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.node_inside import broker_of, held_by, log_of
from tidelog.core.chance import SeededRandom
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.groups.replayed_log import ReplayedLog, difference

COMPACTED_EVERY = 25
"""Looks between two comparisons with a compacted subset."""
CAUSES = {
    "joined": "members_joined",
    "left": "members_left",
    "silent": "members_expired",
    "lost its connection": "members_disconnected",
    "did not let go": "members_stuck",
    "changed its subscription": "subscriptions_changed",
    "subscribed topics changed": "topics_changed",
    "came back": "static_members_replaced",
}
"""Coverage by the words of a rebalance's cause."""


@dataclass(slots=True)
class Watched:
    """A partition that a process coordinates."""

    hosted: Hosted[GroupShard]
    machine: Machine
    replayed: ReplayedLog
    end_offset: int = -1
    is_committed: bool = False
    looks: int = 0
    rebalances: dict[str, int] = field(default_factory=dict)
    changed_ms: dict[str, int] = field(default_factory=dict)
    """By group, the time of its newest epoch, by the node's wall clock."""
    offsets: dict[tuple[str, PartitionId], tuple[str, CommittedOffset]] = field(
        default_factory=dict
    )


class Known(NamedTuple):
    """Committed state of a group, and by the coordinator of which leader epoch."""

    leader_epoch: int
    value: int


def coordinator_of(machine: Machine) -> GroupCoordinator | None:
    """The coordinator of a running broker."""
    broker = None if machine.node is None else broker_of(machine.node)
    return None if broker is None else broker.groups


def hosted_by(coordinator: GroupCoordinator) -> dict[int, Hosted[GroupShard]]:
    """Its partitions, by number."""
    return coordinator.runtime._hosted  # noqa: SLF001


class CoordinatorChecks:
    """Calls `report` for each violation, `count` for what a run is to meet."""

    def __init__(
        self,
        report: Report,
        count: Callable[[str], None],
        random: SeededRandom,
        *,
        retention_ms: int,
        may_go: Callable[[str, bytes], bool],
        on_gone: Callable[[str, PartitionId], None],
        on_group_gone: Callable[[str], None],
    ) -> None:
        """Begin; `may_go` of a group and a topic id says whether their offsets may go any time."""
        self._report = report
        self._count = count
        self._random = random
        self._retention_ms = retention_ms
        self._may_go = may_go
        self._on_gone = on_gone
        self._on_group_gone = on_group_gone
        self._watched: dict[tuple[int, int, int], Watched] = {}
        self._epochs: dict[str, Known] = {}
        self._member_epochs: dict[tuple[str, str], Known] = {}
        self._offsets: dict[tuple[str, PartitionId], Known] = {}

    def look(self, machine: Machine) -> None:
        """Check what changed in a node's partitions."""
        coordinator = coordinator_of(machine)
        if coordinator is None:
            return
        for partition, hosted in hosted_by(coordinator).items():
            if hosted.status is not Status.ACTIVE:
                continue
            key = (machine.node_id, machine.starts, partition)
            watched = self._watched.get(key)
            if watched is None or watched.hosted is not hosted:
                watched = self._begin(machine, hosted)
                if watched is None:
                    continue
                self._watched[key] = watched
            self._look_at(watched)

    def forget(self, group_id: str) -> None:
        """The group's offsets may go from now on, and begin again."""
        self._offsets = {key: one for key, one in self._offsets.items() if key[0] != group_id}

    def at_rest(self) -> None:
        """Compare each coordinator once more with its log, compacted."""
        for watched in self._watched.values():
            if watched.hosted.status is Status.ACTIVE:
                self._compare_compacted(watched)

    def newest(self) -> Iterator[GroupShard]:
        """The shards of the newest leader epochs."""
        newest: dict[int, Hosted[GroupShard]] = {}
        for watched in self._watched.values():
            hosted = watched.hosted
            held = newest.get(hosted.partition)
            if held is None or held.leadership.leader_epoch <= hosted.leadership.leader_epoch:
                newest[hosted.partition] = hosted
        return (one.shard for one in newest.values() if one.status is Status.ACTIVE)

    def _begin(self, machine: Machine, hosted: Hosted[GroupShard]) -> Watched | None:
        self._count("coordinator_loads")
        assert machine.node is not None  # it runs
        partition = held_by(machine.node).get((OFFSETS_TOPIC, hosted.partition))
        log = None if partition is None else log_of(partition)
        return None if log is None else Watched(hosted, machine, ReplayedLog(log, machine.disk))

    def _look_at(self, watched: Watched) -> None:
        hosted = watched.hosted
        is_committed = hosted.end_offset <= hosted.high_watermark
        if watched.end_offset == hosted.end_offset and watched.is_committed == is_committed:
            return
        if watched.end_offset != hosted.end_offset:
            watched.end_offset = hosted.end_offset
            self._on_append(watched)
        watched.is_committed = is_committed
        if is_committed:
            self._on_commit(hosted)

    def _on_append(self, watched: Watched) -> None:
        shard, replayed = watched.hosted.shard, watched.replayed
        for live in shard.groups.values():
            self._check_holders(live.state)
            self._note_causes(watched, live.state)
        self._check_gone(watched)
        self._check_groups_gone(watched)
        if not replayed.read_on(watched.hosted.end_offset):
            watched.end_offset = -1  # it is compared in the next step
            return
        if replayed.end < watched.hosted.end_offset:
            self._report("replay", f"the log ends at {replayed.end}, not {watched.end_offset}")
        different = difference(shard, replayed.shard)
        if different is not None:
            self._report("replay", f"in memory, not by the log: {different}")
        watched.looks += 1
        if watched.looks % COMPACTED_EVERY == 0:
            self._compare_compacted(watched)

    def _compare_compacted(self, watched: Watched) -> None:
        compacted = watched.replayed.compacted(self._random)
        different = difference(watched.replayed.shard, compacted)
        if different is not None:
            self._report("replay", f"by the log, not by a compacted one: {different}")

    def _check_holders(self, group: ConsumerGroup) -> None:
        holders: dict[PartitionId, str] = {}
        for member in group.members.values():
            for one in member.held:
                if one in holders:
                    two = f"{holders[one]} and {member.member_id}"
                    self._report("I24", f"{one[0].hex()}-{one[1]} is held by {two}")
                holders[one] = member.member_id
        if holders != group._holders:  # noqa: SLF001
            self._report("I24", f"holders {group._holders} are not {holders}")  # noqa: SLF001

    def _note_causes(self, watched: Watched, group: ConsumerGroup) -> None:
        known = watched.rebalances.get(group.group_id, 0)
        rebalances = group.state.rebalances
        if rebalances and rebalances[-1].epoch > known:
            if known:
                for one in rebalances:
                    if one.epoch > known:
                        self._count_cause(one.cause)
            watched.rebalances[group.group_id] = rebalances[-1].epoch

    def _count_cause(self, cause: str) -> None:
        for words, event in CAUSES.items():
            if words in cause:
                self._count(event)

    # What was committed stays

    def _on_commit(self, hosted: Hosted[GroupShard]) -> None:
        leader_epoch = hosted.leadership.leader_epoch
        for name, live in hosted.shard.groups.items():
            group = live.state
            before = self._epochs.get(name)
            now = Known(leader_epoch, group.state.epoch)
            if self._is_later(before, now, f"epoch of group {name}"):
                self._epochs[name] = now
            for member_id, member in group.members.items():
                if member.epoch == AWAY:
                    continue
                key = (name, member_id)
                of_member = Known(leader_epoch, member.epoch)
                if self._is_later(
                    self._member_epochs.get(key), of_member, f"epoch of member {member_id}"
                ):
                    self._member_epochs[key] = of_member
        for name, classic in hosted.shard.classic.by_id.items():
            generation = Known(leader_epoch, classic.state.recorded.generation)
            what = f"generation of group {name}"
            if self._is_later(self._epochs.get(name), generation, what):
                self._epochs[name] = generation
        self._check_offsets(hosted)

    def _check_offsets(self, hosted: Hosted[GroupShard]) -> None:
        leader_epoch = hosted.leadership.leader_epoch
        for name, offsets in hosted.shard.offsets._by_group.items():  # noqa: SLF001
            for partition, (topic, committed) in offsets.items():
                key = (name, partition)
                now = Known(leader_epoch, committed.offset)
                what = f"offset of {topic}-{partition[1]}, group {name}"
                if self._is_later(self._offsets.get(key), now, what, invariant="I25"):
                    self._offsets[key] = now

    def _check_gone(self, watched: Watched) -> None:
        """Offsets may go when they have expired, or their topic is gone."""
        shard = watched.hosted.shard
        offsets = {
            (group_id, partition): held
            for group_id, of_group in shard.offsets._by_group.items()  # noqa: SLF001
            for partition, held in of_group.items()
        }
        before, watched.offsets = watched.offsets, offsets
        now_ms = watched.machine.clock.wall_ms()
        for key, (topic, committed) in before.items():
            if key in offsets:
                continue
            group_id, partition = key
            self._offsets.pop(key, None)
            self._on_gone(group_id, partition)
            if self._may_go(group_id, partition[0]):
                continue
            why = self._why_kept(shard, group_id, topic, now_ms - committed.committed_ms)
            if why is not None:
                what = f"{topic}-{partition[1]}, group {group_id}"
                self._report("I25", f"the offset of {what} is gone: {why}")
            self._count("offsets_expired")

    def _check_groups_gone(self, watched: Watched) -> None:
        """Groups may go when nobody has been in them for the retention: epochs begin again."""
        shard = watched.hosted.shard
        groups = {
            **{name: live.state.changed_ms for name, live in shard.groups.items()},
            **{name: one.state.recorded.since_ms for name, one in shard.classic.by_id.items()},
        }
        before, watched.changed_ms = watched.changed_ms, groups
        for name, changed_ms in before.items():
            if name in groups:
                continue
            age_ms = watched.machine.clock.wall_ms() - changed_ms
            if age_ms < self._retention_ms:
                self._report("I24", f"group {name} is gone, {age_ms} ms after its newest epoch")
            self._count("groups_expired")
            self._epochs.pop(name, None)
            self._on_group_gone(name)
            gone = [key for key in self._member_epochs if key[0] == name]
            for key in gone:
                del self._member_epochs[key]

    def _why_kept(self, shard: GroupShard, group_id: str, topic: str, age_ms: int) -> str | None:
        live = shard.group(group_id)
        if live is not None and topic in live.topics:
            return "the group is subscribed to the topic"
        if age_ms < self._retention_ms:
            return f"it was committed {age_ms} ms ago"
        return None

    def _is_later(
        self, before: Known | None, now: Known, what: str, *, invariant: str = "I24"
    ) -> bool:
        """True if it is news; a report where it goes back. One deposed has old news."""
        if before is None:
            return True
        if now.leader_epoch < before.leader_epoch:
            return False
        if now.value < before.value:
            self._report(invariant, f"{what} went back from {before} to {now}")
        return True
