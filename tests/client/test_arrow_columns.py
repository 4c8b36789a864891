"""Record batches to Arrow: the same as decoding one by one, and nothing out of damaged bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.arrow.columns import (
    SCHEMA,
    TIMESTAMP_MS_MAX,
    decode_batches,
    decode_range,
)
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.errors import DeserializationError
from tidelog.core.errors import CorruptMessageError, TidelogError
from tidelog.records.batch import (
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    parse_header,
    seal,
)
from tidelog.records.compression import Codec
from tidelog.records.records import (
    Record,
    encode_batch,
    encode_filler,
    iter_records,
    rebuild_batch,
)
from tidelog.records.varints import encode_varint

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
        st.sampled_from(Codec),
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


@given(st.integers(0, 130), st.integers(0, 130))
def test_offsets_are_cut_to_the_asked_range(start: int, end: int) -> None:
    encoded = [
        encode_batch([Record(0, 5, None, b"v")] * 50, base_offset=base, compression=codec)
        for base, codec in ((0, Codec.NONE), (70, Codec.LZ4))
    ]
    offsets = [row["offset"] for row in rows(b"".join(encoded), start=start, end=end)]
    assert offsets == [o for o in (*range(50), *range(70, 120)) if start <= o < end]


@pytest.mark.parametrize("codec", Codec)
def test_what_compaction_left_of_batches_is_read(codec: Codec) -> None:
    whole = encode_batch(
        [Record(0, 5 + at, b"k%d" % at, b"v") for at in range(9)], base_offset=20, compression=codec
    )
    header, kept = parse_header(whole), list(iter_records(whole))[2:7:2]
    compacted = [
        encode_filler(base_offset=0, last_offset=19, leader_epoch=1, max_timestamp=4),
        rebuild_batch(header, kept, delete_horizon_ms=10_000),
        rebuild_batch(header._replace(base_offset=29), [], delete_horizon_ms=None),
        encode_batch([Record(0, 5, None, b"v")], base_offset=38, compression=codec),
    ]
    found = rows(b"".join(compacted))
    assert found == [row for batch in compacted for row in expected(batch)]
    assert [row["offset"] for row in found] == [22, 24, 26, 38]


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


@pytest.mark.parametrize("edge", [TIMESTAMP_MS_MAX, -TIMESTAMP_MS_MAX])
def test_a_timestamp_that_microseconds_cannot_hold_is_named_and_never_wraps_around(
    edge: int,
) -> None:
    held = encode_batch([Record(0, edge, None, b"v")])
    beyond = edge + (1 if edge > 0 else -1)
    batch = encode_batch([Record(0, 5, None, b"a"), Record(0, beyond, None, b"b")], base_offset=7)

    assert [row["timestamp"] for row in rows(held)] == [edge * 1000]
    with pytest.raises(DeserializationError, match=f"offset 8 of t-3 .* {beyond}, .* nanoseconds"):
        rows(batch)
    assert len(rows(batch, end=8)) == 1, "it is not asked for"
    without = decode_batches(
        batch, topic="t", partition=3, start_offset=0, end_offset=ALL, columns=["value"]
    )
    assert without.column("value").to_pylist() == [b"a", b"b"]


def test_append_time_is_the_batchs_own() -> None:
    batch = encode_batch([Record(0, 5, None, b"a"), Record(0, 9, None, b"b")])
    stamped = rows(with_attributes(batch, LOG_APPEND_TIME_FLAG))
    assert [(row["timestamp"], row["timestampType"]) for row in stamped] == [(9000, 1)] * 2


@given(st.data())
def test_any_flipped_bit_under_the_crc_is_found(data: st.DataObject) -> None:
    batch = bytearray(encode_batch([Record(0, 5, b"key", b"value")] * 5))
    position = data.draw(st.integers(21, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptMessageError):
        rows(bytes(batch))


@settings(max_examples=300)
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


def record(*fields: int | bytes) -> bytes:
    """One record of these fields after its attributes; numbers become varints."""
    parts = (encode_varint(one) if isinstance(one, int) else one for one in fields)
    body = b"\0" + b"".join(parts)
    return encode_varint(len(body)) + body


def signed(*parts: bytes, count: int = 1) -> bytes:
    """A batch with a right CRC that claims to hold `count` records in these bytes."""
    header = parse_header(encode_batch([Record(0, 5, None, None)]))
    claimed = header._replace(records_count=count, last_offset_delta=count - 1)
    return seal(claimed, b"".join(parts))


ENDLESS = b"\xff" * 12
FOLLOWING = encode_batch([Record(0, 5, None, bytes(40))], base_offset=1)
DAMAGED = {
    "nothing": signed(record(0, 0, -1, -1, 0)),
    "key length below null": signed(record(0, 0, -2, -1, 0)),
    "value length below null": signed(record(0, 0, -1, -2, 0)),
    "key length that overflows": signed(record(0, 0, 2**63 - 1, -1, 0)),
    "key that ends in the next record": signed(
        record(0, 0, 9, b"k", -1, 0), record(0, 1, -1, -1, 0), count=2
    ),
    "value that ends in the next batch": signed(record(0, 0, -1, 30, b"v", 0)) + FOLLOWING,
    "record that ends in the next batch": signed(encode_varint(60), record(0, 0, -1, -1, 0)[1:])
    + FOLLOWING,
    "record of no bytes": signed(encode_varint(0), bytes(20)),
    "negative record length": signed(encode_varint(-9), bytes(20)),
    "bytes after the last record": signed(record(0, 0, -1, -1, 0), bytes(7)),
    "number of more than 64 bits": signed(record(b"\x80" * 10 + b"\0", 0, -1, -1, 0)),
    "number that never ends": signed(record(0, 0, -1, -1, ENDLESS)),
    "negative header count": signed(record(0, 0, -1, -1, -1)),
    "header count beyond the record": signed(record(0, 0, -1, -1, 2**40)),
    "header without a name": signed(record(0, 0, -1, -1, 1, -1, -1)),
    "header name that is not text": signed(record(0, 0, -1, -1, 1, 1, b"\xff", -1)),
    "header that ends beyond the record": signed(record(0, 0, -1, -1, 1, 1, b"n", 9, b"v")),
    "bytes after the headers": signed(record(0, 0, -1, -1, 1, 1, b"n", -1, b"more")),
    "offset beyond the batch's last": signed(record(0, 1, -1, -1, 0)),
    "offset twice": signed(record(0, 0, -1, -1, 0) * 2, count=2),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damage_behind_a_right_crc_is_named(what: str) -> None:
    if what == "nothing":
        assert rows(DAMAGED[what]) == expected(DAMAGED[what])
        return
    with pytest.raises(CorruptMessageError):
        rows(DAMAGED[what])


@pytest.mark.parametrize("what", [name for name in DAMAGED if "key" in name])
def test_damage_is_found_when_headers_are_not_asked_for(what: str) -> None:
    with pytest.raises(CorruptMessageError):
        decode_batches(
            DAMAGED[what], topic="t", partition=0, start_offset=0, end_offset=9, columns=["key"]
        )


def test_a_count_the_bytes_cannot_hold_is_refused_before_anything_is_made_for_it() -> None:
    with pytest.raises(CorruptMessageError, match="2147483647 records do not fit 9 bytes"):
        rows(signed(bytes(9), count=2**31 - 1))


def test_batches_that_are_good_but_not_where_they_are_are_refused() -> None:
    data = encode_batch([Record(0, 5, None, b"v")] * 2) * 2
    wanted = OffsetRange("t", b"", 0, 0, 9)
    with pytest.raises(CorruptMessageError, match="offsets do not grow"):
        list(decode_range(data, wanted, columns=["value"]))
