"""Durations and sizes with units, counted nouns, and tables in a pipe and on a terminal."""

from __future__ import annotations

import pytest

from tidelog.cli import table
from tidelog.cli.counts import pluralize
from tidelog.cli.units import config_number, parse_duration_ms, parse_size_bytes, size_text


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("5ms", 5), ("30s", 30_000), ("1.5h", 5_400_000), ("7d", 604_800_000), ("2W", 1_209_600_000)],
)
def test_durations_have_units(text: str, expected_ms: int) -> None:
    assert parse_duration_ms(text) == expected_ms


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1B", 1), ("64KiB", 65_536), ("512MiB", 512 << 20), ("1GB", 10**9), ("1.5tib", 3 << 39)],
)
def test_sizes_have_binary_and_decimal_units(text: str, expected: int) -> None:
    assert parse_size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "5", "h", "5 parsecs", "-1h", "1h30m"])
def test_what_is_no_duration_or_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ms(text)
    with pytest.raises(ValueError, match="is not a size"):
        parse_size_bytes(text)


def test_configs_take_units_where_their_names_end_in_one() -> None:
    assert config_number("retention.ms", "7d") == "604800000"
    assert config_number("segment.bytes", "1KiB") == "1024"
    for key, value in {
        "retention.ms": "-1",
        "segment.bytes": "7d?",
        "cleanup.policy": "1h",
    }.items():
        assert config_number(key, value) == value
    with pytest.raises(ValueError, match="is not a size"):
        config_number("segment.bytes", "7d")


def test_sizes_are_shown_for_people() -> None:
    assert [size_text(n) for n in (0, 1023, 1024, 3 << 29)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 GiB",
    ]


def test_nouns_have_singular_and_plural() -> None:
    assert [pluralize(n, "record") for n in (0, 1, 2)] == ["0 records", "1 record", "2 records"]
    assert pluralize(2, "entry", "entries") == "2 entries"


def test_a_table_in_a_pipe_has_tabs_and_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table.echo_table(("a", "b"), [("x" * 500, 1), ("t\tn\n", None)])
    assert capsys.readouterr().out == f"a\tb\n{'x' * 500}\t1\nt\\tn\\n\t\n"


def test_a_table_on_a_terminal_is_ruled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "is_terminal", lambda: True)
    table.echo_table(("name", "size"), [("[bold]x", 1)])
    shown = capsys.readouterr().out
    assert "[bold]x" in shown
    assert "─" in shown
