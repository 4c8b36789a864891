"""Processor time and memory of what this process started, by what it is, as the kernel says.

jvm       Spark's driver, which is the executor, too
workers   Python below it: tasks, planning, and the daemon that forks them
brokers   the nodes of the cluster
clients   whatever else
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Process:
    """As /proc has it; seconds in user and kernel mode, of children it waited for, too."""

    pid: int
    parent: int
    name: str
    cpu_s: float

    @property
    def peak_kib(self) -> int:
        """The most it was resident with."""
        for line in _text(Path(f"/proc/{self.pid}/status")).splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        return 0


def cpu_s(brokers: Sequence[int]) -> dict[str, float]:
    """Seconds so far, of ended processes too; `brokers` are process ids."""
    return {kind: sum(one.cpu_s for one in all_) for kind, all_ in _kinds(brokers).items()}


def peak_mb(brokers: Sequence[int]) -> dict[str, int]:
    """The most that any process of each kind was resident with."""
    kinds = _kinds(brokers)
    return {k: max((one.peak_kib for one in all_), default=0) >> 10 for k, all_ in kinds.items()}


def _kinds(brokers: Sequence[int]) -> Mapping[str, Sequence[_Process]]:
    running = [one for one in map(_process, Path("/proc").glob("[0-9]*")) if one is not None]
    started = [one for one in running if one.parent == os.getpid()]
    jvms = [one for one in started if one.name == "java"]
    workers: list[_Process] = []
    above = {one.pid for one in jvms}
    while below := [one for one in running if one.parent in above]:
        workers += below
        above = {one.pid for one in below}
    nodes = [one for one in running if one.pid in brokers]
    clients = [one for one in started if one not in jvms and one not in nodes]
    return {"jvm": jvms, "workers": workers, "brokers": nodes, "clients": clients}


def _process(folder: Path) -> _Process | None:
    head, _, tail = _text(folder / "stat").rpartition(")")
    words = tail.split()
    if not words:
        return None  # it has ended meanwhile
    name = head.partition("(")[2]
    ticks = sum(map(int, words[11:15]))
    return _Process(int(folder.name), int(words[1]), name, ticks / _TICKS_PER_S)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
