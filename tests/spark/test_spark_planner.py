"""What a read covers: options and the state of topics in, offset ranges out."""

from __future__ import annotations

import pytest

from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import OptionError
from tidelog.spark.planner import (
    PlanError,
    ReadOptions,
    parse_options,
    plan_ranges,
    resolve,
    select_partitions,
    times_to_find,
)

TOPICS = {
    "orders": TopicPartitions(b"o", (0, 1)),
    "orders-eu": TopicPartitions(b"e", (0,)),
    "users": TopicPartitions(b"u", (0,)),
    "__own": TopicPartitions(b"i", (0,)),
}
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
BOUNDS = {FIRST: OffsetBounds(earliest=5, latest=10), SECOND: OffsetBounds(earliest=0, latest=3)}


def options(**given: str) -> ReadOptions:
    if not {"assign", "subscribe", "subscribePattern"} & given.keys():
        given["subscribe"] = "orders"
    return parse_options({"bootstrap.servers": "h:1", **given})


def selected(**given: str) -> list[TopicPartition]:
    return select_partitions(options(**given).selection, TOPICS, bootstrap="h:1")


def planned(found: dict[TopicPartition, int | None] | None = None, /, **given: str) -> list[str]:
    """The ranges as text; `found` is what every look-up by time finds."""
    read = options(**given)
    starts, ends = (
        resolve(edge, BOUNDS, {tp: (found or {})[tp] for tp in times_to_find(edge, BOUNDS)})
        for edge in (read.starting, read.ending)
    )
    ranges = plan_ranges(read, TOPICS, BOUNDS, starts=starts, ends=ends)
    assert {r.topic_id for r in ranges} == {b"o"}
    return [f"{r.topic}-{r.partition} {r.start_offset}..{r.end_offset}" for r in ranges]


def test_defaults_read_everything_that_is_committed() -> None:
    assert planned() == ["orders-0 5..10", "orders-1 0..3"]


def test_options_have_their_defaults() -> None:
    read = options()
    assert read.bootstrap == "h:1"
    assert read.fail_on_data_loss
    assert read.min_partitions is read.max_records_per_partition is None
    assert not read.filter_pushdown


@pytest.mark.parametrize("name", ["minPartitions", "maxRecordsPerPartition"])
def test_numbers_of_tasks_and_records_are_positive(name: str) -> None:
    with pytest.raises(OptionError, match=f"option {name} is a whole number from 1"):
        options(**{name: "0"})


def test_subscribe_takes_a_list() -> None:
    assert selected(subscribe="users, orders") == [FIRST, SECOND, ("users", 0)]


def test_assign_takes_single_partitions() -> None:
    assert selected(assign='{"orders":[1]}') == [SECOND]


def test_a_pattern_matches_whole_names() -> None:
    assert selected(subscribePattern="orders.*") == [FIRST, SECOND, ("orders-eu", 0)]
    assert selected(subscribePattern="orders-") == []


def test_a_pattern_leaves_internal_topics_out_unless_told() -> None:
    assert ("__own", 0) not in selected(subscribePattern=".*")
    everything = {"subscribePattern": ".*", "kafka.exclude.internal.topics": "false"}
    assert ("__own", 0) in selected(**everything)
    assert selected(subscribe="__own") == [("__own", 0)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"subscribe": "nope"}, 'topic "nope" does not exist in the cluster at h:1'),
        ({"assign": '{"nope":[0]}'}, 'topic "nope" does not exist'),
        ({"assign": '{"orders":[3,0,2]}'}, 'topic "orders" has partitions 0 to 1, not 2'),
    ],
)
def test_what_does_not_exist_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        selected(**given)


def test_offsets_are_taken_per_partition_and_by_name() -> None:
    assert planned(
        startingOffsets='{"orders":{"0":7,"1":-2}}', endingOffsets='{"orders":{"0":-1,"1":2}}'
    ) == ["orders-0 7..10", "orders-1 0..2"]


@pytest.mark.parametrize("name", ["startingOffsets", "startingOffsetsByTimestamp"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"orders":{"0":7}}', "must name every partition that is read, not given: orders-1"),
        ('{"orders":{"0":7,"1":0,"2":0}}', "names partitions that are not read: orders-2"),
    ],
)
def test_offsets_and_times_name_exactly_the_partitions_read(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(PlanError, match=f"option {name} {message}"):
        planned(**{name: text})


def test_a_long_list_of_partitions_is_cut() -> None:
    bounds = {TopicPartition("t", n): OffsetBounds(0, 0) for n in range(1000)}
    edge = options(startingOffsets='{"t":{"0":7}}').starting
    with pytest.raises(PlanError, match=r"not given: t-1, .* t-8 and 991 more$"):
        resolve(edge, bounds, {})


@pytest.mark.parametrize("offsets", ['{"orders":{"0":3,"1":0}}', '{"orders":{"0":11,"1":0}}'])
def test_offsets_that_are_not_there_fail_the_read(offsets: str) -> None:
    with pytest.raises(PlanError, match="to 12 were asked of orders-0, which holds 5 to 10; ask"):
        planned(startingOffsets=offsets, endingOffsets='{"orders":{"0":12,"1":3}}')


def test_offsets_that_are_not_there_are_left_out_when_the_user_says_so() -> None:
    assert planned(
        startingOffsets='{"orders":{"0":3,"1":7}}',
        endingOffsets='{"orders":{"0":99,"1":8}}',
        failOnDataLoss="false",
    ) == ["orders-0 5..10", "orders-1 3..3"]


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_a_start_after_its_end_is_refused(fail_on_data_loss: str) -> None:
    message = "startingOffsets of orders-0 is offset 11, after its end 10 by endingOffsets"
    with pytest.raises(PlanError, match=message):
        planned(startingOffsets='{"orders":{"0":11,"1":0}}', failOnDataLoss=fail_on_data_loss)


def test_times_are_looked_up_for_the_partitions_read() -> None:
    edge = options(startingTimestamp="70").starting
    assert times_to_find(edge, BOUNDS) == {FIRST: 70, SECOND: 70}
    edge = options(endingOffsetsByTimestamp='{"orders":{"0":7,"1":8}}').ending
    assert times_to_find(edge, BOUNDS) == {FIRST: 7, SECOND: 8}
    assert times_to_find(options().starting, BOUNDS) == {}


def test_a_time_is_the_first_record_at_or_after_it() -> None:
    found: dict[TopicPartition, int | None] = {FIRST: 8, SECOND: 1}
    assert planned(found, startingTimestamp="70") == ["orders-0 8..10", "orders-1 1..3"]
    assert planned(found, endingTimestamp="70") == ["orders-0 5..8", "orders-1 0..1"]


def test_a_time_that_no_record_has_reached_is_an_error_at_the_start() -> None:
    found = {FIRST: 8, SECOND: None}
    with pytest.raises(PlanError, match="orders-1 holds no record as new as startingTimestamp 70"):
        planned(found, startingTimestamp="70")
    by_partition = '{"orders":{"0":70,"1":80}}'
    with pytest.raises(PlanError, match="as new as startingOffsetsByTimestamp 80: ask for an ear"):
        planned(found, startingOffsetsByTimestamp=by_partition)


def test_a_time_that_no_record_has_reached_is_the_end_where_that_is_meant() -> None:
    found = {FIRST: 8, SECOND: None}
    strategy = {"startingOffsetsByTimestampStrategy": "latest"}
    assert planned(found, startingTimestamp="70", **strategy) == [
        "orders-0 8..10",
        "orders-1 3..3",
    ]
    assert planned(found, endingTimestamp="70") == ["orders-0 5..8", "orders-1 0..3"]


def test_a_record_that_came_after_the_bounds_is_no_part_of_the_read() -> None:
    found: dict[TopicPartition, int | None] = {FIRST: 12, SECOND: 3}
    assert planned(found, startingTimestamp="70") == ["orders-0 10..10", "orders-1 3..3"]
    assert planned(found, endingTimestamp="70") == ["orders-0 5..10", "orders-1 0..3"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"startingTimestamp": "8", "endingTimestamp": "7"},
            "option startingTimestamp is 8 for all partitions, after endingTimestamp, 7",
        ),
        (
            {
                "startingOffsets": '{"orders":{"0":1,"1":9}}',
                "endingOffsets": '{"orders":{"0":2,"1":8}}',
            },
            "option startingOffsets is 9 for orders-1, after endingOffsets, 8",
        ),
        (
            {
                "startingOffsetsByTimestamp": '{"orders":{"0":9}}',
                "endingOffsetsByTimestamp": '{"orders":{"0":8}}',
            },
            "option startingOffsetsByTimestamp is 9 for orders-0, after endingOffsetsByTimestamp",
        ),
        (
            {"startingOffsets": '{"orders":{"0":1}}', "endingOffsets": '{"orders":{"1":2}}'},
            "startingOffsets and endingOffsets name different partitions: .* orders-0, orders-1",
        ),
    ],
)
def test_what_ends_before_it_starts_is_refused_before_anything_is_asked(
    given: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        options(**given)


def test_latest_and_earliest_are_no_numbers_to_compare() -> None:
    options(startingOffsets='{"orders":{"0":9,"1":-2}}', endingOffsets='{"orders":{"0":-1,"1":0}}')
    options(startingTimestamp="9", endingOffsets='{"orders":{"0":2,"1":2}}')
    options(startingTimestamp="9", endingOffsetsByTimestamp='{"orders":{"0":2,"1":2}}')
