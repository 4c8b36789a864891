"""The golden traces in `tests/testdata/raft`: what voters say and do, to the letter.

After a change that is meant, `python -m tests.raft.raft_trace --rewrite`, and read the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.raft.raft_trace import FOLDER, Block, engines_of, parse, play, render
from tests.virtual_loop import run_virtual

FILES = sorted(FOLDER.glob("*.txt"))
FILES_OF_BOTH = [path for path in FILES if "pysyncobj" in engines_of(parse(path.read_text()))]


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_engine_does_what_the_trace_says(path: Path) -> None:
    text = path.read_text()
    blocks = parse(text)

    assert render(blocks, run_virtual(play(blocks, engine="tidelog"))) == text


@pytest.mark.parametrize("path", FILES_OF_BOTH, ids=name_of)
def test_the_second_engine_comes_to_the_same_states(path: Path) -> None:
    blocks = parse(path.read_text())

    outputs = run_virtual(play(blocks, engine="pysyncobj"))

    assert states(blocks, outputs) == states(blocks, [block.expected for block in blocks])


def states(blocks: list[Block], outputs: list[list[str]]) -> list[tuple[list[str], list[str]]]:
    return [
        (block.lines, output)
        for block, output in zip(blocks, outputs, strict=True)
        if block.is_state
    ]
