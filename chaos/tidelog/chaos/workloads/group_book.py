"""Book of a group: what its members and others did, on the way into the history.

Knows which partitions a member holds, by what its listener heard, and which commits have not ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.history.history import Assignment, Commit, Committed, Poll


class GroupBook:
    """Numbers are those of the whole history."""

    def __init__(self, port: WorkloadPort, next_number: Callable[[], int]) -> None:
        self.next_number = next_number
        self.assignments: list[Assignment] = []
        """In the order in which they were written down."""
        self.last_calls_s: dict[str, float] = {}
        """By process, when it was handed out records, committed or heard of partitions last."""
        self._port = port
        self._held: dict[tuple[str, int], Assignment] = {}
        self._commits: dict[int, Commit] = {}
        """Commits that have not ended, by number."""

    @property
    def now_s(self) -> float:
        """The clock of the history."""
        return self._port.now_s

    def of(self, name: str) -> BookOfMember:
        """The book of one member."""
        return BookOfMember(self, name)

    def begin(self, commit: Commit) -> None:
        """A commit begins."""
        self._commits[commit.number] = commit
        self.last_calls_s[commit.process] = commit.invoked_s
        self._port.begin_commit(commit)

    def end(self, commit: Commit) -> None:
        """It ended; nothing happens when it was written down as one that never does."""
        if self._commits.pop(commit.number, None) is not None:
            self._port.end_commit(commit)

    def add(self, call: Poll | Assignment | Committed) -> None:
        """A hand-out, a change of an assignment, a look-up."""
        at_s = call.at_s if isinstance(call, Assignment) else call.ended_s
        self.last_calls_s[call.process] = at_s
        if isinstance(call, Poll):
            self._port.end_poll(call)
            return
        if isinstance(call, Assignment):
            self.assignments.append(call)
            if call.change == "assigned":
                self._held[call.process, call.partition] = call
            else:
                self._held.pop((call.process, call.partition), None)
        self._port.add_group_call(call)

    def note(self, name: str, what: str) -> None:
        """For people."""
        self._port.note(name, what)

    def held_by(self, name: str) -> list[int]:
        """Partitions that a member holds."""
        return sorted(partition for process, partition in self._held if process == name)

    def end_member(self, name: str) -> None:
        """Write down that a member's process was killed: it holds nothing from now on."""
        for partition in self.held_by(name):
            held = self._held[name, partition]
            number = self.next_number()
            self.add(replace(held, number=number, at_s=self.now_s, change="lost", epoch=0))

    def write_pending(self) -> None:
        """Write down commits that never ended."""
        for commit in self._commits.values():
            self._port.end_commit(commit)
        self._commits.clear()


@dataclass(frozen=True, slots=True)
class BookOfMember:
    """`MemberBook` of a member in this process."""

    book: GroupBook
    name: str

    @property
    def now_s(self) -> float:
        """See `MemberBook`."""
        return self.book.now_s

    def next_number(self) -> int:
        """See `MemberBook`."""
        return self.book.next_number()

    def begin(self, commit: Commit) -> None:
        """See `MemberBook`."""
        self.book.begin(commit)

    def end(self, commit: Commit) -> None:
        """See `MemberBook`."""
        self.book.end(commit)

    def add(self, call: Poll | Assignment) -> None:
        """See `MemberBook`."""
        self.book.add(call)

    def note(self, what: str) -> None:
        """See `MemberBook`."""
        self.book.note(self.name, what)
