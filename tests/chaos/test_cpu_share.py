"""A process held to a share of a processor uses no more, whichever way it is held, and then all."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tidelog.chaos.sockets import cpu_share
from tidelog.chaos.sockets.cpu_share import PREFIX, ROOTS, hold

pytestmark = pytest.mark.process

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WAIT_S = 120.0


@pytest.fixture
def busy() -> Iterator[int]:
    """A process that takes all the processor it gets."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield process.pid
    process.kill()
    process.wait()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


@pytest.mark.parametrize("roots", [ROOTS, ()], ids=["as the machine can", "by signals"])
async def test_a_process_uses_no_more_than_its_share(busy: int, roots: Sequence[Path]) -> None:
    held = hold(busy, 0.1, roots=roots)
    assert roots or held.way == "SIGSTOP"
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0.2)
    began_s, before_s = loop.time(), cpu_s(busy)
    await asyncio.sleep(1.5)
    share = (cpu_s(busy) - before_s) / (loop.time() - began_s)
    await held.release()
    assert share < 0.3, "on a busy machine a slice may take longer, but not the most of the time"
    async with asyncio.timeout(WAIT_S):
        while state(busy) != "R":  # noqa: ASYNC110  # of a process
            await asyncio.sleep(0.01)
    groups = [root / f"{PREFIX}{busy}" for root in ROOTS]
    assert not any(group.exists() for group in groups)


def fake(root: Path, *names: str, controllers: str = "") -> Path:
    """A hierarchy in which groups are made as in the kernel's: with their files."""
    root.mkdir()
    for name in names:
        (root / name).write_text("")
    if controllers:
        (root / "cgroup.controllers").write_text(controllers)
    return root


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        ("cgroup v2", ["cpu.max"], {"cpu.max": "25000 100000"}),
        (
            "cgroup v1",
            ["cpu.cfs_period_us", "cpu.cfs_quota_us"],
            {"cpu.cfs_quota_us": "25000", "cpu.cfs_period_us": "100000"},
        ),
    ],
)
async def test_either_version_gets_a_quota_of_its_own_form(
    tmp_path: Path, version: str, files: list[str], expected: dict[str, str]
) -> None:
    is_second = version == "cgroup v2"
    root = fake(
        tmp_path / "root",
        *(["cgroup.subtree_control"] if is_second else ["cpu.cfs_quota_us"]),
        controllers="cpuset cpu io" if is_second else "",
    )
    group = fake(root / f"{PREFIX}4711", *files, "cgroup.procs")
    held = hold(4711, 0.25, roots=[tmp_path / "none", root])
    assert held.way == version
    assert {name: (group / name).read_text() for name in expected} == expected
    assert (group / "cgroup.procs").read_text() == "4711"
    assert not is_second or (root / "cgroup.subtree_control").read_text() == "+cpu"


async def test_a_hierarchy_that_may_not_be_written_is_passed_over(
    tmp_path: Path, busy: int
) -> None:
    root = fake(tmp_path / "root", "cpu.cfs_quota_us")  # without the files a group would have
    held = hold(busy, 0.5, roots=[root])
    assert held.way == "SIGSTOP"
    assert not list(root.glob(f"{PREFIX}*"))
    await held.release()


@pytest.mark.parametrize("share", [0.0, -1.0, 1.1])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        cpu_share.hold(1, share)
