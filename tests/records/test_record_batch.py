"""Batches against bytes laid out by hand, and everything a leader must refuse."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
    TidelogError,
    UnsupportedCompressionTypeError,
)
from tidelog.records.batch import (
    CONTROL_FLAG,
    HEADER_BYTES,
    MIN_RECORD_BYTES,
    BatchHeader,
    assign_offsets,
    iter_batches,
    parse_header,
    seal,
    validate_batches,
)
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch, iter_records

LIMIT = 1 << 20


def batch(*values: bytes) -> bytes:
    return encode_batch(
        [Record(0, 1_000 + place, None, value) for place, value in enumerate(values)]
    )


def with_fields(data: bytes, **fields: int) -> bytes:
    return seal(parse_header(data)._replace(**fields), data[HEADER_BYTES:])


def test_a_batch_is_kafkas_format_two_byte_for_byte() -> None:
    record_0 = bytes.fromhex("18 00 00 00 02 6b 02 76 02 02 68 02 78")
    record_1 = bytes.fromhex("0c 00 06 02 01 01 00")
    after_crc = struct.pack(">hiqqqhii", 0, 1, 1000, 1003, -1, -1, -1, 2) + record_0 + record_1
    expected = struct.pack(">qiibI", 5, 9 + len(after_crc), 3, 2, crc32c(after_crc)) + after_crc
    encoded = encode_batch(
        [Record(0, 1000, b"k", b"v", (("h", b"x"),)), Record(0, 1003, None, None)],
        base_offset=5,
        leader_epoch=3,
    )
    assert encoded == expected
    assert HEADER_BYTES == 61


def test_a_leader_sets_offset_and_epoch_and_nothing_else() -> None:
    before = batch(b"a", b"b")
    [(expected, _)], pieces = assign_offsets(
        [(parse_header(before), memoryview(before))], base_offset=77, leader_epoch=9
    )
    after = b"".join(pieces)
    assert parse_header(after) == expected
    changed = [at for at in range(len(before)) if before[at] != after[at]]
    assert set(changed) <= {*range(8), *range(12, 16)}
    [(header, _)] = iter_batches(after)
    assert (header.base_offset, header.partition_leader_epoch) == (77, 9)
    assert [record.offset for record in iter_records(after)] == [77, 78]


def test_batches_follow_each_other() -> None:
    data = batch(b"a") + batch(b"b", b"c")
    batches = validate_batches(data, max_message_bytes=LIMIT)
    assert [header.records_count for header, _ in batches] == [1, 2]
    assert b"".join(view for _, view in batches) == data


@pytest.mark.parametrize("bit", range(len(batch(b"abc")) * 8))
def test_no_flipped_bit_is_accepted_unless_the_leader_sets_it_anyway(bit: int) -> None:
    damaged = bytearray(batch(b"abc"))
    damaged[bit // 8] ^= 1 << bit % 8
    if bit // 8 in {*range(8), *range(12, 16)}:
        validate_batches(damaged, max_message_bytes=LIMIT)
        return
    with pytest.raises(TidelogError):
        validate_batches(damaged, max_message_bytes=LIMIT)


@pytest.mark.parametrize("length", range(1, len(batch(b"abc"))))
def test_no_cut_batch_is_accepted(length: int) -> None:
    with pytest.raises(CorruptMessageError):
        validate_batches(batch(b"abc")[:length], max_message_bytes=LIMIT)


@pytest.mark.parametrize(
    "fields",
    [
        {"records_count": 0},
        {"records_count": 3},
        {"last_offset_delta": 5},
        {"records_count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
        {"attributes": CONTROL_FLAG},
    ],
)
def test_a_producers_claims_must_hold_even_under_a_right_crc(fields: dict[str, int]) -> None:
    with pytest.raises(InvalidRecordError):
        validate_batches(with_fields(batch(b"abc"), **fields), max_message_bytes=LIMIT)


def test_a_batch_of_another_format_or_codec_is_refused_under_a_right_crc() -> None:
    with pytest.raises(CorruptMessageError, match="magic is 1"):
        validate_batches(with_fields(batch(b"abc"), magic=1), max_message_bytes=LIMIT)
    none = with_fields(batch(b"abc"), records_count=0, last_offset_delta=-1)
    with pytest.raises(CorruptMessageError, match="claims 0 records"):
        validate_batches(none, max_message_bytes=LIMIT)
    with pytest.raises(UnsupportedCompressionTypeError, match="codec 5"):
        validate_batches(with_fields(batch(b"abc"), attributes=5), max_message_bytes=LIMIT)


@pytest.mark.parametrize("size", [10, 1 << 15])
@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_a_compressed_batch_counts_no_more_records_than_readers_inflate(
    codec: Codec, size: int
) -> None:
    most = max(16 << 20, 1032 * size) // MIN_RECORD_BYTES
    fields = parse_header(batch(b"a"))._replace(attributes=codec, last_offset_delta=most - 1)
    validate_batches(
        seal(fields._replace(records_count=most), bytes(size)), max_message_bytes=LIMIT
    )
    beyond = fields._replace(records_count=most + 1, last_offset_delta=most)
    with pytest.raises(InvalidRecordError, match="cannot fit"):
        validate_batches(seal(beyond, bytes(size)), max_message_bytes=LIMIT)


def test_a_batch_above_the_limit_is_refused_for_its_size() -> None:
    data = batch(bytes(200))
    assert validate_batches(data, max_message_bytes=len(data))
    with pytest.raises(MessageTooLargeError, match=f"max.message.bytes={len(data) - 1}"):
        validate_batches(data, max_message_bytes=len(data) - 1)


def test_a_length_is_checked_before_it_is_used() -> None:
    fields = BatchHeader(0, 2**31 - 1, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    data = struct.pack(">qiibIhiqqqhii", *fields)
    with pytest.raises(CorruptMessageError, match="are here"):
        list(iter_batches(data))
