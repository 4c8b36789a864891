"""Pytest's fixtures of clusters, in pytest runs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tidelog.testing.plugin import LOG_LINES_MAX, NAME_CHARACTERS_MAX

pytestmark = pytest.mark.process

PYTEST_INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
ORDERS = """
import asyncio

import pytest

from tidelog.client import Producer
from tidelog.client.sync import Producer as SyncProducer


@pytest.mark.parametrize("number", [1, 2])
async def test_coroutine(tidelog_cluster, tidelog_topic, number):
    async with Producer(tidelog_cluster.bootstrap) as producer:
        assert (await producer.send(tidelog_topic, value=b"x", partition=0)).offset == 0


class TestPlain:
    def test_function(self, tidelog_cluster, tidelog_topic):
        with SyncProducer(tidelog_cluster.bootstrap) as producer:
            assert producer.send(tidelog_topic, value=b"x", partition=0).offset == 0


def test_fresh(tidelog_cluster, tidelog_fresh_cluster):
    tidelog_fresh_cluster.kill(2)
    assert tidelog_cluster.bootstrap != tidelog_fresh_cluster.bootstrap
"""

UVLOOP = """
import asyncio

import uvloop

from tidelog.client import Producer


def test_in_a_loop_of_uvloops(tidelog_fresh_cluster):
    async def send():
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        tidelog_fresh_cluster.create_topic("t", partitions=1)
        async with Producer(tidelog_fresh_cluster.bootstrap) as producer:
            assert (await producer.send("t", value=b"x")).offset == 0
            tidelog_fresh_cluster.kill(tidelog_fresh_cluster.leader("t", 0))
            assert (await producer.send("t", value=b"x")).offset == 1

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(send())
"""

ORDERS_OF_ANYIO = ORDERS.replace("async def", "@pytest.mark.anyio\nasync def")
ANYIO = f"""
{ORDERS_OF_ANYIO}

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""

PROCESSES = """
def test_processes(tidelog_processes):
    tidelog_processes.pause(2)
    tidelog_processes.resume(2)
"""

FAILING = """
from tidelog.core.errors import StorageError


def test_of_the_user(tidelog_fresh_cluster):
    tidelog_fresh_cluster.create_topic("t")
    assert False, "the user's own"


def test_of_a_node(tidelog_fresh_cluster):
    nodes = tidelog_fresh_cluster._nodes.nodes

    async def fail():
        nodes[2]._life._on_fatal(StorageError("the disk is gone"))

    tidelog_fresh_cluster._run(fail())
"""


TALKATIVE = """
def test_of_the_user(tidelog_fresh_cluster):
    with open(tidelog_fresh_cluster._nodes.nodes[1].plan.log_path, "a") as log:
        log.writelines(f"line {number}\\n" for number in range(1000))
    assert False
"""

LONG_NAME = """
import pytest


@pytest.mark.parametrize("any", [1], ids=["é/" + "long" * 100])
def test_of_a_long_name(tidelog_topic, any):
    assert tidelog_topic.startswith("test_of_a_long_name-")
    assert len(tidelog_topic) == 209
"""


def run_pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_orders.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(PYTEST_INI, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **{n: v for n, v in os.environ.items() if "PYTEST" not in n},
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        },
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--asyncio-mode=auto",),
        ("--asyncio-mode=auto", "-n", "2"),
        ("--asyncio-mode=auto", "--strict-markers", "--strict-config", "-W", "error"),
        ("--asyncio-mode=strict", "--timeout=300", "--timeout-method=thread"),
    ],
)
def test_tests_of_each_kind_have_clusters(tmp_path: Path, options: tuple[str, ...]) -> None:
    text = ORDERS
    if "--asyncio-mode=strict" in options:
        text = text.replace("async def", "@pytest.mark.asyncio\nasync def")
    done = run_pytest(tmp_path, text, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


@pytest.mark.parametrize(
    ("module", "text", "options"),
    [
        ("uvloop", UVLOOP, ()),
        ("uvloop", f"import uvloop\n\nuvloop.install()\n{ORDERS}", ("--asyncio-mode=auto",)),
        ("anyio", ANYIO, ("-p", "no:asyncio")),
    ],
    ids=["uvloop", "uvloop-policy", "anyio"],
)
def test_clusters_beside_another_library_of_loops(
    tmp_path: Path, module: str, text: str, options: tuple[str, ...]
) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not among the packages of development: pip install {module}")
    done = run_pytest(tmp_path, text, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_a_test_has_processes(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, PROCESSES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_shows_the_nodes_logs_and_a_nodes_failure_fails_the_test(
    tmp_path: Path,
) -> None:
    done = run_pytest(tmp_path, FAILING, f"--basetemp={tmp_path / 'base'}")
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "log of tidelog node 3" in done.stdout
    assert "the user's own" in done.stdout
    assert "LocalClusterError: node 2 failed: the disk is gone" in done.stdout


def test_of_a_nodes_log_the_end_is_shown(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, TALKATIVE)
    shown = [line for line in done.stdout.splitlines() if line.startswith("line ")]
    assert shown == [f"line {number}" for number in range(1000 - LOG_LINES_MAX, 1000)]


def test_a_topics_name_is_as_long_as_a_topics_may_be(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, LONG_NAME)
    assert done.returncode == 0, done.stdout
    assert NAME_CHARACTERS_MAX == 200, "and 9 that make it unlike others"


def test_an_old_pytest_runs_on_and_is_told_by_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(
        "import pytest\npytest.version_tuple = (7, 4, 0)\npytest.__version__ = '7.4.0'\n"
    )
    text = "def test_any():\n    pass\n\ndef test_cluster(tidelog_cluster):\n    pass\n"
    done = run_pytest(tmp_path, text, "-p", "old")
    assert "1 passed, 1 error" in done.stdout
    assert "Tidelog's fixtures need pytest 8 or newer, and this is 7.4.0" in done.stdout


def test_the_plugin_is_left_out_on_demand(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, ORDERS, "-p", "no:tidelog", "--asyncio-mode=auto")
    assert done.returncode == 1
    assert "fixture 'tidelog_cluster' not found" in done.stdout


def test_the_plugin_imports_nothing_of_tidelog_before_it_is_used(tmp_path: Path) -> None:
    text = """
import sys


def test_imports(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("tidelog")
    found = {name for name in sys.modules if name.startswith("tidelog.")}
    own = {"plugin", "plugin_simulated"}
    assert found == {"tidelog.testing", *(f"tidelog.testing.{name}" for name in own)}
    assert "grpc" not in sys.modules
"""
    done = run_pytest(tmp_path, text)
    assert done.returncode == 0, done.stdout
