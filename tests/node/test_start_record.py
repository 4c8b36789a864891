"""Which starts may have lost something: a new boot without a clean stop (KIP-966)."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import DiskFullError
from tidelog.core.system import boot_id
from tidelog.log.checkpoints import NO_LIFE, CleanMarker
from tidelog.node import start_record
from tidelog.node.start_record import FILE_NAME, StartRecord
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED

_SEEDS = itertools.count()


@pytest.fixture
def disk() -> SimDisk:
    made = SimDisk(SeededRandom(1), sync_latency_s=0.0)
    made.make_directory("/data")
    return made


def record(disk: SimDisk, boot_id: str) -> StartRecord:
    """As a process of this boot finds it."""
    return StartRecord(disk, "/data", boot_id=boot_id, random=SeededRandom(next(_SEEDS)))


async def begin(disk: SimDisk, boot_id: str) -> StartRecord:
    """A life of which the controllers know what its start lost."""
    begun = record(disk, boot_id)
    await begun.note_start()
    await begun.note_reported()
    return begun


async def stopped(disk: SimDisk, boot_id: str) -> None:
    """A life that opened all logs and closed them."""
    begun = await begin(disk, boot_id)
    await begun.note_recovered()
    await begun.note_clean_stop()


async def test_a_new_folder_may_have_lost_everything(disk: SimDisk) -> None:
    assert (await record(disk, "a").note_start()).loss == EVERYTHING


async def test_a_killed_process_lost_nothing_while_its_machine_runs(disk: SimDisk) -> None:
    await begin(disk, "a")
    assert (await record(disk, "a").note_start()).loss == NOTHING


async def test_two_notes_at_a_time_are_both_kept(disk: SimDisk) -> None:
    one = record(disk, "a")
    await one.note_start()
    await asyncio.gather(one.note_recovered(), one.note_reported())
    found = await one.note_start()
    assert (found.loss, found.life.page_cache_survived) == (NOTHING, True)


async def test_a_machine_that_started_anew_may_have_lost_what_was_not_flushed(
    disk: SimDisk,
) -> None:
    await begin(disk, "a")
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == UNFLUSHED


async def test_a_clean_stop_lost_nothing_whatever_became_of_the_machine(disk: SimDisk) -> None:
    await stopped(disk, "a")
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == NOTHING
    disk.crash()
    assert (await record(disk, "c").note_start()).loss == UNFLUSHED, "it counts for one start"


async def test_a_stop_before_the_logs_were_opened_vouches_for_no_earlier_life(
    disk: SimDisk,
) -> None:
    """Cluster seed 5261: killed, started, stopped before it was registered; then the power went."""
    await begin(disk, "a")
    brief = await begin(disk, "a")
    await brief.note_clean_stop()
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == UNFLUSHED


async def test_a_brief_life_after_a_clean_one_leaves_it_clean(disk: SimDisk) -> None:
    await stopped(disk, "a")
    brief = await begin(disk, "a")
    await brief.note_clean_stop()
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == NOTHING


@pytest.mark.parametrize("is_clean", [True, False])
async def test_what_was_lost_is_told_by_a_later_start_if_this_one_ends_before(
    disk: SimDisk, *, is_clean: bool
) -> None:
    await begin(disk, "a")
    disk.crash()
    second = record(disk, "b")
    await second.note_start()
    if is_clean:
        await second.note_recovered()
        await second.note_clean_stop()
    assert (await record(disk, "b").note_start()).loss == UNFLUSHED
    await record(disk, "b").note_reported()
    assert (await record(disk, "b").note_start()).loss == NOTHING


async def test_a_new_folder_stays_new_until_the_controllers_know(disk: SimDisk) -> None:
    await record(disk, "a").note_start()
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == EVERYTHING, "not the lesser loss"


async def test_where_no_boot_id_is_known_any_start_may_follow_a_power_cut(disk: SimDisk) -> None:
    await begin(disk, "")
    assert (await record(disk, "").note_start()).loss == UNFLUSHED


async def test_every_write_is_there_once_all_logs_were_recovered_in_this_boot(
    disk: SimDisk,
) -> None:
    await begin(disk, "a")
    assert not (await record(disk, "a").note_start()).life.page_cache_survived, "not recovered"
    await record(disk, "a").note_recovered()
    assert (await record(disk, "a").note_start()).life.page_cache_survived
    assert (await record(disk, "a").note_start()).life.page_cache_survived, "it stays so"
    disk.crash()
    assert not (await record(disk, "b").note_start()).life.page_cache_survived
    assert not (await record(disk, "b").note_start()).life.page_cache_survived, "killed before"


async def test_a_full_disk_makes_no_start_a_loss(disk: SimDisk) -> None:
    """Cluster seeds 3480496982, 3480496984: what a killed process had was told to be lost."""
    await begin(disk, "a")
    disk.capacity_bytes = disk.used_bytes()
    full = record(disk, "a")
    assert (await full.note_start()).loss == NOTHING
    await full.note_recovered()
    assert (await record(disk, "a").note_start()).life.page_cache_survived
    disk.crash()
    assert (await record(disk, "b").note_start()).loss == UNFLUSHED
    await record(disk, "b").note_reported()
    assert (await record(disk, "b").note_start()).loss == NOTHING, "told once"


async def test_a_record_that_a_full_disk_does_not_take_is_no_reason_not_to_start(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stopped(disk, "a")

    async def is_full(*_: object) -> None:
        await asyncio.sleep(0)
        raise DiskFullError("full")

    with monkeypatch.context() as patch:
        patch.setattr(start_record, "write_slots", is_full)
        assert (await record(disk, "b").note_start()).loss == NOTHING
    assert not disk.exists(f"/data/{FILE_NAME}"), "or the clean stop would count once more"
    assert (await record(disk, "c").note_start()).loss == EVERYTHING


def test_this_machine_has_a_boot_id_that_stays() -> None:
    assert boot_id() == boot_id() != ""


async def test_each_life_has_a_number_of_its_own_that_outlives_the_power(disk: SimDisk) -> None:
    numbers: list[int] = []
    for boot in "aabc":
        life = (await record(disk, boot).note_start()).life
        assert life.number not in (NO_LIFE, *numbers)
        assert life.before == numbers[-1] if numbers else life.before not in (NO_LIFE, life.number)
        numbers.append(life.number)
        disk.crash()


@pytest.mark.parametrize("text", ["", "-4", "x", "9" * 5000])
async def test_a_life_that_cannot_be_read_is_that_of_no_marker(disk: SimDisk, text: str) -> None:
    disk.open(f"/data/{FILE_NAME}", create=True).write_at(0, f"boot.id=a\nlife={text}\n".encode())
    life = (await record(disk, "a").note_start()).life
    assert not life.believes(CleanMarker(7, {}))
