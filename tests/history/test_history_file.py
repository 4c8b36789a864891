"""A history's file: written while calls are made, judgeable whenever the writer is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.history.histories import HistoryMaker

from tidelog.history.checks.delivery import complaints, counts
from tidelog.history.history import History, Parts, Poll, Send
from tidelog.history.history_file import HistoryWriter, read_history
from tidelog.history.history_lines import (
    HistoryFormatError,
    end_line,
    from_lines,
    header_line,
    line_of,
    to_lines,
)

ENDED = Send("p", 1, "t", 0, 0, b"v", -1, True, 1.0, "ok", 2.0, 0)
BEGUN = replace(ENDED, ended_s=None, outcome="unknown", offset=None)
SHOWN = Poll("c", 2, "t", 0, 0, 3.0, 4.0, 0, ((0, b"v"),), is_final=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


def test_a_send_that_began_and_ended_is_one_send(path: Path) -> None:
    writer = HistoryWriter(path, lossy_topics=["other"])
    writer.begin(BEGUN)
    writer.end(ENDED)
    writer.add(SHOWN)
    writer.close()

    history = read_history(path)

    assert history == History(sends=[ENDED], polls=[SHOWN], lossy_topics={"other"})
    assert complaints(history) == []


def test_a_send_that_began_and_never_ended_is_unknown(path: Path) -> None:
    writer = HistoryWriter(path)
    writer.begin(BEGUN)

    assert read_history(path) == History(sends=[BEGUN])
    assert counts(read_history(path))["unknown"] == 1
    writer.close()


def test_ends_may_come_in_any_order(path: Path) -> None:
    writer = HistoryWriter(path)
    other = replace(ENDED, number=7, value=b"w", outcome="fail", offset=None, reason="too large")
    writer.begin(BEGUN)
    writer.begin(replace(BEGUN, number=7, value=b"w"))
    writer.end(other)
    writer.end(ENDED)
    writer.close()

    assert read_history(path).sends == [ENDED, other]


def test_a_killed_writer_leaves_every_line_it_wrote(path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path;"
        "from tidelog.history.history import Send;"
        "from tidelog.history.history_file import HistoryWriter;"
        "writer = HistoryWriter(Path(sys.argv[1]));"
        "writer.begin(Send('p', 1, 't', 0, 0, b'v', -1, True, 1.0, 'unknown'));"
        "print('written', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"written\n"
        child.send_signal(signal.SIGKILL)

    assert read_history(path).sends == [BEGUN]


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_last_line_that_was_cut_is_left_out(path: Path, cut: int) -> None:
    whole = f"{header_line([])}\n{line_of(BEGUN)}\n{end_line(ENDED)}"
    path.write_text(whole[:-cut])

    assert read_history(path).sends == [BEGUN]


def test_a_last_line_without_its_line_end_counts(path: Path) -> None:
    path.write_text(f"{header_line([])}\n{line_of(ENDED)}")

    assert read_history(path).sends == [ENDED]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([line_of(ENDED), end_line(ENDED)], "line 3: no send of this number"),
        ([end_line(ENDED)], "line 2: no send of this number"),
        ([line_of(BEGUN), *[end_line(ENDED)] * 2], "line 4: no send of this number"),
        (
            [line_of(BEGUN), '{"type":"end","number":1}'],
            "line 3: Object missing",
        ),
        (
            [line_of(BEGUN), end_line(replace(ENDED, ended_s=0.5))],
            "line 3: ended_s is 0.5",
        ),
        (
            [line_of(BEGUN), line_of(replace(BEGUN, value=b"w"))],
            "line 3: another send without an end has the same number",
        ),
    ],
)
def test_an_end_that_fits_no_send_is_an_error(lines: list[str], message: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        from_lines([header_line([]), *lines])

    assert message in str(caught.value)


def test_lines_may_have_space_around_them() -> None:
    history = HistoryMaker(3).make()
    lines = list(to_lines(history))

    assert from_lines(lines) == history
    assert from_lines(f"  {line} \t" for line in lines) == history


def test_parts_survive_the_file_and_there_are_those_of_each_record_or_none(path: Path) -> None:
    parts = Parts(b"k", (("h", None), ("h", b"\xff")), -1, "lz4", is_null=True)
    writer = HistoryWriter(path)
    writer.add(replace(ENDED, parts=parts))
    writer.add(replace(SHOWN, parts=(parts,)))
    writer.close()

    history = read_history(path)

    assert history.sends[0].parts == parts
    assert history.polls[0].parts == (parts,)
    with pytest.raises(HistoryFormatError, match="line 2: 2 parts of 1 records: note those of"):
        from_lines([header_line(()), line_of(replace(SHOWN, parts=(parts, parts)))])
