"""Bytes on standard output: all of them, or an error that says why not."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import click
import pytest

from tidelog.cli import pipes


class Raw(io.RawIOBase):
    """Output without a buffer that takes a few bytes at a time, as one whom signals interrupt."""

    def __init__(self, error: OSError | None = None) -> None:
        self.taken = b""
        self.error = error

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        if self.error is not None and self.taken:
            raise self.error
        some = bytes(data)[:7]  # type: ignore[call-overload]  # a buffer
        self.taken += some
        return len(some)


def test_all_bytes_are_written_by_an_output_that_takes_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = Raw()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=raw))
    pipes.write_all(b"0123456789" * 10)
    pipes.write_all(b"")
    assert raw.taken == b"0123456789" * 10


def test_an_output_that_cannot_be_written_to_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up: list[bool] = []
    monkeypatch.setattr(pipes, "_give_up_output", lambda: given_up.append(True))
    full = Raw(OSError(28, "No space left on device"))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=full))
    with pytest.raises(click.ClickException, match="cannot be written to: No space left"):
        pipes.write_all(b"0123456789")
    assert given_up
    gone = Raw(BrokenPipeError(32, "Broken pipe"))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=gone))
    with pipes.ends_with_its_reader():
        pipes.write_all(b"0123456789")
    assert len(given_up) == 2
