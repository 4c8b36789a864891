"""A control batch whose marker cannot be read: a log ends before it, or is damaged from it on."""

from __future__ import annotations

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, contents, segment_path

from tidelog.log.checkpoints import CLEAN_FILE
from tidelog.records.batch import CONTROL_FLAG, HEADER_BYTES, parse_header, seal
from tidelog.records.compression import Codec
from tidelog.simulation.engine.disk import SimDisk

MARKER_OFFSET = 2
UNKNOWN_CODEC = 7


def as_marker(records: bytes, *, codec: int) -> bytes:
    """The batch as a control batch of producer 7, its CRC right, at its place in the log."""
    header = parse_header(records)
    fields = header._replace(
        attributes=header.attributes | CONTROL_FLAG | codec, producer_id=7, producer_epoch=0
    )
    return seal(fields, records[HEADER_BYTES:])


async def written(disk: SimDisk, open_log: OpenLog, codec: int, *, is_closed: bool) -> int:
    """Records a, b, the marker and c; the size of what is readable."""
    log = await open_log()
    append(log, b"a")
    append(log, b"b")
    size = log.size_in_bytes
    build = Codec.ZSTD if codec == Codec.ZSTD else Codec.NONE
    append(log, b"no marker", key=b"?", codec=build)
    file = disk.open(segment_path(DIRECTORY, 0))
    marker = as_marker(file.read_at(size, log.size_in_bytes - size), codec=codec)
    append(log, b"c")
    if is_closed:
        await log.close()
    disk.open(segment_path(DIRECTORY, 0)).write_at(size, marker)
    return size


def forget(disk: SimDisk, *kinds: str) -> None:
    for name in disk.list(DIRECTORY):
        if name.endswith(kinds):
            disk.remove(f"{DIRECTORY}/{name}")


CODECS = (Codec.NONE, Codec.ZSTD, UNKNOWN_CODEC)


@pytest.mark.parametrize("codec", CODECS)
async def test_a_log_ends_before_a_marker_that_cannot_be_read(
    disk: SimDisk, open_log: OpenLog, codec: int
) -> None:
    size = await written(disk, open_log, codec, is_closed=False)
    again = await open_log()
    assert contents(again) == [(0, 0, b"a"), (1, 0, b"b")]
    assert again.log_end_offset == MARKER_OFFSET
    assert disk.open(segment_path(DIRECTORY, 0)).size() == size


@pytest.mark.parametrize("is_clean", [False, True])
@pytest.mark.parametrize("codec", CODECS)
async def test_below_the_recovery_point_the_log_is_damaged_from_it_on(
    disk: SimDisk, open_log: OpenLog, codec: int, *, is_clean: bool
) -> None:
    await written(disk, open_log, codec, is_closed=True)
    forget(disk, ".snapshot", *([] if is_clean else [CLEAN_FILE]))
    again = await open_log()
    assert again.damage is not None
    assert again.damage.first_bad_offset == MARKER_OFFSET
