"""The codec of frames and records: all comes back, nothing is believed, nothing large is read."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.core.errors import InvariantError
from tidelog.raft import wal_frames
from tidelog.raft.wal_frames import (
    SECTOR_BYTES,
    SLICE_BYTES,
    DamagedFileError,
    Frame,
    ReadAt,
    Record,
    decode_records,
    encode_frame,
    encode_record,
    frame_at,
    frames_in,
    payloads,
    unfinished_end,
)

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
BODIES = st.one_of(st.binary(max_size=40), st.integers(0, 2000).map(bytes))
RECORDS = st.builds(Record, st.integers(0, 255), NUMBERS, NUMBERS, BODIES)
FRAMES = st.lists(st.lists(RECORDS, min_size=1, max_size=4), max_size=4)


def reading(data: bytes) -> ReadAt:
    return lambda position, length: data[position : position + length]


def encoded(frames: list[list[Record]]) -> list[bytes]:
    return [
        encode_frame(number, b"".join(map(encode_record, records)))
        for number, records in enumerate(frames)
    ]


@given(FRAMES, st.integers(0, 3000))
def test_what_was_written_is_read_again_up_to_the_zeros(
    frames: list[list[Record]], reserve_bytes: int
) -> None:
    pieces = encoded(frames)
    data = b"".join(pieces) + bytes(reserve_bytes)
    found = list(frames_in(reading(data), len(data)))

    assert [list(decode_records(frame)) for frame in found] == frames
    assert [data[frame.position : frame.end] for frame in found] == pieces
    end = sum(map(len, pieces))
    place = unfinished_end(reading(data), len(data), position=end, number=len(frames))
    assert place == end


@given(st.binary(max_size=3000).filter(len))
def test_every_sector_of_a_frame_ends_in_what_is_not_zero(payload: bytes) -> None:
    frame = encode_frame(0, payload)

    assert len(frame) % SECTOR_BYTES == 0
    ends = [frame[at - 2 : at] for at in range(SECTOR_BYTES, len(frame) + 1, SECTOR_BYTES)]
    assert all(all(end) for end in ends)


@given(FRAMES.filter(len), st.data())
def test_a_file_cut_anywhere_holds_the_frames_before_and_is_unfinished(
    frames: list[list[Record]], data: st.DataObject
) -> None:
    pieces = encoded(frames)
    content = b"".join(pieces)
    size = data.draw(st.integers(len(content) - len(pieces[-1]), len(content) - 1))
    found = list(frames_in(reading(content[:size]), size))

    assert len(found) == len(frames) - 1
    position = len(content) - len(pieces[-1])
    end = unfinished_end(reading(content[:size]), size, position=position, number=len(found))
    assert end == size


@given(st.binary(max_size=2000), st.integers(0, 3))
def test_garbage_is_damage_or_nothing(garbage: bytes, sectors: int) -> None:
    data = garbage.ljust(sectors * SECTOR_BYTES, b"\0")
    read_at = reading(data)

    assert list(frames_in(read_at, len(data))) == []
    try:
        place = unfinished_end(read_at, len(data), position=0, number=0)
    except DamagedFileError as error:
        place = error.position
    assert 0 <= place <= len(data)


@given(st.binary(max_size=200))
def test_a_payload_is_records_or_damaged(payload: bytes) -> None:
    records: list[Record] = []
    try:
        records += decode_records(Frame(0, 512, 1024, payload))
    except DamagedFileError:
        return
    assert b"".join(map(encode_record, records)) == payload


@pytest.mark.parametrize("following", [1, 7, 1 << 20, (1 << 32) - 1])
def test_a_length_is_checked_before_anything_of_it_is_read(following: int) -> None:
    rest = struct.pack("<IIH", 0, following, 0).ljust(SECTOR_BYTES - 6, b"\0") + b"TL"
    data = struct.pack("<I", zlib.crc32(rest)) + rest
    lengths = []

    def read_at(position: int, length: int) -> bytes:
        lengths.append(length)
        return data[position : position + length]

    assert frame_at(read_at, len(data), position=0, number=0) is None
    assert lengths == [SECTOR_BYTES]


def test_a_frame_above_the_limit_is_neither_written_nor_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = encode_frame(0, bytes(1000))
    monkeypatch.setattr(wal_frames, "FRAME_BYTES_MAX", len(frame))
    assert frame_at(reading(frame), len(frame), position=0, number=0) is not None
    with pytest.raises(InvariantError):
        encode_frame(0, bytes(2000))
    monkeypatch.setattr(wal_frames, "FRAME_BYTES_MAX", len(frame) - 1)
    assert frame_at(reading(frame), len(frame), position=0, number=0) is None


def test_a_record_above_the_limit_is_neither_written_nor_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payload = encode_record(Record(1, body=bytes(101)))
    monkeypatch.setattr(wal_frames, "RECORD_BYTES_MAX", 100)
    encode_record(Record(1, body=bytes(100)))
    with pytest.raises(InvariantError):
        encode_record(Record(1, body=bytes(101)))
    with pytest.raises(DamagedFileError):
        list(decode_records(Frame(0, 0, 512, payload)))


def test_a_frame_holds_something() -> None:
    with pytest.raises(InvariantError):
        encode_frame(0, b"")


@given(st.lists(st.sampled_from([0, 5, 1000, SLICE_BYTES, 3 * SLICE_BYTES]), max_size=6))
def test_records_are_cut_into_payloads_of_about_a_slice(sizes: list[int]) -> None:
    records = [Record(1, number, 2, bytes(size)) for number, size in enumerate(sizes)]
    cut = list(payloads(records))

    assert b"".join(cut) == b"".join(map(encode_record, records))
    largest = max(sizes, default=0)
    assert all(len(payload) < SLICE_BYTES + largest + 21 for payload in cut)
    assert all(len(payload) >= SLICE_BYTES for payload in cut[:-1])
