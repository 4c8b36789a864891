"""tools/test.sh with a pytest that only tells its phase: every phase runs, outputs stay whole."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "test.sh"
PURE = "not (process or chaos or spark)"
PROCESSES = "(process or chaos) and not (spark or long)"
SPARK = "spark and not long"
PHASES = {"pure": PURE, "processes": PROCESSES, "spark": SPARK}
PYTEST = """#!/usr/bin/env bash
# With time between its lines: those of another phase would come in between.
all=" $* "
while [ "$1" != -m ] || [ "$2" = pytest ]; do shift; done
echo "begin $2"
echo "$2:$all" >>asked
sleep 0.2
echo "=== end $2 ==="
! grep -qxF -- "$2" failing
"""
MAKE = """#!/usr/bin/env bash
echo "begin check"
sleep 0.1
echo "=== end check ==="
! grep -qxF check failing
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of nothing but the script, with a python and a make of its own."""
    for name, text in ((".venv/bin/python", PYTEST), ("bin/make", MAKE)):
        program = tmp_path / name
        program.parent.mkdir(parents=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    return tmp_path


def run(checkout: Path, *options: str, failing: str = "") -> tuple[int, list[str]]:
    (checkout / "failing").write_text(failing, encoding="utf-8")
    done = subprocess.run(
        [str(checkout / "tools/test.sh"), *options],
        env={"PATH": f"{checkout}/bin:/usr/bin:/bin", "TMPDIR": str(checkout)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_every_phase_tells_all_of_its_own_and_spark_is_last(checkout: Path) -> None:
    code, lines = run(checkout, "--check")

    assert code == 0
    for phase in [*PHASES.values(), "check"]:
        at = lines.index(f"begin {phase}")
        assert lines[at + 1] == f"=== end {phase} ===", "nothing comes in between"
    assert lines[-1] == f"=== end {SPARK} ==="
    assert list(checkout.glob("tmp.*")) == [], "no output is left behind"


def test_the_checks_are_left_out_unless_asked_for(checkout: Path) -> None:
    code, lines = run(checkout)

    assert code == 0
    assert "begin check" not in lines


def test_a_phase_imports_only_the_files_that_have_its_mark(checkout: Path) -> None:
    (checkout / "tests" / "log").mkdir(parents=True)
    texts = {
        "log/test_disk.py": "@pytest.mark.process\n",
        "test_toxics.py": "pytestmark = [pytest.mark.chaos]\n",
        "test_rows.py": "@pytest.mark.spark\n",
        "test_pure.py": "@pytest.mark.sim  # no process\n",
    }
    for name, text in texts.items():
        (checkout / "tests" / name).write_text(text, encoding="utf-8")
    run(checkout, "-x")

    asked = dict(
        line.split(":", 1) for line in (checkout / "asked").read_text(encoding="utf-8").splitlines()
    )
    assert f" -m {PURE} -x " in asked[PURE]
    assert f" -m {PROCESSES} tests/log/test_disk.py tests/test_toxics.py -x " in asked[PROCESSES]
    assert f" -m {SPARK} tests/test_rows.py -x " in asked[SPARK]


def test_marks_of_phases_stand_where_the_script_finds_them() -> None:
    """In files of tests, written out: a phase imports no others."""
    elsewhere = re.compile(r"(?<!pytest\.)\bmark\.(process|chaos|spark)\b")
    anywhere = re.compile(r"\bmark\.(process|chaos|spark)\b")
    for path in Path(__file__).parent.rglob("*.py"):
        wrong = elsewhere if path.name.startswith("test_") else anywhere
        assert not wrong.search(path.read_text(encoding="utf-8")), path


def test_what_the_checks_run_is_not_run_again(checkout: Path) -> None:
    recipe = re.search(r"pytest -q (tests/.*)", SCRIPT.parents[1].joinpath("Makefile").read_text())
    assert recipe is not None
    run(checkout, "--check")
    run(checkout)

    asked = (checkout / "asked").read_text(encoding="utf-8").splitlines()
    checked, alone = (line for line in asked if line.startswith(PURE))
    ignored = "".join(f"--ignore-glob={glob} " for glob in recipe[1].split())
    assert ignored in checked
    assert "--ignore" not in alone


@pytest.mark.parametrize("failing", [*PHASES.values(), "check"])
def test_a_phase_that_fails_fails_the_run_and_the_others_run_all_the_same(
    checkout: Path, failing: str
) -> None:
    code, lines = run(checkout, "--check", failing=failing)

    assert code == 1
    assert all(f"=== end {phase} ===" in lines for phase in [*PHASES.values(), "check"])
    assert lines[-1] == f"=== end {SPARK} ==="
