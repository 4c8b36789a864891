"""A changed byte stops no start, and whoever comes upon it takes the log out of use."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from tests.log.cleaned_logs import but, marker, transactional
from tests.log.partition_logs import (
    DIRECTORY,
    END,
    NOW_MS,
    OpenLog,
    Producer,
    append,
    base_offsets,
    batches,
    commit,
    segment_path,
    served,
)

from tidelog.core.errors import DamagedLogError
from tidelog.log.file_names import INDEX, SNAPSHOT, TIME_INDEX
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import HEADER_BYTES
from tidelog.records.records import Record
from tidelog.simulation.engine.disk import SimDisk

CONFIG: dict[str, Any] = {"segment_bytes": 500, "index_interval_bytes": 150, "retention_ms": 1000}
BYTES = [0, 7, 8, 10, 11, 13, 16, 17, 21, 22, 23, 26, 43, 53, 57, HEADER_BYTES, HEADER_BYTES + 4]
"""Of a batch: of each field but two of which only the CRC tells."""
EPOCH_BYTE = 13


def close(log: PartitionLog) -> Awaitable[None]:
    return log.close()


Work = Callable[[PartitionLog], Any]
WORK: list[Work] = [
    lambda log: list(batches(log)),
    lambda log: log.offset_for_time(NOW_MS + 2, upper_bound=END),
    lambda log: log.offset_of_max_timestamp(upper_bound=END),
    lambda log: append(log, b"new", epoch=5, times=[NOW_MS]),
    lambda log: log.apply_retention(),
    lambda log: log.delete_records(5),
    lambda log: log.scrub(max_bytes=1 << 20),
    lambda log: log.truncate_to(13),
    lambda log: log.truncate_to(5),
    lambda log: log.flush(),
    close,
]


async def filled(open_log: OpenLog, *, is_closed: bool) -> PartitionLog:
    """Flushed: batches of an idempotent producer, some of transactions, in three segments."""
    log = await open_log(**CONFIG)
    for place in range(9):
        if place == 4:
            for sent in (
                transactional((b"k", b"v"), at=8, producer_id=9),
                marker(at=9, is_commit=True, producer_id=9),
                transactional((b"k", b"v"), at=10, producer_id=9),
            ):
                log.append_as_follower(but(sent, partition_leader_epoch=1))
        times = [NOW_MS, NOW_MS + place]
        append(log, b"a", b"b", epoch=place // 3, producer=Producer(7, 0, 2 * place), times=times)
    commit(log)
    if is_closed:
        await log.close()
    else:
        await log.flush()
        await log.checkpoint()
    return log


def changed_disks(disk: SimDisk, *, places: Sequence[int]) -> Iterator[SimDisk]:
    """Copies of the disk, with a bit changed in one of these bytes of one batch."""
    for base_offset in base_offsets(disk, DIRECTORY):
        path = segment_path(DIRECTORY, base_offset)
        position = 0
        while position < disk.size(path):
            for byte in places:
                copied = deepcopy(disk)
                copied.flip(path, position + byte, byte % 8)
                yield copied
            length = disk.open(path).read_at(position + 8, 4)
            position += 12 + int.from_bytes(length, "big")


async def does(work: Work, log: PartitionLog) -> bool:
    """Whether it meets no damage; what it meets is noted."""
    try:
        result = work(log)
        if inspect.isawaitable(result):
            await result
    except DamagedLogError:
        assert log.damage is not None
        return False
    return True


async def healed(log: PartitionLog) -> list[Record]:
    """What is left after cuts to the damage."""
    while log.damage is not None:
        end = log.damage.first_bad_offset
        try:
            await log.truncate_to(end)
        except DamagedLogError:
            assert log.damage.first_bad_offset < end
    return served(log)


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("missing", [None, SNAPSHOT, INDEX, TIME_INDEX, "checkpoint"])
async def test_a_changed_byte_stops_no_start_and_is_noted_by_whoever_finds_it(
    disk: SimDisk, open_log: OpenLog, is_closed: bool, missing: str | None
) -> None:
    log = await filled(open_log, is_closed=is_closed)
    before = served(await open_log(on=deepcopy(disk), **CONFIG))
    for name in disk.list(DIRECTORY):
        if missing and name.endswith(missing):
            disk.remove(f"{DIRECTORY}/{name}")
    places = [at for at in BYTES if missing != "checkpoint" or at != EPOCH_BYTE]
    for number, changed in enumerate(changed_disks(disk, places=places)):
        log = await open_log(on=changed, **CONFIG)
        work = WORK[number % len(WORK)]
        if not await does(work, log) and work is not close:
            found = await healed(log)
            assert found == before[log.log_start_offset :][: len(found)]


async def test_a_start_that_finds_damage_removes_no_batch(disk: SimDisk, open_log: OpenLog) -> None:
    """They may be the last ones anywhere."""
    await filled(open_log, is_closed=True)
    first, *others = base_offsets(disk, DIRECTORY)
    disk.open(segment_path(DIRECTORY, first)).truncate(400)
    sizes = [disk.size(segment_path(DIRECTORY, base)) for base in (first, *others)]
    assert (await open_log(**CONFIG)).damage is not None
    assert [disk.size(segment_path(DIRECTORY, base)) for base in (first, *others)] == sizes
