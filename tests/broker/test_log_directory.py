"""Folders of replicas: no name leaves the data folder, and only what says whose it is is owned."""

from __future__ import annotations

import pytest

from tidelog.broker.partition.log_directory import SPACE_BYTES_MIN, LogDirectory
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.log.config import LogConfig
from tidelog.log.log_folder import Life
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.disk import SimDisk

TOPIC_ID = bytes(range(16))
BAD_NAMES = ["", ".", "..", "../evil", "a/b", "/etc", "a\0b", "ä", "a b", "a" * 250, "a\n"]


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(SeededRandom(1), sync_latency_s=0)


@pytest.fixture
def folders(disk: SimDisk) -> LogDirectory:
    return LogDirectory(log_dir="/data", disk=disk, clock=SimClock(lambda: 0.0))


async def open_log(folders: LogDirectory, topic: str, partition: int = 0) -> None:
    log = await folders.open_log(topic, partition, topic_id=TOPIC_ID, config=LogConfig())
    await log.close()


@pytest.mark.parametrize("topic", BAD_NAMES)
async def test_a_name_that_is_no_topics_makes_no_path(
    disk: SimDisk, folders: LogDirectory, topic: str
) -> None:
    operations = disk.operations
    with pytest.raises(StorageError, match="not a valid folder name"):
        await open_log(folders, topic)
    with pytest.raises(StorageError, match="not a valid folder name"):
        await folders.remove(topic, 0, tag="x")
    assert disk.operations == operations


async def test_a_negative_partition_makes_no_path(folders: LogDirectory) -> None:
    with pytest.raises(StorageError, match="not a valid folder name"):
        await open_log(folders, "t", -1)


@pytest.mark.parametrize("topic", ["a" * 249, "a.b_c-1", "...", "-"])
async def test_every_topic_has_a_folder_that_can_be_removed(
    disk: SimDisk, folders: LogDirectory, topic: str
) -> None:
    await open_log(folders, topic, 12345)
    assert list(folders.list_owned()) == [(topic, 12345, TOPIC_ID)]
    await folders.remove(topic, 12345, tag=f"before-{TOPIC_ID.hex()}")
    assert disk.list("/data") == []


async def test_only_a_replicas_folder_that_says_whose_it_is_is_owned(
    disk: SimDisk, folders: LogDirectory
) -> None:
    for partition in (0, 1):
        await open_log(folders, "t", partition)
    for name in ("partition.metadata", "checkpoint"):
        disk.flip(f"/data/t-1/{name}", 0, 1)
    for name in ("__cluster_metadata-0", "t-2", "t-x", "t", "-1", "t-0.0000-delete"):
        disk.make_directory(f"/data/{name}")
    await open_log(folders, "t", 3)
    for name in ("t-03", "t-3.0000-delete"):
        disk.make_directory(f"/data/{name}")
        copy = disk.open(f"/data/{name}/partition.metadata", create=True)
        copy.write_at(0, disk.open("/data/t-3/partition.metadata").read_at(0, 999))
    assert list(folders.list_owned()) == [("t", 0, TOPIC_ID), ("t", 3, TOPIC_ID)]


@pytest.mark.parametrize("at", [0, 30])
async def test_a_flipped_bit_in_the_bare_file_makes_a_folder_no_other_topics(
    disk: SimDisk, folders: LogDirectory, at: int
) -> None:
    """The broker would remove it, or put it aside."""
    await open_log(folders, "t")
    disk.flip("/data/t-0/partition.metadata", at, 1)
    assert list(folders.list_owned()) == [("t", 0, TOPIC_ID)]
    log = await folders.open_log("t", 0, topic_id=TOPIC_ID, config=LogConfig())
    assert log.was_clean
    assert disk.list("/data") == ["t-0"]


async def test_a_folder_that_cannot_be_read_is_owned_by_nobody(
    disk: SimDisk, folders: LogDirectory
) -> None:
    await open_log(folders, "t")
    disk.faults.fail("read", "/data/t-0/partition.metadata")
    assert list(folders.list_owned()) == []


async def test_a_leftover_that_cannot_be_removed_holds_up_no_other(
    disk: SimDisk, folders: LogDirectory
) -> None:
    for name in ("a-0.x-delete", "b-0.x-delete"):
        disk.make_directory(f"/data/{name}")
        disk.open(f"/data/{name}/00000000000000000000.log", create=True)
    disk.faults.fail("remove", "/data/a-0.x-delete/00000000000000000000.log")
    await folders.remove_leftovers()
    assert disk.list("/data") == ["a-0.x-delete"]


async def test_space_is_tried_and_nothing_of_the_trial_stays(
    disk: SimDisk, folders: LogDirectory
) -> None:
    disk.make_directory("/data")
    assert folders.has_space()
    disk.capacity_bytes = disk.used_bytes() + SPACE_BYTES_MIN - 1
    assert not folders.has_space()
    assert disk.list("/data") == []
    disk.open("/data/.space", create=True)  # of a process that was killed in the middle
    await folders.remove_leftovers()
    assert disk.list("/data") == []


async def test_what_an_earlier_topic_of_the_name_left_goes_before_the_new_log_opens(
    disk: SimDisk, folders: LogDirectory
) -> None:
    await open_log(folders, "t")
    disk.open("/data/t-0/00000000000000000009.log", create=True)
    log = await folders.open_log("t", 0, topic_id=bytes(16), config=LogConfig())
    assert (log.log_end_offset, log.damage) == (0, None)
    assert disk.list("/data") == ["t-0"]
    assert "00000000000000000009.log" not in disk.list("/data/t-0")


async def test_a_log_that_is_opened_twice_in_one_life_believes_only_its_own_last_close(
    disk: SimDisk,
) -> None:
    first, second = (
        LogDirectory(log_dir="/data", disk=disk, clock=SimClock(lambda: 0.0)) for _ in range(2)
    )
    first.life, second.life = Life(11, -1), Life(22, 11)
    await open_log(first, "t")
    reopened = [
        await second.open_log("t", 0, topic_id=TOPIC_ID, config=LogConfig()) for _ in range(2)
    ]
    assert [log.was_clean for log in reopened] == [True, False]
