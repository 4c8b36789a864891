"""A user's file of tests that uses all of `tidelog.testing`: typed strictly, whole, and it runs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog.testing
from tidelog.testing import (
    LocalCluster,
    SimulatedProcess,
    Simulation,
    plugin,
    simulate,
    simulated,
)

FILES = {
    "whole_testing.py": "5 passed",
    "whole_simulated.py": "4 passed",
}
"""What pytest says of each."""
FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TEXTS = {name: (FOLDER / name).read_text(encoding="utf-8") for name in FILES}
NODES = [node for text in TEXTS.values() for node in ast.walk(ast.parse(text))]
CLASSES = (LocalCluster, Simulation, SimulatedProcess)
INTERNAL = {"recording", "struck", "begin_storm", "process_loops", "loop"}
"""Of the simulation's classes: what only its own files use."""


def test_the_file_uses_every_name_fixture_method_and_option() -> None:
    names = {node.id for node in NODES if isinstance(node, ast.Name)}
    arguments = {node.arg for node in NODES if isinstance(node, ast.arg)}
    members = {node.attr for node in NODES if isinstance(node, ast.Attribute)}
    keywords = {node.arg for node in NODES if isinstance(node, ast.keyword)}
    assert set(tidelog.testing.__all__) <= names
    assert {name for name in vars(plugin) if name.startswith("tidelog_")} <= arguments
    public = {(kind, name) for kind in CLASSES for name in dir(kind) if name[0] != "_"}
    assert {name for _, name in public} - INTERNAL | {"folder", "seed", "random"} <= members
    methods = [LocalCluster, simulated, simulate, *(getattr(*one) for one in public)]
    options = {
        one.name
        for method in methods
        if inspect.isfunction(method) or inspect.isclass(method)
        for one in inspect.signature(method).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    }
    assert options <= keywords


def test_the_file_and_the_package_are_typed_strictly() -> None:
    package = sorted((ROOT / "testing/tidelog/testing").glob("*.py"))
    assert len(package) >= 10
    for path in [*(FOLDER / name for name in FILES), *package]:
        assert path.read_text(encoding="utf-8").startswith("# pyright: strict\n"), path
    for text in TEXTS.values():
        assert "type: ignore" not in text
        assert "Any" not in text
    check = (ROOT / "Makefile").read_text().partition("\ncheck: ")[2].partition("\n\n")[0]
    (line,) = [one for one in check.splitlines() if "basedpyright" in one]
    assert "tests/testing/whole_*.py testing/tidelog/testing/*.py" in line


@pytest.mark.process
@pytest.mark.parametrize("name", FILES)
def test_the_file_passes(tmp_path: Path, name: str) -> None:
    (tmp_path / "test_whole.py").write_text(TEXTS[name], encoding="utf-8")
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--asyncio-mode=auto",
        "--tidelog-seeds=1",
    ]
    done = subprocess.run(
        [sys.executable, *words], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert FILES[name] in done.stdout
