"""The table of docs/TUNING.md: written from figures, and with a row for every setting."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from tests.benchmarks.tuning_settings import (
    BEGIN,
    DEFAULT,
    DEFAULTS,
    END,
    SETTINGS,
    Measured,
    groups,
    median,
    table,
    with_table,
)

from tidelog.client import Producer
from tidelog.log.config import TOPIC_CONFIGS

PAGE = (Path(__file__).parents[2] / "docs" / "TUNING.md").read_text(encoding="utf-8")


def test_a_ratio_is_to_the_default_of_the_same_knob() -> None:
    found = {
        ("acks", DEFAULT): Measured(100.4, 2.0, 10.0),
        ("acks", "1"): Measured(150.6, 1.0, 20.0),
        ("flush.ms", DEFAULT): Measured(50.0, 4.0, 8.0),
        ("flush.ms", "100"): Measured(25.0, 4.0, 12.0),
    }
    assert table(found, ["date: today"]).splitlines() == [
        "- date: today",
        "",
        "| knob | value | MiB/s | times the default | p50 ms | times | p99 ms | times |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| `acks` | all (default) | 100 |  | 2 |  | 10 |  |",
        "| `acks` | 1 | 151 | 1.50 | 1 | 0.50 | 20 | 2.00 |",
        "| `flush.ms` | never (default) | 50 |  | 4 |  | 8 |  |",
        "| `flush.ms` | 100 | 25 | 0.50 | 4 | 1.00 | 12 | 1.50 |",
    ]


def test_of_rounds_the_median_of_each_figure_counts() -> None:
    runs = [Measured(1, 9, 5), Measured(3, 7, 4), Measured(2, 8, 6)]
    assert median(runs) == Measured(2, 8, 5)


def test_the_table_takes_its_place_in_the_page() -> None:
    page = f"a\n{BEGIN}\nold\n{END}\nb"
    assert with_table(page, "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"
    with pytest.raises(ValueError, match="no place for the table"):
        with_table("a page", "new")


def test_every_knob_is_one_that_exists() -> None:
    parameters = inspect.signature(Producer).parameters
    for setting in SETTINGS:
        assert set(setting.producer) <= set(parameters)
        assert set(setting.topic) <= set(TOPIC_CONFIGS)
        assert setting.knob in DEFAULTS


def test_the_page_has_a_row_for_every_setting() -> None:
    rows = [line.split(" | ")[:2] for line in PAGE.splitlines() if line.startswith("| `")]
    expected = [
        [f"| `{knob}`", f"{DEFAULTS[knob]} (default)" if one.value == DEFAULT else one.value]
        for knob, settings in groups()
        for one in settings
    ]
    assert rows == expected
    assert "command: `make bench NAMES=tuning`" in PAGE
