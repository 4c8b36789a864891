"""A user's file of tests that uses all of `tidelog.testing`: typed strictly, whole, and it runs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog.testing
from tidelog.testing import LocalCluster, plugin

WHOLE = Path(__file__).with_name("whole_testing.py")
ROOT = WHOLE.parents[2]
TEXT = WHOLE.read_text(encoding="utf-8")
TREE = ast.parse(TEXT)


def test_the_file_uses_every_name_fixture_method_and_option() -> None:
    names = {node.id for node in ast.walk(TREE) if isinstance(node, ast.Name)}
    arguments = {node.arg for node in ast.walk(TREE) if isinstance(node, ast.arg)}
    members = {node.attr for node in ast.walk(TREE) if isinstance(node, ast.Attribute)}
    keywords = {node.arg for node in ast.walk(TREE) if isinstance(node, ast.keyword)}
    assert set(tidelog.testing.__all__) <= names
    assert {name for name in vars(plugin) if name.startswith("tidelog_")} <= arguments
    public = {name for name in dir(LocalCluster) if not name.startswith("_")} | {"folder"}
    assert public <= members
    methods = [LocalCluster, *(getattr(LocalCluster, name, None) for name in public)]
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
    for path in [WHOLE, *package]:
        assert path.read_text(encoding="utf-8").startswith("# pyright: strict\n"), path
    assert "type: ignore" not in TEXT
    assert "Any" not in TEXT
    check = (ROOT / "Makefile").read_text().partition("\ncheck: ")[2].partition("\n\n")[0]
    (line,) = [one for one in check.splitlines() if "basedpyright" in one]
    assert "tests/testing/whole_testing.py testing/tidelog/testing/*.py" in line


@pytest.mark.process
def test_the_file_passes(tmp_path: Path) -> None:
    (tmp_path / "test_whole.py").write_text(TEXT, encoding="utf-8")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--asyncio-mode=auto"]
    done = subprocess.run(
        [sys.executable, *words], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
