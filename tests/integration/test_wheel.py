"""The wheel, in an environment with what it requires and no extra, outside the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tidelog.cli.main import COMMANDS
from tidelog.net.quiet_ports import quiet_ports

pytestmark = pytest.mark.process

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = CHECKOUT / "docs/examples/testing"


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


def _required(
    name: str, extras: frozenset[str], found: dict[str, Distribution]
) -> dict[str, Distribution]:
    """Collect what `name` needs with these extras, itself left out, from this environment."""
    for line in requires(name) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        if requirement.name not in found and requirement.name != "tidelog":
            found[requirement.name] = distribution(requirement.name)
            _required(requirement.name, frozenset(requirement.extras), found)
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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "wheel", *options, "-w", folder, CHECKOUT)
    built = _run(*command, cwd=folder)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("tidelog-*.whl")
    return wheel


def _environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """Make an environment of the wheel and what it requires, no more; return its `bin` folder.

    Nothing is fetched: what it requires is copied from the environment the tests run in.
    """
    python = (sys.executable, "-m")
    made = _run(*python, "venv", "--without-pip", folder, cwd=folder)
    assert made.returncode == 0, made.stderr
    (site,) = folder.glob("lib/python3*/site-packages")
    for package in _required("tidelog", frozenset(extras), {}).values():
        _copy(package, site)
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    own = folder / "bin" / "python"
    into = _run(*python, "pip", "--python", own, "install", *options, wheel, cwd=folder)
    assert into.returncode == 0, into.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def client(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of the client and the command line, without extras."""
    return _environment(tmp_path_factory.mktemp("client"), wheel)


@pytest.fixture(scope="module")
def server(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a node: the extra `server`."""
    return _environment(tmp_path_factory.mktemp("server"), wheel, "server")


def test_the_examples_of_tests_pass_by_the_wheel_and_leave_nothing(
    wheel: Path, tmp_path: Path
) -> None:
    """The extra `testing`, with nothing of the checkout."""
    python = _environment(tmp_path, wheel, "testing") / "python"
    folder = tmp_path / "orders"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    options = ("-q", "-p", "no:cacheprovider", "--tidelog-seeds=1")
    done = _run(python, "-m", "pytest", *options, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 passed" in done.stdout
    assert not (folder / ".tidelog").exists()


def test_a_cluster_without_its_extra_says_what_to_install(client: Path, tmp_path: Path) -> None:
    code = "from tidelog.testing import LocalCluster"
    done = _run(client / "python", "-c", code, cwd=tmp_path)
    assert "nodes need more than a client, pip install 'tidelog[testing]'" in done.stderr


def test_the_wheel_holds_our_packages_and_nothing_beside_them(wheel: Path) -> None:
    names = [name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"tidelog", "pyspark_tidelog"}
    assert "tidelog/kafka/messages/produce_request.py" in names


def test_the_client_alone_takes_little_room(client: Path) -> None:
    (site,) = client.parent.glob("lib/python3*/site-packages")
    files = [file for file in site.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    size = sum(file.stat().st_size for file in files)
    # gRPC alone is 17 MiB, lz4 5.5, Kafka's messages are 1.1; our other code came to 5.8.
    assert size <= 43 * 2**20 * 1.05


def test_importing_the_client_needs_five_packages(client: Path, tmp_path: Path) -> None:
    code = (
        "import sys; import tidelog.client\n"
        "names = {name.partition('.')[0] for name, module in sys.modules.items()"
        " if 'site-packages' in (getattr(module, '__file__', None) or '')}\n"
        "print(*sorted(names))"
    )
    done = _run(client / "python", "-c", code, cwd=tmp_path)
    needed = {"backports", "cramjam", "crc32c", "google", "grpc", "lz4", "tidelog"}
    assert set(done.stdout.split()) <= needed, done.stderr


def test_every_command_has_help_without_extras(client: Path, tmp_path: Path) -> None:
    listed = _run(client / "tidelog", "--help", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    for name in COMMANDS:
        done = _run(client / "tidelog", name, "--help", cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr
        assert "usage:" in done.stdout.lower()


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("server", ("cluster", "start")),
        ("server", ("bench", "run", "--quick")),
        ("chaos", ("chaos", "run", "control")),
        ("spark", ("pipeline", "--topic", "t", "--schema", "a int", "--output", "out")),
        ("demo", ("demo",)),
        ("sql", ("sql", "select 1")),
    ],
)
def test_a_missing_extra_is_one_line_that_names_it(
    client: Path, tmp_path: Path, extra: str, command: tuple[str, ...]
) -> None:
    done = _run(client / "tidelog", *command, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"pip install 'tidelog[{extra}]'" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_simulations_checks_and_dumps_need_no_extra(client: Path, tmp_path: Path) -> None:
    run = ("sim", "run", "--suite", "raft", "--seeds", "0:1", "--json")
    done = _run(client / "tidelog", *run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    missing = _run(client / "tidelog", "check", "none.jsonl", cwd=tmp_path)
    assert "Traceback" not in missing.stderr
    dumped = _run(client / "tidelog", "dump-log", "none.log", cwd=tmp_path)
    assert "Traceback" not in dumped.stderr


def test_a_cluster_runs_outside_the_checkout(client: Path, server: Path, tmp_path: Path) -> None:
    ports = [str(port) for port in quiet_ports(6)]
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports[:3])

    def tidelog(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = (server if arguments[0] == "cluster" else client) / "tidelog"
        return _run(program, *arguments, cwd=tmp_path, TIDELOG_BOOTSTRAP=bootstrap)

    data = ("--data-dir", str(tmp_path / "data"))
    listeners = (
        "--ports",
        ",".join(ports[:3]),
        "--http-ports",
        ",".join(ports[3:]),
        "--kafka-ports",
        "none",
    )
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
        sent = _run(client / "python", "-c", code, bootstrap, cwd=tmp_path)
        assert sent.stdout == "0\n", sent.stderr
        read = tidelog("consume", "t", "--from-beginning", "--max-records", "1")
        assert read.stdout == "word\n", read.stderr
        status = json.loads(tidelog("cluster", "status", *data, "--json").stdout)
        assert len(status["nodes"]) == 3
    finally:
        stopped = tidelog("cluster", "stop", *data)
    assert stopped.returncode == 0, stopped.stderr
