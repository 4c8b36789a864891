"""The pipeline's one command line, by `tidelog pipeline` and by its module."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tidelog.cli.bootstrap import DEFAULT_BOOTSTRAP
from tidelog.cli.main import main
from tidelog.spark.pipeline import __main__ as module
from tidelog.spark.pipeline.plan import Limits
from tidelog.spark.pipeline.settings import LOCAL, Settings, parse

LEAST = ("--topic", "a", "--schema", "id long", "--output", "/out")


def test_every_option_reaches_the_settings() -> None:
    said = (
        *("--bootstrap", "h:1", "--topic", "b", *LEAST, "--partition-by", "shop", "_date"),
        *("--max-records", "5", "--from-latest", "--allow-data-loss", "--master", "spark://m:7077"),
        *("--option", "minPartitions=4", "--option", "x=y=z"),
    )
    assert parse(said, bootstrap="other:1") == Settings(
        bootstrap="h:1",
        topics=["b", "a"],
        schema="id long",
        output="/out",
        partition_by=["shop", "_date"],
        limits=Limits(records_max=5, from_latest=True, is_loss_allowed=True),
        options={"minPartitions": "4", "x": "y=z"},
        master="spark://m:7077",
    )


def test_what_is_left_out_has_its_default() -> None:
    parsed = parse((*LEAST[:-1], "out"), bootstrap="h:1")

    assert parsed == Settings("h:1", ["a"], "id long", str(Path("out").absolute()), [])
    assert (parsed.master, parsed.limits) == (LOCAL, Limits())


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (LEAST, "required: --bootstrap"),
        (("--bootstrap", "h:1", *LEAST, "--max-records", "0"), "0 is less than 1"),
        (("--bootstrap", "h:1", *LEAST, "--option", "x"), "'x' is not NAME=VALUE"),
        (("--bootstrap", "h:1", *LEAST, "--max", "1"), "unrecognized arguments: --max"),
    ],
)
def test_wrong_usage_is_refused_by_name(
    wrong: Sequence[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(wrong, bootstrap=None)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def tidelog(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Exit code or message of `tidelog pipeline`, in this process."""
    monkeypatch.setattr(sys, "argv", ["tidelog", "pipeline", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_help_lists_the_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tidelog(monkeypatch, "--help") == 0
    shown = capsys.readouterr().out
    for option in ("--bootstrap", "--topic", "--schema", "--output", "--max-records", "--master"):
        assert f"{option} " in shown or f"{option}," in shown


def test_the_command_hands_over_options_with_its_own_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[tuple[Sequence[str], str | None, str]] = []

    def hear(arguments: Sequence[str], *, bootstrap: str | None) -> None:
        heard.append((arguments, bootstrap, os.environ["PYSPARK_PYTHON"]))

    monkeypatch.setattr(module, "main", hear)
    monkeypatch.delenv("TIDELOG_BOOTSTRAP", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "to be unset")
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert tidelog(monkeypatch, *LEAST, "--partition-by", "shop", "_date") == 0
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", "h:1")
    monkeypatch.setenv("PYSPARK_PYTHON", "/mine")
    assert tidelog(monkeypatch, *LEAST) == 0

    every = ("--max-records", "5", "--from-latest", "--allow-data-loss", "--master", "local[2]")
    assert tidelog(monkeypatch, *LEAST, *every, "-t", "b", "--option", "x=y=z", "-b", "h:2") == 0

    (first, *where), (second, *there), (third, *_) = heard
    assert (where, there) == ([DEFAULT_BOOTSTRAP, sys.executable], ["h:1", "/mine"])
    by_both = (*LEAST, "--partition-by", "shop", "_date")
    assert parse(first, bootstrap="h:0") == parse(by_both, bootstrap="h:0")
    assert parse(second, bootstrap="h:0") == parse(LEAST, bootstrap="h:0")
    by_all = (*LEAST, *every, "--topic", "b", "--option", "x=y=z")
    assert parse(third, bootstrap="h:0") == parse(by_all, bootstrap="h:0")


@pytest.mark.parametrize(
    "wrong",
    [LEAST[2:], (*LEAST, "shop"), (*LEAST, "--option", "x"), (*LEAST, "--max-records", "0")],
)
def test_wrong_usage_of_the_command_has_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, wrong: Sequence[str]
) -> None:
    monkeypatch.setattr(module, "main", lambda *_, **__: pytest.fail("the job was started"))
    assert tidelog(monkeypatch, *wrong) == 2


def test_a_machine_that_cannot_run_spark_is_told_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = tidelog(monkeypatch, *LEAST)

    assert isinstance(said, str)
    assert said.startswith("tidelog pipeline: no Java was found: Spark needs Java 17 or newer")
