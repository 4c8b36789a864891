"""A segment and its indexes: look-ups, growth, and what a damaged index may do (cost time only)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tidelog.core.errors import DamagedLogError
from tidelog.log.config import LogConfig
from tidelog.log.epochs import NO_END
from tidelog.log.index import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    IndexEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
)
from tidelog.log.segment import Segment
from tidelog.records.batch import BatchHeader, iter_batches, parse_header
from tidelog.records.records import Record, encode_batch
from tidelog.simulation.engine.disk import SimDisk

BASE = 1000
BATCHES = 60
INTERVAL = 300
INDEX_PATH = f"/d/{BASE:020d}.index"
TIME_INDEX_PATH = f"/d/{BASE:020d}.timeindex"
ENTRIES = [IndexEntry(BASE + 10 * place, 100 * place) for place in range(1, 2000)]


@pytest.fixture
def index(disk: SimDisk) -> OffsetIndex:
    disk.make_directory("/d")
    return OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)


@pytest.fixture
def segment(disk: SimDisk) -> Segment:
    """Sixty batches of two records, the batches growing, their times out of order."""
    disk.make_directory("/d")
    segment = opened(disk)
    rng = random.Random(3)
    for place in range(BATCHES):
        records = [Record(0, rng.randrange(1, 50 + 10 * place), None, bytes(place))] * 2
        batch = encode_batch(records, base_offset=BASE + 2 * place, leader_epoch=0)
        segment.append([batch], [parse_header(batch)])
    return segment


def opened(disk: SimDisk) -> Segment:
    config = LogConfig(index_interval_bytes=INTERVAL)
    return Segment(disk, "/d", base_offset=BASE, config=config, run_at=lambda _: (0, NO_END))


def filled(index: OffsetIndex) -> OffsetIndex:
    for entry in ENTRIES:
        index.append(entry)
    return index


def headers_of(segment: Segment) -> list[BatchHeader]:
    return [header for header, _ in iter_batches(segment.file.read_at(0, segment.size))]


def assert_reads_are_right(segment: Segment) -> None:
    """Every read, by offset and by time, against a walk over all batches."""
    headers = headers_of(segment)
    for offset in range(BASE, segment.next_offset):
        for upper_bound in (offset, offset + 1, offset + 7, 1 << 60):
            for max_bytes in (0, 500):
                expected: list[BatchHeader] = []
                size = 0
                for header in headers:
                    if header.last_offset < offset:
                        continue
                    size += header.size_in_bytes
                    if header.last_offset >= upper_bound or (expected and size > max_bytes):
                        break
                    expected.append(header)
                found = segment.read(offset, max_bytes=max_bytes, upper_bound=upper_bound)
                assert [header for header, _ in iter_batches(found.records)] == expected
                assert found.next_offset == (expected[-1].next_offset if expected else offset)
    newest = max((header.max_timestamp for header in headers), default=-1)
    assert segment.max_timestamp == newest
    for timestamp in range(newest + 2):
        due = [header.base_offset for header in headers if header.max_timestamp >= timestamp]
        assert [place.base_offset for place in segment.reaching(timestamp)] == due


def test_an_index_is_empty_at_first(index: OffsetIndex) -> None:
    assert (index.last(), index.floor(BASE + 5), index.file.count) == (None, None, 0)


def test_a_look_up_finds_the_last_entry_not_above(index: OffsetIndex) -> None:
    filled(index)
    assert index.floor(BASE + 9) is None
    assert index.floor(BASE + 10) == (BASE + 10, 100)
    assert index.floor(BASE + 14999) == (BASE + 14990, 149900)
    assert index.last() == ENTRIES[-1]


def test_entries_survive_a_seal_and_nothing_is_left_behind_them(
    disk: SimDisk, index: OffsetIndex
) -> None:
    filled(index).file.seal()
    assert disk.size(INDEX_PATH) == len(ENTRIES) * OFFSET_ENTRY.size
    assert index.last() == ENTRIES[-1]
    again = OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    assert (again.file.count, again.last()) == (len(ENTRIES), ENTRIES[-1])


def test_truncation_drops_entries_at_and_above(disk: SimDisk, index: OffsetIndex) -> None:
    filled(index).truncate_to(BASE + 50)
    assert index.last() == (BASE + 40, 400)
    index.append(IndexEntry(BASE + 41, 500))
    index.file.seal()
    again = OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    assert again.last() == (BASE + 41, 500)


def test_a_full_index_takes_no_more(disk: SimDisk) -> None:
    disk.make_directory("/d")
    index = OffsetIndex(disk, "/d/small.index", base_offset=BASE, max_bytes=20)
    for entry in ENTRIES[:3]:
        index.append(entry)
    assert index.file.is_full
    assert index.last() == ENTRIES[1]


def test_room_that_was_reserved_is_there(disk: SimDisk, index: OffsetIndex) -> None:
    index.file.reserve()
    before = disk.size(INDEX_PATH)
    index.append(ENTRIES[0])
    assert disk.size(INDEX_PATH) == before > 0


def test_only_a_newer_time_becomes_an_entry(disk: SimDisk) -> None:
    disk.make_directory("/d")
    index = TimeIndex(disk, TIME_INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    for timestamp, offset in ((0, BASE), (5, BASE + 1), (5, BASE + 2), (4, BASE + 3)):
        index.append(TimeEntry(timestamp, offset))
    assert (index.file.count, index.last()) == (1, (5, BASE + 1))
    assert index.floor(4) is None
    assert index.floor(5) == (5, BASE + 1)


def test_entries_are_an_interval_apart_and_name_their_batch(
    disk: SimDisk, segment: Segment
) -> None:
    headers = {header.last_offset: header for header in headers_of(segment)}
    segment.seal()
    data = disk.open(INDEX_PATH).read_at(0, 1 << 20)
    found = list(OFFSET_ENTRY.iter_unpack(data))
    assert len(found) > 10
    for entry, following in pairwise(found):
        assert following[1] - entry[1] > INTERVAL
    for relative, position in found:
        header = parse_header(segment.file.read_at(position, 61))
        assert header == headers[BASE + relative]


def test_times_grow_and_nothing_before_is_newer(disk: SimDisk, segment: Segment) -> None:
    segment.seal()
    found = list(TIME_ENTRY.iter_unpack(disk.open(TIME_INDEX_PATH).read_at(0, 1 << 20)))
    assert len(found) > 5
    for timestamp, relative in found:
        until = [header for header in headers_of(segment) if header.base_offset <= BASE + relative]
        assert max(header.max_timestamp for header in until) == timestamp
        assert until[-1].max_timestamp == timestamp
    assert found[-1][0] == segment.max_timestamp


def test_reads_return_the_batches_asked_for(segment: Segment) -> None:
    assert_reads_are_right(segment)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("path", [INDEX_PATH, TIME_INDEX_PATH])
def test_a_damaged_index_changes_no_answer(
    disk: SimDisk, segment: Segment, path: str, seed: int
) -> None:
    rng = random.Random(seed)
    segment.seal()
    segment.close()
    file = disk.open(path)
    for _ in range(1 + seed):
        file.write_at(rng.randrange(0, file.size()), rng.randbytes(1))
    file.truncate(rng.randrange(file.size() // 2, file.size() + 40))
    again = opened(disk)
    again.load()
    assert (again.next_offset, again.size) == (segment.next_offset, segment.size)
    assert_reads_are_right(again)


@pytest.mark.parametrize("path", [INDEX_PATH, TIME_INDEX_PATH])
def test_a_missing_index_changes_no_answer(disk: SimDisk, segment: Segment, path: str) -> None:
    segment.seal()
    segment.close()
    disk.remove(path)
    again = opened(disk)
    again.load()
    assert_reads_are_right(again)


def test_a_damaged_batch_is_refused_and_nothing_is_forgotten(segment: Segment) -> None:
    size = segment.size
    segment.file.write_at(size - 1, b"\1")
    with pytest.raises(DamagedLogError) as caught:
        segment.read(BASE + 2 * BATCHES - 1, max_bytes=100, upper_bound=1 << 60)
    assert caught.value.first_bad_offset == BASE + 2 * BATCHES - 2
    segment.file.write_at(16, b"\1")
    with pytest.raises(DamagedLogError) as caught:
        segment.read(BASE, max_bytes=100, upper_bound=1 << 60)
    assert caught.value.first_bad_offset == BASE
    assert segment.size == size


def test_a_damaged_length_is_found_where_the_batch_begins_and_nothing_is_forgotten(
    segment: Segment, disk: SimDisk
) -> None:
    index = OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    entry, end = index.floor(BASE + 80), (segment.size, segment.next_offset)
    assert entry is not None
    segment.file.write_at(entry.position + 8, b"\x7f")
    with pytest.raises(DamagedLogError) as caught:
        segment.read(entry.offset + 1, max_bytes=100, upper_bound=1 << 60)
    assert caught.value.first_bad_offset == entry.offset - 1
    assert (segment.size, segment.next_offset) == end


@pytest.mark.parametrize("offset", [BASE, BASE + 2, BASE + 63, BASE + 64, BASE + 119, BASE + 120])
def test_truncation_keeps_whole_batches_below_the_offset(segment: Segment, offset: int) -> None:
    segment.truncate_to(segment.place_of(offset))
    assert segment.next_offset == offset - offset % 2
    assert segment.size == segment.file.size()
    assert_reads_are_right(segment)


def test_the_last_batch_is_found_without_a_walk_and_not_where_it_was_cut(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = BASE + 2 * (BATCHES - 1)
    walked = segment.place_of(last + 1)  # within it: found by the index
    with monkeypatch.context() as no_walk:
        no_walk.setattr(segment, "_headers", lambda *_, **__: pytest.fail("it was walked"))
        assert segment.place_of(last) == walked
    segment.truncate_to(segment.place_of(last))
    assert segment.next_offset == last
    assert segment.place_of(last) == (segment.size, last), "the end, where the batch began"
    other = encode_batch([Record(0, 1, None, b"x" * 9)] * 2, base_offset=last, leader_epoch=0)
    segment.append([other], [parse_header(other)])
    segment.truncate_to(segment.place_of(last - 2))
    assert segment.place_of(last) == (segment.size, last - 2), "the end, before the batch that went"
    before = encode_batch([Record(0, 1, None, b"y")] * 4, base_offset=last - 2, leader_epoch=0)
    segment.append([before], [parse_header(before)])
    assert segment.place_of(last).base_offset == last - 2, "that batch holds it now"
    assert segment.read(last, max_bytes=1 << 20, upper_bound=last + 2).records
