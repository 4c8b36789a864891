"""The line of a node's log that says why its process ended."""

from __future__ import annotations

from pathlib import Path

from tidelog.node.last_words import TAIL_BYTES, last_words


def test_the_last_error_is_told_and_else_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    path.write_text("error: the disk is full\nerror: the disk is gone\nbye\n")
    assert last_words(path) == "the disk is gone"
    path.write_text("hello\nbye\n\n")
    assert last_words(path) == "bye"
    path.write_text("")
    assert last_words(path) == "it wrote nothing"


def test_of_a_long_log_only_the_tail_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    path.write_text("error: long ago\n" + "nothing new\n" * TAIL_BYTES + "bye\n")
    assert last_words(path) == "bye"
    path.write_text("nothing new\n" * TAIL_BYTES + "error: just now\nbye\n")
    assert last_words(path) == "just now"


def test_what_was_written_before_is_another_processs(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    path.write_text("error: an earlier process\nbye\n")
    assert last_words(path, since=len("error: an earlier process\n")) == "bye"
    assert last_words(path, since=10_000) == "an earlier process", "the file was begun anew"
