"""Scrubbing: what lies on the disk and nobody reads is looked at, too."""

from __future__ import annotations

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, commit, segment_path

from tidelog.core.errors import DamagedLogError
from tidelog.log.partition_log import PartitionLog
from tidelog.records.compression import Codec
from tidelog.simulation.engine.disk import SimDisk

CHUNK_BYTES = 150


async def filled(open_log: OpenLog) -> PartitionLog:
    """Twelve flushed batches in three segments."""
    log = await open_log(segment_bytes=400)
    for place in range(12):
        append(log, bytes(place), b"b", epoch=place // 5, codec=Codec(place % 2))
    await log.flush()
    assert len(log.segments) == 3
    return log


async def round_of(log: PartitionLog) -> int:
    """Bytes checked until it begins again."""
    total = 0
    while checked := await log.scrub(max_bytes=CHUNK_BYTES):
        total += checked
    return total


async def test_it_goes_round_and_round(open_log: OpenLog) -> None:
    log = await filled(open_log)
    for _ in range(3):
        assert await round_of(log) == log.size_in_bytes
    assert log.damage is None


async def test_every_changed_byte_is_found(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log)
    for segment in log.segments:
        for position, header in list(segment.headers()):
            for byte in range(position, position + header.size_in_bytes):
                disk.flip(segment.file.path, byte, byte % 8)
                await round_of(log)
                assert log.damage is not None, byte
                assert log.damage.first_bad_offset == header.base_offset
                assert await log.scrub(max_bytes=CHUNK_BYTES) == 0
                disk.flip(segment.file.path, byte, byte % 8)
                log.damage = None
    await round_of(log)
    assert await round_of(log) == log.size_in_bytes


async def test_a_file_that_became_shorter_is_found(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log)
    disk.open(segment_path(DIRECTORY, 0)).truncate(300)
    await round_of(log)
    assert log.damage is not None
    with pytest.raises(DamagedLogError):
        append(log, b"x", epoch=9)


async def test_what_was_not_flushed_is_checked_too(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log()
    for _ in range(5):
        append(log, b"b", epoch=9)
    assert log.recovery_point == 0
    assert await round_of(log) == log.size_in_bytes
    disk.flip(segment_path(DIRECTORY, 0), log.size_in_bytes - 1, 3)
    await round_of(log)
    assert log.damage is not None
    assert log.damage.first_bad_offset == 4


async def test_it_goes_on_when_the_ends_of_the_log_move(open_log: OpenLog) -> None:
    log = await filled(open_log)
    commit(log)
    assert await log.scrub(max_bytes=CHUNK_BYTES) > 0
    await log.delete_records(log.segments[2].base_offset)
    assert await round_of(log) == log.size_in_bytes
    await log.truncate_to(log.segments[0].base_offset + 2)
    assert await round_of(log) == log.size_in_bytes
    await log.restart_at(3)
    assert await round_of(log) == 0
    append(log, b"a")
    await log.flush()
    assert await round_of(log) == log.size_in_bytes > 0


async def test_a_closed_log_is_not_scrubbed(open_log: OpenLog) -> None:
    log = await filled(open_log)
    await log.close()
    assert await log.scrub(max_bytes=CHUNK_BYTES) == 0
