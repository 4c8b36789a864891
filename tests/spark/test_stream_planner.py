"""How far a stream goes on: backlogs, losses, limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange
from tidelog.client.records import TopicPartition
from tidelog.spark.stream_offsets import StreamOffset
from tidelog.spark.stream_options import Limits
from tidelog.spark.stream_planner import (
    Backlog,
    DataLossError,
    admit,
    backlog,
    cut,
    is_held_back,
    ranges_to_read,
    refuse_losses,
    share,
    start_at,
)

A0, A1, B0 = (TopicPartition(t, p) for t, p in (("a", 0), ("a", 1), ("b", 0)))
IDS = {"a": b"1"}


def at(offsets: dict[TopicPartition, int], **topic_ids: bytes) -> StreamOffset:
    return StreamOffset(offsets, topic_ids or IDS)


def ranges(found: Backlog) -> dict[TopicPartition, tuple[int, int]]:
    return {tp: (held.earliest, held.latest) for tp, held in found.ranges.items()}


def test_what_waits_lies_between_start_and_end() -> None:
    found = backlog(at({A0: 5, A1: 3}), at({A0: 9, A1: 3}), earliest={A0: 2})
    assert ranges(found) == {A0: (5, 9), A1: (3, 3)}
    assert (found.offsets_count, found.waiting(), found.losses) == (4, [A0], [])
    assert ranges_to_read(found, IDS) == [OffsetRange("a", b"1", 0, 5, 9)]


def test_a_new_partition_is_read_from_its_beginning() -> None:
    found = backlog(at({A0: 5}), at({A0: 5, A1: 4}), earliest={})
    assert ranges(found) == {A0: (5, 5), A1: (0, 4)}
    assert not found.losses


def test_the_beginning_of_a_new_partition_that_is_gone_is_a_loss() -> None:
    found = backlog(at({}), at({A0: 9}), earliest={A0: 2})
    assert ranges(found) == {A0: (2, 9)}
    assert found.losses == ["a-0 starts at 2, it was read up to 0"]


def test_offsets_that_retention_took_are_a_loss_and_left_out() -> None:
    found = backlog(at({A0: 5}), at({A0: 9}), earliest={A0: 7})
    assert ranges(found) == {A0: (7, 9)}
    assert found.losses == ["a-0 starts at 7, it was read up to 5"]
    emptied = backlog(at({A0: 5}), at({A0: 9}), earliest={A0: 9})
    assert ranges(emptied) == {A0: (9, 9)}
    assert emptied.losses


def test_retention_of_what_was_read_is_none() -> None:
    assert not backlog(at({A0: 9}), at({A0: 9}), earliest={A0: 9}).losses
    assert not backlog(at({A0: 7}), at({A0: 9}), earliest={A0: 7}).losses


def test_a_log_that_became_shorter_is_a_loss_and_goes_on_at_its_end() -> None:
    found = backlog(at({A0: 9}), at({A0: 6}), earliest={})
    assert ranges(found) == {A0: (6, 6)}
    assert found.losses == ["a-0 ends at 6, it was read up to 9"]


def test_a_partition_that_is_gone_is_a_loss() -> None:
    found = backlog(at({A0: 9, B0: 4}, a=b"1", b=b"2"), at({A0: 9}), earliest={})
    assert ranges(found) == {A0: (9, 9)}
    assert found.losses == ["b-0 is gone, it was read up to 4"]


def test_a_topic_made_anew_is_one_loss_and_read_from_its_beginning() -> None:
    found = backlog(at({A0: 9, A1: 9}), at({A0: 20, A1: 1}, a=b"2"), earliest={})
    assert ranges(found) == {A0: (0, 20), A1: (0, 1)}
    assert found.losses == ['topic "a" was deleted and recreated']


def test_an_offset_without_topic_ids_is_taken_as_it_is() -> None:
    found = backlog(StreamOffset({A0: 9}), at({A0: 20}), earliest={})
    assert ranges(found) == {A0: (9, 20)}
    assert not found.losses


def test_a_planned_batch_is_cut_to_what_there_still_is() -> None:
    planned = Backlog({A0: OffsetBounds(2, 9), A1: OffsetBounds(6, 8), B0: OffsetBounds(0, 1)})
    end = at({A0: 9, A1: 8, B0: 1}, a=b"1", b=b"2")
    found = cut(planned, end, newest=at({A0: 50, A1: 4, B0: 7}, a=b"1", b=b"3"))
    assert ranges(found) == {A0: (2, 9), A1: (4, 4)}
    assert found.losses == [
        "a-1 ends at 4, it was to be read up to 8",
        "b-0 is gone, it was to be read up to 1",
    ]
    assert cut(Backlog({}, ["before"]), at({}), newest=at({})).losses == ["before"]


def test_a_start_is_one_that_the_partition_holds() -> None:
    bounds = {A0: OffsetBounds(5, 9), A1: OffsetBounds(5, 9), B0: OffsetBounds(5, 9)}
    found = start_at({A0: 5, A1: 4, B0: 10}, bounds)
    assert ranges(found) == {A0: (5, 9), A1: (5, 9), B0: (9, 9)}
    assert found.losses == ["a-1 holds 5 to 9, not 4", "b-0 holds 5 to 9, not 10"]
    assert not start_at({A0: 9}, {A0: OffsetBounds(5, 9)}).losses


def test_losses_are_refused_by_name_a_few_of_them() -> None:
    refuse_losses([])
    with pytest.raises(DataLossError, match=r"may have been missed: x; y\. .*failOnDataLoss"):
        refuse_losses(["x", "y"])
    with pytest.raises(DataLossError, match="l4, and 3 more"):
        refuse_losses([f"l{n}" for n in range(8)])


def test_a_batch_waits_for_enough_offsets_but_no_longer_than_the_delay() -> None:
    limits = Limits(offsets_min=10, delay_ms_max=100)
    assert is_held_back(9, limits, triggered_ms=50, now_ms=149)
    assert not is_held_back(10, limits, triggered_ms=50, now_ms=149)
    assert not is_held_back(9, limits, triggered_ms=50, now_ms=150)
    assert not is_held_back(0, limits, triggered_ms=None, now_ms=0)
    assert not is_held_back(0, Limits(), triggered_ms=50, now_ms=51)


def test_without_limits_everything_is_taken() -> None:
    found = Backlog({A0: OffsetBounds(5, 9), A1: OffsetBounds(3, 3)})
    assert admit(found, Limits(), record_bytes={}) == {A0: 9, A1: 3}


def test_a_limit_of_offsets_is_shared_out_by_what_waits() -> None:
    found = Backlog({A0: OffsetBounds(100, 400), A1: OffsetBounds(0, 100), B0: OffsetBounds(7, 7)})
    ends = admit(found, Limits(offsets_max=40), record_bytes={})
    assert ends[B0] == 7
    assert ends[A0] - 100 + ends[A1] == 40
    assert ends[A0] - 100 == pytest.approx(30, abs=1)


def test_a_limit_of_bytes_counts_what_records_take() -> None:
    found = Backlog({A0: OffsetBounds(0, 1000), A1: OffsetBounds(0, 1000)})
    ends = admit(found, Limits(bytes_max=2200), record_bytes={A0: 10.0, A1: 100.0})
    assert ends[A0] * 10 + ends[A1] * 100 == pytest.approx(2200, abs=110)
    assert ends[A0] == pytest.approx(ends[A1], abs=2)


def test_of_two_limits_the_lower_counts() -> None:
    found = Backlog({A0: OffsetBounds(0, 1000)})
    sizes = {A0: 10.0}
    assert admit(found, Limits(5, 1000), record_bytes=sizes) == {A0: 5}
    assert admit(found, Limits(500, 1000), record_bytes=sizes) == {A0: 100}


def test_a_record_larger_than_the_limit_is_read_all_the_same() -> None:
    found = Backlog({A0: OffsetBounds(0, 3)})
    assert admit(found, Limits(bytes_max=10), record_bytes={A0: 5000.0}) == {A0: 1}


@given(st.lists(st.integers(0, 1 << 62), max_size=20), st.integers(1, 1 << 62))
def test_shares_are_the_limit_in_all_and_none_starves(sizes: list[int], limit: int) -> None:
    by_partition = {TopicPartition("t", n): size for n, size in enumerate(sizes)}
    shares = share(by_partition, limit)
    waiting = sum(size > 0 for size in sizes)
    assert sum(shares.values()) == min(sum(sizes), max(limit, waiting))
    assert all(min(size, 1) <= shares[tp] <= size for tp, size in by_partition.items())
