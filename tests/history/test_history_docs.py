"""docs/HISTORY.md is what users write their histories by: its example and tables are the code's."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import fields

from tidelog.history.checks.delivery import CHECKS, complaints, counts
from tidelog.history.history import (
    Assignment,
    Commit,
    Committed,
    Deletion,
    History,
    Parts,
    Poll,
    Send,
    Transaction,
)
from tidelog.history.history_lines import from_lines

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "HISTORY.md").read_text()


def example_lines() -> list[str]:
    """The indented lines, those that were broken put together again."""
    lines: list[str] = []
    for line in re.findall(r"^    (.*)$", TEXT, re.MULTILINE):
        if line.startswith(" "):
            lines[-1] += line.strip()
        else:
            lines.append(line)
    return lines


def named(section: str) -> set[str]:
    """What the first column of a section's table names."""
    body = TEXT.partition(section)[2]
    table = re.search(r"(?:^\|.*\n)+", body, re.MULTILINE)
    assert table is not None
    return {
        name
        for row in table[0].splitlines()
        for name in re.findall(r"`(\w[\w-]*)`", row.split("|")[1])
    }


def test_the_example_is_a_history_that_is_right() -> None:
    history = from_lines(example_lines())

    assert history.lossy_topics == {"clicks"}
    assert [send.outcome for send in history.sends] == ["ok", "ok", "fail"]
    assert [poll.is_final for poll in history.polls] == [True, False, True]
    assert [commit.offset for commit in history.commits] == [4]
    assert [look.offset for look in history.committed] == [4]
    assert [change.change for change in history.assignments] == ["assigned"]
    assert [one.outcome for one in history.transactions] == ["ok", "ok"]
    assert complaints(history) == []


def test_every_field_is_described() -> None:
    both = named("**Both calls.**")
    assert both | named("**send**") == {field.name for field in fields(Send)}
    assert both | named("**poll**") == {field.name for field in fields(Poll)}
    for kind in (Assignment, Commit, Committed, Deletion, Transaction):
        described = named(f"**{kind.__name__.lower()}**")
        assert described == {field.name for field in fields(kind)}
    parts = TEXT.partition("**Parts of a record**")[2].partition("\n\n")[0]
    assert {field.name for field in fields(Parts)} <= set(re.findall(r"`(\w+)`", parts))


def test_every_complaint_and_every_count_is_described() -> None:
    assert named("## The checks") == set(CHECKS)
    assert named("## The counts") == {*counts(History()), "complaints"}
