"""Reports in headless Chromium: no complaint, nothing overflows, no label on another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.chaos.chaos_records import empty, storm, truncation, violated
from tests.chaos.headless_browser import Browser, installed

from tidelog.chaos.report.html import render
from tidelog.chaos.report.overview import index
from tidelog.chaos.report.record import Anomaly, RunRecord
from tidelog.chaos.report.script import SCRIPT

pytestmark = pytest.mark.process
RECORDS = {
    "truncation": truncation(),
    "violation": violated(),
    "empty": empty(),
    "zoomed": truncation(load_s=150),
    "storm": storm(load_s=3600, sample_s=1),
    "combined": replace(truncation(), controller_ids=(4, 5, 6), broker_ids=(4, 5, 6)),
    "wordy": replace(
        truncation(),
        claim="word " * 80 + "x" * 300,
        command="tidelog chaos run " + "F12," * 200,
        facts={"y" * 200: "z" * 500},
        anomalies=[Anomaly("I1", "w" * 900, 3.0, ("v" * 900,))],
    ),
}


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    program = installed()
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return Browser(program, tmp_path)


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_a_report_fits_a_laptop_and_no_label_lies_on_another(
    browser: Browser, record: RunRecord
) -> None:
    seen = browser.look(render(record))
    assert seen.complaints == []
    assert seen.measured["scroll_width"] <= seen.measured["width"]
    assert seen.measured["overlaps"] == []
    assert seen.measured["outside"] == []


@pytest.mark.parametrize("width", [500, 820, 1920])
def test_a_report_fits_narrow_and_wide_windows(browser: Browser, width: int) -> None:
    seen = browser.look(render(violated()), width=width)
    assert seen.measured["scroll_width"] <= seen.measured["width"]


def test_the_cross_hair_tells_of_the_moment_it_is_on(browser: Browser) -> None:
    tip = browser.look(render(truncation())).measured["tip"]
    assert "✶ kill: SIGKILL" in tip
    assert "4: down" in tip
    assert "committed: leader 4, epoch 3, ISR 4" in tip or "committed: no leader" in tip


def test_the_diary_can_be_filtered(browser: Browser) -> None:
    record = truncation()
    kills = [note for note in record.notes if "kill" in note.what]
    record = replace(record, notes=record.notes * 2)
    assert browser.look(render(record)).measured["rows"] == 2 * len(kills)


def test_nothing_is_missing_without_scripts_but_their_own(browser: Browser) -> None:
    page = render(violated()).replace(SCRIPT, "")
    seen = browser.look(page)
    assert seen.complaints == []
    assert seen.measured["tip"] == ""
    assert seen.measured["overlaps"] == []


def test_a_report_is_dark_where_people_want_it_dark(browser: Browser) -> None:
    page = render(truncation())
    light, dark = (browser.look(page, is_dark=wish).measured["ground"] for wish in (False, True))
    assert light == "rgb(255, 253, 250)"
    assert dark == "rgb(21, 24, 28)"


def test_the_index_fits_a_laptop(browser: Browser) -> None:
    records = {
        f"{n}.html": replace(truncation(seed=n), scenario=f"F0{n % 4}", unavailable_s=n / 3)
        for n in range(40)
    }
    seen = browser.look(index(records), width=1180)
    assert seen.complaints == []
    assert seen.measured["scroll_width"] <= seen.measured["width"]


def test_a_report_has_a_picture(browser: Browser) -> None:
    picture = browser.picture(render(truncation()))
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000
