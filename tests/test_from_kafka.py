"""The last column of docs/FROM-KAFKA.md names what exists, and concept pages link what exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest

from tidelog.cli.main import tidelog
from tidelog.client import Admin, Consumer, Producer, sync
from tidelog.spark.options import READ

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "FROM-KAFKA.md").read_text(encoding="utf-8")
CLASSES = {one.__name__: one for one in (Admin, Consumer, Producer)}
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and " --- " not in line]
OURS = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row.split(" | ")[-1])]
COMMANDS = sorted({name for name in OURS if name.startswith("tidelog ")})
PARAMETERS = sorted({name for name in OURS if name.endswith("=)")})
METHODS = sorted({name for name in OURS if re.fullmatch(r"[A-Z]\w+\.\w+", name)})
PAGES = sorted([*DOCS.glob("concepts/*.md"), DOCS / "FROM-KAFKA.md", DOCS / "TOUR.md"])


@pytest.mark.parametrize("line", COMMANDS)
def test_a_named_command_has_the_named_options(line: str) -> None:
    words = line.split()[1:]
    command: click.Command = tidelog
    for word in [word for word in words if not word.startswith("-")]:
        assert isinstance(command, click.Group), line
        found = command.get_command(click.Context(command), word)
        assert found is not None, f"no command {word!r}"
        command = found
    options = {name for one in command.params for name in one.opts}
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_named_parameter_exists(name: str) -> None:
    of, _, parameter = name.removesuffix("=)").partition("(")
    assert parameter in inspect.signature(CLASSES[of]).parameters


@pytest.mark.parametrize("name", METHODS)
def test_a_named_method_exists(name: str) -> None:
    of, _, method = name.partition(".")
    assert callable(getattr(CLASSES[of], method))
    assert callable(getattr(getattr(sync, of), method))


def test_the_named_options_of_spark_are_read() -> None:
    rows = PAGE.partition("## Spark")[2].splitlines()
    ours = [row.split(" | ")[-1] for row in rows if row.startswith("| `") and "—" not in row]
    named = {name for cell in ours for name in re.findall(r"`([^`]+)`", cell)}
    assert named <= set(READ)
    assert len(named) > 15


def test_the_page_is_looked_at() -> None:
    assert len(COMMANDS) > 20
    assert len(PARAMETERS) > 20
    assert len(METHODS) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run_or_marked_as_text(page: Path) -> None:
    opened = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
    allowed = {"console"} if page.name == "TOUR.md" else {"text"}
    assert set(opened) <= allowed
