"""Simulated tests under pytest: options, reports and exit codes, in pytest runs of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

TESTS = """
import asyncio

import pytest

from tidelog.client import Producer
from tidelog.testing import simulated


@simulated(seeds=3, faults="none")
async def test_passes(sim, tmp_path):
    await sim.create_topic("orders")
    assert tmp_path.is_dir()


async def helper(sim):
    assert sim.seed != 2, "an order is lost"


@simulated(seeds=5, faults=["pause"])
@pytest.mark.parametrize("size", ["a-b", "seed2"])
async def test_fails(sim, size):
    await sim.create_topic("orders")
    await asyncio.sleep(3)
    await sim.settle()
    for number in range(60):
        sim.note(f"line {number}")
    await helper(sim)


class TestOfAClass:
    @pytest.fixture
    def number(self):
        return 7

    @simulated(seeds=4, faults="none", items=True)
    async def test_items(self, sim, number):
        assert number == 7
        assert sim.seed != 1

    @simulated(seeds=2, faults="none")
    async def test_skips(self, sim):
        pytest.skip("not here")

    @simulated(seeds=2, faults="none", virtual_s=5)
    async def test_waits(self, sim):
        await asyncio.Event().wait()
"""
ASYNC_FIXTURE = """
import pytest_asyncio
from tidelog.testing import simulated

@pytest_asyncio.fixture
async def database():
    return 1

@simulated(seeds=1)
async def test_of_a_database(sim, database):
    pass
"""
IN_A_PACKAGE = """
import pytest
from tidelog.testing import simulated
from .shared import SIZES

class TestIt:
    @pytest.mark.parametrize("size", SIZES)
    @simulated(seeds=2, faults="none")
    async def test_fails(self, sim, size):
        assert not size
"""
MISTAKE = """
from tidelog.testing import simulated

@simulated(seeds=1, faults="typhoon")
async def test_in_a_typhoon(sim):
    pass
"""
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of its own."""
    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "test_orders.py").write_text(TESTS)
    return tmp_path


def run_pytest(folder: Path, *options: str, is_ok: bool = True) -> str:
    """What pytest prints; its exit code is checked."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == (0 if is_ok else 1), done.stdout + done.stderr
    return done.stdout


def test_the_report_of_a_failure_and_its_replay(folder: Path) -> None:
    name = "test_orders.py::test_fails[a-b]"
    said = run_pytest(folder, name, "--tidelog-json=out.json", is_ok=False)

    lines = said.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("tidelog: seed 2 failed"))
    assert re.fullmatch(
        r"tidelog: seed 2 failed after \d+\.\d virtual s: AssertionError", lines[head]
    )
    assert re.fullmatch(
        r"tidelog: faults: (pause node \d \d+\.\d\d–\d+\.\d\d s(; )?)+", lines[head + 1]
    )
    assert lines[head + 2] == "tidelog: still fails with only: no fault"
    assert lines[head + 3] == f'tidelog: replay: pytest "{name}" --tidelog-seed=2'
    timeline = lines[head + 4 : head + 44]
    assert [line.split()[-1] for line in timeline] == [str(n) for n in range(20, 60)]
    frames = [line for line in lines[:head] if re.match(r"\S+\.py:\d+:", line)]
    assert [line.partition(":")[0] for line in frames] == ["test_orders.py"] * 2
    (test,) = json.loads((folder / "out.json").read_text())["tests"]
    (failed,) = test.pop("failed")
    assert test == {"test": name, "seeds": 3}
    assert list(failed) == ["seed", "error", "faults", "virtual_s", "trace", "replay"]
    assert failed["error"].startswith("AssertionError: an order is lost")

    again = run_pytest(folder, name, "--tidelog-seed=2", "--tidelog-json=out.json", is_ok=False)
    assert lines[head] in again
    (replayed,) = json.loads((folder / "out.json").read_text())["tests"]
    assert replayed["seeds"] == 1
    assert replayed["failed"][0]["trace"] == failed["trace"]

    kept = run_pytest(folder, name, "--tidelog-seeds=1", "--tidelog-no-shrink", is_ok=False)
    assert "tidelog: seed 2 failed" in kept
    assert "still fails" not in kept
    whole = run_pytest(folder, name, "--tidelog-timeline", "--tidelog-no-shrink", is_ok=False)
    assert "the cluster is ready" in whole
    assert "the cluster is ready" not in said


def test_items_parameters_classes_and_workers(folder: Path) -> None:
    options = ("-n", "2", "--tidelog-json=out.json", "--strict-markers", "-rA")
    said = run_pytest(folder, *options, is_ok=False)

    assert "4 failed, 4 passed, 1 skipped" in said
    assert "FAILED test_orders.py::TestOfAClass::test_items[seed1]" in said
    assert 'replay: pytest "test_orders.py::TestOfAClass::test_items" --tidelog-seed=1' in said
    assert 'replay: pytest "test_orders.py::test_fails[seed2]" --tidelog-seed=2' in said
    assert "client: scenario waits at TestOfAClass.test_waits (test_orders.py:" in said
    tests = {one["test"]: one for one in json.loads((folder / "out.json").read_text())["tests"]}
    assert tests["test_orders.py::TestOfAClass::test_items"]["seeds"] == 4
    assert len(tests) == 5


def test_the_replay_of_a_test_in_a_package_is_for_the_folder_and_the_shell_of_the_caller(
    tmp_path: Path,
) -> None:
    package = tmp_path / "project" / "tests" / "unit"
    package.mkdir(parents=True)
    (tmp_path / "project" / "pytest.ini").write_text(INI)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "shared.py").write_text("SIZES = ['$HOME \"x\" `id` \\\\ 1']\n")
    (package / "test_it.py").write_text(IN_A_PACKAGE)

    said = run_pytest(package.parent, "unit", is_ok=False)
    (line,) = [one for one in said.splitlines() if one.startswith("tidelog: replay: ")]
    assert line.startswith('tidelog: replay: pytest "unit/test_it.py::TestIt::test_fails[')
    words = line.removeprefix("tidelog: replay: pytest ")
    arguments = subprocess.check_output(["sh", "-c", rf"printf '%s\n' {words}"], text=True)
    again = run_pytest(package.parent, *arguments.splitlines(), is_ok=False)
    assert line in again
    assert "1 failed" in again


def test_seeds_of_the_command_line(folder: Path) -> None:
    passing = ("test_orders.py::test_passes", "--tidelog-json=out.json")

    def seeds(*options: str) -> int:
        run_pytest(folder, *passing, *options)
        (test,) = json.loads((folder / "out.json").read_text())["tests"]
        found: int = test["seeds"]
        return found

    assert seeds() == 3
    assert seeds("--tidelog-seeds=2") == 2
    assert seeds("--tidelog-seeds=4:8") == 4
    fresh = run_pytest(folder, *passing[:1], "--tidelog-fresh", "-v")
    assert re.search(r"tidelog: fresh seeds from \d+ on", fresh)
    items = run_pytest(folder, "test_orders.py", "-k", "items", "--tidelog-seeds=7:9", "--co")
    assert "test_items[seed7]" in items
    assert "test_items[seed8]" in items


@pytest.mark.parametrize("seeds", ["0", "3:3", "x", "-1"])
def test_seeds_that_are_none(folder: Path, seeds: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--tidelog-seeds={seeds}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 4
    assert "--tidelog-seeds" in done.stderr


def test_an_async_fixture_and_a_mistake_say_why(folder: Path) -> None:
    (folder / "test_orders.py").write_text(ASYNC_FIXTURE)
    assert "fixture 'database' is async" in run_pytest(folder, is_ok=False)
    (folder / "test_orders.py").write_text(MISTAKE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 2  # at collection
    assert "there is no 'typhoon'; there are the sets none, standard, harsh" in done.stdout


@pytest.mark.parametrize("options", [("-p", "no:tidelog"), ("-o", "asyncio_mode=auto")])
def test_without_the_plugin_and_in_asyncios_auto_mode(
    folder: Path, options: tuple[str, ...]
) -> None:
    assert "1 passed" in run_pytest(folder, *options, "test_orders.py::test_passes")
