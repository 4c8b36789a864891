"""What a write may be told, and which rows it takes: as Kafka's connector, and said by name."""

from __future__ import annotations

import pytest

from tidelog.spark.option_values import OptionError
from tidelog.spark.sink_options import SinkOptions, check_columns, parse_sink_options

HEADERS = "array<struct<key:string,value:binary>>"


def options(**given: str) -> SinkOptions:
    return parse_sink_options(
        {"bootstrap.servers": "h:1", **{name.replace("__", "."): v for name, v in given.items()}}
    )


SIZES = {"batch_size": 512 << 10, "max_request_size": 1 << 20, "buffer_memory": 64 << 20}


def test_a_write_needs_a_cluster_alone() -> None:
    assert options() == SinkOptions("h:1", topic=None, is_replay_skipped=True, client=SIZES)


def test_the_producers_options_reach_it() -> None:
    given = {
        "kafka__acks": "-1",
        "kafka__batch__size": "1000",
        "kafka__buffer__memory": "3000",
        "kafka__compression__type": "ZSTD",
        "kafka__delivery__timeout__ms": "4000",
        "kafka__max__request__size": "2000",
        "kafka__request__timeout__ms": "5000",
    }
    assert options(**given).client == {
        "batch_size": 1000,
        "buffer_memory": 3000,
        "compression": "zstd",
        "delivery_timeout_ms": 4000,
        "max_request_size": 2000,
        "request_timeout_ms": 5000,
    }


def test_a_large_batch_makes_requests_as_large() -> None:
    sizes = {**SIZES, "batch_size": 4 << 20, "max_request_size": 4 << 20}
    assert options(kafka__batch__size=str(4 << 20)).client == sizes


@pytest.mark.parametrize(
    "given",
    [
        {"kafka__max__request__size": "1000"},
        {"kafka__buffer__memory": "1000000"},
    ],
)
def test_sizes_that_contradict_each_other_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"kafka.batch.size \(524288\) must not be more than"):
        options(**given)


def test_what_spark_adds_to_a_stream_is_taken() -> None:
    assert options(checkpointlocation="/c", queryname="q") == options()


def test_recorded_batches_are_written_again_when_the_user_says_so() -> None:
    assert options(recordedbatches="Write").is_replay_skipped is False


def test_rows_are_written_exactly_once_unless_the_user_says_otherwise() -> None:
    assert options().is_exactly_once
    assert options().transaction_timeout_ms is None
    assert options(kafka__transaction__timeout__ms="5000").transaction_timeout_ms == 5_000
    assert not options(deliveryguarantee="At-least-once").is_exactly_once


def test_a_transaction_timeout_needs_transactions() -> None:
    with pytest.raises(OptionError, match="has no meaning with deliveryGuarantee at-least-once"):
        options(deliveryguarantee="at-least-once", kafka__transaction__timeout__ms="5000")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("deliveryguarantee", "once", "one of exactly-once, at-least-once, not 'once'"),
        ("kafka__transaction__timeout__ms", "0", "a whole number from 1 to"),
        ("topics", "t", r'unknown option "topics" of a write; .* "topic", all are: bootstrap.'),
        ("includeheaders", "true", "has no place in a write, but in a batch read"),
        ("topic", " ", "option topic is empty: name a topic"),
        ("recordedbatches", "no", "option recordedBatches is one of skip, write, not 'no'"),
        ("path", "/x", 'option "path" is not supported: option topic, or column topic, says'),
        ("kafka__acks", "1", "option kafka.acks cannot be 1: rows .* could be lost"),
        ("kafka__acks", "2", "one of all, -1, 0, 1"),
        ("kafka__batch__size", "0", "a whole number from 1 to 16777216, not '0'"),
        ("kafka__compression__type", "rar", "one of none, gzip, snappy, lz4, zstd, not 'rar'"),
        ("kafka__linger__ms", "5", "rows arrive many at a time"),
        ("kafka__enable__idempotence", "false", "is stored once"),
        ("kafka__max__in__flight__requests__per__connection", "1", "follows from kafka.buffer"),
        ("kafka__partitioner__class", "x", "column partition chooses"),
        ("kafka__retries", "3", "until kafka.delivery.timeout.ms is over"),
        ("kafka__key__serializer", "x", "keys and values are bytes"),
        ("kafka__transactional__id", "x", "a write gives each attempt of a task one"),
        ("asyncProgressTrackingEnabled", "true", "with asynchronous progress Spark would give"),
        ("_asyncProgressTrackingOverrideSinkSupportCheck", "true", "asynchronous progress"),
    ],
)
def test_what_a_write_cannot_do_is_refused_by_name(name: str, value: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        options(**{name: value})


@pytest.mark.parametrize(
    "columns",
    [
        {"topic": "string", "value": "binary"},
        {"topic": "string", "value": "string", "key": "binary", "headers": HEADERS},
        {"topic": "string", "value": "string", "key": "string", "partition": "int"},
        {"topic": "string", "value": "string", "offset": "bigint", "timestamp": "timestamp"},
    ],
)
def test_rows_of_kafkas_columns_are_taken_and_others_left_out(columns: dict[str, str]) -> None:
    check_columns(columns, topic=None)


def test_the_topic_may_be_an_option() -> None:
    check_columns({"value": "string"}, topic="t")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"value": "string"}, 'rows have no column "topic": add one, or .* by option topic'),
        ({"topic": "string", "id": "int"}, 'no column "value"; they have topic, id: rename one'),
        ({"topic": "int", "value": "string"}, '"topic" is int, and must be string: cast it'),
        ({"topic": "string", "value": "int"}, '"value" is int, and must be binary or string'),
        ({"topic": "string", "value": "string", "key": "int"}, '"key" is int'),
        ({"topic": "string", "value": "string", "headers": "string"}, '"headers" is string'),
        ({"topic": "string", "value": "string", "partition": "bigint"}, '"partition" is bigint'),
    ],
)
def test_rows_that_cannot_be_written_are_refused_by_column(
    columns: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        check_columns(columns, topic=None)


def test_a_topic_column_of_a_wrong_type_is_refused_beside_the_option_too() -> None:
    with pytest.raises(OptionError, match='"topic" is int'):
        check_columns({"topic": "int", "value": "string"}, topic="t")
