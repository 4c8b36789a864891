"""Batches of our codec in the hands of kafka-python and aiokafka, and theirs in ours.

Both are oracles: written by others from Kafka's documents, installed for development only. Where
one is missing these tests fail, they do not skip. What Apache Kafka itself wrote is read in
`test_kafka_batches.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import aiokafka.record.default_records as aiokafka_batches
import aiokafka.record.memory_records as aiokafka_buffers
import kafka.record.default_records as kafka_batches
import kafka.record.memory_records as kafka_buffers
import pytest
from aiokafka.errors import CorruptRecordException
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.errors import CorruptRecordError

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    HEADER_BYTES,
    BatchHeader,
    iter_batches,
    parse_header,
    seal,
    set_append_time,
    set_sequence,
)
from tidelog.records.compression import LEVELS, Codec
from tidelog.records.records import (
    BatchBuilder,
    Record,
    encode_batch,
    encode_filler,
    iter_records,
    rebuild_batch,
)


class Oracle(NamedTuple):
    """The parts of another client that know record batches; Any: neither is typed here."""

    buffer: Callable[[bytes], Any]
    batch: Callable[[bytes], Any]
    builder: Callable[..., Any]
    refusal: type[Exception]


ORACLES = {
    "kafka-python": Oracle(
        buffer=kafka_buffers.MemoryRecords,
        batch=kafka_batches.DefaultRecordBatch,
        builder=kafka_batches.DefaultRecordBatchBuilder,
        refusal=CorruptRecordError,
    ),
    "aiokafka": Oracle(
        buffer=aiokafka_buffers.MemoryRecords,
        batch=aiokafka_batches.DefaultRecordBatch,
        builder=aiokafka_batches.DefaultRecordBatchBuilder,
        refusal=CorruptRecordException,
    ),
}
each_oracle = pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
each_codec = pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())

# Sizes around one and two bytes of varint, and blocks of snappy (32 KiB) and lz4 (64 KiB).
SIZES = st.sampled_from((0, 1, 62, 63, 64, 65, 127, 128, 8191, 8192, 32_768, 65_537))
FIELD = st.none() | st.binary(max_size=200) | st.builds(bytes, SIZES)
NAMES = st.text(max_size=40) | st.sampled_from(("", "größe", "温度", "🌊", "\0", "e\u0301"))
HEADERS = st.lists(st.tuples(NAMES, FIELD), max_size=3).map(tuple)
TIMES = st.integers(0, 2**62) | st.integers(1_700_000_000_000, 1_700_000_000_100)
RECORD = st.builds(Record, st.just(0), TIMES, FIELD, FIELD, HEADERS)
RECORDS = st.lists(RECORD, min_size=1, max_size=40)
EXAMPLES = settings(max_examples=25)


def at_offsets(records: Sequence[Record], base_offset: int) -> list[Record]:
    return [one._replace(offset=base_offset + place) for place, one in enumerate(records)]


def read_by(oracle: Oracle, data: bytes) -> list[Record]:
    """The records of all batches in `data`, each batch checked first."""
    buffer, records = oracle.buffer(data), []
    while (batch := buffer.next_batch()) is not None:
        assert batch.validate_crc()
        records += [
            Record(one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
            for one in batch
        ]
    return records


def written_by(oracle: Oracle, records: Sequence[Record], codec: Codec) -> bytes:
    builder = oracle.builder(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=1 << 30,
    )
    for place, one in enumerate(records):
        assert builder.append(place, one.timestamp, one.key, one.value, list(one.headers))
    return bytes(builder.build())


def read_by_us(data: bytes) -> list[Record]:
    return [record for _, batch in iter_batches(data) for record in iter_records(batch)]


@each_oracle
@each_codec
@EXAMPLES
@given(records=RECORDS, base_offset=st.integers(0, 2**40))
def test_they_read_what_we_write(
    oracle: Oracle, codec: Codec, records: list[Record], base_offset: int
) -> None:
    data = encode_batch(records, compression=codec, base_offset=base_offset)
    assert read_by(oracle, data) == at_offsets(records, base_offset)


@each_oracle
@each_codec
@EXAMPLES
@given(records=RECORDS)
def test_we_read_what_they_write(oracle: Oracle, codec: Codec, records: list[Record]) -> None:
    data = written_by(oracle, records, codec)
    header = parse_header(data)
    assert header.codec_id in {codec, Codec.NONE}, "both keep records raw where packing is no gain"
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert read_by_us(data) == at_offsets(records, 0)


@each_oracle
@EXAMPLES
@given(records=RECORDS)
def test_uncompressed_batches_are_the_same_bytes(oracle: Oracle, records: list[Record]) -> None:
    ours = set_sequence(encode_batch(records), producer_id=7, producer_epoch=3, base_sequence=11)
    theirs = written_by(oracle, records, Codec.NONE)
    # The leader epoch, which no producer knows, is 0 with one of them and -1 with the other.
    assert (ours[:12], ours[16:]) == (theirs[:12], theirs[16:])


@each_oracle
@EXAMPLES
@given(batches=st.lists(st.tuples(RECORDS, st.sampled_from(Codec)), min_size=2, max_size=5))
def test_many_batches_in_one_buffer(
    oracle: Oracle, batches: list[tuple[list[Record], Codec]]
) -> None:
    data, expected = b"", list[Record]()
    for records, codec in batches:
        data += encode_batch(records, compression=codec, base_offset=len(expected))
        expected += at_offsets(records, len(expected))
    assert read_by(oracle, data) == read_by_us(data) == expected
    # A fetch may end within a batch: whole ones are handed out by them, and known by us.
    assert read_by(oracle, data[:-1]) == expected[: -len(batches[-1][0])]


@each_oracle
@pytest.mark.parametrize(
    ("codec", "level"),
    [(codec, level) for codec, levels in LEVELS.items() for level in (min(levels), max(levels))],
)
def test_they_read_the_ends_of_every_range_of_levels(
    oracle: Oracle, codec: Codec, level: int
) -> None:
    builder = BatchBuilder(compression=codec, level=level)
    record = Record(0, 5, b"key", b"tide " * 30_000)
    builder.append(timestamp_ms=record.timestamp, key=record.key, value=record.value)
    assert read_by(oracle, builder.build()) == [record]


@each_oracle
@each_codec
def test_a_value_of_four_mebibytes_goes_both_ways(oracle: Oracle, codec: Codec) -> None:
    value = random.Random(7).randbytes(1 << 20) + bytes(3 << 20)
    records = [Record(0, 1, None, value), Record(1, 0, b"", b"")]
    assert read_by(oracle, encode_batch(records, compression=codec)) == records
    assert read_by_us(written_by(oracle, records, codec)) == records


@each_oracle
@each_codec
@settings(max_examples=40)
@given(records=RECORDS, place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_told_by_all_of_us(
    oracle: Oracle, codec: Codec, records: list[Record], place: float, bit: int
) -> None:
    data = bytearray(encode_batch(records, compression=codec))
    covered = 17  # of the CRC itself and all it covers; the bytes before it are the leader's
    at = covered + int(place * (len(data) - covered))
    data[at] ^= 1 << bit
    assert not oracle.batch(bytes(data)).validate_crc()
    with pytest.raises(CorruptMessageError):
        read_by_us(bytes(data))


@each_oracle
@EXAMPLES
@given(records=RECORDS, surplus=st.binary(min_size=1, max_size=9))
def test_bytes_after_the_last_record_are_refused_by_all_of_us(
    oracle: Oracle, records: list[Record], surplus: bytes
) -> None:
    batch = encode_batch(records)
    data = seal(parse_header(batch), batch[HEADER_BYTES:] + surplus)
    with pytest.raises(oracle.refusal):
        read_by(oracle, data)
    with pytest.raises(CorruptMessageError):
        read_by_us(data)


@each_oracle
@each_codec
@EXAMPLES
@given(records=RECORDS, kept=st.sets(st.integers(0, 39)))
def test_they_read_what_our_cleaner_leaves(
    oracle: Oracle, codec: Codec, records: list[Record], kept: set[int]
) -> None:
    batch = encode_batch(records, compression=codec, base_offset=900)
    left = [one for place, one in enumerate(at_offsets(records, 900)) if place in kept]
    rebuilt = rebuild_batch(parse_header(batch), left, delete_horizon_ms=None)
    assert read_by(oracle, rebuilt) == left
    after = encode_filler(base_offset=950, last_offset=999, leader_epoch=2, max_timestamp=5)
    assert read_by(oracle, rebuilt + after) == left


@each_oracle
@each_codec
def test_they_take_the_leaders_append_time_for_every_record(oracle: Oracle, codec: Codec) -> None:
    records = at_offsets([Record(0, at, None, b"v") for at in (50, 10, 90)], 0)
    batch = encode_batch(records, compression=codec)
    _, data = set_append_time(parse_header(batch), memoryview(batch), 12_345)
    read = read_by(oracle, bytes(data))
    assert [record.timestamp for record in read] == [12_345] * 3
    assert read == read_by_us(bytes(data))


def test_our_header_has_their_fields() -> None:
    records = [Record(0, at, b"k", b"v") for at in (500, 900, 100)]
    data = set_sequence(
        encode_batch(records, compression=Codec.LZ4, base_offset=2**40),
        producer_id=2**41,
        producer_epoch=2**15 - 1,
        base_sequence=2**31 - 1,
    )
    ours: BatchHeader = parse_header(data)
    for oracle in ORACLES.values():
        theirs = oracle.batch(data)
        for name in ("base_offset", "magic", "crc", "attributes", "last_offset_delta"):
            assert getattr(theirs, name) == getattr(ours, name)
        for name in ("producer_id", "producer_epoch", "base_sequence", "max_timestamp"):
            assert getattr(theirs, name) == getattr(ours, name)
        assert theirs.first_timestamp == ours.base_timestamp
        assert theirs.next_offset == ours.next_offset
