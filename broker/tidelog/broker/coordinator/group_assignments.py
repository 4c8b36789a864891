"""Assignments of groups of the consumer protocol: made in slices, then handed out step by step.

Works on a group from its change on until there is nothing left to do: has its assignor make the
target assignment, takes each connected member's next step towards it, and pushes what changed.
Decides nothing: see `TargetAssignment` and `ConsumerHeartbeats`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

from tidelog.broker.coordinator.append_refusals import is_final
from tidelog.broker.coordinator.assignors.validated import InvalidAssignmentError
from tidelog.broker.coordinator.classic_calls import CommitWait
from tidelog.broker.coordinator.consumer_heartbeats import HeartbeatDecision
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.member_streams import MemberKey, MemberStreams
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.runtime import Hosted
from tidelog.core.background import Background
from tidelog.core.env import Clock
from tidelog.core.errors import KafkaError, TidelogError
from tidelog.core.logs import get_logger

REST_PER_MEMBER_MS = 0.5
"""Time between two assignments of a group, for each of its members."""
STEPS_PER_SLICE = 50
"""Steps of members to their targets that share an append."""

log = get_logger(__name__)

HostedGroups: TypeAlias = Hosted[GroupShard]


class GroupAssignments:
    """Work on the groups of this broker, one task for each that has changed."""

    def __init__(
        self,
        streams: MemberStreams,
        *,
        committed: CommitWait,
        clock: Clock,
        background: Background,
    ) -> None:
        self._streams = streams
        self._committed = committed
        self._clock = clock
        self._background = background
        self._at_work: dict[tuple[HostedGroups, str], bool] = {}
        """Groups that are being assigned or advanced; True: look once more."""

    def touch(self, hosted: HostedGroups, group_id: str) -> None:
        """Have a group assigned and advanced, since it has changed."""
        key = (hosted, group_id)
        if key in self._at_work:
            self._at_work[key] = True
        elif group_id in hosted.shard.groups:
            self._at_work[key] = False
            self._background.spawn(f"group-{group_id}", self._work(hosted, group_id))

    async def _work(self, hosted: HostedGroups, group_id: str) -> None:
        key = (hosted, group_id)
        try:
            is_needed = True
            while is_needed:
                self._at_work[key] = False
                is_needed = await self._work_once(hosted, group_id) or self._at_work[key]
        except TidelogError as error:
            # The shard is over, or the internal topic takes no records now: heartbeats go on.
            log.info("group not advanced", group=group_id, error=str(error))
        finally:
            del self._at_work[key]

    async def _work_once(self, hosted: HostedGroups, group_id: str) -> bool:
        """Do what there is to do; True if there may be more."""
        await asyncio.sleep(0)  # members that join in the same step are assigned together
        live = hosted.shard.groups.get(group_id)
        if live is None:
            return False
        if live.state.needs_assignment:
            await self._rest(live)
            is_assigned = await self._assign(hosted, live)
            live.assigned_ms = self._clock.monotonic_ms()
            if not is_assigned:
                return False
        return await self._advance(hosted, group_id, live)

    async def _rest(self, live: LiveGroup) -> None:
        """Wait since the last assignment, the longer the larger the group.

        Each assignment is pushed to all members: a thousand that join one by one would get a
        million pushes.
        """
        rested_ms = self._clock.monotonic_ms() - live.assigned_ms
        wait_ms = len(live.state.members) * REST_PER_MEMBER_MS - rested_ms
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)

    async def _assign(self, hosted: HostedGroups, live: LiveGroup) -> bool:
        target = hosted.shard.target_of(live)
        try:
            while not target.is_done:
                records = target.next_slice()
                if hosted.shard.groups.get(live.state.group_id) is not live:
                    return False  # it was deleted
                hosted.append(records)
                await asyncio.sleep(0)
        except (InvalidAssignmentError, KafkaError) as error:
            if isinstance(error, KafkaError) and not is_final(error):
                raise
            live.failure = str(error)
            log.warning("no assignment", group=live.state.group_id, error=live.failure)
            return False
        live.failure = ""
        return True

    async def _advance(self, hosted: HostedGroups, group_id: str, live: LiveGroup) -> bool:
        """Take each connected member's next step and push it; True if one was taken."""
        has_moved = False
        members = list(live.state.members)
        for first in range(0, len(members), STEPS_PER_SLICE):
            steps = self._steps(hosted, live, members[first : first + STEPS_PER_SLICE])
            if steps:
                has_moved = True
                await self._committed(hosted, hosted.end_offset, is_write=True)
                for step in steps:
                    self._streams.push(MemberKey(group_id, step.reply.member_id), step.reply)
            await asyncio.sleep(0)
        return has_moved

    def _steps(
        self, hosted: HostedGroups, live: LiveGroup, member_ids: Iterable[str]
    ) -> list[HeartbeatDecision]:
        steps: list[HeartbeatDecision] = []
        now = Moment(self._clock.monotonic_ms(), self._clock.wall_ms())
        for member_id in member_ids:
            key = MemberKey(live.state.group_id, member_id)
            if member_id not in live.state.members or self._streams.find(key) is None:
                continue  # members without a stream take their steps at their heartbeats
            step = live.heartbeats.advance(member_id, now)
            if step is not None:
                hosted.append(step.records)
                steps.append(step)
        return steps
