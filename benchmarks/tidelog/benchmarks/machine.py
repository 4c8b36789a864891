"""The circumstances of a session for its report: machine, versions, commit, command, date."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from tidelog.core.provenance import checked_out_commit, cpu, memory

_FOLDERS = re.compile(r"(?<![^\s='\"])/(?:[^/\s'\"]+/)+")


def machine_facts() -> dict[str, str]:
    """The facts as text, by name."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command_text(sys.argv[1:]),
        "commit": checked_out_commit(),
        "CPU": cpu(),
        "cores": str(os.cpu_count()),
        "memory": memory(),
        "kernel": platform.release(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "grpcio": version("grpcio"),
        "load average": f"{os.getloadavg()[0]:.1f} at the end",
    }


def command_text(arguments: Sequence[str]) -> str:
    """The command line, with absolute paths cut to their last name, since folders are local."""
    return shlex.join(["tidelog", *(_FOLDERS.sub("", argument) for argument in arguments)])
