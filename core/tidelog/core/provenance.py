"""Provenance of figures: machine and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def cpu() -> str:
    """Name of the machine's processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory() -> str:
    """Size of the machine's memory."""
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"


def machine() -> str:
    """CPU, cores, memory and kernel, on one line."""
    return f"{cpu()}, {os.cpu_count()} cores, {memory()}, Linux {platform.release()}"


def checked_out_commit() -> str:
    """Current commit, with a `+` if the tree has changes; "unknown" outside a checkout."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return "unknown"
    return commit + "+" if _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
