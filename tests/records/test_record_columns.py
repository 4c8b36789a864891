"""The quick readers against a slow one that is only the format, on sound and damaged bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MIN_RECORD_BYTES,
    BatchHeader,
    parse_header,
    seal,
)
from tidelog.records.record_columns import RUN_RECORDS_MAX, TURN_RECORDS
from tidelog.records.record_runs import PAYING_RECORDS, read_plain, read_run
from tidelog.records.records import (
    Record,
    encode_batch,
    iter_columns,
    iter_records,
    rebuild_batch,
)
from tidelog.records.varints import NULL_BYTE, decode_varint, encode_varint

Said = tuple[list[Record], bool]
"""The records that were yielded, and whether damage followed."""


def slowly(header: BatchHeader, data: bytes) -> Iterator[Record]:
    """What `record_columns` says, a record at a time; IndexError stands for damage, too."""
    position, least = 0, 0
    if header.records_count * MIN_RECORD_BYTES > len(data):
        raise CorruptMessageError("count")
    for _ in range(header.records_count):
        length, position = decode_varint(data, position)
        end = position + length
        if length < MIN_RECORD_BYTES - 1 or end > len(data):
            raise CorruptMessageError("length")
        timestamp, position = decode_varint(data, position + 1)
        delta, position = decode_varint(data, position)
        if not least <= delta <= header.last_offset_delta:
            raise CorruptMessageError("offset")
        least = delta + 1
        key, position = field(data, position, end)
        value, position = field(data, position, end)
        count, position = decode_varint(data, position)
        if count < 0:
            raise CorruptMessageError("headers")
        headers = []
        for _ in range(count):
            name, position = field(data, position, end)
            if name is None:
                raise CorruptMessageError("a header without a name")
            content, position = field(data, position, end)
            headers.append((name.decode(), content))
        timestamp += header.base_timestamp
        if header.attributes & LOG_APPEND_TIME_FLAG:
            timestamp = header.max_timestamp
        if position != end or not -(2**63) <= timestamp < 2**63:
            raise CorruptMessageError("end or timestamp")
        yield Record(header.base_offset + delta, timestamp, key, value, tuple(headers))
    if position != len(data):
        raise CorruptMessageError("more")


def field(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    if data[position] == NULL_BYTE:
        return None, position + 1
    length, position = decode_varint(data, position)
    if length < 0 or position + length > end:
        raise CorruptMessageError("field")
    return data[position : position + length], position + length


def said(records: Iterator[Record]) -> Said:
    got: list[Record] = []
    try:
        got.extend(records)
    except (CorruptMessageError, IndexError, UnicodeDecodeError):
        return got, True
    return got, False


def agree(batch: bytes) -> Said:
    """What both decoders say of a batch."""
    header = parse_header(batch)
    expected = said(slowly(header, batch[HEADER_BYTES:]))
    got: list[Record] = []
    try:
        got.extend(iter_records(batch))
    except CorruptMessageError:
        assert expected == (got, True)
    else:
        assert expected == (got, False)
    return expected


def batch_of(shape: str, count: int, *, start: int = 0) -> bytes:
    """Records of one kind: `alike` are runs, `various` are not, others stop one in the middle."""
    rng = random.Random(count)
    sizes = {"alike": [20], "various": range(130), "empty": [0]}.get(shape, [9])
    records = []
    for place in range(count):
        value = None if shape == "null" else rng.randbytes(rng.choice(sizes))
        key = rng.randbytes(rng.choice([0, 5, 63, 64]) if shape == "various" else 8)
        headers = (("h", b"x"),) if shape == "headers" and place % 50 > 30 else ()
        late = rng.randrange(-70, 20_000) if shape == "times" else place // 40
        is_keyed = shape in {"alike", "times"} or (shape == "various" and rng.randrange(2))
        records.append(Record(0, 10**6 + late, key if is_keyed else None, value, headers))
    return encode_batch(records, base_offset=start)


SHAPES = ("alike", "various", "empty", "null", "headers", "times", "nine")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 15, 16, 63, 65, 700, 3000])
def test_both_read_the_same(shape: str, count: int) -> None:
    records, is_damaged = agree(batch_of(shape, count, start=77))
    assert len(records) == count
    assert not is_damaged


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_say_the_same_of_what_is_damaged(shape: str, is_compacted: bool) -> None:
    """Under a right CRC; whatever comes before the damage is yielded, and nothing after it."""
    rng = random.Random(shape)
    batch = batch_of(shape, 150)
    if is_compacted:
        kept = [record for record in iter_records(batch) if not 40 < record.offset < 50]
        batch = rebuild_batch(parse_header(batch), kept, delete_horizon_ms=None)
    plain, refused = batch[HEADER_BYTES:], 0
    for _ in range(600):
        edited = bytearray(plain)
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(edited))
            match rng.randrange(4):
                case 0:
                    edited[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF))
                case 1:
                    edited[at] ^= 1 << rng.randrange(8)
                case 2:
                    del edited[at : at + rng.randrange(1, 4)]
                case _:
                    edited[at:at] = rng.choice((b"\0", b"\x01", b"\x80", b"\xff\xff"))
        header = parse_header(batch)
        if not rng.randrange(8):
            header = header._replace(
                last_offset_delta=rng.randrange(150),
                base_timestamp=rng.choice((0, 2**63 - 3, -(2**63))),
            )
        refused += agree(seal(header, edited))[1]
    assert refused > 100


@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_of_one_is_read_or_refused_as_any_other(shape: str) -> None:
    """Each byte of it changed, left out, and followed by another one."""
    records = [Record(0, 10**6, b"key", b"value", (("h", b"x"),) if shape == "headers" else ())]
    batch = encode_batch(records, base_offset=77) if shape == "headers" else batch_of(shape, 1)
    header, plain, refused = parse_header(batch), batch[HEADER_BYTES:], 0
    assert header.records_count == 1
    for attributes in (0, LOG_APPEND_TIME_FLAG):
        stamped = header._replace(attributes=attributes)
        assert not agree(seal(stamped, plain))[1]
        assert agree(seal(stamped, plain + b"\0"))[1]  # after the record was yielded
        for at in range(len(plain)):
            refused += agree(seal(stamped, plain[:at] + plain[at + 1 :]))[1]
            for byte in (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF):
                edited = plain[:at] + bytes([byte]) + plain[at + 1 :]
                refused += agree(seal(stamped, edited))[1]
    assert refused > 20


SMALL_FIELD = st.none() | st.binary(max_size=3)


@given(
    rows=st.lists(
        st.tuples(st.integers(1, 40), st.integers(0, 300), SMALL_FIELD, SMALL_FIELD), max_size=8
    ),
    cut=st.integers(0, 20),
)
def test_runs_of_any_length_one_after_the_other(
    rows: Sequence[tuple[int, int, bytes | None, bytes | None]], cut: int
) -> None:
    records = [
        Record(0, 5 + late, key, value) for count, late, key, value in rows for _ in range(count)
    ]
    if records:
        batch = encode_batch(records)
        payload = batch[HEADER_BYTES : len(batch) - cut]
        agree(seal(parse_header(batch), payload))


@pytest.mark.parametrize("length", [*range(140), 8100, 8300])
@pytest.mark.parametrize("key", [None, b"", b"k" * 63])
def test_every_length_of_a_value_is_plain_up_to_two_bytes_of_length(
    length: int, key: bytes | None
) -> None:
    batch = encode_batch([Record(0, 5, key, bytes(length))] * 3)
    plain = read_plain(batch[HEADER_BYTES:], 0, first_delta=0, limit=3)
    assert len(plain.values) == (0 if length == 8300 else 3)
    assert len(agree(batch)[0]) == 3


@pytest.mark.parametrize("count", [1, 40])
def test_both_say_the_same_of_damage_that_is_in_every_record(count: int) -> None:
    """Which is still a run."""
    batch = encode_batch([Record(0, 5, b"key", b"value")] * count)
    plain = batch[HEADER_BYTES:]
    size, refused = len(plain) // count, 0
    for at in range(size):
        for byte in (*range(12), 0x7E, 0x7F, 0x80, 0x81, 0xFF):
            edited = bytearray(plain)
            edited[at::size] = bytes((byte,)) * count
            refused += agree(seal(parse_header(batch), edited))[1]
    assert refused > size


def one_record(*parts: bytes) -> bytes:
    """A batch that says it holds one record, with these bytes."""
    return seal(parse_header(encode_batch([Record(0, 5, None, b"")])), b"".join(parts))


CRAFTED = {
    "the value's length is the number of headers too": one_record(b"\x0c\0\x80\0\0\x01\0"),
    "a key of 64 bytes whose length reads as one byte": one_record(
        encode_varint(76), b"\0\0\0\x80\x01", b"k" * 63, b"\x0c", b"\x0avalue\0"
    ),
    "a length of three bytes that reads as two": one_record(
        b"\x80\x80", b"\0\0\0\x7e", b"k" * 63, encode_varint(8122), bytes(8123)
    ),
    "a timestamp of three bytes that reads as two": one_record(b"\x10", b"\0\x80\x80\0\x01\x02v\0"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_what_reads_well_at_the_wrong_place_is_read_at_the_right_one(name: str) -> None:
    agree(CRAFTED[name])


@pytest.mark.parametrize("fields", [b"\x01\x81\0", b"\x81\0\x01"])
def test_a_null_in_a_longer_form_is_damage_in_a_run_too(fields: bytes) -> None:
    header = parse_header(encode_batch([Record(0, 5, None, b"v")] * 40))
    records = [b"\x0e\0\0%c%b\0" % (2 * delta, fields) for delta in range(40)]
    assert agree(seal(header, b"".join(records))) == ([], True)


def test_offset_deltas_that_repeat_are_no_run_however_many() -> None:
    header = parse_header(encode_batch([Record(0, 5, None, b"v")] * 200))
    assert agree(seal(header, b"\x0e\0\0\0\x01\x02v\0" * 200)) == ([Record(0, 5, None, b"v")], True)


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        (b"\x0a\0\0\0\x01\x01\0", "a record claims 5 bytes"),
        (b"\x0e\0\0\0\x01\x01\0", "a record claims 7 bytes"),
        (b"\x0c\0\0\0\x04\x01\0", "a record ends before"),
        (b"\x0e\0\0\0\x01\x06v\0", "a field claims 3 bytes, 2 are left"),
        (b"\x0c\0\0\0\x01\x01\x04", "claims 2 headers"),
        (b"\x0c\0\0\0\x01\x01\0\0", "1 bytes follow the last record"),
        (b"\x12\0\0\0\x01\x01\x02\x02\xff\x01", "a record ends before .*utf-8"),
    ],
)
def test_damage_says_what_is_wrong(plain: bytes, reason: str) -> None:
    assert agree(one_record(plain))[1]
    with pytest.raises(CorruptMessageError, match=reason):
        list(iter_records(one_record(plain)))


@pytest.mark.parametrize("size", [0, 30])
def test_a_run_goes_on_where_the_offset_delta_gets_a_byte_more(size: int) -> None:
    count = 2 * 8192 + 100
    batch = encode_batch([Record(0, 5, None, bytes(size))] * count)
    chunks = [len(columns.offsets) for columns in iter_columns(batch)]
    assert sum(chunks) == len(agree(batch)[0]) == count
    assert chunks[0] == 64
    assert len(chunks) <= 3 + count // RUN_RECORDS_MAX + 1, "nothing was left to slower readers"


def test_records_of_various_lengths_are_plain_at_every_width_of_the_offset_delta() -> None:
    batch = batch_of("nine", 8192 + 1000)
    data, position, taken = batch[HEADER_BYTES:], 0, 0
    while taken < 8192 + 1000:
        plain = read_plain(data, position, first_delta=taken, limit=TURN_RECORDS)
        assert len(plain.values) == min(TURN_RECORDS, 8192 + 1000 - taken)
        position, taken = plain.end, taken + len(plain.values)


def test_a_run_ends_where_a_record_differs() -> None:
    batch = encode_batch([Record(0, 5, b"k", b"v" * (20 + (place == 40))) for place in range(63)])
    data = batch[HEADER_BYTES:]
    run = read_run(data, 0, first_delta=0, limit=63)
    assert run is not None
    assert len(run.values) == 40
    assert read_run(data, 0, first_delta=0, limit=PAYING_RECORDS - 1) is None
    assert read_run(data, 0, first_delta=1, limit=63) is None


def test_records_before_the_damage_come_first_and_then_the_damage() -> None:
    batch = batch_of("nine", 100)
    payload = batch[HEADER_BYTES:-1] + b"\x03"
    records, is_damaged = agree(seal(parse_header(batch), payload))
    assert (len(records), is_damaged) == (99, True)


def test_columns_since_an_offset() -> None:
    batch = batch_of("alike", 30, start=100)
    (columns,) = iter_columns(batch)
    assert columns.since(100) is columns
    late = columns.since(128)
    assert list(late.offsets) == [128, 129]
    assert [len(column) for column in late] == [2] * 5
    assert list(zip(*late, strict=True)) == list(iter_records(batch))[28:]
    assert not columns.since(130).offsets
