"""The log of a node in a test's process: the lines that a process of its own would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import structlog
from hypothesis import given
from hypothesis import strategies as st

from tidelog.testing.node_lines import NodeLines, logfmt

KEYS = st.text("abcdefgh_", min_size=1)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.text('\\" =\n'))


@given(st.dictionaries(KEYS, VALUES))
def test_a_line_is_as_structlog_renders_it(line: dict[str, Any]) -> None:
    render = structlog.processors.LogfmtRenderer(bool_as_flag=False)
    assert logfmt(line) == render(None, "info", dict(line))


def test_a_line_has_its_time_level_event_and_traceback(tmp_path: Path) -> None:
    lines = NodeLines(tmp_path / "log")
    lines("debug", "unseen", {})
    lines("info", "started", {"node_id": 1})
    try:
        raise ValueError("no good")
    except ValueError:
        lines("exception", "failed", {})
    lines.close()
    lines("info", "too late", {})
    started, failed = (tmp_path / "log").read_text().splitlines()
    stamp, _, said = started.partition(" ")
    assert stamp.startswith("timestamp=2")
    assert stamp.endswith("Z")
    assert said == "level=info event=started node_id=1"
    assert 'level=exception event=failed exception="Traceback' in failed
    assert failed.endswith('ValueError: no good"')
