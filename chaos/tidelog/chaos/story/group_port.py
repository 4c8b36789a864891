"""Port: the consumer group of a story, if it has one: its members, and looks at it from outside.

`workloads.group_load` implements it. Members run on the stage that the cluster runs on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidelog.chaos.workloads.group_looks import GroupView, LateCommit
from tidelog.history.history import Assignment, Commit


class GroupPort(Protocol):
    """See the module."""

    group_id: str
    topic: str
    """The topic that it reads."""
    partitions: int
    """Partitions of the topic."""
    session_s: float
    """The members' session."""

    @property
    def members(self) -> Sequence[str]:
        """Members that run, or are paused, in the order in which they were started."""

    @property
    def view(self) -> GroupView | None:
        """The newest description that its coordinator gave; None: there was none."""

    @property
    def assignments(self) -> Sequence[Assignment]:
        """Partitions that came and went, as listeners heard of them."""

    @property
    def commits(self) -> Sequence[Commit]:
        """Commits that ended."""

    @property
    def last_calls_s(self) -> Mapping[str, float]:
        """By member, when it was handed out records, committed or heard of partitions last."""

    def held_by(self, name: str) -> list[int]:
        """Partitions that a member holds, as it believes."""

    async def start(self, count: int) -> list[str]:
        """Start members at once, and return their names; they are no members yet."""

    async def stop(self, *names: str) -> None:
        """Let these leave in order, all at once; returns when they have."""

    async def kill(self, *names: str) -> None:
        """SIGKILL; returns when they have ended. Errors: `UnsupportedFaultError`."""

    async def pause(self, name: str) -> None:
        """SIGSTOP. Errors: `UnsupportedFaultError`."""

    async def resume(self, name: str) -> None:
        """SIGCONT."""

    async def commit_late(self, late: LateCommit, node_id: int) -> int:
        """Send a commit to a node as a member might have sent it before; return the error's code.

        It is in the history, by a caller of its own.
        """
