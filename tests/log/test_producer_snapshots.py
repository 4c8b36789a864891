"""Kafka's `.snapshot`: the same bytes, and never an entry from bytes that are not whole."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from tidelog.log.producer_snapshots import decode_snapshot, encode_snapshot
from tidelog.log.producers import BatchMetadata, ProducerEntry

FIVE = tuple(
    BatchMetadata(10 * n, 10 * n + 9, 50 + 10 * n, 59 + 10 * n, 1_000 + n) for n in range(5)
)
ENTRIES = (
    ProducerEntry(4_000, 3, -1, 1_004, None, FIVE),
    ProducerEntry(4_001, 0, 7, 2_000, 55, (BatchMetadata(2**31 - 2, 1, 55, 58, 2_000),)),
    ProducerEntry(4_002, 9, 8, 3_000, None, ()),
)
HEADER_BYTES, ROW_BYTES = 10, 46


def sealed(version: int, body: bytes) -> bytes:
    return struct.pack(">hI", version, crc32c(body)) + body


def test_each_field_lies_where_kafka_puts_it() -> None:
    batch = BatchMetadata(5, 8, 100, 103, 0x0123456789)
    entry = ProducerEntry(0x1122334455667788, 0x0203, 6, 0x0123456789, 90, (batch,))
    body = (
        bytes.fromhex("00000001")  # count
        + bytes.fromhex("1122334455667788 0203 00000008 0000000000000067 00000003")
        + bytes.fromhex("0000000123456789 00000006 000000000000005a")
    )
    assert encode_snapshot([entry]) == sealed(1, body)


def test_what_there_is_none_of_is_minus_1() -> None:
    row = struct.unpack(">qhiqiqiq", encode_snapshot([ENTRIES[2]])[HEADER_BYTES:])
    assert row == (4_002, 9, -1, -1, 0, 3_000, 8, -1)


def test_the_last_row_of_a_producer_is_the_one_kafka_would_write() -> None:
    rows = encode_snapshot([ENTRIES[0]])[HEADER_BYTES:]
    alone = ENTRIES[0]._replace(batches=FIVE[-1:])
    assert len(rows) == 5 * ROW_BYTES
    assert rows[-ROW_BYTES:] == encode_snapshot([alone])[HEADER_BYTES:]


@pytest.mark.parametrize("entries", [ENTRIES, ENTRIES[::-1], ()])
def test_entries_return_as_they_were(entries: tuple[ProducerEntry, ...]) -> None:
    assert decode_snapshot(encode_snapshot(entries)) == entries


def test_every_flipped_byte_is_found() -> None:
    whole = encode_snapshot(ENTRIES)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x41
        assert decode_snapshot(bytes(damaged)) is None


def test_every_other_length_is_found() -> None:
    whole = encode_snapshot(ENTRIES)
    assert all(decode_snapshot(whole[:length]) is None for length in range(len(whole)))
    assert decode_snapshot(whole + b"\0") is None


@pytest.mark.parametrize(
    ("version", "body"),
    [
        pytest.param(2, bytes(4), id="an unknown version"),
        pytest.param(1, struct.pack(">i", 2**31 - 1), id="rows that are not there"),
        pytest.param(1, struct.pack(">i", -1), id="a negative count"),
        pytest.param(1, struct.pack(">i", 0) + bytes(ROW_BYTES), id="a row too many"),
    ],
)
def test_a_good_crc_makes_no_other_file_one(version: int, body: bytes) -> None:
    assert decode_snapshot(sealed(version, body)) is None


@given(st.binary(max_size=4 * ROW_BYTES))
def test_any_rows_with_a_good_crc_are_read_without_an_error(rows: bytes) -> None:
    count = len(rows) // ROW_BYTES
    body = struct.pack(">i", count) + rows[: count * ROW_BYTES]
    assert decode_snapshot(sealed(1, body)) is not None
