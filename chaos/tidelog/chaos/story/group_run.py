"""The group of a running scenario: its verbs, waits and conditions, on any cluster."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from tidelog.broker.coordinator.group_key import partition_of
from tidelog.chaos.story.group_port import GroupPort
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.workloads.group_looks import GroupView
from tidelog.client.groups.group_state import GroupDescription
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.history.history import Assignment, Change
from tidelog.metadata.image import PartitionImage

STABLE = "Stable"
STABLE_S_MAX = 10.0
"""Within this time a group is stable again, however its coordinator or a member ended."""


class GroupRun:
    """See the module. Without a group: `LookupError`."""

    def __init__(self, run: ScenarioRun) -> None:
        group = run.load.group
        if group is None:
            raise LookupError("the scenario needs a group")
        self.port: GroupPort = group
        self._run = run

    # Its coordinator

    @property
    def _offsets_partition(self) -> PartitionImage:
        topic = self._run.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            raise LookupError(f"no {OFFSETS_TOPIC}")
        return topic.partitions[partition_of(self.port.group_id, len(topic.partitions))]

    @property
    def coordinator(self) -> int:
        """The leader of the group's partition; `LookupError`: there is none."""
        leader_id = self._offsets_partition.leader_id
        if leader_id is None:
            raise LookupError(f"nobody coordinates {self.port.group_id}")
        return leader_id

    def is_coordinated_by_another(self, node_id: int) -> bool:
        """True if another node leads the group's partition, as far as anyone knows."""
        return self._offsets_partition.leader_id not in (None, node_id)

    async def another_coordinates(self, node_id: int) -> None:
        """It must come to that."""
        run = self._run
        await run.must_come(
            lambda: self.is_coordinated_by_another(node_id),
            "another coordinates",
            within_s=run.failover_s,
        )

    async def in_sync(self) -> None:
        """Wait until every replica of the group's partition is in the ISR."""
        await self._run.must_come(self._is_whole, "the internal topic is in sync")

    def _is_whole(self) -> bool:
        partition = self._offsets_partition
        return len(partition.isr) == len(partition.replicas)

    # Its state, as its coordinator describes it

    @property
    def seen(self) -> GroupDescription:
        """The newest description; `LookupError`: there is none."""
        if self.port.view is None:
            raise LookupError(f"nobody has described {self.port.group_id}")
        return self.port.view.group

    def seen_since(self, since_s: float, what: Callable[[GroupDescription], object]) -> bool:
        """True if a description that was asked for since then is so."""
        view: GroupView | None = self.port.view
        return view is not None and view.at_s >= since_s and bool(what(view.group))

    async def comes(self, what: Callable[[GroupDescription], object], said: str) -> None:
        """Wait for what the story needs, as described from now on."""
        since_s = self._run.now_s
        await self._run.comes(lambda: self.seen_since(since_s, what), said)

    async def is_stable_again(
        self, members: int, what: str = "stable again", *, within_s: float = STABLE_S_MAX
    ) -> GroupDescription:
        """It must come to that, with so many members: each has its part, and all is given."""
        since_s = self._run.now_s
        await self._run.must_come(
            lambda: self.seen_since(since_s, lambda group: self.is_balanced(group, members)),
            what,
            within_s=within_s,
        )
        return self.seen

    async def goes_over(self, node_id: int, members: int) -> None:
        """Members must go over to another coordinator than this one, and be stable there."""
        since_s = self._run.now_s
        await self._run.must_come(
            lambda: self.seen_since(
                since_s,
                lambda group: group.coordinator != node_id and self.is_balanced(group, members),
            ),
            "stable at another coordinator",
            within_s=2 * self.port.session_s,
        )

    def is_balanced(self, group: GroupDescription, members: int) -> bool:
        """True if it is stable with so many members, whose parts differ by one at most."""
        parts = [one.assignment for one in group.members]
        given = sorted(one.partition for one in chain.from_iterable(parts))
        sizes = [len(one) for one in parts] or [0]
        return (
            group.state == STABLE
            and len(group.members) == members
            and given == list(range(self.port.partitions))
            and max(sizes) - min(sizes) <= 1
            and all(one.epoch == group.epoch for one in group.members)
        )

    # Its members, as they believe

    def changes(self, change: Change, since_s: float, *names: str) -> list[Assignment]:
        """Partitions of these members that came or went since then; without names, of all."""
        return [
            one
            for one in reversed(self.port.assignments)
            if one.at_s >= since_s
            and one.change == change
            and one.process in (names or [one.process])
        ]

    def stands_still(self, name: str, since_s: float) -> bool:
        """True if a member has done nothing since then, though others have."""
        last_s = self.port.last_calls_s
        others = [at_s for one, at_s in last_s.items() if one != name]
        return last_s.get(name, 0.0) <= since_s < max(others, default=0.0)

    async def kill(self, name: str) -> None:
        """SIGKILL of a member."""
        self._run.strike("kill-member", name)
        await self.port.kill(name)
        self._run.over("kill-member", name)

    async def pause(self, name: str) -> None:
        """SIGSTOP of a member."""
        self._run.strike("pause-member", name)
        await self.port.pause(name)

    async def resume(self, name: str) -> None:
        """SIGCONT of a member."""
        await self.port.resume(name)
        self._run.over("pause-member", name)
