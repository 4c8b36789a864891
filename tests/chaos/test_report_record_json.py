"""A record survives its JSON, and JSON that is no record is refused by the field's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.chaos.chaos_records import HOSTILE, empty, truncation, violated

from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.record_json import RecordFormatError, from_json, to_json


@pytest.mark.parametrize("record", [empty(), truncation(), violated()])
def test_record_survives_its_json(record: RunRecord) -> None:
    assert from_json(to_json(record)) == record


def test_any_text_survives() -> None:
    record = empty(claim=HOSTILE, facts={HOSTILE: HOSTILE})
    assert from_json(to_json(record)) == record


def test_a_record_is_one_line() -> None:
    text = to_json(empty(claim="two\nlines"))
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_whole_number_stands_for_a_number() -> None:
    text = to_json(empty()).replace('"load_s": 0.0', '"load_s": 3')
    load_s = from_json(text).load_s
    assert (load_s, type(load_s)) == (3.0, float)


def _without_claim(value: dict[str, Any]) -> None:
    del value["claim"]


def _with_more(value: dict[str, Any]) -> None:
    value["load"][2]["extra"] = 1


def _text_for_number(value: dict[str, Any]) -> None:
    value["replicas"][7]["high_watermark"] = "7"


def _flag_for_number(value: dict[str, Any]) -> None:
    value["load"][0]["acknowledged"] = True


def _number_for_flag(value: dict[str, Any]) -> None:
    value["replicas"][0]["is_up"] = 1


def _null(value: dict[str, Any]) -> None:
    value["partitions"][0]["leader_epoch"] = None


def _other_verdict(value: dict[str, Any]) -> None:
    value["verdict"] = "fine"


def _text_for_list(value: dict[str, Any]) -> None:
    value["bands"] = "none"


def _text_for_object(value: dict[str, Any]) -> None:
    value["bands"][0] = "kill"


def _number_for_text_of_dictionary(value: dict[str, Any]) -> None:
    value["counts"]["lost"] = "0"


def _infinite(value: dict[str, Any]) -> None:
    value["load"][1]["p99_ms"] = float("inf")


def _other_format(value: dict[str, Any]) -> None:
    value["format"] = 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_without_claim, "record.claim is missing"),
        (_with_more, r"load\[2\].extra is unknown"),
        (_text_for_number, r"replicas\[7\].high_watermark is no whole number"),
        (_flag_for_number, r"load\[0\].acknowledged is no whole number"),
        (_number_for_flag, r"replicas\[0\].is_up is no truth value"),
        (_null, r"partitions\[0\].leader_epoch is no whole number"),
        (_other_verdict, "verdict is 'fine'"),
        (_text_for_list, "bands is no array"),
        (_text_for_object, r"bands\[0\] is no object"),
        (_number_for_text_of_dictionary, r"counts\['lost'\] is no whole number"),
        (_infinite, r"load\[1\].p99_ms is inf"),
        (_other_format, "format is 2"),
    ],
)
def test_what_is_no_record_is_refused_by_name(
    change: Callable[[dict[str, Any]], None], named: str
) -> None:
    value = json.loads(to_json(truncation()))
    change(value)
    with pytest.raises(RecordFormatError, match=named):
        from_json(json.dumps(value))


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "null", "[" * 100_000])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(RecordFormatError):
        from_json(text)


def test_a_number_that_is_none_is_never_written() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        to_json(empty(unavailable_s=float("nan")))
