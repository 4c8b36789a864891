"""Processor time and resident memory of the brokers' processes, from the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: Iterable[int]) -> float:
    """The sum of the processes' processor seconds, user and system, since each started."""
    return sum(_ticks(pid) for pid in pids) / _TICKS_PER_S


def rss_mb(pids: Iterable[int]) -> float:
    """The resident memory of the largest process, in megabytes (10^6)."""
    return max(map(_rss_kib, pids)) * 1024 / 1e6


def _ticks(pid: int) -> int:
    # The name in parentheses may contain spaces; utime and stime are fields 14 and 15 of proc(5).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _rss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ProcessLookupError(f"process {pid} has ended")
