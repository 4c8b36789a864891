"""The offset index: look-ups, growth, and what a damaged one may do (cost time, nothing else)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.batch import BatchHeader, iter_batches, parse_header
from tidelog.log.config import LogConfig
from tidelog.log.errors import CorruptMessageError
from tidelog.log.index import ENTRY_BYTES, IndexEntry, OffsetIndex
from tidelog.log.records import Record, encode_batch
from tidelog.log.segment import Segment

BASE = 1000
BATCHES = 60
INTERVAL = 300
INDEX_PATH = f"/d/{BASE:020d}.index"
ENTRIES = [(BASE + 10 * place, 100 * place) for place in range(1, 2000)]


@pytest.fixture
def index(disk: SimDisk) -> OffsetIndex:
    disk.make_directory("/d")
    return OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)


@pytest.fixture
def segment(disk: SimDisk) -> Segment:
    """Sixty batches of two records, the batches growing."""
    disk.make_directory("/d")
    segment = opened(disk)
    for place in range(BATCHES):
        records = [Record(0, 1, None, bytes(place))] * 2
        batch = encode_batch(records, base_offset=BASE + 2 * place, leader_epoch=0)
        segment.append(batch, [parse_header(batch)])
    return segment


def opened(disk: SimDisk) -> Segment:
    config = LogConfig(index_interval_bytes=INTERVAL)
    return Segment(disk, "/d", base_offset=BASE, config=config)


def filled(index: OffsetIndex) -> OffsetIndex:
    for entry in ENTRIES:
        index.append(IndexEntry(*entry))
    return index


def assert_reads_are_right(segment: Segment) -> None:
    """Every read against a walk over all batches."""
    headers = [header for header, _ in iter_batches(segment.file.read_at(0, segment.size))]
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


def test_an_index_is_empty_at_first(index: OffsetIndex) -> None:
    beginning = IndexEntry(BASE, 0)
    assert index.last() == index.floor_offset(BASE + 5) == index.floor_position(99) == beginning


def test_a_look_up_finds_the_last_entry_not_above(index: OffsetIndex) -> None:
    filled(index)
    assert index.floor_offset(BASE + 9) == (BASE, 0)
    assert index.floor_offset(BASE + 10) == (BASE + 10, 100)
    assert index.floor_offset(BASE + 14999) == (BASE + 14990, 149900)
    assert index.floor_position(149899) == (BASE + 14980, 149800)
    assert index.last() == ENTRIES[-1]


def test_entries_survive_a_close_and_nothing_is_left_behind_them(
    disk: SimDisk, index: OffsetIndex
) -> None:
    filled(index).close()
    assert disk.open(INDEX_PATH).size() == len(ENTRIES) * ENTRY_BYTES
    again = OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    assert (again.count, again.last()) == (len(ENTRIES), ENTRIES[-1])


def test_truncation_drops_entries_at_and_above(disk: SimDisk, index: OffsetIndex) -> None:
    filled(index).truncate_to(BASE + 50)
    assert index.last() == (BASE + 40, 400)
    index.append(IndexEntry(BASE + 41, 500))
    index.close()
    again = OffsetIndex(disk, INDEX_PATH, base_offset=BASE, max_bytes=1 << 16)
    assert again.last() == (BASE + 41, 500)


def test_a_full_index_takes_no_more(disk: SimDisk) -> None:
    disk.make_directory("/d")
    index = OffsetIndex(disk, "/d/small.index", base_offset=BASE, max_bytes=20)
    for entry in ENTRIES[:3]:
        index.append(IndexEntry(*entry))
    assert index.is_full
    assert index.last() == ENTRIES[1]


def test_entries_are_an_interval_apart_and_name_their_batch(segment: Segment) -> None:
    headers = {header.base_offset for header, _ in iter_batches(segment.file.read_at(0, 1 << 20))}
    found = sorted({segment._index.floor_position(at) for at in range(segment.size)})
    assert len(found) > 10
    assert {entry.offset for entry in found} <= headers
    for entry, following in pairwise(found):
        assert following.position - entry.position > INTERVAL
        assert parse_header(segment.file.read_at(entry.position, 61)).base_offset == entry.offset


def test_reads_return_the_batches_asked_for(segment: Segment) -> None:
    assert_reads_are_right(segment)


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_index_changes_no_answer(disk: SimDisk, segment: Segment, seed: int) -> None:
    rng = random.Random(seed)
    segment.close()
    file = disk.open(INDEX_PATH)
    for _ in range(1 + seed):
        file.write_at(rng.randrange(0, file.size()), rng.randbytes(1))
    file.truncate(rng.randrange(file.size() // 2, file.size() + 40))
    again = opened(disk)
    again.load()
    assert (again.next_offset, again.size) == (segment.next_offset, segment.size)
    assert_reads_are_right(again)


def test_a_missing_index_is_made_anew(disk: SimDisk, segment: Segment) -> None:
    entries = segment._index.count
    segment.close()
    disk.remove(INDEX_PATH)
    again = opened(disk)
    again.load()
    assert again._index.count == entries
    assert_reads_are_right(again)


def test_a_damaged_batch_header_is_refused_and_nothing_is_forgotten(segment: Segment) -> None:
    segment.file.write_at(16, b"\1")
    size = segment.size
    with pytest.raises(CorruptMessageError):
        segment.read(BASE, max_bytes=100, upper_bound=1 << 60)
    assert segment.size == size


@pytest.mark.parametrize("offset", [BASE, BASE + 2, BASE + 63, BASE + 64, BASE + 119, BASE + 120])
def test_truncation_keeps_whole_batches_below_the_offset(segment: Segment, offset: int) -> None:
    segment.truncate_to(offset)
    assert segment.next_offset == offset - offset % 2
    assert segment.size == segment.file.size()
    assert_reads_are_right(segment)
