"""Every block of the documentation is run by a test or named with the reason why not.

The commands of those that are not run are parsed as the command line would, without running them.
"""

from __future__ import annotations

import importlib.util
import re
import shlex

import click
import pytest

from tests.doc_blocks import (
    IN_SPARK,
    ON_A_CLUSTER,
    PAGES,
    ROOT,
    UNDERSTOOD,
    WHOLE_PAGES,
    Block,
    blocks,
    commands,
)
from tidelog.cli.main import tidelog

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
NOT_RUN = [block for block in blocks() if block.name in UNDERSTOOD]


def test_every_block_is_run_or_named_with_a_reason() -> None:
    tables = (ON_A_CLUSTER, IN_SPARK, set(UNDERSTOOD))
    found = [block.name for block in blocks() if block.page not in WHOLE_PAGES]
    fates = {name: sum(name in table for table in tables) for name in found}
    assert {name for name, count in fates.items() if count != 1} == set()
    assert set().union(*tables) == set(found)
    assert set(WHOLE_PAGES) <= {page.relative_to(ROOT).as_posix() for page in PAGES}


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda one: f"{one.page}: {one.name[1][:30]}")
def test_commands_that_are_not_run_are_understood(block: Block) -> None:
    lines = commands(block.text)
    assert lines or block.language == "python"
    for line in lines:
        understand(shlex.split(line, comments=True))


def test_a_command_that_does_not_exist_is_found() -> None:
    for line in ("make nosuch", "python -m tests.nosuch", "python tools/nosuch.py"):
        with pytest.raises(AssertionError):
            understand(line.split())
    for line in ("tidelog sim run --nosuch 1", "tidelog nosuch", "tidelog chaos run F999"):
        with pytest.raises((click.UsageError, AssertionError)):
            understand(line.split())


def test_the_scenario_of_the_page_is_the_one_that_is_tested() -> None:
    (page,) = [one.text for one in NOT_RUN if one.language == "python"]
    tested = (ROOT / "tests/sim/test_own_scenario.py").read_text(encoding="utf-8")
    assert page.partition("\n")[2] in tested


def understand(words: list[str]) -> None:
    """Look up what a command line names. Errors: AssertionError, click.UsageError."""
    match words:
        case ["make", *rest]:
            targets = [word for word in rest if "=" not in word]
            assert set(targets) <= TARGETS, words
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module) is not None, module
        case ["python", file, *_]:
            assert (ROOT / file).exists(), file
        case [program, *rest]:
            assert program.removeprefix(".venv/bin/") == "tidelog"
            _parse(rest)


def _parse(arguments: list[str]) -> None:
    command: click.Command = tidelog
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"no command {name!r}"
        command = found
    command.make_context(command.name, arguments)
