"""A write-ahead log that is not as it was written: what a crash explains, and what refuses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from tests.raft.wal_stage import (
    RESERVE,
    SECTOR,
    State,
    content_of,
    disk_with,
    new_disk,
    open_wal,
    state_of,
    write_history,
)

from tidelog.core.errors import StorageError
from tidelog.raft.wal_frames import Record, encode_frame, encode_record

REMEDY = "remove the folder once"
RESERVE_STRIDE = 5
"""Prime to a sector and to a byte's bits: each place in a sector and each bit comes up."""


async def found(content: bytes) -> State:
    """What a start with this file finds, which it also finds after it went on from there."""
    disk = await disk_with(content)
    wal = await open_wal(disk)
    state = state_of(wal)
    wal.write_vote(term=wal.term + 1, voted_for=3)
    await wal.sync()
    wal.close()
    disk.crash()
    reopened = await open_wal(disk)
    assert state_of(reopened) == state._replace(term=state.term + 1, voted_for=3)
    return state


async def is_refused(content: bytes) -> bool:
    """Whether a start refuses this file, says how to go on, and leaves it as it is."""
    disk = await disk_with(content)
    try:
        await open_wal(disk)
    except StorageError as refusal:
        is_named = "damaged at byte" in str(refusal) and REMEDY in str(refusal)
        return is_named and content_of(disk) == content
    return False


def changes(byte: int, position: int) -> Iterator[int]:
    """Other values of a byte: a bit flipped, all of them, none left."""
    yield from {byte ^ 1 << position % 8, byte ^ 0xFF, 0, 0xFF} - {byte}


def with_zeros(content: bytes, start: int, end: int) -> bytes:
    return content[:start] + bytes(end - start) + content[end:]


@pytest.mark.parametrize("tail", [1, 3])
@pytest.mark.parametrize("reserve_bytes", [SECTOR, RESERVE])
async def test_a_changed_byte_of_any_frame_refuses_to_start(reserve_bytes: int, tail: int) -> None:
    left = await write_history(new_disk(), reserve_bytes=reserve_bytes, tail=tail)
    end = left.frames[-1][0]
    assert end == (len(left.content) if reserve_bytes == SECTOR else (7 + tail) * SECTOR)

    for position in range(end):
        for value in changes(left.content[position], position):
            changed = bytearray(left.content)
            changed[position] = value
            assert await is_refused(bytes(changed)), (position, value)


async def test_a_changed_byte_of_the_unused_reserve_is_harmless_and_cleared() -> None:
    left = await write_history(new_disk())
    end, state = left.frames[-1]

    for position in range(end, RESERVE, RESERVE_STRIDE):
        for value in changes(0, position):
            changed = bytearray(left.content)
            changed[position] = value
            disk = await disk_with(bytes(changed))
            assert state_of(await open_wal(disk)) == state
            assert content_of(disk) == left.content


@pytest.mark.parametrize("tail", [1, 3])
async def test_a_last_frame_written_up_to_any_byte_is_not_there(tail: int) -> None:
    left = await write_history(new_disk(), tail=tail)
    (start, before), (end, _) = left.frames[-2:]

    for cut in range(start, end):
        content = with_zeros(left.content, cut, end)
        if cut % SECTOR == SECTOR - 1:
            # One byte is missing of a sector: it may as well have changed on stable storage.
            assert await is_refused(content)
        else:
            assert await found(content) == before, cut


async def test_a_last_frame_of_which_any_sectors_were_not_written_is_not_there() -> None:
    left = await write_history(new_disk(), tail=5)
    (start, before), (end, after) = left.frames[-2:]
    sectors = range(start, end, SECTOR)

    for count in range(1, len(sectors) + 1):
        for missing in combinations(sectors, count):
            content = left.content
            for position in missing:
                content = with_zeros(content, position, position + SECTOR)
            assert await found(content) == before
    assert await found(left.content) == after


async def test_what_was_left_of_an_unfinished_frame_is_overwritten_with_zeros() -> None:
    left = await write_history(new_disk(), tail=5)
    start, end = left.frames[-2][0], left.frames[-1][0]
    disk = await disk_with(with_zeros(left.content, start + SECTOR, start + 3 * SECTOR))

    await open_wal(disk)

    assert content_of(disk) == with_zeros(left.content, start, end)


async def test_a_file_that_grew_cut_at_any_byte_of_its_last_frame_is_without_it() -> None:
    left = await write_history(new_disk(), reserve_bytes=SECTOR, tail=3)
    (start, before), (end, after) = left.frames[-2:]

    for size in range(start, end):
        assert await found(left.content[:size]) == before, size
    assert await found(left.content) == after


async def test_a_file_shorter_than_it_was_made_refuses_to_start() -> None:
    left = await write_history(new_disk())

    for size in (*range(0, RESERVE, 100), RESERVE - 1):
        assert await is_refused(left.content[:size]), size


async def test_a_sector_missing_from_any_frame_but_the_last_refuses_to_start() -> None:
    left = await write_history(new_disk(), tail=3)
    last = left.frames[-2][0]

    for position in range(0, last, SECTOR):
        for end in range(position + SECTOR, last + SECTOR, SECTOR):
            assert await is_refused(with_zeros(left.content, position, end)), (position, end)


async def test_a_sector_missing_from_what_a_compaction_carried_over_refuses_to_start() -> None:
    left = await write_history(new_disk())
    carried_end = left.frames[0][0]

    for position in range(0, carried_end, SECTOR):
        for end in (position + SECTOR, RESERVE):
            assert await is_refused(with_zeros(left.content, position, end)), position


async def test_frames_that_changed_places_refuse_to_start() -> None:
    left = await write_history(new_disk(), tail=3)
    sectors = [left.content[at : at + SECTOR] for at in range(0, RESERVE, SECTOR)]
    used = left.frames[-1][0] // SECTOR

    for one, other in combinations(range(used), 2):
        swapped = sectors.copy()
        swapped[one], swapped[other] = sectors[other], sectors[one]
        assert await is_refused(b"".join(swapped)), (one, other)


async def test_garbage_behind_the_last_frame_refuses_to_start() -> None:
    left = await write_history(new_disk())
    end = left.frames[-1][0]
    garbage = garbage_bytes(2 * SECTOR)

    assert await is_refused(left.content[:end] + garbage + left.content[end + len(garbage) :])


def garbage_bytes(length: int) -> bytes:
    return bytes(1 + position * 37 % 255 for position in range(length))


async def test_a_whole_frame_of_what_nobody_wrote_refuses_to_start() -> None:
    left = await write_history(new_disk())
    end = left.frames[-1][0]
    nothing_known = encode_record(Record(99))
    skipped = encode_record(Record(4, 4, 9, b"\0"))  # an entry behind a gap
    for payload in (nothing_known, skipped, skipped[:-1], skipped[:5]):
        frame = encode_frame(5, payload)
        assert await is_refused(left.content[:end] + frame + left.content[end + SECTOR :])


async def test_a_file_of_zeros_or_of_another_kind_is_not_taken_for_a_new_one() -> None:
    for content in (b"", bytes(RESERVE), encode_frame(0, encode_record(Record(17, 1, 1)))):
        assert await is_refused(content)
