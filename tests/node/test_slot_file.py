"""A small file of two slots: changed in place, whole after any crash, on a full disk, too."""

from __future__ import annotations

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import DiskFullError
from tidelog.node.slot_file import SLOT_BYTES, read_slots, write_slots
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import PowerCutError

pytestmark = pytest.mark.asyncio

PATH = "/data/x.properties"
OPERATIONS_MAX = 20


async def a_disk(*texts: str, seed: int = 1) -> SimDisk:
    disk = SimDisk(SeededRandom(seed), sync_latency_s=0.0)
    disk.make_directory("/data")
    await disk.sync_directory("/data")
    await disk.sync_directory("/")
    for text in texts:
        await write_slots(disk, PATH, text)
    return disk


async def test_the_newest_text_is_read() -> None:
    disk = await a_disk()
    assert read_slots(disk, PATH) is None
    for number in range(5):
        await write_slots(disk, PATH, f"a={number}\n")
        assert read_slots(disk, PATH) == f"a={number}\n"
    assert disk.size(PATH) == 2 * SLOT_BYTES


@pytest.mark.parametrize("earlier", [[], ["a=1\n"], ["a=1\n", "a=2\n"]])
async def test_a_crash_at_any_operation_leaves_the_old_text_or_the_new(earlier: list[str]) -> None:
    left = set()
    for operation in range(1, OPERATIONS_MAX):
        for seed in range(10):
            disk = await a_disk(*earlier, seed=seed)
            disk.faults.crash_at(operation)
            try:
                await write_slots(disk, PATH, "a=9\n")
                assert operation > 1
            except PowerCutError:
                pass
            disk.crash()
            left.add(read_slots(disk, PATH))
    assert left == {earlier[-1] if earlier else None, "a=9\n"}


async def test_a_write_that_was_never_synced_and_a_torn_one_leave_the_text_of_before() -> None:
    """A process was killed before it synced; then the power goes amidst the next one's write."""
    left = set()
    for seed in range(100):
        disk = await a_disk("a=1\n", "a=2\n", seed=seed)
        disk.faults.end_at(2)
        with pytest.raises(PowerCutError):
            await write_slots(disk, PATH, "a=3\n")
        disk.faults.heal()
        assert read_slots(disk, PATH) == "a=3\n", "the page cache outlives the process"
        disk.faults.crash_at(2)
        with pytest.raises(PowerCutError):
            await write_slots(disk, PATH, "a=4\n")
        disk.crash()
        left.add(read_slots(disk, PATH))
    assert left == {"a=3\n", "a=4\n"}


async def test_a_full_disk_takes_a_change_and_no_new_file() -> None:
    disk = await a_disk("a=1\n")
    disk.capacity_bytes = disk.used_bytes()
    await write_slots(disk, PATH, "a=2\n")
    assert read_slots(disk, PATH) == "a=2\n"
    with pytest.raises(DiskFullError):
        await write_slots(disk, "/data/y.properties", "a=1\n")


async def test_a_damaged_slot_is_none() -> None:
    disk = await a_disk("a=1\n", "a=2\n")
    disk.flip(PATH, SLOT_BYTES + 2, 0)
    assert read_slots(disk, PATH) == "a=1\n"
    disk.flip(PATH, 2, 0)
    assert read_slots(disk, PATH) is None
    await write_slots(disk, PATH, "a=3\n")
    assert read_slots(disk, PATH) == "a=3\n"


async def test_a_text_of_an_earlier_version_is_read_and_becomes_slots() -> None:
    disk = await a_disk()
    disk.open(PATH, create=True).write_at(0, b"boot.id=x\nclean=true\n")
    assert read_slots(disk, PATH) == "boot.id=x\nclean=true\n"
    await write_slots(disk, PATH, "boot.id=y\n")
    assert read_slots(disk, PATH) == "boot.id=y\n"
    assert disk.size(PATH) == 2 * SLOT_BYTES


async def test_a_text_too_long_for_a_slot_changes_nothing() -> None:
    disk = await a_disk("a=1\n")
    with pytest.raises(ValueError, match="slot"):
        await write_slots(disk, PATH, "a" * SLOT_BYTES)
    assert read_slots(disk, PATH) == "a=1\n"
