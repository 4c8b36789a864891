"""Pixels are numbers whatever the values are; ticks are round; people can read the quantities."""

from __future__ import annotations

from math import isfinite

import pytest

from tidelog.chaos.report.canvas import bars, skyline, thin
from tidelog.chaos.report.quantities import milliseconds, moment, pluralize, seconds
from tidelog.chaos.report.scales import Scale, linear, logarithmic, ticks, time_label, time_ticks


@pytest.mark.parametrize("values", [[], [0], [7, 7, 7], [-3], [1e18, 1e18 + 1000]])
def test_a_linear_scale_always_has_a_length(values: list[float]) -> None:
    scale = linear(values, start=100, end=0)
    assert scale.high > scale.low
    assert all(isfinite(scale.at(value)) for value in [*values, scale.low, scale.high])


@pytest.mark.parametrize("values", [[], [0], [0.0, -1], [1], [0.02, 31_000]])
def test_a_logarithmic_scale_holds_its_values_and_survives_none(values: list[float]) -> None:
    scale = logarithmic(values, start=100, end=0)
    assert all(0 <= scale.at(value) <= 100 for value in [*values, 0, 1e9])
    assert len(ticks(scale, count=4)) >= 2


def test_what_lies_outside_is_on_the_edge() -> None:
    scale = Scale(0, 10, 50, 150)
    assert [scale.at(value) for value in (-5, 0, 5, 10, 99)] == [50, 50, 100, 150, 150]


@pytest.mark.parametrize("high", [3, 10, 47, 999, 1e4, 3.6e6, 1e15])
def test_ticks_are_few_round_and_inside(high: float) -> None:
    found = ticks(Scale(0, high, 0, 1), count=4)
    assert 2 <= len(found) <= 8
    assert found[0] == 0
    assert found[-1] <= high
    assert all(value == int(value) for value in found)


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(0, 1, "0 s"), (0, 40, "0 s"), (9.9, 31.3, "10 s"), (0, 7200, "0 min"), (-2, 30, "−2.5 s")],
)
def test_ticks_of_time_say_their_unit(low: float, high: float, first: str) -> None:
    scale = Scale(low, high, 0, 1)
    found = time_ticks(scale, count=12)
    assert 2 <= len(found) <= 14
    if low >= 0:
        assert time_label(found[0], scale, count=12) == first


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [(3091, 3101, ["51:31", "51:32"]), (3600, 14400, ["60 min", "75 min"])],
)
def test_late_ticks_read_like_a_clock(low: float, high: float, labels: list[str]) -> None:
    scale = Scale(low, high, 0, 1)
    found = [time_label(at_s, scale, count=12) for at_s in time_ticks(scale, count=12)]
    assert found[:2] == labels


def test_quantities_are_read_with_their_units() -> None:
    assert [seconds(value) for value in (0, 0.34, 8.44, 9.0, 99.96, 725, 7380)] == [
        "0 s", "340 ms", "8.4 s", "9 s", "1 min 40 s", "12 min 5 s", "2 h 3 min",
    ]  # fmt: skip
    assert [milliseconds(value) for value in (0.42, 3, 12.4, 4100)] == [
        "0.4 ms", "3 ms", "12 ms", "4.1 s",
    ]  # fmt: skip
    assert [moment(value) for value in (-1.5, 0, 12.34, 725.3, 4325)] == [
        "−1.5 s", "0.0 s", "12.3 s", "12:05.3", "1:12:05",
    ]  # fmt: skip
    assert [pluralize(number, "anomaly", "anomalies") for number in (1, 2000)] == [
        "1 anomaly", "2,000 anomalies",
    ]  # fmt: skip


def test_thinning_keeps_every_peak_and_both_ends() -> None:
    points = [(number * 0.01, 50.0) for number in range(10_000)]
    points[5003], points[5004] = (50.03, 0.0), (50.04, 99.0)
    kept = thin(points)
    assert len(kept) < 12
    assert {(50.03, 0.0), (50.04, 99.0), points[0], points[-1]} <= set(kept)


def test_thinning_keeps_a_step() -> None:
    points = [(0.0, 5.0), (10.0, 5.0), (10.0, 90.0), (20.0, 90.0)]
    assert thin(points) == points


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_points_are_kept(count: int) -> None:
    points = [(float(number) * 30, float(number)) for number in range(count)]
    assert thin(points) == points
    assert skyline(points) == points


def test_a_skyline_is_the_highest_of_each_column() -> None:
    points = [(0.0, 9.0), (0.1, 2.0), (0.2, 7.0), (40.0, 8.0), (80.0, 1.0)]
    assert skyline(points) == [(0.1, 2.0), (40.0, 8.0), (80.0, 1.0)]


def test_noise_is_thinned_to_what_can_be_told_apart() -> None:
    points = [(number * 0.01, float(number * 7919 % 101)) for number in range(10_000)]
    assert len(thin(points)) <= 4 * 41


def test_bars_that_hide_behind_one_another_are_drawn_once() -> None:
    extents = [(number * 0.01, number * 0.01 + 0.001) for number in range(10_000)]
    path = bars(extents, top=0, height=9, class_="fault")
    assert 100 <= path.count("M") <= 130
    assert bars([], top=0, height=9, class_="fault") == ""
