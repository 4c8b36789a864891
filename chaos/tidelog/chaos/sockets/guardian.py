"""`python -m tidelog.chaos.sockets.guardian FOLDER`: ends everything when a run ends, somehow.

It holds the reading end of a pipe whose writing end only the run has: at the pipe's end, be it by
`close` or because the run was killed, it kills every process of the run, takes its mounts away and
removes its folder, unless the run wrote `keep`. It is in a session of its own, so that what a
terminal sends to the run does not end it first.

A process of the run is one whose environment names the run's folder under `MARK`, at its start or
an ancestor's: a pid that was given to a stranger since is never touched. A child that the run
forked but that is not yet a program of its own still holds the pipe, so none is missed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MARK = "TIDELOG_CHAOS_RUN"
KEEP = b"keep"
POLL_S = 0.02
TRIES_MAX = 250


def main() -> int:
    """Wait for the run's end, then clean up; 0 when nothing is left."""
    folder = Path(sys.argv[1])
    words = sys.stdin.buffer.read()
    is_clean = _again(lambda: not kill_all(folder)) and _again(lambda: not unmount_all(folder))
    if KEEP not in words and is_clean:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_clean else 1


def kill_all(folder: Path) -> bool:
    """Kill what runs of the run, stopped or not; False: nothing did."""
    has_found = False
    for pid in _pids():
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            # Asked after the pid was pinned, so that it is the answer of who gets the signal.
            if _is_of(folder, pid):
                has_found = True
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(pidfd)
    return has_found


def unmount_all(folder: Path) -> bool:
    """Take away what is mounted below the folder; False: nothing was."""
    mounted = [Path(line.split()[1]) for line in Path("/proc/mounts").read_text().splitlines()]
    ours = [path for path in mounted if folder in path.parents]
    for path in reversed(ours):
        subprocess.run(["umount", str(path)], check=False)
    return bool(ours)


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _is_of(folder: Path, pid: int) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={folder}".encode() in environment.split(b"\0")


def _again(is_done: Callable[[], bool]) -> bool:
    for _ in range(TRIES_MAX):
        if is_done():
            return True
        time.sleep(POLL_S)
    return False


if __name__ == "__main__":
    sys.exit(main())
