"""The tool that makes pictures for pages out of records."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.chaos.chaos_records import truncation

import report_picture
from tidelog.chaos.report.record_json import to_json


def test_a_record_becomes_a_picture(tmp_path: Path) -> None:
    source, target = tmp_path / "record.json", tmp_path / "F12.svg"
    source.write_text(to_json(truncation()))
    assert report_picture.main([str(source), str(target)]) == 0
    assert ET.fromstring(target.read_bytes()).tag.endswith("svg")


def test_what_is_no_record_is_told_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "record.json", tmp_path / "F12.svg"
    source.write_text("{}")
    assert report_picture.main([str(source), str(target)]) == 1
    assert "format is None" in capsys.readouterr().err
    assert not target.exists()


def test_wrong_usage_says_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_picture.main([]) == 2
    assert "python tools/report_picture.py" in capsys.readouterr().err
