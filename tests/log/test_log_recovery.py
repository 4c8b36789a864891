"""What a start makes of torn, flipped, missing and empty files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.log.partition_logs import (
    DIRECTORY,
    TOPIC_ID,
    OpenLog,
    append,
    base_offsets,
    batch,
    contents,
    segment_path,
    values,
)

from tidelog.core.env import write_atomically
from tidelog.core.errors import DamagedLogError, KafkaError
from tidelog.log.checkpoints import (
    Checkpoint,
    CleanMarker,
    IndexSeal,
    decode_checkpoint,
    decode_clean_marker,
    decode_partition,
    decode_topic_id,
    encode_checkpoint,
    encode_clean_marker,
    encode_partition_metadata,
    encode_topic_id,
)
from tidelog.log.epochs import EpochEntry
from tidelog.log.partition_log import PartitionLog
from tidelog.log.transactions import EndedTransaction
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import PowerCutError
from tidelog.v1 import common_pb2

COUNT = 12
LAST = [b"last", b"batch"]


async def filled(open_log: OpenLog, **config: int) -> PartitionLog:
    """Twelve batches of one record in three epochs, then one of two."""
    log = await open_log(**config)
    for place in range(COUNT):
        append(log, b"%d" % place, epoch=place // 4)
    append(log, *LAST, epoch=3)
    return log


def change(disk: SimDisk, path: str, *, offset: int, data: bytes) -> None:
    disk.open(path).write_at(offset, data)


def cut(disk: SimDisk, path: str, size: int) -> None:
    disk.open(path).truncate(size)


@pytest.mark.parametrize("lost", range(1, len(batch(*LAST)) + 1))
async def test_a_tail_torn_at_any_byte_costs_the_torn_batch_and_no_other(
    disk: SimDisk, open_log: OpenLog, lost: int
) -> None:
    log = await filled(open_log)
    before = contents(log)
    cut(disk, segment_path(DIRECTORY, 0), log.size_in_bytes - lost)
    again = await open_log()
    assert contents(again) == before[:COUNT]
    assert again.size_in_bytes == disk.open(segment_path(DIRECTORY, 0)).size()
    assert again.epoch_end_offset(9) == (2, COUNT)
    append(again, b"next", epoch=4)
    assert contents(again) == [*before[:COUNT], (COUNT, 4, b"next")]


@pytest.mark.parametrize("byte", range(len(batch(*LAST))))
async def test_a_flipped_bit_in_the_last_batch_is_never_served(
    disk: SimDisk, open_log: OpenLog, byte: int
) -> None:
    log = await filled(open_log)
    before = contents(log)
    path = segment_path(DIRECTORY, 0)
    at = log.size_in_bytes - len(batch(*LAST)) + byte
    flipped = disk.open(path).read_at(at, 1)[0] ^ 0x04
    change(disk, path, offset=at, data=bytes([flipped]))
    again = await open_log()
    if 12 <= byte < 16:  # the epoch lies outside the CRC: a greater one cannot be told
        assert values(again) == [value for _, _, value in before]
    else:
        assert contents(again) == before[:COUNT]


async def test_a_start_that_cuts_more_than_an_unfinished_write_says_so_until_it_was_told(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    path, size = segment_path(DIRECTORY, 0), log.size_in_bytes
    cut(disk, path, size - 1)
    again = await open_log()
    assert not again.folder.may_have_lost
    middle = disk.open(path).read_at(size // 2, 1)
    change(disk, path, offset=size // 2, data=bytes([middle[0] ^ 1]))
    assert (await open_log()).folder.may_have_lost
    again = await open_log()
    assert again.folder.may_have_lost, "nothing is wrong with it any more, and nobody knows"
    again.folder.note_loss()  # a sync fails while the first loss is told
    again.folder.forget_loss()
    again = await open_log()
    assert again.folder.may_have_lost, "the second one is for this start to tell"
    again.folder.forget_loss()
    assert not (await open_log()).folder.may_have_lost


async def test_no_power_cut_makes_a_cut_log_forget_that_it_was_cut(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    await log.flush()
    path = segment_path(DIRECTORY, 0)
    disk.flip(path, log.size_in_bytes // 2, 1)
    for operation in range(1, 40):
        disk.faults.crash_at(operation)
        with suppress(PowerCutError):
            await open_log()
        is_cut = disk.faults.is_cut_due
        disk.crash()
        disk.faults.heal()
        again = await open_log()
        assert again.folder.may_have_lost, operation
        if is_cut:
            return
    raise AssertionError("an open takes more operations than that")


async def test_zeros_behind_the_last_batch_are_cut(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log)
    before, size = contents(log), log.size_in_bytes
    cut(disk, segment_path(DIRECTORY, 0), size + 5000)
    again = await open_log()
    assert contents(again) == before
    assert disk.open(segment_path(DIRECTORY, 0)).size() == size


async def test_an_old_epoch_behind_a_newer_one_is_cut(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log)
    stale = batch(b"stale", base_offset=log.log_end_offset, epoch=1)
    change(disk, segment_path(DIRECTORY, 0), offset=log.size_in_bytes, data=stale)
    assert b"stale" not in values(await open_log())


async def test_a_batch_larger_than_a_chunk_is_recovered(open_log: OpenLog) -> None:
    log = await open_log(max_message_bytes=4 << 20)
    append(log, bytes(3 << 20))
    append(log, b"small")
    assert [len(value or b"") for value in values(await open_log())] == [3 << 20, 5]


async def test_what_lies_behind_a_torn_segment_is_removed(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    bases = base_offsets(disk, DIRECTORY)
    assert len(bases) > 4
    cut(disk, segment_path(DIRECTORY, bases[2]), 100)
    again = await open_log(segment_bytes=200)
    assert contents(again) == before[: again.log_end_offset]
    assert bases[2] <= again.log_end_offset < bases[3]
    assert base_offsets(disk, DIRECTORY) == bases[:3]


async def test_a_hole_above_the_recovery_point_ends_the_log(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    bases = base_offsets(disk, DIRECTORY)
    disk.remove(segment_path(DIRECTORY, bases[2]))
    again = await open_log(segment_bytes=200)
    assert contents(again) == before[: bases[2]]


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("lost", ["segment", "tail", "last segment", "first segment", "all"])
async def test_what_is_missing_below_the_recovery_point_is_damage_from_there_on(
    disk: SimDisk, open_log: OpenLog, is_clean: bool, lost: str
) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    await log.flush()
    await (log.close() if is_clean else log.checkpoint())
    bases = base_offsets(disk, DIRECTORY)
    gone = {
        "segment": bases[2:3],
        "tail": [],
        "last segment": bases[-1:],
        "first segment": bases[:1],
        "all": bases,
    }[lost]
    for base in gone:
        disk.remove(segment_path(DIRECTORY, base))
    if lost == "tail":
        cut(disk, segment_path(DIRECTORY, bases[2]), 100)
    again = await open_log(segment_bytes=200)
    first_bad = {"segment": bases[2], "tail": bases[2] + 1, "last segment": bases[-1]}.get(lost, 0)
    assert again.damage is not None
    assert again.damage.first_bad_offset == first_bad
    with pytest.raises(DamagedLogError) as caught:
        again.read(0, max_bytes=1, upper_bound=1)
    assert caught.value.first_bad_offset == first_bad
    with pytest.raises(DamagedLogError):
        append(again, b"x", epoch=9)
    await again.truncate_to(first_bad)
    assert contents(again) == before[:first_bad]
    append(again, b"x", epoch=9)
    await again.close()
    healed = await open_log(segment_bytes=200)
    assert (healed.damage, healed.was_clean) == (None, True)
    assert contents(healed) == [*before[:first_bad], (first_bad, 9, b"x")]


async def test_a_clean_start_scans_nothing_and_forgets_the_marker(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    before = contents(log)
    log.assign_epoch(epoch=8, start_offset=log.log_end_offset)
    log.set_high_watermark(5)
    await log.close()
    assert disk.exists(f"{DIRECTORY}/.clean")
    with capture_logs() as logs:
        again = await open_log()
    assert (logs[0]["event"], logs[0]["is_clean"]) == ("log opened", True)
    assert logs[0]["scanned_bytes"] == 0
    assert (contents(again), again.latest_epoch, again.high_watermark) == (before, 8, 5)
    assert not disk.exists(f"{DIRECTORY}/.clean")
    with capture_logs() as logs:
        await open_log()
    assert not logs[0]["is_clean"]
    assert logs[0]["scanned_bytes"] == log.size_in_bytes


async def test_a_file_that_is_not_as_the_clean_marker_says_is_damage(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    before = contents(log)
    await log.close()
    cut(disk, segment_path(DIRECTORY, 0), log.size_in_bytes - 1)
    with capture_logs() as logs:
        again = await open_log()
    assert logs[0]["log_level"] == "error"  # flushed data is gone
    assert again.damage is not None
    assert again.damage.first_bad_offset == COUNT
    await again.truncate_to(COUNT)
    assert contents(again) == before[:COUNT]


async def test_what_replaces_lost_records_does_not_pass_for_flushed(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log, segment_bytes=200)
    await log.flush()
    await log.checkpoint()
    for base in base_offsets(disk, DIRECTORY)[1:]:
        disk.remove(segment_path(DIRECTORY, base))
    log = await open_log(segment_bytes=200)
    assert log.damage is not None
    await log.truncate_to(log.damage.first_bad_offset)
    kept = contents(log)
    for _ in range(COUNT):
        append(log, b"replacement", epoch=7)
    torn = base_offsets(disk, DIRECTORY)[2]
    change(disk, segment_path(DIRECTORY, torn), offset=65, data=b"????")
    found = contents(await open_log(segment_bytes=200))
    assert len(found) == torn
    assert found[: len(kept)] == kept


async def test_only_what_the_checkpoint_does_not_cover_is_scanned(open_log: OpenLog) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    await log.checkpoint()
    with capture_logs() as logs:
        again = await open_log(segment_bytes=200)
    assert 0 < logs[0]["scanned_bytes"] <= 200
    assert contents(again) == before
    assert [again.epoch_end_offset(epoch) for epoch in range(4)] == [
        (0, 4),
        (1, 8),
        (2, 12),
        (3, 14),
    ]


@pytest.mark.parametrize("name", ["checkpoint", ".clean"])
@pytest.mark.parametrize("content", [b"", b"0", b"\xff\xfe", bytes(100), b"0\n7\n7\n0\n00000000\n"])
async def test_an_empty_or_torn_checkpoint_never_stops_a_start(
    disk: SimDisk, open_log: OpenLog, name: str, content: bytes
) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    await log.close()
    cut(disk, f"{DIRECTORY}/{name}", 0)
    change(disk, f"{DIRECTORY}/{name}", offset=0, data=content)
    again = await open_log(segment_bytes=200)
    assert contents(again) == before
    assert [again.epoch_end_offset(epoch) for epoch in range(4)] == [
        (0, 4),
        (1, 8),
        (2, 12),
        (3, 14),
    ]


async def test_missing_and_foreign_files_are_no_obstacle(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, segment_bytes=200)
    before = contents(log)
    await log.close()
    for name in disk.list(DIRECTORY):
        if not name.endswith(".log") and name != "partition.metadata":
            disk.remove(f"{DIRECTORY}/{name}")
    disk.open(f"{DIRECTORY}/notes.log", create=True)
    assert contents(await open_log(segment_bytes=200)) == before


@pytest.mark.parametrize("is_gone", [True, False])
async def test_the_checkpoint_knows_the_owner_when_partition_metadata_does_not(
    disk: SimDisk, open_log: OpenLog, is_gone: bool
) -> None:
    log = await filled(open_log)
    before = contents(log)
    await log.close()
    path = f"{DIRECTORY}/partition.metadata"
    disk.remove(path) if is_gone else cut(disk, path, 10)
    with pytest.raises(KafkaError) as caught:
        await open_log(topic_id=bytes(16))
    assert caught.value.code == common_pb2.INCONSISTENT_TOPIC_ID
    assert contents(await open_log()) == before
    assert decode_topic_id(disk.open(path).read_at(0, 100)) == TOPIC_ID


async def test_a_log_whose_owner_nobody_knows_is_not_served_until_it_begins_anew(
    disk: SimDisk, open_log: OpenLog
) -> None:
    await filled(open_log)
    disk.remove(f"{DIRECTORY}/partition.metadata")
    log = await open_log()
    assert log.damage is not None
    assert (log.damage.first_bad_offset, log.log_start_offset) == (0, 0)
    with pytest.raises(DamagedLogError, match="owns this log"):
        log.read(0, max_bytes=1, upper_bound=1)
    await log.restart_at(7)
    append(log, b"new")
    await log.close()
    assert contents(await open_log()) == [(7, 0, b"new")]


async def test_the_log_of_another_partition_is_not_served_and_begins_anew_at_0(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    await log.restart_at(70)
    append(log, b"another's")
    await log.close()
    disk.rename(DIRECTORY, "/data/flights-1")
    moved = await open_log(directory="/data/flights-1")
    assert moved.damage is not None
    assert moved.damage.first_bad_offset == moved.log_start_offset == 0
    assert "partition 0, not 1" in moved.damage.reason
    with pytest.raises(DamagedLogError):
        moved.read(70, max_bytes=1, upper_bound=71)
    await moved.close()
    disk.rename("/data/flights-1", DIRECTORY)
    assert contents(await open_log()) == [(70, 0, b"another's")], "moved back it is as it was"
    disk.rename(DIRECTORY, "/data/flights-1")
    moved = await open_log(directory="/data/flights-1")
    await moved.truncate_to(0)
    assert (moved.damage, moved.log_end_offset) == (None, 0)
    append(moved, b"own")
    await moved.close()
    assert contents(await open_log(directory="/data/flights-1")) == [(0, 0, b"own")]


async def test_a_folder_that_names_no_partition_is_taken_for_its_names(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log)
    before = contents(log)
    await log.close()
    path = f"{DIRECTORY}/partition.metadata"
    await write_atomically(disk, path, encode_topic_id(TOPIC_ID))
    assert contents(await open_log()) == before
    assert decode_partition(disk.open(path).read_at(0, 100)) == 0


def test_small_files_read_as_written_and_no_cut_one_reads_at_all() -> None:
    plain = Checkpoint(TOPIC_ID, 70, 65, 7, 9, (EpochEntry(0, 0), EpochEntry(3, 41)))
    ended, aborted = (EndedTransaction(7, 40, 66),), (IndexSeal(0, 68, 5), IndexSeal(41, 34, 6))
    for checkpoint in (
        plain,
        replace(plain, ended=ended),
        replace(plain, aborted=aborted),
        replace(plain, ended=ended, aborted=aborted),
    ):
        data = encode_checkpoint(checkpoint)
        assert decode_checkpoint(data) == checkpoint
        assert all(decode_checkpoint(data[:size]) is None for size in range(len(data)))
    marker = CleanMarker(80, {"a.log": 12345, "a.index": 0})
    data = encode_clean_marker(marker)
    assert decode_clean_marker(data) == marker
    assert all(decode_clean_marker(data[:size]) is None for size in range(len(data)))
    assert decode_checkpoint(data) is None


def test_partition_metadata_names_the_partition_whole_or_not_at_all() -> None:
    data = encode_partition_metadata(TOPIC_ID, 12)
    assert data.startswith(encode_topic_id(TOPIC_ID) + b"\n"), "which is all that Kafka reads"
    assert (decode_topic_id(data), decode_partition(data)) == (TOPIC_ID, 12)
    assert decode_partition(encode_topic_id(TOPIC_ID)) is None
    for at in range(len(data)):
        assert decode_partition(data[:at]) is None
        assert decode_partition(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]) is None


def test_partition_metadata_has_kafkas_form() -> None:
    data = encode_topic_id(TOPIC_ID)
    assert data == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert decode_topic_id(data) == TOPIC_ID
    assert all(decode_topic_id(data[:size]) != TOPIC_ID for size in range(len(data)))
