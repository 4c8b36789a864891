"""What a run says at its end."""

from __future__ import annotations

from tidelog.client.records import TopicPartition
from tidelog.spark.pipeline.plan import Gap, Span
from tidelog.spark.pipeline.runs import Run
from tidelog.spark.pipeline.summary import ROWS_MAX, Row, chart, rows, summary

RUN = Run(
    number=3,
    began_at="",
    topic_ids={},
    spans={"a": {0: Span(10, 90), 1: Span(0, 0)}, "b": {0: Span(0, 20)}},
    read=90,
    written=80,
    repeated=4,
    quarantined={"not JSON": 5, "no value": 1},
    gaps=(Gap("a", 0, 4, 10),),
    seconds=2.0,
)
ENDS = {TopicPartition("a", 0): 110, TopicPartition("a", 1): 0, TopicPartition("b", 0): 20}


def test_lag_is_what_each_partition_has_behind_the_run() -> None:
    assert rows(RUN, ENDS) == [Row("a-0", 80, 20), Row("a-1", 0, 0), Row("b-0", 20, 0)]


def test_the_summary_adds_up() -> None:
    said = summary(RUN, rows(RUN, ENDS))

    assert said == {
        "run": 3,
        "read": 90,
        "written": 80,
        "repeated": 4,
        "quarantined": 6,
        "reasons": {"not JSON": 5, "no value": 1},
        "lost": 6,
        "lag": 20,
        "partitions": 3,
        "seconds": 2.0,
        "records_per_second": 45,
    }


def test_bars_are_in_proportion_and_the_longest_comes_first() -> None:
    lines = chart(rows(RUN, ENDS))

    assert lines[1].startswith("a-0  " + "█" * 32 + "░" * 8)
    assert lines[2].startswith("b-0  " + "█" * 8 + " ")
    assert lines[3].split() == ["a-1", "0", "+", "0"]


def test_many_partitions_are_not_all_drawn() -> None:
    lines = chart([Row(f"t-{number}", number, 0) for number in range(ROWS_MAX + 5)])

    assert len(lines) == ROWS_MAX + 2
    assert lines[-1] == "and 5 more partitions"


def test_nothing_is_drawn_of_nothing() -> None:
    assert chart([]) == []
