"""A disk whose syncs take longer: of files, folders and indexes, as long as the run says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tidelog.chaos.sockets.sync_latency import SyncLatency
from tidelog.core.system import SystemDisk


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What syncs waited for, in seconds; no time passes."""
    waits: list[float] = []
    monkeypatch.setattr("tidelog.chaos.sockets.sync_latency.time.sleep", waits.append)
    return waits


@pytest.fixture
def latency(tmp_path: Path) -> SyncLatency:
    return SyncLatency(tmp_path / "node-1.sync-ms")


@pytest.fixture
def disk(latency: SyncLatency) -> Iterator[SystemDisk]:
    with closing(SystemDisk(before_sync=latency.wait)) as disk:
        yield disk


async def sync_all(disk: SystemDisk, folder: Path) -> None:
    """Of each kind once: a file, an index, a folder."""
    with closing(disk.open(str(folder / "file"), create=True)) as file:
        file.write_at(0, b"written")
        await file.sync()
    with closing(disk.open_index(str(folder / "index"), capacity_bytes=4096)) as index:
        await index.sync()
    await disk.sync_directory(str(folder))


async def test_every_sync_takes_as_long_as_the_run_says(
    disk: SystemDisk, latency: SyncLatency, waited: list[float], tmp_path: Path
) -> None:
    latency.set(0.2)
    await sync_all(disk, tmp_path)
    assert waited == [0.2] * 3

    latency.set(2.0)
    await sync_all(disk.with_own_threads(), tmp_path)
    assert waited[3:] == [2.0] * 3, "the metadata log is on the same device"


async def test_a_disk_that_was_slow_is_as_quick_as_ever(
    disk: SystemDisk, latency: SyncLatency, waited: list[float], tmp_path: Path
) -> None:
    await sync_all(disk, tmp_path)
    latency.set(1.0)
    latency.set(None)
    latency.set(None)
    await sync_all(disk, tmp_path)

    assert waited == []


async def test_a_new_process_finds_its_disk_as_slow_as_it_was(
    latency: SyncLatency, waited: list[float], tmp_path: Path
) -> None:
    latency.set(0.3)
    again = SyncLatency(tmp_path / "node-1.sync-ms")
    with closing(SystemDisk(before_sync=again.wait)) as disk:
        await sync_all(disk, tmp_path)
    assert waited == [0.3] * 3


def test_reads_and_writes_wait_for_nothing(
    disk: SystemDisk, latency: SyncLatency, waited: list[float], tmp_path: Path
) -> None:
    latency.set(2.0)
    with closing(disk.open(str(tmp_path / "file"), create=True)) as file:
        file.write_at(0, b"written")
        assert file.read_at(0, 7) == b"written"
    assert waited == []
