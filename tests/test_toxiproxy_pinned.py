"""Toxiproxy is built from what the repository's checksums name, whatever the user's environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PINNED = "github.com/Shopify/toxiproxy/v2"
FAKE_GO = """#!/bin/sh
{ echo "$@"; env; } >"$GO_TOLD"
while [ "$1" != -o ]; do shift; done
touch "$2"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One with the script and its module, and a Go on PATH that only notes how it is called."""
    shutil.copytree(ROOT / "tools" / "toxiproxy", tmp_path / "tools" / "toxiproxy")
    shutil.copy(ROOT / "tools" / "toxiproxy.sh", tmp_path / "tools")
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o700)
    return tmp_path


def build(checkout: Path) -> str:
    """How Go was called: its arguments, then its environment; empty: it was not."""
    arguments_file = checkout / "told"
    arguments_file.unlink(missing_ok=True)
    careless = {"GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GOINSECURE": "*", "GOWORK": "/elsewhere"}
    path = f"{checkout}/path:{os.defpath}"
    subprocess.run(
        [checkout / "tools" / "toxiproxy.sh"],
        env={**careless, "PATH": path, "GO_TOLD": str(arguments_file)},
        check=True,
        timeout=600,
        capture_output=True,
    )
    return arguments_file.read_text() if arguments_file.exists() else ""


def test_every_module_it_needs_has_its_checksum_in_the_repository() -> None:
    needed = re.findall(
        r"^\s+(\S+) (v\S+)", (ROOT / "tools/toxiproxy/go.mod").read_text(), re.MULTILINE
    )
    sums = (ROOT / "tools/toxiproxy/go.sum").read_text()
    assert PINNED in dict(needed)
    for name, version in needed:
        assert re.search(rf"^{re.escape(f'{name} {version}')} h1:\S{{44}}$", sums, re.MULTILINE), (
            name
        )


def test_go_may_take_nothing_but_what_go_sum_names(checkout: Path) -> None:
    arguments, *environment = build(checkout).splitlines()
    assert arguments.startswith(f"build -C {checkout}/tools/toxiproxy -mod=readonly ")
    assert arguments.endswith(f"{PINNED}/cmd/server"), "without a version of its own"
    assert "GOFLAGS=-modcacherw" in environment
    assert "GOWORK=off" in environment
    assert (checkout / ".tools/bin/toxiproxy-server").exists()


def test_it_is_built_again_when_a_checksum_has_changed(checkout: Path) -> None:
    assert build(checkout)
    assert not build(checkout)
    with (checkout / "tools/toxiproxy/go.sum").open("a") as sums:
        sums.write("another v1.0.0 h1:sum\n")
    assert build(checkout)
