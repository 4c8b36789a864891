"""Record batches to Arrow: the same as decoding one by one, and nothing out of damaged bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.arrow import SCHEMA, decode_batches
from tidelog.log.batch import CONTROL_FLAG, HEADER_BYTES, LOG_APPEND_TIME_FLAG, parse_header, seal
from tidelog.log.compression import Codec
from tidelog.log.errors import CorruptMessageError, TidelogError
from tidelog.log.records import Record, encode_batch, iter_records

ALL = 2**63 - 1

texts = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=4), texts), max_size=3).map(tuple)
timestamps = st.integers(0, 2**41)
records = st.builds(
    Record, offset=st.just(0), timestamp=timestamps, key=texts, value=texts, headers=headers
)
batches = st.lists(
    st.tuples(
        st.lists(records, min_size=1, max_size=40),
        st.sampled_from([Codec.NONE, Codec.GZIP, Codec.LZ4]),
        st.integers(0, 1000),
    ),
    max_size=4,
)


def rows(data: bytes, *, start: int = 0, end: int = ALL) -> list[dict[str, object]]:
    batch = decode_batches(data, topic="t", partition=3, start_offset=start, end_offset=end)
    batch.validate(full=True)
    assert batch.schema == SCHEMA
    table = batch.set_column(5, "timestamp", batch.column("timestamp").cast("int64"))
    result: list[dict[str, object]] = table.to_pylist()
    return result


def expected(batch: bytes) -> list[dict[str, object]]:
    return [
        {
            "key": record.key,
            "value": record.value,
            "topic": "t",
            "partition": 3,
            "offset": record.offset,
            "timestamp": record.timestamp * 1000,
            "timestampType": 0,
            "headers": [{"key": k, "value": v} for k, v in record.headers] or None,
        }
        for record in iter_records(batch)
    ]


def with_attributes(batch: bytes, attributes: int) -> bytes:
    header = parse_header(batch)._replace(attributes=attributes)
    return seal(header, batch[HEADER_BYTES:])


@settings(deadline=None)
@given(batches)
def test_decodes_what_the_record_by_record_decoder_decodes(
    parts: list[tuple[list[Record], Codec, int]],
) -> None:
    offset, encoded = 0, []
    for part, codec, gap in parts:
        encoded.append(encode_batch(part, compression=codec, base_offset=offset + gap))
        offset += gap + len(part)
    assert rows(b"".join(encoded)) == [row for batch in encoded for row in expected(batch)]


@pytest.mark.parametrize("size", [0, 60, 200, 20_000])
def test_long_runs_of_equal_records_cross_the_growing_offset_deltas(size: int) -> None:
    batch = encode_batch([Record(0, 1, b"k", bytes(size))] * 200, base_offset=7)
    assert rows(batch) == expected(batch)


def test_runs_of_changing_length_are_walked() -> None:
    sizes = [index * 37 % 290 for index in range(500)]
    batch = encode_batch([Record(0, 1, None, bytes(size)) for size in sizes])
    assert rows(batch) == expected(batch)


@settings(deadline=None)
@given(st.integers(0, 130), st.integers(0, 130))
def test_offsets_are_cut_to_the_asked_range(start: int, end: int) -> None:
    encoded = [
        encode_batch([Record(0, 5, None, b"v")] * 50, base_offset=base, compression=codec)
        for base, codec in ((0, Codec.NONE), (70, Codec.LZ4))
    ]
    offsets = [row["offset"] for row in rows(b"".join(encoded), start=start, end=end)]
    assert offsets == [o for o in (*range(50), *range(70, 120)) if start <= o < end]


def test_only_the_asked_columns_come_back_in_the_asked_order() -> None:
    batch = encode_batch([Record(0, 5, b"k", b"v")])
    arrow = decode_batches(
        batch, topic="t", partition=0, start_offset=0, end_offset=1, columns=["offset", "key"]
    )
    assert arrow.to_pylist() == [{"offset": 0, "key": b"k"}]
    assert arrow.schema.names == ["offset", "key"]


def test_no_bytes_are_no_rows() -> None:
    assert rows(b"") == []


def test_control_batches_are_left_out() -> None:
    control = with_attributes(encode_batch([Record(0, 5, b"\0", b"\0")]), CONTROL_FLAG)
    data = encode_batch([Record(0, 5, None, b"v")], base_offset=1)
    assert [row["offset"] for row in rows(control + data)] == [1]


def test_append_time_is_the_batchs_own() -> None:
    batch = encode_batch([Record(0, 5, None, b"a"), Record(0, 9, None, b"b")])
    stamped = rows(with_attributes(batch, LOG_APPEND_TIME_FLAG))
    assert [(row["timestamp"], row["timestampType"]) for row in stamped] == [(9000, 1)] * 2


@settings(deadline=None)
@given(st.data())
def test_any_flipped_bit_under_the_crc_is_found(data: st.DataObject) -> None:
    batch = bytearray(encode_batch([Record(0, 5, b"key", b"value")] * 5))
    position = data.draw(st.integers(21, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptMessageError):
        rows(bytes(batch))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_damage_behind_a_right_crc_is_refused_or_harmless(data: st.DataObject) -> None:
    """A producer may sign anything: no out-of-bounds read, no endless loop, no other exception."""
    part = data.draw(st.lists(records, min_size=1, max_size=30))
    batch = encode_batch(part)
    payload = bytearray(batch[HEADER_BYTES:])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(payload) - 1))
        payload[position] = data.draw(st.integers(0, 255))
    damaged = seal(parse_header(batch), bytes(payload))
    try:
        decoded = expected(damaged)
    except TidelogError:
        with pytest.raises(CorruptMessageError):
            rows(damaged)
    else:
        assert rows(damaged) == decoded


def test_a_batch_cut_short_is_refused() -> None:
    batch = encode_batch([Record(0, 5, None, b"value")])
    with pytest.raises(CorruptMessageError):
        rows(batch[:-1])


def test_a_length_beyond_64_bits_is_refused() -> None:
    batch = encode_batch([Record(0, 5, None, bytes(30))])
    with pytest.raises(CorruptMessageError):
        rows(seal(parse_header(batch), b"\xff" * 10 + b"\x01" + bytes(26)))
