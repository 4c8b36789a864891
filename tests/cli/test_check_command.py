"""`tidelog check`: the verdict, its exit code, and what it says of a file that is no history."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.history.histories import KINDS, HistoryMaker, spoil

from tidelog.cli.main import main
from tidelog.history import history_file
from tidelog.history.history_lines import to_lines


class Done(NamedTuple):
    code: int
    lines: list[str]
    stderr: str

    @property
    def counts(self) -> dict[str, Any]:
        """The last line."""
        found: dict[str, Any] = json.loads(self.lines[-1])
        return found


Check = Callable[..., Done]


@pytest.fixture
def check(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Check:
    """Runs the command in this process on a file of these lines."""

    def run(*lines: str, options: tuple[str, ...] = ()) -> Done:
        path = tmp_path / "history.jsonl"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))
        monkeypatch.setattr(sys, "argv", ["tidelog", "check", str(path), *options])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out.splitlines(), captured.err)

    return run


def test_a_right_history_is_ok(check: Check) -> None:
    done = check(*to_lines(HistoryMaker(1).make()))

    assert done.code == 0
    assert len(done.lines) == 1
    assert done.counts["verdict"] == "ok"
    assert done.counts["operations"] > done.counts["acknowledged"] > 0
    assert all(isinstance(n, int) for name, n in done.counts.items() if name != "verdict")
    for name in ("lost", "duplicated", "reordered", "lost_acks_1", "lost_unclean"):
        assert name in done.counts


@pytest.mark.parametrize("kind", KINDS)
def test_a_spoiled_history_is_bad_and_the_complaint_is_shown(check: Check, kind: str) -> None:
    seed = next(seed for seed in range(100) if spoil(kind, HistoryMaker(seed).make(), seed))
    history = HistoryMaker(seed).make()
    spoil(kind, history, seed)

    done = check(*to_lines(history))

    assert done.code == 1
    assert done.counts["verdict"] == "bad"
    assert any(line.startswith(f"{kind}: ") for line in done.lines[:-1])


def test_json_shows_nothing_but_the_counts(check: Check) -> None:
    history = HistoryMaker(1).make()
    history.polls = [poll for poll in history.polls if not poll.is_final]

    done = check(*to_lines(history), options=("--json",))

    assert done.code == 1
    assert len(done.lines) == 1
    assert done.counts["lost"] == done.counts["complaints"] > 0


HEADER = '{"version":1,"lossy_topics":[]}'
SEND = {
    "type": "send",
    "process": "p",
    "number": 1,
    "topic": "t",
    "incarnation": 0,
    "partition": 0,
    "value": "eA==",
    "acks": -1,
    "is_idempotent": True,
    "invoked_s": 1.0,
    "ended_s": 2.0,
    "outcome": "ok",
    "offset": 0,
}
POLL = {
    **{name: SEND[name] for name in ("process", "number", "topic", "incarnation", "partition")},
    "type": "poll",
    "invoked_s": 1,
    "ended_s": 2,
    "position": 0,
    "records": [[0, "eA=="]],
}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 1: no header"),
        (["", "{}"], "line 2: Object missing required field `version`"),
        (['{"version":2,"lossy_topics":[]}'], "line 1: version is 2"),
        (
            ['{"version":1,"lossy_topics":[1]}'],
            "line 1: Expected `str`, got `int`",
        ),
        ([HEADER, "{"], "line 2: not JSON"),
        ([HEADER, '{"a":' + "[" * 100_000], "line 2: not JSON"),
        ([HEADER, '{"type":"end","number":' + "9" * 10_000 + "}"], "line 2: "),
        ([HEADER, "[]"], "line 2: Expected `object`, got `array`"),
        ([HEADER, '{"type":"end","ended_s":NaN}'], "line 2: not JSON"),
        ([HEADER, "\udcff"], "line 2: not JSON"),
        ([HEADER, '{"type":"send","process":"\udcff"}'], "line 2: not JSON"),
        ([HEADER, '{"type":"sing"}'], "line 2: Invalid value 'sing' - at `$.type`"),
        ([HEADER, *[json.dumps(SEND)] * 2], "line 3: another send has the same value"),
    ],
)
def test_a_file_that_is_no_history_is_an_error_that_names_the_line(
    check: Check, lines: list[str], message: str
) -> None:
    done = check(*lines)

    assert done.code == 1
    assert done.lines == []
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "changed",
    [
        {"process": 1},
        {"number": -1},
        {"number": True},
        {"number": 1.5},
        {"number": 1 << 63},
        {"partition": None},
        {"value": "?"},
        {"value": "ä"},
        {"acks": 2},
        {"acks": -2},
        {"is_idempotent": 1},
        {"invoked_s": "1"},
        {"ended_s": 0.5},
        {"ended_s": None},
        {"outcome": "perhaps"},
        {"offset": -1},
        {"reason": 3},
    ],
)
def test_every_field_of_a_send_is_checked(check: Check, changed: dict[str, object]) -> None:
    assert check(HEADER, json.dumps(SEND)).code == 1  # nobody read it
    done = check(HEADER, "", json.dumps({**SEND, **changed}))

    assert done.code == 1
    assert "line 3: " in done.stderr
    assert next(iter(changed)) in done.stderr.partition("line 3: ")[2]


@pytest.mark.parametrize(
    "changed",
    [
        {"position": None},
        {"records": {}},
        {"records": [0]},
        {"records": [[0]]},
        {"records": [[0, "eA==", 1]]},
        {"records": [["0", "eA=="]]},
        {"records": [[-1, "eA=="]]},
        {"records": [[0, "?"]]},
        {"is_final": 1},
        {"is_rewound": "no"},
    ],
)
def test_every_field_of_a_poll_is_checked(check: Check, changed: dict[str, object]) -> None:
    assert check(HEADER, json.dumps(SEND), json.dumps({**POLL, "is_final": True})).code == 0
    done = check(HEADER, json.dumps({**POLL, **changed}))

    assert done.code == 1
    assert "line 2: " in done.stderr


def test_a_line_without_end_is_not_read_whole(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_file, "LINE_BYTES_MAX", 100)

    done = check(HEADER, " " * 101)

    assert done.code == 1
    assert "line 2: longer than 100 bytes" in done.stderr
