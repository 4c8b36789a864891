"""What a machine must have for Spark, and what is said where it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tidelog
from tidelog.spark.environment import (
    SetupError,
    check_packages,
    check_session,
    java_fault,
    package_fault,
    python_fault,
)

GOOD = {"pyspark": "4.3.0", "pyarrow": "18.0.0", "numpy": "2.0.1"}


def test_this_machine_has_the_packages() -> None:
    check_packages()
    assert package_fault(GOOD) is None
    assert package_fault(GOOD | {"pyspark": "4.3.1.dev2", "pyarrow": "99.1"}) is None


@pytest.mark.parametrize(
    ("name", "found", "message"),
    [
        ("pyspark", None, "pyspark is not installed: pip install 'tidelog[spark]'"),
        ("numpy", None, "numpy is not installed"),
        (
            "pyspark",
            "4.2.9",
            "pyspark 4.2.9 is installed, the tidelog data source needs pyspark 4.3",
        ),
        ("pyspark", "4.4.0", "needs pyspark 4.3: pip install"),
        ("pyarrow", "17.0.0", "needs pyarrow 18 or newer"),
        ("numpy", "1.26.4", "needs numpy 2 or newer"),
    ],
)
def test_a_package_of_the_wrong_version_is_named(
    name: str, found: str | None, message: str
) -> None:
    assert message in (package_fault(GOOD | {name: found}) or "")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ('openjdk version "17.0.15" 2025-04-15', None),
        ('java version "21" 2023-09-19', None),
        ('openjdk version "25-ea"', None),
        ('java version "1.8.0_392"', "Java 8 was found: Spark needs Java 17 or newer"),
        ('openjdk version "11.0.2"', "Java 11 was found"),
        ("", "no Java was found: Spark needs Java 17 or newer: install it"),
        ("command not found", "no Java was found"),
    ],
)
def test_an_old_java_is_told_from_none(said: str, fault: str | None) -> None:
    found = java_fault(said)
    assert found is None if fault is None else fault in (found or "")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("3.11\n", None),
        ("", "the Python of Spark's workers does not run: set the environment variable PYSPARK_"),
        ("3.12\n", "Spark's workers would run on Python 3.12, this is 3.11: set"),
        ("3.11 pyarrow tidelog\n", "lacks pyarrow, tidelog: set the environment variable"),
    ],
)
def test_the_python_of_the_workers_is_like_this_one(said: str, fault: str | None) -> None:
    found = python_fault(said, own="3.11")
    assert found is None if fault is None else fault in (found or "")


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_session_may_start_where_java_and_python_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    check_session()


@pytest.mark.parametrize(
    ("java", "python", "message"),
    [
        ("exit 1", sys.executable, "no Java was found"),
        ("echo 'version \"11.0.1\"'", sys.executable, "Java 11 was found"),
        (
            "echo 'version \"17.0.1\"'",
            "/nowhere/python3",
            "Spark's workers does not run: set .*PYT",
        ),
    ],
)
def test_what_would_keep_a_session_from_starting_is_said(
    java: str, python: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "java", java)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", python)
    with pytest.raises(SetupError, match=message):
        check_session()


def test_a_python_that_has_nothing_lacks_this_package_unless_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    program(tmp_path / "python", f'exec {sys.executable} -S "$@"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "python"))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    with pytest.raises(SetupError, match="lacks pyspark, pyarrow, numpy, grpc, tidelog: set"):
        check_session()
    with pytest.raises(SetupError, match="lacks pyspark, pyarrow, numpy, grpc: set"):
        check_session(is_shipped=True)


def test_a_machine_without_pyspark_is_told_so_by_the_first_import() -> None:
    program = "from tidelog.spark import environment, TidelogDataSource"
    alone = [sys.executable, "-S", "-c", program]  # without site-packages
    path = ":".join(str(Path(folder).parent) for folder in tidelog.__path__)
    done = subprocess.run(
        alone, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "tidelog.spark.environment.SetupError: "
        "pyspark is not installed: pip install 'tidelog[spark]'"
    )
