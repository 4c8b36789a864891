"""The offsets of a stream as Spark's checkpoint keeps them."""

from __future__ import annotations

import json

import pytest

from tidelog.client.records import TopicPartition
from tidelog.spark.stream_offsets import (
    StreamOffset,
    StreamOffsetError,
    from_json,
    lag,
    to_json,
)

A0, A1, A10, B0 = (TopicPartition(t, p) for t, p in (("a", 0), ("a", 1), ("a", 10), ("b", 0)))


def test_an_offset_is_kafkas_with_the_topics_id_and_has_one_form() -> None:
    offset = StreamOffset({A10: 3, B0: 4, A1: 2}, {"b": b"\x0b", "a": b"\x0a"})
    text = json.dumps(to_json(offset))
    assert text == '{"a": {"1": 2, "10": 3, "topicId": "0a"}, "b": {"0": 4, "topicId": "0b"}}'
    assert from_json(json.loads(text)) == offset
    assert json.dumps(to_json(from_json(json.loads(text)))) == text


def test_the_offset_of_kafkas_connector_is_understood() -> None:
    assert from_json({"a": {"0": 23}}) == StreamOffset({A0: 23})
    assert from_json({"a": {"0": 23}}).of_incarnation(A0, b"any") == 23


def test_an_offset_counts_in_its_own_incarnation_only() -> None:
    offset = StreamOffset({A0: 7}, {"a": b"1"})
    assert offset.of_incarnation(A0, b"1") == 7
    assert offset.of_incarnation(A0, b"2") is None
    assert offset.of_incarnation(A1, b"1") is None


def test_covering_is_being_as_far_in_each_partition_of_the_same_incarnation() -> None:
    newest = StreamOffset({A0: 7, A1: 3}, {"a": b"1"})
    assert newest.covers(StreamOffset({A0: 7}, {"a": b"1"}))
    assert newest.covers(StreamOffset({A0: 7}))
    assert not newest.covers(StreamOffset({A0: 8}, {"a": b"1"}))
    assert not newest.covers(StreamOffset({A0: 7}, {"a": b"2"}))
    assert not newest.covers(StreamOffset({B0: 0}))


def test_the_farther_of_two_offsets_is_taken_in_each_partition() -> None:
    one = StreamOffset({A0: 7, A1: 3}, {"a": b"1"})
    other = StreamOffset({A0: 5, A1: 4, B0: 0}, {"b": b"2"})
    assert one.at_least(other) == StreamOffset({A0: 7, A1: 4, B0: 0}, {"a": b"1", "b": b"2"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "is a JSON object, not"),
        ({"a": 3}, 'offset of topic "a" is no JSON object'),
        ({"a": {"x": 3}}, "of what is no partition: 'x'"),
        ({"a": {"-1": 3}}, "of what is no partition"),
        ({"a": {"2147483648": 3}}, "of what is no partition"),
        ({"a": {"0": -1}}, "has what is no offset: -1"),
        ({"a": {"0": 1 << 63}}, "has what is no offset"),
        ({"a": {"0": True}}, "has what is no offset: True"),
        ({"a": {"0": "3"}}, "has what is no offset: '3'"),
        ({"a": {"topicId": "xyz"}}, 'topicId of topic "a" is not hexadecimal'),
        ({"a": {"topicId": "ab" * 33}}, "is not hexadecimal"),
        ({"a": {"topicId": 5}}, "is not hexadecimal"),
    ],
)
def test_what_is_no_offset_is_refused_with_its_place(data: object, message: str) -> None:
    with pytest.raises(StreamOffsetError, match=message):
        from_json(data)


def test_the_lag_is_what_was_there_and_not_in_the_last_batch() -> None:
    source = {
        "startOffset": None,
        "endOffset": '{"a": {"0": 5, "1": 9, "topicId": "01"}, "b": {"0": 50, "topicId": "02"}}',
        "latestOffset": '{"a": {"0": 8, "1": 9, "topicId": "01"}, "b": {"0": 4, "topicId": "03"}}',
    }
    assert lag(source) == {A0: 3, A1: 0, B0: 4}
    assert lag({"endOffset": None, "latestOffset": None}) == {}
