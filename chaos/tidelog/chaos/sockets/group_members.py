"""Members of a group on sockets: a task of the run's own process, or a process each.

A task cannot be paused or killed as a process is: only its whole process could be.
"""

from __future__ import annotations

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.member_setup import MemberSetup
from tidelog.chaos.story.scenario_run import UnsupportedFaultError
from tidelog.chaos.workloads.group_member import GroupMember, MemberBook
from tidelog.client.unwinding import unwind
from tidelog.history.history import Assignment, Commit, Poll
from tidelog.history.history_lines import End, call_or_end_of
from tidelog.node.last_words import last_words

READ_EVERY_S = 0.05
STOP_S_MAX, KILL_S_MAX = 30.0, 10.0
NO_PROCESS = "this member has no process of its own: give the scenario's group has_processes"


async def _nothing() -> None:
    """Close nothing."""


class TaskMember:
    """`MemberProcess` in the run's own process."""

    def __init__(
        self, member: GroupMember, close: Callable[[], Awaitable[None]] = _nothing
    ) -> None:
        """Begin; `close` is awaited when it has ended."""
        self._member = member
        self._close = close
        self._task = asyncio.create_task(member.run(), name="member")

    @property
    def end(self) -> str | None:
        """See `MemberProcess`."""
        if not self._task.done() or self._task.cancelled():
            return None
        error = self._task.exception()
        return None if error is None else repr(error)

    async def stop(self) -> None:
        """See `MemberProcess`."""
        self._member.is_over = True
        await asyncio.wait({self._task})
        await self._close()

    async def kill(self) -> None:
        """Not possible."""
        raise UnsupportedFaultError(NO_PROCESS)

    async def pause(self) -> None:
        """Not possible."""
        raise UnsupportedFaultError(NO_PROCESS)

    async def resume(self) -> None:
        """Nothing is paused."""

    def abandon(self) -> None:
        """See `MemberProcess`."""
        self._task.cancel()


class ChildMember:
    """`MemberProcess` that is one: `FOLDER/NAME.json` is its setup, `NAME.calls` its book."""

    def __init__(
        self, cluster: SocketCluster, name: str, *, module: str, setup: str, calls: LinesFile
    ) -> None:
        """`module` is what the process runs, `setup` a text for it; `calls` are what it writes."""
        self._log_path = cluster.folder / f"{name}.log"
        self._calls = calls
        setup_path = cluster.folder / f"{name}.json"
        setup_path.write_text(setup, encoding="utf-8")
        self._child = cluster.spawn(name, ["-m", module, str(setup_path), str(self._calls.path)])
        self._reading = asyncio.create_task(self._calls.read_forever(), name=f"calls-of-{name}")
        self._is_ended = False

    @property
    def end(self) -> str | None:
        """See `MemberProcess`."""
        if self._is_ended or self._child.is_running:
            return None
        return last_words(self._log_path, since=0)

    async def stop(self) -> None:
        """See `MemberProcess`; one that does not end in time is killed, and has failed."""
        if await self._end_by(signal.SIGTERM, within_s=STOP_S_MAX):
            return
        await self._end_by(signal.SIGKILL, within_s=KILL_S_MAX)
        self._is_ended = False

    async def kill(self) -> None:
        """See `MemberProcess`."""
        await self._end_by(signal.SIGKILL, within_s=KILL_S_MAX)

    async def pause(self) -> None:
        """See `MemberProcess`."""
        self._child.send(signal.SIGSTOP)

    async def resume(self) -> None:
        """See `MemberProcess`."""
        self._child.send(signal.SIGCONT)

    def abandon(self) -> None:
        """See `MemberProcess`."""
        self._reading.cancel()
        self._child.send(signal.SIGKILL)

    async def _end_by(self, number: signal.Signals, *, within_s: float) -> bool:
        was_running = self._child.is_running
        self._child.send(number)
        if not await self._child.wait_ended(within_s=within_s):
            return False
        self._is_ended = was_running
        await unwind([self._reading])
        self._calls.read()
        return True


class LinesFile(ABC):
    """A file of lines that another process writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0

    async def read_forever(self) -> None:
        """Read again and again."""
        while True:
            self.read()
            await asyncio.sleep(READ_EVERY_S)

    def read(self) -> None:
        """Read every whole line that is new."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._position)
            lines = file.readlines()
        for line in lines:
            if line.endswith(b"\n"):
                self._position += len(line)
                self._take(line)

    @abstractmethod
    def _take(self, line: bytes) -> None:
        """Take a whole line."""


class CallsFile(LinesFile):
    """The calls that a member's process has written so far, on their way into its book."""

    def __init__(self, path: Path, book: MemberBook) -> None:
        super().__init__(path)
        self._book = book
        self._commits: dict[int, Commit] = {}
        """Those that have not ended, by the number that the member gave them."""

    def _take(self, line: bytes) -> None:
        call = call_or_end_of(line)
        if isinstance(call, End):
            begun = self._commits.pop(call.number)
            ended = {"outcome": call.outcome, "ended_s": call.ended_s, "reason": call.reason}
            self._book.end(replace(begun, **ended))
        elif isinstance(call, Commit):
            begun = replace(call, number=self._book.next_number())
            self._commits[call.number] = begun
            self._book.begin(begun)
        elif isinstance(call, (Poll, Assignment)):
            self._book.add(replace(call, number=self._book.next_number()))
            if isinstance(call, Assignment):
                self._book.note(f"{call.change} {call.partition} at epoch {call.epoch}")


def member_child(cluster: SocketCluster, setup: MemberSetup, book: MemberBook) -> ChildMember:
    """Start a member's process."""
    name = setup.plan.name
    calls = CallsFile(cluster.folder / f"{name}.calls", book)
    module = "tidelog.chaos.sockets.member"
    return ChildMember(cluster, name, module=module, setup=setup.to_json(), calls=calls)
