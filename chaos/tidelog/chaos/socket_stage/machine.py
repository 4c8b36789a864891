"""What a reader of figures must know of the machine they are from."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def cpu() -> str:
    """Its processor's name."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory() -> str:
    """How much it has."""
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"


def machine() -> str:
    """CPU, cores, memory and kernel, on one line."""
    return f"{cpu()}, {os.cpu_count()} cores, {memory()}, Linux {platform.release()}"
