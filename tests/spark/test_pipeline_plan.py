"""What a run covers: from where the last one ended, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.records import TopicPartition
from tidelog.spark.pipeline.plan import (
    Gap,
    Limits,
    PipelineError,
    Plan,
    Progress,
    Span,
    plan_run,
)

ID, OTHER_ID = b"i" * 16, b"o" * 16


def plan(
    held: dict[int, tuple[int, int]],
    done: dict[int, int] | None = None,
    limits: Limits | None = None,
    *,
    topic_id: bytes = ID,
) -> Plan:
    """Of one topic: what its partitions hold, and how far they were read."""
    return plan_run(
        {} if done is None else {"t": Progress(ID, done)},
        {"t": TopicPartitions(topic_id, tuple(held))},
        {TopicPartition("t", number): OffsetBounds(*bounds) for number, bounds in held.items()},
        limits or Limits(),
    )


def spans(planned: Plan) -> dict[int, tuple[int, int]]:
    return {tp.partition: (span.start, span.end) for tp, span in planned.spans.items()}


def test_the_first_run_covers_all_there_is() -> None:
    planned = plan({0: (3, 10), 1: (0, 0)})

    assert spans(planned) == {0: (3, 10), 1: (0, 0)}
    assert planned.offsets == 7
    assert planned.topic_ids == {"t": ID}


def test_the_first_run_from_latest_covers_nothing_and_new_partitions_are_read_whole() -> None:
    limits = Limits(from_latest=True)

    assert spans(plan({0: (3, 10)}, limits=limits)) == {0: (10, 10)}
    assert spans(plan({0: (3, 12), 1: (0, 4)}, {0: 10}, limits)) == {0: (10, 12), 1: (0, 4)}


def test_the_next_run_begins_where_the_last_one_ended() -> None:
    assert spans(plan({0: (3, 10), 1: (0, 5)}, {0: 7, 1: 5})) == {0: (7, 10), 1: (5, 5)}


def test_a_topic_that_was_created_again_is_refused() -> None:
    with pytest.raises(PipelineError, match='"t" was deleted and created again'):
        plan({0: (0, 10)}, {0: 7}, topic_id=OTHER_ID)


def test_records_that_are_gone_before_they_were_read_are_refused_or_written_down() -> None:
    with pytest.raises(PipelineError, match="t-0 was read up to offset 7, and begins at 9 now"):
        plan({0: (9, 10)}, {0: 7})

    planned = plan({0: (9, 10)}, {0: 7}, Limits(is_loss_allowed=True))
    assert spans(planned) == {0: (9, 10)}
    assert planned.gaps == (Gap("t", 0, 7, 9),)


def test_a_partition_that_ends_below_what_was_read_is_refused_or_begun_at_its_end() -> None:
    with pytest.raises(PipelineError, match="t-0 was read up to offset 7, and ends at 5 now"):
        plan({0: (0, 5)}, {0: 7})

    assert spans(plan({0: (0, 5)}, {0: 7}, Limits(is_loss_allowed=True))) == {0: (5, 5)}


def test_a_limit_is_shared_in_proportion() -> None:
    planned = plan({0: (0, 900), 1: (0, 90), 2: (0, 10)}, limits=Limits(records_max=100))

    assert spans(planned) == {0: (0, 90), 1: (0, 9), 2: (0, 1)}


@given(
    widths=st.lists(st.integers(0, 1000), min_size=1, max_size=20),
    records_max=st.integers(1, 5000),
)
def test_a_limit_is_kept_and_something_is_read(widths: list[int], records_max: int) -> None:
    held = {number: (0, width) for number, width in enumerate(widths)}
    planned = plan(held, limits=Limits(records_max=records_max))

    total = sum(widths)
    assert planned.offsets == min(total, records_max)
    assert all(
        tp.partition in held and span == Span(0, span.end) and span.end <= held[tp.partition][1]
        for tp, span in planned.spans.items()
    )
