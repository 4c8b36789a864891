"""Clean markers vouch for one life: a start writes nothing to be rid of them (decision 0034)."""

from __future__ import annotations

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, contents

from tidelog.log.checkpoints import CLEAN_FILE
from tidelog.log.log_folder import ONLY_LIFE, Life
from tidelog.simulation.engine.disk import SimDisk

FIRST, SECOND, THIRD = Life(11, -1), Life(22, 11), Life(33, 22)
MARKER = f"{DIRECTORY}/{CLEAN_FILE}"


@pytest.fixture
async def closed(open_log: OpenLog) -> None:
    log = await open_log(life=FIRST)
    append(log, b"of the first life", epoch=1)
    await log.close()


@pytest.mark.usefixtures("closed")
async def test_a_marker_is_believed_in_the_next_life_and_in_no_other(open_log: OpenLog) -> None:
    assert not (await open_log(life=THIRD)).was_clean


@pytest.mark.usefixtures("closed")
async def test_a_start_after_a_clean_stop_writes_nothing(
    disk: SimDisk, open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse_sync(path: str) -> None:
        raise AssertionError(path)

    def refuse(path: str) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(disk, "sync_directory", refuse_sync)
    monkeypatch.setattr(disk, "remove", refuse)
    assert (await open_log(life=SECOND)).was_clean


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("life", [THIRD, SECOND.again()])
async def test_a_marker_vouches_for_nothing_that_was_written_after_it(
    open_log: OpenLog, disk: SimDisk, life: Life
) -> None:
    log = await open_log(life=SECOND)
    await log.truncate_to(0)
    append(log, b"OF THE FIRST LIFE", epoch=2)
    await log.flush()
    disk.crash()
    again = await open_log(life=life)
    assert (again.was_clean, again.damage) == (False, None)
    assert contents(again) == [(0, 2, b"OF THE FIRST LIFE")], "as long as what the marker saw"


@pytest.mark.usefixtures("closed")
async def test_a_log_that_is_closed_and_opened_in_one_life_is_clean(open_log: OpenLog) -> None:
    log = await open_log(life=SECOND)
    await log.close()
    assert (await open_log(life=SECOND.again())).was_clean


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("life", [THIRD, SECOND.again()])
@pytest.mark.parametrize("is_power_lost", [False, True])
async def test_a_close_in_the_midst_of_a_life_vouches_for_no_later_write(
    open_log: OpenLog, disk: SimDisk, life: Life, *, is_power_lost: bool
) -> None:
    await (await open_log(life=SECOND)).close()
    log = await open_log(life=SECOND.again())
    await log.truncate_to(0)
    append(log, b"OF THE FIRST LIFE", epoch=2)
    await log.flush()
    if is_power_lost:
        disk.crash()
    again = await open_log(life=life)
    assert (again.was_clean, again.damage) == (False, None)


async def test_where_nobody_counts_lives_the_marker_is_gone_for_good(
    disk: SimDisk, open_log: OpenLog
) -> None:
    await (await open_log()).close()
    await open_log(life=ONLY_LIFE)
    disk.crash()
    assert not disk.exists(MARKER)
