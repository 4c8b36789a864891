"""How long acknowledgements were missing, and what each interval of the load was told."""

from __future__ import annotations

import pytest
from tests.chaos.chaos_sends import send

from tidelog.chaos.sockets.recording import load_points
from tidelog.history.checks.availability import longest_silence_s, quantile


def test_the_longest_gap_counts_also_at_the_edges_of_the_load() -> None:
    sends = [send(ended_s=12.0), send(ended_s=13.0), send(ended_s=15.5)]
    assert longest_silence_s(sends, load=(11.0, 16.0)) == 2.5
    assert longest_silence_s(sends, load=(9.0, 16.0)) == 3.0
    assert longest_silence_s(sends, load=(11.0, 20.0)) == 4.5


def test_only_what_acks_all_acknowledged_ends_a_silence() -> None:
    sends = [
        send(ended_s=11.0),
        send(ended_s=12.0, acks=1),
        send(ended_s=13.0, outcome="fail"),
        send(ended_s=14.0),
    ]
    assert longest_silence_s(sends, load=(11.0, 14.0)) == 3.0


def test_times_at_which_producers_rest_do_not_count() -> None:
    sends = [send(ended_s=11.0), send(ended_s=15.0)]
    assert longest_silence_s(sends, load=(11.0, 15.0), rests=[(12.0, 14.5)]) == 1.5


def test_without_any_acknowledgement_the_whole_load_is_silent() -> None:
    assert longest_silence_s([], load=(1.0, 8.0)) == 7.0


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([5.0], 5.0), ([float(n) for n in range(100)], 99.0)]
)
def test_a_quantile_is_one_of_the_values(values: list[float], expected: float | None) -> None:
    assert quantile(values, 0.99) == expected


def test_each_interval_has_what_ended_in_it_and_empty_ones_are_there() -> None:
    sends = [
        send(ended_s=10.1, took_s=0.05),
        send(ended_s=10.2, outcome="fail"),
        send(ended_s=10.2, outcome="unknown"),
        send(ended_s=10.2, acks=1),
        send(ended_s=11.0, took_s=0.5),
    ]
    interval_s, points = load_points(sends, began_s=10.0, ended_s=11.2)
    assert interval_s == 0.25
    assert [(one.acknowledged, one.failed, one.unknown) for one in points] == [
        (1, 1, 1),
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (1, 0, 0),
    ]
    assert points[0].p99_ms == pytest.approx(50.0)
    assert points[1].p99_ms is None
    assert [one.at_s for one in points] == [10.0, 10.25, 10.5, 10.75, 11.0]


def test_a_long_load_has_a_bounded_number_of_points() -> None:
    _, points = load_points([send(ended_s=7000.0)], began_s=0.0, ended_s=7200.0)
    assert 1000 < len(points) <= 2401
