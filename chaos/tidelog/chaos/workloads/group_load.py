"""The group of a story: its members, what is done to them, its rest at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from tidelog.chaos.workloads.group_book import GroupBook
from tidelog.chaos.workloads.group_looks import GroupLooks, GroupView, LateCommit
from tidelog.chaos.workloads.group_member import MemberProcess
from tidelog.chaos.workloads.plans import (
    GROUP,
    GROUP_SESSION_MS,
    MEMBER,
    SHARED,
    GroupPlan,
    MemberPlan,
)
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.history.history import Assignment, Commit

REST_POLL_S = 0.2
MEMBERS_MAX = 1_000
"""Members that one run starts at most."""


class GroupLoad:
    """See `GroupPort` for what stories do."""

    def __init__(
        self, port: WorkloadPort, plan: GroupPlan, *, next_number: Callable[[], int]
    ) -> None:
        self.group_id = GROUP
        self.topic = SHARED
        self.partitions = plan.partitions
        self.session_s = GROUP_SESSION_MS / 1000
        self.is_finished = False
        """Everything was read and committed, and the members have left."""
        self._port = port
        self._plan = plan
        self._book = GroupBook(port, next_number)
        self._looks = GroupLooks(port, self._book, partitions=plan.partitions)
        self._members: dict[str, MemberProcess] = {}
        self._paused: set[str] = set()
        self._started = 0
        self._failures: list[str] = []

    async def begin(self) -> None:
        """Start the members, and look at the group from now on."""
        await self.start(self._plan.members)
        self._looks.start()

    # Seen

    @property
    def members(self) -> Sequence[str]:
        """See `GroupPort`."""
        return list(self._members)

    @property
    def view(self) -> GroupView | None:
        """See `GroupPort`."""
        return self._looks.view

    @property
    def assignments(self) -> Sequence[Assignment]:
        """See `GroupPort`."""
        return self._book.assignments

    @property
    def commits(self) -> Sequence[Commit]:
        """See `GroupPort`."""
        return self._port.history.commits

    @property
    def last_calls_s(self) -> Mapping[str, float]:
        """See `GroupPort`."""
        return self._book.last_calls_s

    @property
    def failures(self) -> list[str]:
        """Members that ended by themselves, and why."""
        ends = {name: one.end for name, one in self._members.items()}
        return [*self._failures, *(f"{name}: {end}" for name, end in ends.items() if end)]

    def held_by(self, name: str) -> list[int]:
        """See `GroupPort`."""
        return self._book.held_by(name)

    # Done to members

    async def start(self, count: int) -> list[str]:
        """See `GroupPort`."""
        if self._started + count > MEMBERS_MAX:
            raise ValueError(f"a run starts {MEMBERS_MAX} members at most")
        names = [f"{MEMBER}-{self._started + number}" for number in range(1, count + 1)]
        self._started += count
        self._port.note("group", f"{_shown(names)} start")
        for name in names:
            plan = MemberPlan(
                name,
                letting_go_s=self._plan.letting_go_s,
                request_timeout_ms=self._plan.request_timeout_ms,
            )
            self._members[name] = self._port.start_member(
                plan, self._book.of(name), has_process=self._plan.has_processes
            )
        return names

    async def stop(self, *names: str) -> None:
        """See `GroupPort`."""
        self._port.note("group", f"{_shown(names)} leave")
        await asyncio.gather(*(self._end(name, self._members[name].stop) for name in names))

    async def kill(self, *names: str) -> None:
        """See `GroupPort`."""
        await asyncio.gather(*(self._end(name, self._members[name].kill) for name in names))
        for name in names:
            self._book.end_member(name)

    async def _end(self, name: str, end: Callable[[], Awaitable[None]]) -> None:
        await end()
        member = self._members.pop(name)
        self._paused.discard(name)
        if member.end is not None:
            self._failures.append(f"{name}: {member.end}")

    async def pause(self, name: str) -> None:
        """See `GroupPort`."""
        self._paused.add(name)
        await self._members[name].pause()

    async def resume(self, name: str) -> None:
        """See `GroupPort`."""
        if name in self._paused:
            self._paused.remove(name)
            await self._members[name].resume()

    async def commit_late(self, late: LateCommit, node_id: int) -> int:
        """See `GroupPort`."""
        return await self._looks.commit_late(late, node_id)

    # Its rest

    async def finish(self) -> None:
        """Wait until members have read and committed everything; then they leave.

        Those that are paused go on first; without any, one is started. Takes as long as it takes.
        """
        for name in sorted(self._paused):
            await self.resume(name)
        if not self._members:
            await self.start(1)
        while not await self._looks.is_all_committed():  # noqa: ASYNC110  # of other processes
            await asyncio.sleep(REST_POLL_S)
        await self._looks.look_up(is_final=True)
        await self.stop(*self.members)
        await self._looks.stop()
        self.is_finished = True

    async def close(self) -> None:
        """Release the clients that look at it."""
        await self._looks.close()

    async def abandon(self) -> None:
        """End what is left of it when a run broke off."""
        for member in self._members.values():
            member.abandon()
        await self._looks.stop()

    def write_pending(self) -> None:
        """Write down commits that never ended."""
        self._book.write_pending()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 10 else f"{names[0]} to {names[-1]}"
