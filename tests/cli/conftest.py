"""`tidelog` in this process, against real nodes on virtual time; `dump-log`, and files for it."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import CommandCluster, Run, command_runner, without_logs
from tests.cli.dumps import KAFKA, Done, Dump, open_log
from tests.client.real_cluster import BOOTSTRAP

from tidelog.cli.main import main
from tidelog.client import ports
from tidelog.core.system import SystemDisk


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[CommandCluster]:
    """Nodes that serve; its parameter, if any, is options of `RealCluster`."""
    with without_logs():
        cluster = CommandCluster(**getattr(request, "param", {}))
        yield cluster
        cluster.close()


@pytest.fixture
def run(
    cluster: CommandCluster,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Run:
    """Runs `tidelog` in this process, its transport being the cluster."""
    monkeypatch.setattr(ports, "_grpc_transport", lambda _: cluster.nodes)
    monkeypatch.setattr(asyncio, "run", cluster.run)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", BOOTSTRAP)
    return command_runner(monkeypatch, capfdbinary)


@pytest.fixture
def dump(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Dump:
    """Runs the command in this process."""

    def run(*arguments: str | Path) -> Done:
        capfd.readouterr()  # what a log had to say when the test made it
        monkeypatch.setattr(sys, "argv", ["tidelog", "dump-log", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """A folder with the files Kafka wrote."""
    return Path(shutil.copytree(KAFKA, tmp_path / "kafka"))


@pytest.fixture
def disk() -> Iterator[SystemDisk]:
    disk = SystemDisk()
    yield disk
    disk.close()


@pytest.fixture
async def ours(disk: SystemDisk, tmp_path: Path) -> Path:
    """The folder of a log of ours, closed."""
    log = await open_log(disk, tmp_path / "ours-0")
    await log.checkpoint()
    await log.close()
    return tmp_path / "ours-0"
