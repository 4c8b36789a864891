"""What a batch read covers: options in, offset ranges out."""

from __future__ import annotations

import pytest

from tidelog.client.range_reader import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.records import TopicPartition
from tidelog.spark.planner import (
    PlanError,
    ReadOptions,
    parse_options,
    plan_ranges,
    select_partitions,
)

TOPICS = {
    "orders": TopicPartitions(b"o", (0, 1)),
    "orders-eu": TopicPartitions(b"e", (0,)),
    "users": TopicPartitions(b"u", (0,)),
}
BOUNDS = {
    TopicPartition("orders", 0): OffsetBounds(earliest=5, latest=10),
    TopicPartition("orders", 1): OffsetBounds(earliest=0, latest=3),
}


def options(**given: str) -> ReadOptions:
    given = given or {"subscribe": "orders"}
    return parse_options({"bootstrap.servers": "h:1", **given})


def test_defaults_read_everything_that_is_committed() -> None:
    assert plan_ranges(options(), TOPICS, BOUNDS) == [
        OffsetRange("orders", b"o", 0, 5, 10),
        OffsetRange("orders", b"o", 1, 0, 3),
    ]


def test_kafkas_bootstrap_option_is_understood() -> None:
    assert parse_options({"kafka.bootstrap.servers": "k:1", "subscribe": "t"}).bootstrap == "k:1"


def test_missing_bootstrap_is_refused() -> None:
    with pytest.raises(PlanError, match=r'"bootstrap\.servers" is missing'):
        parse_options({"subscribe": "t"})


@pytest.mark.parametrize(
    "given", [{"includeHeaders": "false"}, {"subscribe": "a", "assign": '{"a":[0]}'}]
)
def test_exactly_one_way_of_naming_topics(given: dict[str, str]) -> None:
    with pytest.raises(PlanError, match="exactly one of the options assign, subscribe and"):
        options(**given)


def test_unknown_option_names_the_nearest() -> None:
    with pytest.raises(PlanError, match=r'unknown option "startingofset".*"startingOffsets"'):
        options(subscribe="orders", startingofset="earliest")


def test_subscribe_takes_a_list() -> None:
    assert select_partitions(options(subscribe="users, orders"), TOPICS) == [
        ("orders", 0),
        ("orders", 1),
        ("users", 0),
    ]


def test_assign_takes_single_partitions() -> None:
    assert select_partitions(options(assign='{"orders":[1]}'), TOPICS) == [("orders", 1)]


def test_pattern_matches_whole_names() -> None:
    chosen = select_partitions(options(subscribePattern="orders.*"), TOPICS)
    assert chosen == [("orders", 0), ("orders", 1), ("orders-eu", 0)]
    assert select_partitions(options(subscribePattern="orders-"), TOPICS) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"subscribe": "nope"}, 'topic "nope" does not exist in the cluster at h:1'),
        ({"assign": '{"nope":[0]}'}, 'topic "nope" does not exist'),
        ({"assign": '{"orders":[2]}'}, 'topic "orders" has no partition 2'),
    ],
)
def test_what_does_not_exist_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        select_partitions(options(**given), TOPICS)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("assign", "[1]", "option assign cannot be read"),
        ("assign", '{"a":[-1]}', "list of partition numbers"),
        ("subscribePattern", "(", "no regular expression"),
        ("subscribe", " , ", "names no topic"),
    ],
)
def test_malformed_topic_options_say_how_to_write_them(name: str, value: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        options(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("startingOffsets", "latest", 'cannot be "latest"'),
        ("startingOffsets", '{"orders":{"0":-1}}', r"cannot be -1 \(latest\)"),
        ("endingOffsets", "earliest", 'cannot be "earliest"'),
        ("endingOffsets", '{"orders":{"0":-2}}', r"cannot be -2 \(earliest\)"),
        ("endingOffsets", '{"orders":{"x":1}}', "needs partition: offset"),
        ("endingOffsets", '{"orders":{"0":-3}}', "needs partition: offset"),
        ("endingOffsets", '{"orders":5}', "an object per topic"),
        ("endingOffsets", "noon", "cannot be read: 'noon'"),
        ("failOnDataLoss", "perhaps", "true or false"),
    ],
)
def test_malformed_options_say_what_is_allowed(name: str, value: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        options(subscribe="orders", **{name: value})


def test_offsets_are_taken_per_partition_and_by_name() -> None:
    ranges = plan_ranges(
        options(
            subscribe="orders",
            startingOffsets='{"orders":{"0":7,"1":-2}}',
            endingOffsets='{"orders":{"0":-1,"1":2}}',
        ),
        TOPICS,
        BOUNDS,
    )
    assert ranges == [OffsetRange("orders", b"o", 0, 7, 10), OffsetRange("orders", b"o", 1, 0, 2)]


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ('{"orders":{"0":7}}', "must name every partition that is read, not given: orders-1"),
        ('{"orders":{"0":7,"1":0,"2":0}}', "names partitions that are not read: orders-2"),
    ],
)
def test_offsets_name_exactly_the_partitions_read(offsets: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan_ranges(options(subscribe="orders", startingOffsets=offsets), TOPICS, BOUNDS)


def test_offsets_that_are_gone_fail_the_read() -> None:
    asked = '{"orders":{"0":3,"1":0}}'
    with pytest.raises(PlanError, match="3 to 10 were asked of orders-0, which holds 5 to 10"):
        plan_ranges(options(subscribe="orders", startingOffsets=asked), TOPICS, BOUNDS)


def test_offsets_that_are_gone_are_left_out_when_the_user_says_so() -> None:
    ranges = plan_ranges(
        options(
            subscribe="orders",
            startingOffsets='{"orders":{"0":3,"1":0}}',
            endingOffsets='{"orders":{"0":99,"1":3}}',
            failOnDataLoss="false",
        ),
        TOPICS,
        BOUNDS,
    )
    assert ranges == [OffsetRange("orders", b"o", 0, 5, 10), OffsetRange("orders", b"o", 1, 0, 3)]


def test_a_start_after_its_end_is_refused() -> None:
    with pytest.raises(PlanError, match="startingOffsets of orders-0 is 9, after its end 6"):
        plan_ranges(
            options(
                subscribe="orders",
                startingOffsets='{"orders":{"0":9,"1":0}}',
                endingOffsets='{"orders":{"0":6,"1":0}}',
            ),
            TOPICS,
            BOUNDS,
        )
