"""Invocations of the command line, wrong ones included: output, errors and exit codes.

`golden.txt` holds them, run one after the other against one cluster. After a change, have
`UPDATE_GOLDEN=1 pytest tests/cli/test_golden.py` write it again, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.golden_cluster import Invocation, golden_cluster, parse

GOLDEN = Path(__file__).with_name("golden.txt")
INVOCATIONS_MIN = 60


@pytest.mark.sim
def test_every_invocation_says_what_the_golden_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GOLDEN.read_text(encoding="utf-8")
    found = parse(text)
    ran = []
    with golden_cluster(tmp_path, monkeypatch) as cluster:
        for one in found:
            if one.line.startswith("crash "):
                cluster.crash(int(one.line.removeprefix("crash ")), seconds=60)
                ran.append(one)
            else:
                ran.append(one._replace(outcome=cluster.run(one.line, one.stdin)))
    if os.environ.get("UPDATE_GOLDEN"):
        head = text.split("\n$ ", 1)[0]
        GOLDEN.write_text(head + "".join(map(_shown, ran)), encoding="utf-8")
    for expected, happened in zip(found, ran, strict=True):
        assert happened.outcome == expected.outcome, happened.line


def test_the_golden_file_holds_enough_invocations_and_wrong_ones() -> None:
    found = [one for one in parse(GOLDEN.read_text(encoding="utf-8")) if one.outcome]
    codes = [one.outcome[-1] for one in found]
    assert len(found) >= INVOCATIONS_MIN
    assert {"= 0", "= 1", "= 2"} == set(codes)


def _shown(one: Invocation) -> str:
    lines = [f"$ {one.line}", *(f"< {line}" for line in one.stdin), *one.outcome]
    return "\n" + "\n".join(lines) + "\n"
