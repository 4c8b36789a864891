"""Blocks of README and of pages of docs run on a cluster as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.coordinator.assignments import assigned, group_of, member, topic_id
from tests.doc_blocks import ROOT, block
from tests.integration.local_cluster import LocalCluster

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.core.config_sources import without_variables
from tidelog.node.config import NODE_KEYS

pytestmark = pytest.mark.process
BIN = Path(sys.executable).parent
SKIPPED = {
    "pip install 'tidelog[server]'": "tests/integration/test_wheel.py installs the wheel",
    "tidelog cluster start": "fixed ports: test_cluster_command.py starts others",
    "make setup": "it made the environment of this test",
    ".venv/bin/tidelog chaos run F12": "tests/chaos runs scenarios",
}
"""Lines within blocks that are not run, and why."""
WRITTEN = [f"127.0.0.1:{port}" for port in (9192, 9193, 9194)]
"""Addresses of the pages."""
README_PYTHON = ("import asyncio", "from tidelog.client.sync", "from tidelog.client import sync")
"""First lines of the blocks that write and read."""
TOPICS = ("greetings", "orders", "payments", "tides")


@pytest.fixture(scope="module")
def cluster(running_cluster: LocalCluster) -> Iterator[LocalCluster]:
    yield running_cluster
    running_cluster.run("topics", "delete", *TOPICS)


def run(cluster: LocalCluster, folder: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **without_variables(NODE_KEYS, os.environ),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "TIDELOG_BOOTSTRAP": cluster.bootstrap,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def run_lines(cluster: LocalCluster, folder: Path, text: str) -> str:
    """Run the lines of a block that can be, one by one; their output."""
    lines = [re.sub(r"\s+#.*", "", line) for line in text.splitlines()]
    return "".join(
        run(cluster, folder, "bash", "-c", line.replace(".venv/bin/", ""))
        for line in lines
        if line not in SKIPPED
    )


def run_python(cluster: LocalCluster, folder: Path, text: str) -> str:
    """Run a block as a script, at this cluster's addresses."""
    text = text.replace(",".join(WRITTEN), cluster.bootstrap)
    for written, address in zip(WRITTEN, cluster.addresses, strict=False):
        text = text.replace(written, address)
    return run(cluster, folder, sys.executable, "-c", text)


def test_the_first_record_of_the_readme(cluster: LocalCluster, tmp_path: Path) -> None:
    shown = run_lines(cluster, tmp_path, block("README.md", "pip install").text)
    assert shown == "hello\n"


@pytest.mark.parametrize("first_line", README_PYTHON)
def test_the_python_of_the_readme(cluster: LocalCluster, tmp_path: Path, first_line: str) -> None:
    assert "topic='greetings'" in run_python(cluster, tmp_path, block("README.md", first_line).text)


@pytest.mark.turns(4)
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_same_examples_run_on_fewer_nodes(tmp_path: Path, nodes: int) -> None:
    """The first record, Python with its transaction, a group; in the end the cluster is healthy."""
    cluster = LocalCluster(tmp_path / "data", nodes=nodes)
    try:
        started = cluster.start("--nodes", f"{nodes}")
        assert started.returncode == 0, started.stderr
        shown = run_lines(cluster, tmp_path, block("README.md", "pip install").text)
        assert shown == "hello\n"
        for first_line in README_PYTHON:
            shown = run_python(cluster, tmp_path, block("README.md", first_line).text)
            assert "topic='greetings'" in shown
        group = block("docs/GROUPS.md", "import asyncio").text
        assert run_python(cluster, tmp_path, group) == "read 100\n"
        health = cluster.run("cluster", "health")
        assert (health.returncode, health.stdout.partition(":")[0]) == (0, "healthy")
    finally:
        cluster.stop()


def test_the_first_group_and_its_listener(cluster: LocalCluster, tmp_path: Path) -> None:
    first = block("docs/GROUPS.md", "import asyncio").text
    assert run_python(cluster, tmp_path, first) == "read 100\n"
    described = cluster.run("groups", "describe", "harbour").stdout
    assert "harbour: Empty, consumer protocol" in described
    listener = block("docs/GROUPS.md", "from collections.abc").text
    again = first.replace("import asyncio\n", f"{listener}\nimport asyncio\n", 1)
    again = again.replace('subscribe(["tides"])', 'subscribe(["tides"], listener=Stock())')
    again = again.replace('"harbour"', '"harbour-2"')
    again = "\n".join(line for line in again.splitlines() if "create_topic" not in line)
    again = again.replace("async with Admin(BOOTSTRAP) as admin:", "if BOOTSTRAP:\n        pass")
    shown = run_python(cluster, tmp_path, again)
    assert "begin with [TopicPartition(topic='tides', partition=0)" in shown


def test_the_assignor_of_the_page_on_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = block("docs/GROUPS.md", "from tidelog.broker.coordinator").text
    (tmp_path / "own_assignors.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    own = assignors_of(["uniform", "own_assignors:AllToFirst"])["all-to-first"]
    given = assigned(own, group_of({"a": 2}, member("x", ["a"]), member("y", ["a"])))
    assert given == {"x": {(topic_id("a"), 0), (topic_id("a"), 1)}, "y": frozenset()}


def test_the_scenarios_of_the_readme(cluster: LocalCluster, tmp_path: Path) -> None:
    assert "F12" in run_lines(cluster, tmp_path, block("README.md", "make setup").text)


def test_the_queries_of_the_command_line(cluster: LocalCluster, tmp_path: Path) -> None:
    for topic in ("orders", "payments"):
        cluster.run("produce", topic, "-K", ":", stdin='north:{"amount": 4}\nsouth:{"amount": 5}\n')
    shown = run_lines(cluster, tmp_path, block("docs/COMMANDS.md", "tidelog sql").text)
    assert "south\t5\n" in shown
    assert '{"value": "{\\"amount\\": 4}", "value_1": "{\\"amount\\": 4}"}\n' in shown


def test_the_lines_of_the_history_page_are_a_history(cluster: LocalCluster, tmp_path: Path) -> None:
    page = (ROOT / "docs/HISTORY.md").read_text(encoding="utf-8")
    text = "".join(re.findall(r"^ {4}(.*\n)", page, re.MULTILINE))
    lines = re.sub(r",\n ", ", ", text)
    assert lines.count("\n") == lines.count("}\n") == 15
    (tmp_path / "history.jsonl").write_text(lines, encoding="utf-8")
    (command,) = re.findall(r"^\$ (.*)$", block("docs/HISTORY.md", "$ tidelog").text, re.MULTILINE)
    shown = run(cluster, tmp_path, "bash", "-c", command)
    assert '"verdict": "ok"' in shown
    assert '"acknowledged": 2' in shown
