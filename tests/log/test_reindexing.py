"""A segment whose index contradicts it is indexed anew in slices, others on the loop in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.log.test_segment_index import (
    BASE,
    BATCHES,
    INDEX_PATH,
    TIME_INDEX_PATH,
    assert_reads_are_right,
    opened,
    segment,
)

from tidelog.core.errors import DamagedLogError
from tidelog.core.memory_reads import Loaded, reading
from tidelog.log import segment as segments
from tidelog.log.reindexing import NotIndexedError, Reindexing
from tidelog.log.segment import Segment
from tidelog.log.segment_walk import Place, ReadResult
from tidelog.records.batch import BatchHeader, parse_header
from tidelog.records.records import Record, encode_batch
from tidelog.simulation.engine.disk import SimDisk

__all__ = ["segment"]
PER_SLICE = 5
LAST = BASE + 2 * BATCHES - 1


@pytest.fixture(autouse=True)
def _few_per_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "HEADERS_PER_SLICE", PER_SLICE)


@pytest.fixture(params=[INDEX_PATH, TIME_INDEX_PATH])
def spoiled(disk: SimDisk, segment: Segment, request: pytest.FixtureRequest) -> Segment:
    """A segment one of whose indexes names other batches than there are."""
    segment.seal()
    segment.close()
    file = disk.open(request.param)
    for position in range(7 if request.param == INDEX_PATH else 11, file.size(), 12):
        file.write_at(position, bytes([file.read_at(position, 1)[0] ^ 1]))
    again = opened(disk)
    again.trust(next_offset=BASE + 2 * BATCHES)
    return again


def look(one: Segment) -> Callable[[], ReadResult]:
    """A look-up by time and one by offset."""

    def work() -> ReadResult:
        list(one.reaching(one.max_timestamp))
        return one.read(LAST, max_bytes=100, upper_bound=LAST + 1)

    return work


def added(one: Segment) -> BatchHeader:
    record = Record(0, 700, None, b"new")
    batch = encode_batch([record], base_offset=one.next_offset, leader_epoch=0)
    one.append([batch], [parse_header(batch)])
    return parse_header(batch)


async def test_who_may_not_wait_has_the_indexes_made_in_slices(
    disk: SimDisk, spoiled: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[int] = [0]
    note = Reindexing.note

    def counted(self: Reindexing, header: BatchHeader, *, interval_bytes: int) -> None:
        noted[-1] += 1
        note(self, header, interval_bytes=interval_bytes)

    monkeypatch.setattr(Reindexing, "note", counted)
    reads = [asyncio.create_task(reading(disk, look(spoiled))) for _ in range(2)]
    while not all(one.done() for one in reads):
        noted.append(0)
        await asyncio.sleep(0)
    assert [one.result().next_offset for one in reads] == [LAST + 1] * 2
    assert sum(noted) == BATCHES, "once for both"
    assert max(noted) <= 2 * PER_SLICE
    assert_reads_are_right(spoiled)


async def test_what_is_appended_meanwhile_is_indexed_too(
    disk: SimDisk, spoiled: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoiled.warm()
    spoiled._begin_reindexing()
    read = asyncio.create_task(reading(disk, look(spoiled)))
    for _ in range(BATCHES):
        await asyncio.sleep(0)
        for _ in range(PER_SLICE - 1):
            added(spoiled)
    await read
    spoiled.reindex_more()
    file = spoiled._offsets.file
    entries = [file.at(slot) for slot in range(file.count)]
    assert entries == sorted(set(entries))
    monkeypatch.setattr(spoiled, "_begin_reindexing", lambda: pytest.fail("it is not in order"))
    assert_reads_are_right(spoiled)


@pytest.mark.parametrize("steps", range(8))
async def test_what_is_cut_meanwhile_is_in_no_index(
    disk: SimDisk, spoiled: Segment, steps: int
) -> None:
    spoiled.warm()
    spoiled._begin_reindexing()
    place = _places(spoiled)[0]
    read = asyncio.create_task(reading(disk, look(spoiled)))
    for _ in range(steps):
        await asyncio.sleep(0)
    spoiled.truncate_to(place)
    await asyncio.wait([read])
    assert_reads_are_right(spoiled)
    added(spoiled)
    assert_reads_are_right(spoiled)


def _places(one: Segment) -> list[Place]:
    found = [Place(at, header.base_offset) for at, header in one.headers()]
    return found[BATCHES // 2 :]


async def test_damage_that_is_found_meanwhile_is_raised_to_who_waits(
    disk: SimDisk, spoiled: Segment
) -> None:
    spoiled._begin_reindexing()
    spoiled.file.write_at(spoiled.size // 2, bytes(spoiled.size // 2))
    for _ in range(2):
        with pytest.raises(DamagedLogError):
            await reading(disk, look(spoiled))


def test_who_may_wait_gets_the_indexes_at_once(disk: SimDisk, spoiled: Segment) -> None:
    spoiled._begin_reindexing()
    with disk.from_memory(Loaded()), pytest.raises(NotIndexedError):
        look(spoiled)()
    assert look(spoiled)().next_offset == LAST + 1
    assert_reads_are_right(spoiled)
