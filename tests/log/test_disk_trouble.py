"""A disk that is full or fails: definite errors, nothing half appended, no sync tried twice."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, contents, segment_path

from tidelog.core.errors import StorageError
from tidelog.simulation.engine.disk import SimDisk

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = ("-m", "tests.log.full_disk")
TMPFS_MOUNT = "mount -t tmpfs -o size=1m tmpfs"


def outcome_of(*command: str) -> dict[str, Any]:
    path = os.pathsep.join([str(CHECKOUT), *filter(None, sys.path)])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def assert_nothing_was_lost_or_half_kept(outcome: dict[str, Any]) -> None:
    assert outcome["acknowledged"] > 3
    assert not outcome["is_outcome_unknown"]
    assert outcome["file_bytes"] == outcome["log_bytes"]
    assert outcome["is_refused_after"]
    assert outcome["is_sound"]
    assert (outcome["reopened"], outcome["appended_after"]) == (outcome["acknowledged"], 1)


@pytest.mark.process
def test_a_file_that_may_grow_no_more_is_cut_to_whole_batches_and_goes_on_later(
    tmp_path: Path,
) -> None:
    outcome = outcome_of(sys.executable, *PROGRAM, str(tmp_path), "fsize")
    assert "File too large" in outcome["error"]
    assert_nothing_was_lost_or_half_kept(outcome)


@pytest.mark.process
def test_a_full_file_system_costs_no_acknowledged_batch_and_goes_on_with_space(
    tmp_path: Path,
) -> None:
    folder = shlex.quote(str(tmp_path))
    probe = ["unshare", "--mount", "--map-root-user", "sh", "-c", f"{TMPFS_MOUNT} {folder}"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a tmpfs in a namespace: full disk NOT tried")
    fill = shlex.join([sys.executable, *PROGRAM, str(tmp_path), "ballast"])
    outcome = outcome_of(*probe[:-1], f"{TMPFS_MOUNT} {folder} && {fill}")
    assert "No space left" in outcome["error"]
    assert_nothing_was_lost_or_half_kept(outcome)


async def test_a_write_that_breaks_off_is_cut_back(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"kept")
    before = contents(log)
    disk.capacity_bytes = disk.used_bytes() + 100
    with pytest.raises(StorageError) as caught:
        append(log, bytes(1000), b"two", b"batches")
    assert not caught.value.is_outcome_unknown
    assert disk.size(segment_path(DIRECTORY, 0)) == log.size_in_bytes
    disk.capacity_bytes = None
    with pytest.raises(StorageError, match="reopen it"):
        append(log, b"later")
    assert contents(await open_log()) == before


async def test_a_write_that_can_not_be_cut_back_has_an_unknown_outcome(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    append(log, b"kept")
    for action in ("write", "truncate"):
        disk.faults.fail(action, segment_path(DIRECTORY, 0))
    with pytest.raises(StorageError) as caught:
        append(log, b"who knows")
    assert caught.value.is_outcome_unknown


async def test_after_a_failed_sync_nothing_is_synced_or_appended_again(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    append(log, b"a")
    disk.faults.fail("sync", segment_path(DIRECTORY, 0), count=1)
    with pytest.raises(StorageError, match="Input/output error"):
        await log.flush()
    for again in (log.flush, log.checkpoint):
        with pytest.raises(StorageError, match="reopen it"):
            await again()
    with pytest.raises(StorageError, match="reopen it"):
        append(log, b"b")
    await log.close()
    assert not disk.exists(f"{DIRECTORY}/.clean")
    assert log.recovery_point == 0


async def test_a_read_that_fails_is_an_error_of_the_disk_and_no_damage(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    append(log, b"a")
    disk.faults.fail("read", segment_path(DIRECTORY, 0))
    with pytest.raises(StorageError, match="Input/output error"):
        log.read(0, max_bytes=100, upper_bound=1)
    assert log.damage is None
    disk.faults.heal()
    assert len(contents(log)) == 1
