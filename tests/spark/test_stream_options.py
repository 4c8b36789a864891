"""Which options a streaming read takes together."""

from __future__ import annotations

import pytest

from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.spark.option_values import EARLIEST, LATEST, OptionError
from tidelog.spark.options import AtOffsets, Selection
from tidelog.spark.stream_options import Limits, StreamOptions


def parse(**given: str) -> StreamOptions:
    return StreamOptions.parse({"bootstrap.servers": "h:1", "subscribe": "t", **given})


def test_the_defaults_are_kafkas() -> None:
    assert parse(queryId="q") == StreamOptions(
        bootstrap="h:1",
        selection=Selection(subscribe=("t",)),
        starting=AtOffsets("startingOffsets", LATEST),
        limits=Limits(None, None, None, 900_000),
        fail_on_data_loss=True,
        min_partitions=None,
        max_records_per_partition=None,
        query_id="q",
        client=RangeReaderConfig(),
    )


def test_every_option_is_taken() -> None:
    options = parse(
        startingOffsets="earliest",
        maxOffsetsPerTrigger="100",
        maxBytesPerTrigger="5000",
        minOffsetsPerTrigger="10",
        maxTriggerDelay="30s",
        failOnDataLoss="false",
        minPartitions="8",
        maxRecordsPerPartition="1000",
        includeHeaders="true",
    )
    assert options.limits == Limits(100, 5000, 10, 30_000)
    assert (options.min_partitions, options.max_records_per_partition) == (8, 1000)
    assert options.starting == AtOffsets("startingOffsets", EARLIEST)
    assert not options.fail_on_data_loss
    assert options.query_id is None


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"t": {"0": 5, "1": -1}}'},
        {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "latest"},
    ],
)
def test_a_start_that_moves_needs_a_query_id(given: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="may be the latest offset needs the option queryId"):
        parse(**given)
    assert parse(**given, queryId="orders-to-lake").query_id == "orders-to-lake"


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffsets": "earliest"},
        {"startingOffsets": '{"t": {"0": 5, "1": -2}}'},
        {"startingTimestamp": "5"},
        {"startingOffsetsByTimestamp": '{"t": {"0": 5}}'},
    ],
)
def test_a_start_that_stays_needs_none(given: dict[str, str]) -> None:
    assert parse(**given).query_id is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"queryId": ""}, "option queryId is 1 to 200 letters, digits"),
        ({"queryId": "a:b"}, "option queryId is 1 to 200"),
        ({"queryId": "q" * 201}, "option queryId is 1 to 200"),
        ({"queryId": "q\n"}, "option queryId is 1 to 200"),
        ({"endingOffsets": "latest"}, "no place in a streaming read, but in a batch read"),
        ({"maxOffsetsPerTrigger": "0"}, "option maxOffsetsPerTrigger is a whole number from 1"),
        ({"maxBytesPerTrigger": "0"}, "option maxBytesPerTrigger is a whole number from 1"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, r"\(9\) is more than .*\(8\)"),
        ({"maxTriggerDelay": "5s"}, "no meaning without minOffsetsPerTrigger"),
        ({"includeHeaders": "yes"}, "option includeHeaders is true or false"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse(**{"startingOffsets": "earliest", **given})


def test_equal_limits_are_allowed() -> None:
    options = parse(queryId="q", minOffsetsPerTrigger="8", maxOffsetsPerTrigger="8")
    assert (options.limits.offsets_min, options.limits.offsets_max) == (8, 8)
