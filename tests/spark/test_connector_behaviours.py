"""What Spark's Kafka connector documents of a batch read: one table, in two worlds.

Every line is an option, or a few, of the "Structured Streaming + Kafka Integration Guide" with the
rows they give or the words of the error. The table is run on the pure planner against the topics
below as data, and on Spark against a cluster that holds the same topics.
"""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import OptionError
from tidelog.spark.planner import (
    Found,
    PlanError,
    parse_options,
    plan_ranges,
    resolve,
    select_partitions,
    times_to_find,
)
from tidelog.spark.range_splits import split_ranges

Row = tuple[str, int, int]
"""Topic, partition, offset."""


class Partition(NamedTuple):
    """Timestamps of its records, and the first offset that is still there."""

    times_ms: tuple[int, ...]
    start: int = 0


# Times in 1970: retention would delete them, if the test takes minutes.
KEPT = {"retention.ms": "-1"}
TOPICS: dict[str, list[Partition]] = {
    "orders": [Partition((1000, 1100, 1200, 1300, 1400, 1500)), Partition((1000, 1200, 1400))],
    "orders-eu": [Partition((1000, 1100))],
    # Retention, or DeleteRecords, took its first records.
    "cut": [Partition((1000, 1100, 1200, 1300, 1400), start=2)],
    # Times need not grow with offsets.
    "late": [Partition((1000, 1500, 1100, 1600))],
    "empty": [Partition(()), Partition(())],
    "__internal": [Partition((1000,))],
}


def rows(**ranges: range) -> list[Row]:
    """`orders_0=range(5)`: the rows of a partition; `eu` stands for orders-eu."""
    found = []
    for name, offsets in ranges.items():
        topic, partition = name.rsplit("_", 1)
        topic = "orders-eu" if topic == "eu" else topic
        found += [(topic, int(partition), offset) for offset in offsets]
    return sorted(found)


class Behaviour(NamedTuple):
    """What the connector does with some options: the rows read, or what its error says."""

    claim: str
    options: dict[str, str]
    expected: list[Row] | str
    tasks: int | None = None
    """How many read, where that is what the option is about."""


ORDERS = rows(orders_0=range(6), orders_1=range(3))
BEHAVIOURS = [
    # What to read
    Behaviour("subscribe reads a topic whole", {"subscribe": "orders"}, ORDERS, 2),
    Behaviour(
        "subscribe takes several topics",
        {"subscribe": "cut, orders-eu"},
        rows(cut_0=range(2, 5), eu_0=range(2)),
    ),
    Behaviour(
        "assign reads single partitions", {"assign": '{"orders":[1]}'}, rows(orders_1=range(3)), 1
    ),
    Behaviour(
        "subscribePattern matches whole names",
        {"subscribePattern": "orders.+"},
        rows(eu_0=range(2)),
    ),
    Behaviour("a pattern may match nothing", {"subscribePattern": "nothing.*"}, []),
    Behaviour("a pattern leaves internal topics out", {"subscribePattern": "__.*"}, []),
    Behaviour("empty partitions make no tasks", {"subscribe": "empty"}, []),
    Behaviour("a topic must exist", {"subscribe": "nowhere"}, 'topic "nowhere" does not exist in'),
    Behaviour("a partition must exist", {"assign": '{"cut":[1]}'}, "has partitions 0 to 0, not 1"),
    Behaviour("one way must be chosen", {}, "exactly one of the options assign, subscribe and"),
    Behaviour(
        "only one way may be chosen",
        {"subscribe": "cut", "subscribePattern": "cut"},
        "exactly one of the options assign, subscribe and",
    ),
    # From where to where
    Behaviour(
        "offsets are taken per partition, -2 is the earliest, -1 the latest",
        {
            "subscribe": "orders",
            "startingOffsets": '{"orders":{"0":4,"1":-2}}',
            "endingOffsets": '{"orders":{"0":-1,"1":1}}',
        },
        rows(orders_0=range(4, 6), orders_1=range(1)),
    ),
    Behaviour(
        "a batch cannot start at the latest",
        {"subscribe": "cut", "startingOffsets": "latest"},
        'startingOffsets cannot be "latest"',
    ),
    Behaviour(
        "a batch cannot end at the earliest",
        {"subscribe": "cut", "endingOffsets": '{"cut":{"0":-2}}'},
        r"endingOffsets cannot be -2 \(earliest\) for cut-0",
    ),
    Behaviour(
        "offsets must name all partitions",
        {"subscribe": "orders", "startingOffsets": '{"orders":{"0":1}}'},
        "startingOffsets must name every partition that is read, not given: orders-1",
    ),
    Behaviour(
        "a start after the end is refused",
        {
            "subscribe": "cut",
            "startingOffsets": '{"cut":{"0":4}}',
            "endingOffsets": '{"cut":{"0":3}}',
        },
        "startingOffsets is 4 for cut-0, after endingOffsets, 3",
    ),
    # By time
    Behaviour(
        "a timestamp starts at the first record that is no older",
        {"subscribe": "orders", "startingTimestamp": "1201"},
        rows(orders_0=range(3, 6), orders_1=range(2, 3)),
    ),
    Behaviour(
        "a timestamp ends before the first record that is no older",
        {"subscribe": "orders", "endingTimestamp": "1200"},
        rows(orders_0=range(2), orders_1=range(1)),
    ),
    Behaviour(
        "records of earlier times may follow",
        {"subscribe": "late", "startingTimestamp": "1200"},
        rows(late_0=range(1, 4)),
    ),
    Behaviour(
        "timestamps are taken per partition",
        {
            "subscribe": "orders",
            "startingOffsetsByTimestamp": '{"orders":{"0":1500,"1":1000}}',
            "endingOffsetsByTimestamp": '{"orders":{"0":9000,"1":1300}}',
        },
        rows(orders_0=range(5, 6), orders_1=range(2)),
    ),
    Behaviour(
        "a timestamp comes before timestamps per partition, and these before offsets",
        {
            "subscribe": "cut",
            "startingTimestamp": "1400",
            "startingOffsetsByTimestamp": '{"cut":{"0":1300}}',
            "startingOffsets": "earliest",
            "endingOffsetsByTimestamp": '{"cut":{"0":9000}}',
            "endingOffsets": '{"cut":{"0":3}}',
        },
        rows(cut_0=range(4, 5)),
    ),
    Behaviour(
        "a start that no record has reached is an error",
        {"subscribe": "orders", "startingTimestamp": "1450"},
        "orders-1 holds no record as new as startingTimestamp 1450",
    ),
    Behaviour(
        "the strategy latest reads nothing of such a partition",
        {
            "subscribe": "orders",
            "startingTimestamp": "1450",
            "startingOffsetsByTimestampStrategy": "latest",
        },
        rows(orders_0=range(5, 6)),
    ),
    Behaviour(
        "an end that no record has reached is the latest",
        {"subscribe": "orders", "endingTimestamp": "1450"},
        rows(orders_0=range(5), orders_1=range(3)),
    ),
    # What is gone
    Behaviour("the earliest is what is left", {"subscribe": "cut"}, rows(cut_0=range(2, 5))),
    Behaviour(
        "offsets that are gone fail the read",
        {"subscribe": "cut", "startingOffsets": '{"cut":{"0":0}}'},
        "offsets 0 to 5 were asked of cut-0, which holds 2 to 5",
    ),
    Behaviour(
        "offsets that are not there yet fail the read",
        {"subscribe": "cut", "endingOffsets": '{"cut":{"0":9}}'},
        "offsets 2 to 9 were asked of cut-0, which holds 2 to 5",
    ),
    Behaviour(
        "failOnDataLoss off reads what there is",
        {
            "subscribe": "cut",
            "startingOffsets": '{"cut":{"0":0}}',
            "endingOffsets": '{"cut":{"0":9}}',
            "failOnDataLoss": "false",
        },
        rows(cut_0=range(2, 5)),
    ),
    # Tasks
    Behaviour(
        "minPartitions divides large partitions",
        {"subscribe": "orders", "minPartitions": "6"},
        ORDERS,
        6,
    ),
    Behaviour(
        "fewer are as many as there are", {"subscribe": "orders", "minPartitions": "1"}, ORDERS, 2
    ),
    Behaviour(
        "maxRecordsPerPartition divides partitions",
        {"subscribe": "orders", "maxRecordsPerPartition": "2"},
        ORDERS,
        5,
    ),
    # What is refused
    Behaviour(
        "unknown options are refused", {"subscribe": "cut", "startOffset": "1"}, "unknown opt"
    ),
    Behaviour(
        "limits of triggers are for streams",
        {"subscribe": "cut", "maxOffsetsPerTrigger": "1"},
        "has no place in a batch read, but in a streaming read",
    ),
    Behaviour(
        "where to start is no option of the consumer",
        {"subscribe": "cut", "kafka.auto.offset.reset": "latest"},
        "not supported: startingOffsets says where a read starts",
    ),
]
everyone = pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=[b.claim for b in BEHAVIOURS])


@everyone
def test_the_planner_does_as_the_connector(behaviour: Behaviour) -> None:
    options = {"bootstrap.servers": "h:1", **behaviour.options}
    if isinstance(behaviour.expected, str):
        with pytest.raises((OptionError, PlanError), match=behaviour.expected):
            planned(options)
    else:
        found, tasks = planned(options)
        assert found == behaviour.expected
        assert tasks == behaviour.tasks or behaviour.tasks is None


def planned(given: dict[str, str]) -> tuple[list[Row], int]:
    """Rows and number of tasks, of TOPICS as they are."""
    options = parse_options(given)
    topics = {
        name: TopicPartitions(name.encode(), tuple(range(len(partitions))))
        for name, partitions in TOPICS.items()
    }
    partitions = select_partitions(options.selection, topics, bootstrap=options.bootstrap)
    bounds = {}
    for tp in partitions:
        held = TOPICS[tp.topic][tp.partition]
        bounds[tp] = OffsetBounds(held.start, len(held.times_ms))
    starts, ends = (
        resolve(edge, bounds, first_at(times_to_find(edge, bounds)))
        for edge in (options.starting, options.ending)
    )
    ranges = split_ranges(
        plan_ranges(options, topics, bounds, starts=starts, ends=ends),
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
    )
    found = [
        (r.topic, r.partition, offset)
        for r in ranges
        for offset in range(r.start_offset, r.end_offset)
    ]
    return sorted(found), len(ranges)


def first_at(times_ms: dict[TopicPartition, int]) -> Found:
    """What brokers answer for times."""
    found: dict[TopicPartition, int | None] = {}
    for tp, asked_ms in times_ms.items():
        held = TOPICS[tp.topic][tp.partition]
        offsets = range(held.start, len(held.times_ms))
        found[tp] = next((o for o in offsets if held.times_ms[o] >= asked_ms), None)
    return found


@pytest.fixture(scope="module")
def filled(running_cluster: LocalCluster) -> LocalCluster:
    """A cluster that holds TOPICS."""
    asyncio.run(fill(running_cluster.bootstrap))
    return running_cluster


async def fill(bootstrap: str) -> None:
    async with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        require_all(
            await admin.create_topics(
                [NewTopic(t, len(held), 3, configs=KEPT) for t, held in TOPICS.items()]
            )
        )
        for topic, partitions in TOPICS.items():
            for number, held in enumerate(partitions):
                for time_ms in held.times_ms:
                    await producer.send(topic, value=b"v", partition=number, timestamp_ms=time_ms)
                if held.start:
                    require_all(await admin.delete_records({(topic, number): held.start}))


@pytest.mark.spark
@everyone
def test_spark_does_as_the_connector(
    behaviour: Behaviour, filled: LocalCluster, spark: SparkSession
) -> None:
    reader = spark.read.format("tidelog").option("bootstrap.servers", filled.bootstrap)

    def read() -> tuple[list[Row], int]:
        frame = reader.options(**behaviour.options).load().select("topic", "partition", "offset")
        found = [(row.topic, row.partition, row.offset) for row in frame.collect()]
        return sorted(found), frame.rdd.getNumPartitions()

    if isinstance(behaviour.expected, str):
        with pytest.raises(PySparkException) as caught:
            read()
        assert re.search(behaviour.expected, str(caught.value)) is not None
    else:
        found, tasks = read()
        assert found == behaviour.expected
        assert tasks == behaviour.tasks or behaviour.tasks is None
