"""What options say: which are known, what their values mean, which contradict each other."""

from __future__ import annotations

import pytest

from tidelog.client.backoff import Backoff
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import EARLIEST, LATEST, OptionError
from tidelog.spark.options import (
    BATCH_READ,
    FETCH_BYTES_MAX,
    READ,
    AtOffsets,
    AtTimes,
    Options,
    Selection,
)

HOST = "bootstrap.servers"


def batch(given: dict[str, str] | None = None) -> Options:
    return Options(given or {}, known=BATCH_READ, purpose="a batch read")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("startingofset", r'unknown option "startingofset" of a batch read; .* "startingOffsets"'),
        ("minpartition", '"minPartitions", all are: bootstrap.servers, '),
        ("kafka.fetch.maxbytes", '"kafka.fetch.max.bytes"'),
        ("maxOffsetsPerTrigger", '"maxOffsetsPerTrigger" has no place in a batch read, but in a s'),
        ("queryid", '"queryId" has no place in a batch read, but in a streaming read'),
        ("groupIdPrefix", '"groupidprefix" is not supported: there are no consumer groups'),
        ("kafka.group.id", "there are no consumer groups: Spark's query keeps its own offsets"),
        ("kafka.security.protocol", "there is no TLS and no authentication yet"),
        ("kafka.ssl.truststore.location", "there is no TLS"),
        ("kafka.sasl.jaas.config", "no authentication"),
        ("kafka.auto.offset.reset", "startingOffsets says where a read starts"),
        ("kafka.key.deserializer", "keys and values are bytes"),
        ("kafka.value.deserializer", "keys and values are bytes"),
        ("kafka.enable.auto.commit", "not supported"),
        ("kafka.interceptor.classes", "not supported"),
        ("provider", "make a view of the topic instead of a table"),
        ("fetchOffset.numRetries", "as long as kafkaConsumer.pollTimeoutMs"),
        ("kafka.retries", "it is a producer's; a read is tried again"),
    ],
)
def test_an_option_that_there_is_not_is_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch({name: "1"})


def test_what_a_streaming_read_has_no_place_for_is_said_too() -> None:
    with pytest.raises(OptionError, match=r"has no place in a streaming read, but in a batch read"):
        Options({"endingoffsets": "latest"}, known=("subscribe",), purpose="a streaming read")


def test_names_count_in_any_case() -> None:
    assert batch({"STARTINGoffsets": " Earliest "}).starting(LATEST) == AtOffsets(
        "startingOffsets", EARLIEST
    )
    assert Options(dict.fromkeys(READ, ""), known=READ, purpose="a read").has("MINPARTITIONS")
    assert not batch().has("minPartitions")


@pytest.mark.parametrize(("text", "value"), [("true", True), (" FALSE ", False)])
def test_booleans_are_words(text: str, value: bool) -> None:
    assert batch({"includeheaders": text}).boolean("includeHeaders", default=not value) is value


def test_what_is_not_given_has_its_default() -> None:
    options = batch()
    assert options.boolean("failOnDataLoss", default=True)
    assert options.number("minPartitions", default=None, least=1) is None
    assert options.number("minPartitions", default=4, least=1) == 4
    assert options.duration_ms("maxTriggerDelay", 900_000) == 900_000
    assert options.choice("x", "a", among=("a", "b")) == "a"
    assert options.text("subscribe") is None
    assert options.starting(LATEST) == AtOffsets("startingOffsets", LATEST)
    assert options.ending() == AtOffsets("endingOffsets", LATEST)
    assert options.client() == RangeReaderConfig()


@pytest.mark.parametrize("text", ["yes", "", "1"])
def test_other_words_are_no_booleans(text: str) -> None:
    with pytest.raises(OptionError, match="option includeHeaders is true or false, not"):
        batch({"includeheaders": text}).boolean("includeHeaders", default=True)


@pytest.mark.parametrize("text", ["0", "11", "1.5", "ten", "", "1_0", "\u0663", "9" * 5000])
def test_numbers_are_whole_and_within_their_limits(text: str) -> None:
    with pytest.raises(OptionError, match="option minPartitions is a whole number from 1 to 10"):
        batch({"minpartitions": text}).number("minPartitions", default=None, least=1, most=10)


def test_the_limits_of_a_number_are_allowed() -> None:
    for text, value in (("1", 1), (" 10 ", 10), ("+5", 5)):
        options = batch({"minpartitions": text})
        assert options.number("minPartitions", default=None, least=1, most=10) == value


@pytest.mark.parametrize(
    ("text", "value_ms"),
    [("250", 250), ("250ms", 250), ("30s", 30_000), ("15 m", 900_000), ("1D", 86_400_000)],
)
def test_durations_have_units(text: str, value_ms: int) -> None:
    options = Options({"delay": text}, known=("delay",), purpose="a test")
    assert options.duration_ms("delay", 0) == value_ms


@pytest.mark.parametrize("text", ["", "-1s", "1.5s", "5 weeks", "s", "9" * 99])
def test_other_durations_are_refused(text: str) -> None:
    options = Options({"delay": text}, known=("delay",), purpose="a test")
    with pytest.raises(OptionError, match="option delay is a duration like 30s or 15m"):
        options.duration_ms("delay", 0)


@pytest.mark.parametrize("name", ["bootstrap.servers", "kafka.bootstrap.servers"])
def test_the_cluster_is_named_by_either_option(name: str) -> None:
    assert batch({name: "a:1, b:2"}).bootstrap() == "a:1,b:2"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, '"bootstrap.servers" is missing'),
        ({HOST: " "}, '"bootstrap.servers" is missing'),
        ({HOST: "h"}, "bootstrap address 'h' is not host:port"),
        ({HOST: "a:1", "kafka.bootstrap.servers": "b:1"}, "name different clusters"),
    ],
)
def test_a_cluster_that_is_not_named_is_an_error(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch(given).bootstrap()


def test_the_same_cluster_may_be_named_twice() -> None:
    assert batch({HOST: "a:1", "kafka.bootstrap.servers": "a:1"}).bootstrap() == "a:1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"assign": '{"a":[1,0],"b":[2]}'}, Selection(assign={"a": (0, 1), "b": (2,)})),
        ({"subscribe": "b, a,,b"}, Selection(subscribe=("b", "a"))),
        ({"subscribepattern": " t.* "}, Selection(pattern="t.*")),
        (
            {"subscribepattern": "t", "kafka.exclude.internal.topics": "false"},
            Selection(pattern="t", exclude_internal=False),
        ),
    ],
)
def test_there_are_three_ways_to_say_what_to_read(
    given: dict[str, str], expected: Selection
) -> None:
    assert batch(given).selection() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "exactly one of .* given: none"),
        ({"subscribe": "a", "assign": '{"a":[0]}'}, "given: assign, subscribe"),
        ({"subscribe": " , "}, 'option subscribe names no topic: use "topic"'),
        ({"subscribepattern": " "}, "option subscribePattern is empty"),
        ({"subscribepattern": "("}, "option subscribePattern is no regular expression"),
        ({"assign": "[1]"}, r"option assign cannot be read: '\[1\]'; use {\"topic\": \[0, 1\]}"),
        ({"assign": "{}"}, "option assign names no partition"),
        ({"assign": '{"a":[]}'}, 'names no or twice the same partition of "a"'),
        ({"assign": '{"a":[0,0]}'}, 'names no or twice the same partition of "a"'),
        ({"assign": '{"a":[0],"a":[1]}'}, 'option assign names "a" twice'),
        ({"assign": '{"a":[-1]}'}, "list of partition numbers"),
        ({"assign": '{"a":[2147483648]}'}, "list of partition numbers"),
        ({"assign": '{"a":[true]}'}, "list of partition numbers"),
        ({"assign": "[" * 100_000}, "option assign cannot be read"),
    ],
)
def test_a_selection_that_says_nothing_is_an_error(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch(given).selection()


def test_offsets_are_given_for_each_partition() -> None:
    options = batch({"startingoffsets": '{"a":{"0":23,"1":-2},"b":{"0":-1}}'})
    offsets = {
        TopicPartition("a", 0): 23,
        TopicPartition("a", 1): EARLIEST,
        TopicPartition("b", 0): LATEST,
    }
    assert options.starting(EARLIEST) == AtOffsets("startingOffsets", offsets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latest", 'option startingOffsets cannot be "latest": nothing would be read'),
        ('{"a":{"0":-1}}', r"cannot be -1 \(latest\) for a-0"),
        ('{"a":{"0":-3}}', 'needs "partition": number; use .*"1": -2'),
        ('{"a":{"0":9223372036854775808}}', 'needs "partition": number'),
        ('{"a":{"0":"5"}}', 'needs "partition": number'),
        ('{"a":{"x":1}}', 'needs "partition": number'),
        ('{"a":{"00":1}}', 'needs "partition": number'),
        ('{"a":{"2147483648":1}}', 'needs "partition": number'),
        ('{"a":{"\\u0663":1}}', 'needs "partition": number'),
        ('{"a":5}', "needs an object per topic"),
        ('{"a":{"0":1,"0":2}}', 'option startingOffsets names "0" twice'),
        ("noon", "option startingOffsets cannot be read: 'noon'"),
        ("5", "cannot be read"),
    ],
)
def test_offsets_that_cannot_be_read_say_how_to_write_them(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch({"startingoffsets": text}).starting(EARLIEST, refused=LATEST)


def test_latest_is_refused_where_it_makes_no_sense_only() -> None:
    assert batch({"startingoffsets": "latest"}).starting(EARLIEST) == AtOffsets(
        "startingOffsets", LATEST
    )
    with pytest.raises(OptionError, match='option endingOffsets cannot be "earliest"'):
        batch({"endingoffsets": "earliest"}).ending()


def test_a_timestamp_comes_before_timestamps_and_those_before_offsets() -> None:
    given = {
        "startingtimestamp": "5",
        "startingoffsetsbytimestamp": '{"a":{"0":6}}',
        "startingoffsets": "earliest",
    }
    assert batch(given).starting(EARLIEST) == AtTimes("startingTimestamp", 5, or_latest=False)
    del given["startingtimestamp"]
    times = {TopicPartition("a", 0): 6}
    by_time = AtTimes("startingOffsetsByTimestamp", times, or_latest=False)
    assert batch(given).starting(EARLIEST) == by_time
    del given["startingoffsetsbytimestamp"]
    assert batch(given).starting(LATEST) == AtOffsets("startingOffsets", EARLIEST)


def test_the_strategy_is_for_starts_without_a_later_record() -> None:
    given = {"startingtimestamp": "5", "startingoffsetsbytimestampstrategy": "LATEST"}
    assert batch(given).starting(EARLIEST) == AtTimes("startingTimestamp", 5, or_latest=True)
    with pytest.raises(OptionError, match=r"TimestampStrategy is one of error, latest, not 'skip'"):
        batch({"startingoffsetsbytimestampstrategy": "skip"}).starting(EARLIEST)


def test_an_end_without_a_later_record_is_the_latest() -> None:
    assert batch({"endingtimestamp": "5"}).ending() == AtTimes("endingTimestamp", 5, or_latest=True)
    assert batch({"endingoffsetsbytimestamp": '{"a":{"0":6}}'}).ending() == AtTimes(
        "endingOffsetsByTimestamp", {TopicPartition("a", 0): 6}, or_latest=True
    )


@pytest.mark.parametrize("given", [{"startingtimestamp": "-1"}, {"startingtimestamp": "noon"}])
def test_a_timestamp_is_a_number_of_milliseconds(given: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="option startingTimestamp is a whole number from 0"):
        batch(given).starting(EARLIEST)


def test_timestamps_before_the_epoch_are_refused() -> None:
    with pytest.raises(OptionError, match=r'needs "partition": number; use .* in milliseconds'):
        batch({"startingoffsetsbytimestamp": '{"a":{"0":-1}}'}).starting(EARLIEST)


def test_options_of_kafkas_consumer_set_the_limits_of_reading() -> None:
    given = {
        "kafka.fetch.max.bytes": "2000000",
        "kafka.max.partition.fetch.bytes": "1000000",
        "kafka.fetch.max.wait.ms": "1",
        "kafka.request.timeout.ms": "2",
        "kafka.default.api.timeout.ms": "3",
        "kafkaConsumer.pollTimeoutMs": "4",
        "kafka.retry.backoff.ms": "5",
        "kafka.retry.backoff.max.ms": "6",
    }
    assert batch(given).client() == RangeReaderConfig(
        fetch_max_bytes=1_000_000,
        fetch_max_wait_ms=1,
        request_timeout_ms=2,
        topic_timeout_ms=3,
        progress_timeout_ms=4,
        backoff=Backoff(initial_ms=5, max_ms=6),
    )


def test_a_limit_may_be_raised_but_not_beyond_what_memory_holds() -> None:
    most = str(FETCH_BYTES_MAX)
    assert batch({"kafka.fetch.max.bytes": most}).client().fetch_max_bytes == FETCH_BYTES_MAX
    with pytest.raises(OptionError, match=f"kafka.fetch.max.bytes is .* from 1 to {most}"):
        batch({"kafka.fetch.max.bytes": most + "0"}).client()
    with pytest.raises(
        OptionError, match=r"request.timeout.ms is a whole number from 1 to 2147483"
    ):
        batch({"kafka.request.timeout.ms": "0"}).client()


def test_a_first_backoff_beyond_the_last_is_refused() -> None:
    with pytest.raises(OptionError, match=r"retry.backoff.ms \(9\) is more than .*max.ms \(8\)"):
        batch({"kafka.retry.backoff.ms": "9", "kafka.retry.backoff.max.ms": "8"}).client()
    assert batch({"kafka.retry.backoff.ms": "999"}).client().backoff == Backoff(999, 999)
