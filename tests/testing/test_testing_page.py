"""The page of `tidelog.testing`: its blocks, as a reader would paste them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.doc_blocks import block

pytestmark = pytest.mark.process
PAGE = "docs/TESTING.md"
FEWER = """
import pytest
from tidelog.testing import LocalCluster


@pytest.fixture(scope="session")
def tidelog_cluster():
    with LocalCluster(brokers={brokers}) as cluster:
        yield cluster
"""
"""A session's cluster of another size."""


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    text = block(PAGE, "from tidelog.client.sync import").text
    (tmp_path / "test_orders.py").write_text(text, encoding="utf-8")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=tmp_path)
    assert "2 passed" in done


def test_the_cluster_of_the_page_runs(tmp_path: Path) -> None:
    assert run("-c", block(PAGE, "from tidelog.testing import").text, folder=tmp_path) == ""


def test_the_simulated_test_of_the_page_passes(tmp_path: Path) -> None:
    text = block(PAGE, "from tidelog.client import Consumer, Producer").text
    (tmp_path / "test_orders.py").write_text(text, encoding="utf-8")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=tmp_path)
    assert "1 passed" in done


@pytest.mark.turns(4)
@pytest.mark.parametrize("brokers", [1, 2])
def test_what_needs_no_third_broker_runs_on_fewer(tmp_path: Path, brokers: int) -> None:
    """All of the page but the test that kills a broker and goes on without it."""
    fixtures = block(PAGE, "from tidelog.client.sync import").text
    (tmp_path / "test_stored.py").write_text(fixtures, encoding="utf-8")
    simulated = block(PAGE, "from tidelog.client import Consumer, Producer").text
    changed = simulated.replace("@simulated(seeds=5,", f"@simulated(brokers={brokers}, seeds=2,")
    assert changed != simulated
    (tmp_path / "test_simulated.py").write_text(changed, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(FEWER.format(brokers=brokers), encoding="utf-8")
    stored = ("-p", "no:cacheprovider", "-k", "not outlive")
    assert "2 passed" in run("-m", "pytest", "-q", *stored, folder=tmp_path)
    plain = block(PAGE, "from tidelog.testing import").text
    for written in ("brokers=3", "kill(2)", "start(2)"):
        instead = written.replace(written.strip("()")[-1], f"{brokers}")
        assert written in plain
        plain = plain.replace(written, instead)
    assert run("-c", plain, folder=tmp_path) == ""


def run(*arguments: str, folder: Path) -> str:
    """What Python prints, on both streams."""
    done = subprocess.run(
        [sys.executable, *arguments], check=False, capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
