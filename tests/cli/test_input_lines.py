"""Lines of pipes and files as they arrive, on a loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from tidelog.cli.input_lines import LineTooLongError, read_lines

pytestmark = pytest.mark.real_time


async def test_a_loop_goes_on_while_a_pipe_is_silent_and_lines_come_as_they_are_written() -> None:
    read_end, write_end = os.pipe()
    goes_on = threading.Event()

    def write() -> bool:
        went_on = goes_on.wait(5)
        os.write(write_end, b"a\nb\nc")
        return went_on

    writing = asyncio.get_running_loop().run_in_executor(None, write)
    lines = read_lines(read_end, limit_bytes=100)
    coming = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0)
    goes_on.set()
    assert await coming == [b"a", b"b"]
    assert await writing
    os.write(write_end, b"d\n")
    assert await anext(lines) == [b"cd"]
    os.write(write_end, b"last")
    os.close(write_end)
    assert [line async for line in lines] == [[b"last"]]
    os.close(read_end)


async def test_a_regular_file_is_read_though_it_cannot_be_watched(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\0b")
    with (tmp_path / "lines").open("rb") as file:
        lines = read_lines(file.fileno(), limit_bytes=100, delimiter=b"\0")
        assert [line async for line in lines] == [[b"a"], [b"b"]]


async def test_a_line_above_the_limit_is_an_error() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"x" * 101)
    with pytest.raises(LineTooLongError, match="100 bytes"):
        await anext(read_lines(read_end, limit_bytes=100))
    os.close(write_end)
    os.close(read_end)
