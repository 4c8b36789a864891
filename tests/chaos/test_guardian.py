"""Whatever ends a run, nothing of it stays: no process, no mount, no folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.chaos.sockets import guardian
from tidelog.chaos.sockets.disks import DiskUnavailableError, NodeDisk

pytestmark = pytest.mark.chaos
WAIT_S = 120.0
SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]


class Run:
    """A run's folder, its guardian and a child, which a test does with what it likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "file").write_text("something")
        self.guardian = subprocess.Popen(
            [sys.executable, "-m", guardian.__name__, str(folder)], stdin=subprocess.PIPE
        )
        self.children: list[subprocess.Popen[bytes]] = []

    def child(self, *, is_marked: bool = True) -> subprocess.Popen[bytes]:
        mark = {guardian.MARK: str(self.folder)} if is_marked else {}
        environment = {**os.environ, **mark}
        child = subprocess.Popen(SLEEP, stdout=subprocess.PIPE, env=environment)
        assert child.stdout is not None
        child.stdout.readline()
        self.children.append(child)
        return child

    def end(self, words: bytes = b"") -> int:
        assert self.guardian.stdin is not None
        with self.guardian.stdin as pipe:
            pipe.write(words)
        return self.guardian.wait(WAIT_S)

    def close(self) -> None:
        for process in (self.guardian, *self.children):
            process.kill()
            process.wait(WAIT_S)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "run")
    yield run
    run.close()


def test_children_die_with_the_run_stopped_or_not(run: Run) -> None:
    running, stopped = run.child(), run.child()
    os.kill(stopped.pid, signal.SIGSTOP)
    assert run.end() == 0
    assert running.wait(WAIT_S) == stopped.wait(WAIT_S) == -signal.SIGKILL
    assert not run.folder.exists()


def test_nobody_else_is_touched(run: Run) -> None:
    stranger = run.child(is_marked=False)
    assert run.end() == 0
    assert stranger.poll() is None


def test_the_folder_stays_when_the_run_says_so(run: Run) -> None:
    child = run.child()
    assert run.end(guardian.KEEP) == 0
    assert child.wait(WAIT_S) == -signal.SIGKILL
    assert (run.folder / "file").exists()


def test_disks_are_unmounted(run: Run) -> None:
    disk = NodeDisk(run.folder / "node-1", size_bytes=1 << 20)
    try:
        disk.prepare()
    except DiskUnavailableError as error:
        pytest.skip(str(error))
    assert str(run.folder) in Path("/proc/mounts").read_text()
    assert run.end() == 0
    assert str(run.folder) not in Path("/proc/mounts").read_text()
    assert not run.folder.exists()
