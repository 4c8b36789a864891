"""A process held to a share of a processor: by a cgroup's quota, else stopped in short slices.

Owns the groups it made and takes them away again. A quota needs root and a writable hierarchy of
the cpu controller, version 2 or 1; where one cannot be made a task stops the process and lets it go
on again (SIGSTOP, SIGCONT), many times a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

PERIOD_US = 100_000
"""As the kernel's own: what a quota is of, and how long a slice and the stop behind it take."""
PREFIX = "tidelog-share-"
ROOTS = tuple(Path("/sys/fs/cgroup") / name for name in ("", "unified", "cpu", "cpu,cpuacct"))

Way = Literal["cgroup v2", "cgroup v1", "SIGSTOP"]


@dataclass(slots=True)
class CpuShare:
    """A process whose processor time is limited: the caller's child or itself; `way` says how."""

    pid: int
    share: float
    way: Way
    _group: Path | None = None
    _stopping: asyncio.Task[None] | None = field(default=None)

    async def release(self) -> None:
        """Let it have all of a processor again; nothing is left of what held it."""
        if self._stopping is not None:
            self._stopping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._stopping
        if self._group is not None:
            with contextlib.suppress(OSError):
                _write(self._group.parent / "cgroup.procs", str(self.pid))
            with contextlib.suppress(OSError):
                self._group.rmdir()


def hold(pid: int, share: float, *, roots: Sequence[Path] = ROOTS) -> CpuShare:
    """Hold the process to `share` of one processor until `release`."""
    if not 0 < share <= 1:
        raise ValueError(f"share={share}: it must be above 0 and at most 1")
    for root in roots:
        way = _way_of(root)
        if way is not None:
            with contextlib.suppress(OSError):
                return CpuShare(pid, share, way, _make_group(root, pid, share, way))
    stopping = asyncio.create_task(_stop_and_go(pid, share), name=f"starve-{pid}")
    return CpuShare(pid, share, "SIGSTOP", None, stopping)


def _way_of(root: Path) -> Way | None:
    if (root / "cpu.cfs_quota_us").exists():
        return "cgroup v1"
    try:
        controllers = (root / "cgroup.controllers").read_text(encoding="ascii").split()
    except OSError:
        return None
    return "cgroup v2" if "cpu" in controllers else None


def _make_group(root: Path, pid: int, share: float, way: Way) -> Path:
    """A group of its own for the process. Errors: `OSError`, and nothing is left."""
    group = root / f"{PREFIX}{pid}"
    group.mkdir(exist_ok=True)
    quota_us = max(1_000, round(share * PERIOD_US))
    try:
        if way == "cgroup v1":
            _write(group / "cpu.cfs_period_us", str(PERIOD_US))
            _write(group / "cpu.cfs_quota_us", str(quota_us))
        else:
            _write(root / "cgroup.subtree_control", "+cpu")
            _write(group / "cpu.max", f"{quota_us} {PERIOD_US}")
        _write(group / "cgroup.procs", str(pid))
    except OSError:
        group.rmdir()
        raise
    return group


def _write(path: Path, text: str) -> None:
    # In one write of an existing file, as the kernel wants it.
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


async def _stop_and_go(pid: int, share: float) -> None:
    period_s = PERIOD_US / 1e6
    try:
        while True:
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep((1 - share) * period_s)
            os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(share * period_s)
    except ProcessLookupError:
        return  # It has ended.
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
