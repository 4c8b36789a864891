"""Records through every codec, and damaged ones through the decoder."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, Record, encode_batch, iter_records

FIELD = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=70), FIELD), max_size=4).map(tuple)
RECORD = st.builds(Record, st.just(0), st.integers(0, 2**62), FIELD, FIELD, HEADERS)


@given(records=st.lists(RECORD, min_size=1, max_size=80), codec=st.sampled_from(Codec))
def test_what_was_written_is_read(records: list[Record], codec: Codec) -> None:
    batch = encode_batch(records, compression=codec, base_offset=40)
    expected = [record._replace(offset=40 + place) for place, record in enumerate(records)]
    assert list(iter_records(batch)) == expected


def test_the_builder_knows_its_size_before_it_builds() -> None:
    builder = BatchBuilder()
    for place in range(200):
        size = builder.append(timestamp_ms=place * 100, key=None, value=bytes(place))
        assert size == builder.size_in_bytes
    assert len(builder.build()) == builder.size_in_bytes


def test_timestamps_may_go_back_and_the_newest_is_in_the_header() -> None:
    batch = encode_batch([Record(0, at, None, b"") for at in (500, 900, 100)])
    assert [record.timestamp for record in iter_records(batch)] == [500, 900, 100]
    assert parse_header(batch).max_timestamp == 900


@pytest.mark.parametrize("codec", Codec)
def test_random_damage_under_a_right_crc_is_corrupt_and_nothing_else(codec: Codec) -> None:
    rng = random.Random(5)
    records = [Record(0, 5, b"key", bytes(20), (("h", None),))] * 20
    batch = encode_batch(records, compression=codec)
    refused = 0
    for _ in range(400):
        payload = bytearray(batch[HEADER_BYTES:])
        for _ in range(rng.randrange(1, 4)):
            payload[rng.randrange(0, len(payload))] = rng.randrange(0, 256)
        if rng.randrange(0, 3) == 0:
            del payload[rng.randrange(0, len(payload)) :]
        try:
            assert len(list(iter_records(seal(parse_header(batch), payload)))) == 20
        except CorruptMessageError:
            refused += 1
    assert refused > 100


def test_a_record_count_beyond_the_bytes_is_refused_at_once() -> None:
    batch = encode_batch([Record(0, 5, None, b"v")])
    fields = parse_header(batch)._replace(records_count=2**31 - 1, last_offset_delta=2**31 - 2)
    with pytest.raises(CorruptMessageError, match="do not fit"):
        list(iter_records(seal(fields, batch[HEADER_BYTES:])))
