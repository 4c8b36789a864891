"""Equal lines of a log are counted, and each kind has its share of a window."""

from __future__ import annotations

from tidelog.node.repeated_lines import LogLine, RepeatedLines


def line(event: str, **fields: object) -> LogLine:
    return LogLine("info", {"event": event, **fields})


def test_an_equal_line_is_counted_and_told_once_when_its_window_is_over() -> None:
    lines = RepeatedLines(window_s=10)
    assert lines.is_to_write(line("refused", peer=1), 0)
    assert not lines.is_to_write(line("refused", peer=1), 1)
    assert not lines.is_to_write(line("refused", peer=1), 9)
    assert lines.take_counted(9) == []
    assert lines.take_counted(10) == [(line("refused", peer=1), 2)]
    assert lines.take_counted(100) == []
    assert lines.is_to_write(line("refused", peer=1), 100)


def test_a_line_that_differs_in_anything_but_the_stack_is_another() -> None:
    lines = RepeatedLines(window_s=10)
    assert lines.is_to_write(line("refused", peer=1, exc_info="here"), 0)
    assert lines.is_to_write(line("refused", peer=2, exc_info="here"), 0)
    assert lines.is_to_write(LogLine("error", {"event": "refused", "peer": 1}), 0)
    assert not lines.is_to_write(line("refused", peer=1, exc_info="there"), 0)


def test_a_kind_has_its_share_of_a_window_whatever_its_lines_say() -> None:
    lines = RepeatedLines(window_s=10, kind_lines_max=3)
    written = [lines.is_to_write(line("suspected", broker=number), 0) for number in range(5)]
    assert written == [True, True, True, False, False]
    assert lines.is_to_write(line("another kind"), 0)
    reported = [
        (reported.fields["event"], reported.fields.get("of"), count)
        for reported, count in lines.take_counted(10)
    ]
    assert reported == [("lines suppressed", "suspected", 2)]


def test_a_library_is_one_kind_whatever_it_says() -> None:
    lines = RepeatedLines(window_s=10, kind_lines_max=1)
    assert lines.is_to_write(line("first", logger="asyncio"), 0)
    assert not lines.is_to_write(line("second", logger="asyncio"), 0)


def test_no_number_of_different_lines_is_remembered() -> None:
    lines = RepeatedLines(window_s=10, windows_max=2, kind_lines_max=1_000)
    for number in range(500):
        assert lines.is_to_write(line("anything", number=number), 0)
    assert len(lines._lines) == 2


def test_a_storm_of_one_kind_takes_no_room_from_the_lines_of_others() -> None:
    lines = RepeatedLines(window_s=10, windows_max=100, kind_lines_max=50)
    for number in range(1_000):
        lines.is_to_write(line("storm", number=number), 0)
    assert lines.is_to_write(line("refused"), 0)
    assert not lines.is_to_write(line("refused"), 0)
