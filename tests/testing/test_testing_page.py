"""The page of `tidelog.testing`: its blocks, as a reader would paste them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.doc_blocks import block

pytestmark = pytest.mark.process
PAGE = "docs/TESTING.md"


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


def run(*arguments: str, folder: Path) -> str:
    """What Python prints, on both streams."""
    done = subprocess.run(
        [sys.executable, *arguments], check=False, capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
