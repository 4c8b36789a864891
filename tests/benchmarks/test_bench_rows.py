"""The benchmark's arithmetic: ratios, aims, verdicts; and that every figure asked for is a row."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tidelog.benchmarks.efforts import EFFORTS
from tidelog.benchmarks.plan import Kind, groups, warm_up
from tidelog.benchmarks.plan_wire import wire_groups
from tidelog.benchmarks.rows import Aim, Row, aim_text, result_of

_ROW = Row("x", "ms", "o", "k")


def _row(*, is_less_better: bool = False, aim: Aim | None = None, **more: Any) -> Row:
    return replace(_ROW, is_less_better=is_less_better, aim=aim or Aim(), **more)


def _met(row: Row, ours: float | None, kafka: float | None) -> bool | None:
    measured = {"o": [] if ours is None else [ours]}
    return result_of(row, measured, {"k": [] if kafka is None else [kafka]}).is_met


def test_a_ratio_above_one_means_ours_is_better_whichever_way_the_figure_counts() -> None:
    rate, delay = _row(), _row(is_less_better=True)
    assert result_of(rate, {"o": [30]}, {"k": [10]}).ratio == 3
    assert result_of(delay, {"o": [30]}, {"k": [10]}).ratio == pytest.approx(1 / 3)


def test_without_both_sides_there_is_no_ratio() -> None:
    for ours, kafka in (([], [1]), ([1], []), ([1], [0]), ([0], [1])):
        assert result_of(_row(), {"o": ours}, {"k": kafka}).ratio is None


@pytest.mark.parametrize(
    ("ours", "kafka", "met"),
    [(20, 10, True), (19.9, 10, False), (20, None, None), (None, 10, None)],
)
def test_an_aim_relative_to_kafka(ours: float | None, kafka: float | None, met: object) -> None:
    assert _met(_row(aim=Aim(times=2)), ours, kafka) is met


def test_an_aim_of_half_of_kafkas() -> None:
    row = _row(is_less_better=True, aim=Aim(times=2))
    assert _met(row, 5, 10) is True
    assert _met(row, 5.1, 10) is False
    assert aim_text(row) == "<= 1/2 of Kafka's"


def test_an_absolute_aim_needs_no_peer() -> None:
    assert _met(_row(aim=Aim(bound=150)), 150, None) is True
    assert _met(_row(aim=Aim(bound=150)), 149, 1) is False
    assert _met(_row(is_less_better=True, aim=Aim(bound=2)), 2, None) is True
    assert _met(_row(is_less_better=True, aim=Aim(bound=2)), 2.1, None) is False


@pytest.mark.parametrize(
    ("ours", "kafka", "met"),
    [(10, 5, True), (10, 6, False), (8, 4, False), (10, None, None), (8, None, False)],
)
def test_where_both_aims_are_given_both_must_hold(
    ours: float, kafka: float | None, met: object
) -> None:
    row = _row(aim=Aim(bound=9, times=2))
    assert _met(row, ours, kafka) is met
    assert aim_text(row) == ">= 9 ms and >= 2x Kafka's"


def test_a_row_without_an_aim_is_only_reported() -> None:
    assert _met(_row(), 1, 2) is None
    assert aim_text(_row()) is None


def test_the_median_of_the_runs_counts_or_the_worst() -> None:
    ours = {"o": [1.0, 9.0, 2.0]}
    found = result_of(_row(), ours, {}).ours
    assert found is not None
    assert (found.value, found.least, found.most, found.runs) == (2, 1, 9, 3)
    worst = result_of(_row(is_worst=True), ours, {}).ours
    assert worst is not None
    assert worst.value == 9


def test_the_peers_unit_becomes_the_rows() -> None:
    result = result_of(_row(kafka_factor=2.0), {"o": [4]}, {"k": [1]})
    assert result.as_json()["kafka"] == 2
    assert result.ratio == 2


def test_a_row_as_json_has_these_fields_and_an_error_only_where_there_was_one() -> None:
    row = _row(aim=Aim(bound=1))
    said = result_of(row, {"o": [1 / 3]}, {}).as_json()
    assert said == {
        "figure": "x", "ours": 0.3333, "kafka": None, "unit": "ms", "ratio": None,
        "aim": ">= 1 ms", "met": False,
    }  # fmt: skip
    failed = result_of(row, {}, {}, ["ours: no", "peer: neither"]).as_json()
    assert failed == {**said, "ours": None, "met": None, "error": "ours: no; peer: neither"}
    json.dumps(failed)


def _rows(effort: str) -> dict[str, Row]:
    return {row.figure: row for group in groups(EFFORTS[effort]) for row in group.rows}


@pytest.mark.parametrize("effort", ["default", "full"])
def test_quick_leaves_no_row_out(effort: str) -> None:
    assert _rows("quick") == _rows(effort)


def test_names_are_not_used_twice() -> None:
    every = [*groups(EFFORTS["quick"]), *wire_groups(EFFORTS["quick"])]
    found = [row.figure for group in every for row in group.rows]
    assert len(found) == len(set(found))


def test_rows_of_kafkas_clients_have_the_same_measure_on_both_sides() -> None:
    for group in wire_groups(EFFORTS["full"]):
        assert "wire" in group.name
        assert all(row.ours == f"wire.{row.kafka}" for row in group.rows)


AIMS = {
    "opaque batches of 1 MiB": ">= 250 MB/s",
    "opaque batches of 16 KiB, bundled": ">= 120 MB/s",
    "produce 1 KiB, none, acks=all, tuned": ">= 2x Kafka's",
    "produce 100 B, none, acks=all, tuned": ">= 1x Kafka's",
    "broker CPU: produce 1 KiB, acks=all, tuned": "<= 1/2 of Kafka's",
    "consume 1 KiB, batches (Kafka: confluent-kafka)": ">= 150 MiB/s",
    "consume 100 B, batches (Kafka: confluent-kafka)": ">= 69 MiB/s",
    "one at a time, to the ack, p50": "<= 2 ms",
    "one at a time, to the ack, p99": "<= 10 ms",
    "memory: a node, loaded": "<= 160 MB",
}


def test_the_aims_are_those_that_were_set() -> None:
    found = {figure: aim_text(row) for figure, row in _rows("quick").items()}
    assert {figure: aim for figure, aim in found.items() if aim is not None} == AIMS


def test_every_way_to_produce_is_a_row() -> None:
    figures = _rows("quick")
    for size in ("100 B", "1 KiB"):
        for codec in ("none", "lz4"):
            for acks in ("1", "all"):
                for profile in ("default", "tuned"):
                    assert f"produce {size}, {codec}, acks={acks}, {profile}" in figures


def test_a_produce_run_fills_the_rows_of_its_group_and_no_others() -> None:
    for group in groups(EFFORTS["quick"]):
        if group.kind is Kind.LOAD and group.job["load"] != "latency":
            assert all(row.ours.startswith(f"{group.job['key']}.") for row in group.rows)


@pytest.mark.parametrize("effort", list(EFFORTS))
def test_both_sides_send_as_many_records_of_the_same_size(effort: str) -> None:
    base: dict[str, dict[str, float]] = {
        "java": {"100": 4_000_000, "1024": 800_000},
        "produce": {"100": 2e6, "1024": 6e5},
    }
    for group in [warm_up(EFFORTS[effort]), *groups(EFFORTS[effort])]:
        if group.kind is Kind.LOAD and group.peer and group.peer[0] == "perf":
            options = dict(zip(group.peer[1::2], group.peer[2::2], strict=True))
            size = options["--sizes"]
            count = int(base[options["--clients"]][size] * float(options["--scale"]))
            assert (group.job["records"], str(group.job["size_bytes"])) == (count, size)
