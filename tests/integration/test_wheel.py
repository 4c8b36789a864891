"""The wheel, in an environment with what it requires and no extra, outside the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tidelog.cli.main import COMMANDS
from tidelog.net.quiet_ports import quiet_ports

pytestmark = pytest.mark.process

CHECKOUT = Path(__file__).parents[2]


def _run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        env={**environment, **variables},
        check=False,
    )


def _required(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Collect what `name` needs without extras, itself left out, from this environment."""
    for line in requires(name) or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            _required(requirement.name, found)
    return found


def _copy(package: Distribution, site: Path) -> None:
    for file in package.files or ():
        source = Path(str(package.locate_file(file)))
        if ".." in file.parts or not source.is_file():
            continue  # scripts, and bytecode that was cleaned away
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the wheel and what it requires, no more.

    Nothing is fetched: what it requires is copied from the environment the tests run in.
    """
    folder = tmp_path_factory.mktemp("wheel")
    python = (sys.executable, "-m")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    built = _run(*python, "pip", "wheel", *options, "-w", folder, CHECKOUT, cwd=folder)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("tidelog-*.whl")
    environment = folder / "environment"
    made = _run(*python, "venv", "--without-pip", environment, cwd=folder)
    assert made.returncode == 0, made.stderr
    (site,) = environment.glob("lib/python3*/site-packages")
    for package in _required("tidelog", {}).values():
        _copy(package, site)
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    own = environment / "bin" / "python"
    into = _run(*python, "pip", "--python", own, "install", *options, wheel, cwd=folder)
    assert into.returncode == 0, into.stderr
    return environment / "bin"


def test_every_command_has_help_without_extras(installed: Path, tmp_path: Path) -> None:
    listed = _run(installed / "tidelog", "--help", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    for name in COMMANDS:
        done = _run(installed / "tidelog", name, "--help", cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr
        assert "usage:" in done.stdout.lower()


def test_a_cluster_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    ports = [str(port) for port in quiet_ports(6)]
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports[:3])

    def tidelog(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = installed / "tidelog"
        return _run(program, *arguments, cwd=tmp_path, TIDELOG_BOOTSTRAP=bootstrap)

    data = ("--data-dir", str(tmp_path / "data"))
    listeners = ("--ports", ",".join(ports[:3]), "--http-ports", ",".join(ports[3:]))
    try:
        started = tidelog("cluster", "start", *data, *listeners)
        assert started.returncode == 0, started.stderr
        created = tidelog("topics", "create", "t", "--partitions", "1")
        assert created.returncode == 0, created.stderr
        code = (
            "import asyncio, sys; from tidelog.client import Producer\n"
            "async def main():\n"
            "    async with Producer(sys.argv[1]) as producer:\n"
            "        print((await producer.send('t', value=b'word')).offset)\n"
            "asyncio.run(main())"
        )
        sent = _run(installed / "python", "-c", code, bootstrap, cwd=tmp_path)
        assert sent.stdout == "0\n", sent.stderr
        read = tidelog("consume", "t", "--from-beginning", "--max-records", "1")
        assert read.stdout == "word\n", read.stderr
        status = json.loads(tidelog("cluster", "status", *data, "--json").stdout)
        assert len(status["nodes"]) == 3
    finally:
        stopped = tidelog("cluster", "stop", *data)
    assert stopped.returncode == 0, stopped.stderr
