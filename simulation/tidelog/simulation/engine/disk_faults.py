"""Faults of a simulated disk: power cuts, errors of the device, no space left.

Counts operations and decides when one fails; never touches what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.core.errors import StorageError


class PowerCutError(BaseException):
    """The power went, or the process. No `Exception`: nobody is left to catch it."""


@dataclass(slots=True)
class _Trouble:
    """After `spared` more actions the next `count` fail, all if None."""

    action: str
    path: str
    spared: int
    count: int | None

    def strikes(self) -> bool:
        if self.spared:
            self.spared -= 1
            return False
        if self.count is None:
            return True
        self.count -= 1
        return self.count >= 0


@dataclass(slots=True)
class _SlowReads:
    """Slow reads: every Nth read of files below a path takes this long."""

    prefix: str
    latency_s: float
    every: int
    reads: int = 0

    def strikes(self, path: str) -> bool:
        self.reads += path.startswith(self.prefix)
        return path.startswith(self.prefix) and self.reads % self.every == 0


class DiskFaults:
    """The faults of one disk; none at first."""

    def __init__(self) -> None:
        self.operations = 0
        """Changes and syncs begun since the start."""
        self.on_cut: Callable[[bool], None] | None = None
        """Called within the operation that is the last one: whether the power went."""
        self._cut_at: int | None = None
        self._takes_power = True
        self._is_cut = False
        self._troubles: list[_Trouble] = []
        self._slow_reads: list[_SlowReads] = []

    def slow_reads(self, prefix: str, latency_s: float, *, every: int = 1) -> None:
        """Let every Nth read below `prefix` find nothing in memory, and take this long.

        Until `quick_reads`, `heal` or a crash.
        """
        self._slow_reads.append(_SlowReads(prefix, latency_s, every))

    def quick_reads(self, prefix: str) -> None:
        """Take `slow_reads` of this prefix back; reads under way take as long as they do."""
        self._slow_reads = [one for one in self._slow_reads if one.prefix != prefix]

    def read_latency_s(self, path: str) -> float:
        """Duration of the read that begins now; 0: it is in memory."""
        return max((one.latency_s for one in self._slow_reads if one.strikes(path)), default=0.0)

    def crash_at(self, number: int) -> None:
        """Cut the power in the `number`-th operation from now, counted from 1.

        It raises `PowerCutError`, as everything after it until `SimDisk.crash`. A sync does
        nothing then, a change is one the crash may lose, keep or tear.
        """
        self._cut_at, self._takes_power = self.operations + number, True

    def end_at(self, number: int) -> None:
        """As `crash_at`, but the process ends, not the machine: what was written stays."""
        self._cut_at, self._takes_power = self.operations + number, False

    @property
    def is_cut_due(self) -> bool:
        """True if a `crash_at` or `end_at` has not happened yet."""
        return self._cut_at is not None and not self._is_cut

    def fail(self, action: str, path: str, *, spared: int = 0, count: int | None = None) -> None:
        """Answer `action` ("read", "write", "sync", …) on `path` with EIO until `heal`.

        The first `spared` ones still work; only `count` ones fail if that is given.
        """
        self._troubles.append(_Trouble(action, path, spared, count))

    def heal(self) -> None:
        """Nothing goes wrong any more; the power is back."""
        self._troubles, self._slow_reads = [], []
        self._cut_at, self._is_cut = None, False

    def check(self, action: str, path: str) -> None:
        """Raise what this action ends with, unless it works."""
        if self._is_cut:
            raise PowerCutError
        for trouble in self._troubles:
            if (trouble.action, trouble.path) == (action, path) and trouble.strikes():
                raise StorageError(f"cannot {action} {path}: Input/output error")

    def count(self) -> None:
        """An operation is under way; `PowerCutError` if it is the one the power goes in."""
        self.operations += 1
        if self.operations == self._cut_at:
            self._is_cut = True
            if self.on_cut is not None:
                self.on_cut(self._takes_power)
            raise PowerCutError
