"""Batches as compaction leaves them: fewer records, none, a delete horizon; and markers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    iter_batches,
    parse_header,
    seal,
)
from tidelog.records.compression import Codec
from tidelog.records.records import (
    BatchBuilder,
    ControlMarker,
    Record,
    encode_batch,
    encode_filler,
    iter_records,
    read_marker,
    rebuild_batch,
)

RECORDS = [
    Record(70 + place, 1_000 + at, b"k%d" % place, value, (("h", None),) * (place % 2))
    for place, (at, value) in enumerate([(5, b"a"), (0, None), (9, b"c"), (2, b""), (1, b"e")])
]


def batch_of(codec: Codec = Codec.NONE, *, flags: int = 0) -> tuple[BatchHeader, bytes]:
    builder = BatchBuilder(compression=codec)
    for record in RECORDS:
        builder.append(
            timestamp_ms=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    batch = builder.build(
        base_offset=70, leader_epoch=3, producer_id=9, producer_epoch=2, base_sequence=40
    )
    header = parse_header(batch)
    if flags:
        header = header._replace(attributes=header.attributes | flags)
        batch = seal(header, batch[HEADER_BYTES:])
    return parse_header(batch), batch


def checked_header(batch: bytes) -> BatchHeader:
    [(header, _)] = iter_batches(batch)
    return header


@given(
    codec=st.sampled_from(Codec),
    kept=st.sets(st.integers(0, len(RECORDS) - 1), min_size=1),
    horizon=st.none() | st.integers(0, 2**62),
)
def test_a_rebuilt_batch_holds_just_the_records_it_was_given(
    codec: Codec, kept: set[int], horizon: int | None
) -> None:
    header, _ = batch_of(codec)
    records = [RECORDS[place] for place in sorted(kept)]
    rebuilt = rebuild_batch(header, records, delete_horizon_ms=horizon)
    assert list(iter_records(rebuilt)) == records
    new = checked_header(rebuilt)
    assert new.max_timestamp == max(record.timestamp for record in records)
    assert new.base_timestamp == (records[0].timestamp if horizon is None else horizon)
    assert bool(new.attributes & DELETE_HORIZON_FLAG) == (horizon is not None)
    assert new.codec_id == codec


@pytest.mark.parametrize("records", [RECORDS, RECORDS[1:4], []])
def test_what_names_a_batch_outlives_its_records(records: list[Record]) -> None:
    header, _ = batch_of(flags=TRANSACTIONAL_FLAG)
    new = checked_header(rebuild_batch(header, records, delete_horizon_ms=None))
    assert (new.base_offset, new.last_offset, new.partition_leader_epoch) == (70, 74, 3)
    assert (new.producer_id, new.producer_epoch, new.base_sequence) == (9, 2, 40)
    assert new.attributes == TRANSACTIONAL_FLAG
    assert new.records_count == len(records)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("horizon", [None, 5_000])
def test_a_batch_left_without_records_is_a_bare_header(codec: Codec, horizon: int | None) -> None:
    flags = LOG_APPEND_TIME_FLAG | CONTROL_FLAG
    header, _ = batch_of(codec, flags=flags | DELETE_HORIZON_FLAG)
    rebuilt = rebuild_batch(header, [], delete_horizon_ms=horizon)
    assert len(rebuilt) == HEADER_BYTES
    new = checked_header(rebuilt)
    assert new.attributes == flags
    assert (new.base_timestamp, new.max_timestamp) == (-1, header.max_timestamp)
    assert list(iter_records(rebuilt)) == []


def test_append_time_stays_the_time_of_all_records() -> None:
    header, batch = batch_of(flags=LOG_APPEND_TIME_FLAG)
    records = [record for record in iter_records(batch) if record.offset == 71]
    assert [record.timestamp for record in records] == [1_009]
    rebuilt = rebuild_batch(header._replace(max_timestamp=8_000), records, delete_horizon_ms=9_000)
    assert checked_header(rebuilt).max_timestamp == 8_000
    assert [record.timestamp for record in iter_records(rebuilt)] == [8_000]


def test_a_horizon_goes_when_nothing_is_left_that_waits_for_it() -> None:
    header, _ = batch_of()
    with_horizon = rebuild_batch(header, RECORDS[:2], delete_horizon_ms=9_000)
    again = rebuild_batch(parse_header(with_horizon), RECORDS[:1], delete_horizon_ms=None)
    assert not checked_header(again).attributes & DELETE_HORIZON_FLAG
    assert checked_header(again).base_timestamp == RECORDS[0].timestamp
    assert list(iter_records(again)) == RECORDS[:1]


def test_a_filler_covers_offsets_and_holds_nothing() -> None:
    filler = encode_filler(base_offset=7, last_offset=2_000_000, leader_epoch=4, max_timestamp=88)
    assert len(filler) == HEADER_BYTES
    header = checked_header(filler)
    assert (header.base_offset, header.last_offset, header.next_offset) == (7, 2_000_000, 2_000_001)
    assert (header.partition_leader_epoch, header.max_timestamp) == (4, 88)
    assert (header.producer_id, header.records_count, header.attributes) == (-1, 0, 0)
    assert list(iter_records(filler)) == []


def test_bytes_in_a_batch_without_records_are_damage() -> None:
    filler = encode_filler(base_offset=7, last_offset=9, leader_epoch=4, max_timestamp=88)
    with pytest.raises(CorruptMessageError, match="follow the last record"):
        list(iter_records(seal(parse_header(filler), b"x")))


def test_a_timestamp_beyond_64_bits_is_damage() -> None:
    batch = encode_batch([Record(0, 2**62, None, None)])
    fields = parse_header(batch)._replace(base_timestamp=2**63 - 1)
    assert [record.timestamp for record in iter_records(seal(fields, batch[HEADER_BYTES:]))] == [
        2**63 - 1
    ]
    later = encode_batch([Record(0, at, None, None) for at in (5, 6)])
    fields = parse_header(later)._replace(base_timestamp=2**63 - 1)
    with pytest.raises(CorruptMessageError, match="beyond 64 bits"):
        list(iter_records(seal(fields, later[HEADER_BYTES:])))


def marker(
    key: bytes | None, value: bytes | None, *, flags: int = CONTROL_FLAG, times: int = 1
) -> bytes:
    batch = encode_batch([Record(0, 5, key, value)] * times)
    return seal(parse_header(batch)._replace(attributes=flags), batch[HEADER_BYTES:])


@pytest.mark.parametrize(("kind", "is_commit"), [(0, False), (1, True)])
def test_a_marker_says_how_its_transaction_ended(kind: int, is_commit: bool) -> None:
    value = struct.pack(">hi", 0, 17)
    assert read_marker(marker(struct.pack(">hh", 0, kind), value)) == ControlMarker(is_commit, 17)
    newer = marker(struct.pack(">hhb", 1, kind, 7), struct.pack(">hiq", 1, 17, 7))
    assert read_marker(newer) == ControlMarker(is_commit, 17)


KEY, VALUE = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 17)


@pytest.mark.parametrize(
    "batch",
    [
        marker(KEY, VALUE, flags=TRANSACTIONAL_FLAG),
        marker(struct.pack(">hh", 0, 2), VALUE),
        marker(struct.pack(">hh", 0, -1), VALUE),
        marker(KEY[:3], VALUE),
        marker(KEY, VALUE[:5]),
        marker(None, VALUE),
        marker(KEY, None),
        marker(KEY, VALUE, times=2),
        rebuild_batch(batch_of(flags=CONTROL_FLAG)[0], [], delete_horizon_ms=None),
    ],
    ids=range(9),
)
def test_nothing_else_is_a_marker(batch: bytes) -> None:
    with pytest.raises(CorruptMessageError, match="marker"):
        read_marker(batch)
