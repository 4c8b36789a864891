"""Who waits behind whom on a disk: syncs of the metadata log, flushes, removals, reads."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.virtual_time import virtual_time

from tidelog.core import page_cache
from tidelog.core.chance import SeededRandom
from tidelog.core.env import Disk, File
from tidelog.core.errors import StorageError
from tidelog.core.memory_reads import LOADS_MAX, Loaded, NotInMemoryError, reading
from tidelog.core.page_cache import Residency
from tidelog.core.system import DiskConfig, SystemDisk
from tidelog.simulation.engine.disk import REMOVAL_THREADS, SYNC_THREADS, SimDisk

WAIT_S = 60.0
MANY = 12


class Gate:
    """Holds every call of some function of `os` that `is_held` names."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, is_held: Callable[..., bool]) -> None:
        self.open = threading.Event()
        self.calls = threading.Semaphore(0)
        real = getattr(os, name)

        def held(*args: Any) -> Any:
            if is_held(*args):
                self.calls.release()
                assert self.open.wait(WAIT_S)
            return real(*args)

        patch.setattr(os, name, held)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self.calls.acquire, timeout=WAIT_S)


@pytest.fixture
def disk() -> Iterator[SystemDisk]:
    disk = SystemDisk(DiskConfig(read_threads=1))
    yield disk
    disk.close()


def made(disk: Disk, path: Path, content: bytes = b"content") -> File:
    file = disk.open(str(path), create=True)
    file.write_at(0, content)
    return file


def is_below(folder: Path) -> Callable[[int], bool]:
    return lambda descriptor: os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(folder))


async def test_neither_flushes_nor_removals_hold_a_sync_of_the_metadata_log(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "t-0"
    records.mkdir()
    metadata = made(disk.with_own_threads(), tmp_path / "raft.wal")
    flushes = Gate(monkeypatch, "fdatasync", is_below(records))
    removals = Gate(monkeypatch, "unlink", lambda path: str(path).startswith(str(records)))
    files = [made(disk, records / f"{number}.log") for number in range(MANY)]
    slow = [asyncio.create_task(file.sync()) for file in files]
    slow += [asyncio.create_task(disk.discard(file.path)) for file in files]
    try:
        await flushes.begun()
        await removals.begun()
        async with asyncio.timeout(WAIT_S):
            await metadata.sync()
        assert not any(one.done() for one in slow)
    finally:
        flushes.open.set()
        removals.open.set()
        await asyncio.gather(*slow)


async def test_a_removal_holds_no_flush(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, "unlink", lambda _path: True)
    files = [made(disk, tmp_path / f"{number}.deleted") for number in range(MANY)]
    slow = [asyncio.create_task(disk.discard(file.path)) for file in files]
    try:
        await gate.begun()
        async with asyncio.timeout(WAIT_S):
            await made(disk, tmp_path / "0.log").sync()
            await disk.sync_directory(str(tmp_path))
        assert not any(one.done() for one in slow)
    finally:
        gate.open.set()
        await asyncio.gather(*slow)


def on_virtual_time(story: Callable[[SimDisk], Coroutine[Any, Any, None]]) -> None:
    disk = SimDisk(SeededRandom(1), sync_latency_s=0.01)
    disk.make_directory("/data")
    with virtual_time() as run:
        run(story(disk))


def test_the_simulated_disk_has_threads_for_each_kind_of_work() -> None:
    async def story(disk: SimDisk) -> None:
        loop = asyncio.get_running_loop()
        metadata = disk.with_own_threads().open("/data/raft.wal", create=True)
        files = [disk.open(f"/data/{number}", create=True) for number in range(MANY)]
        disk.slow_down_records(flush_delay_s=1.0, removal_latency_s=2.0)
        began_s = loop.time()
        flushes = asyncio.gather(*(file.sync() for file in files))
        removals = asyncio.gather(*(disk.discard(file.path) for file in files))
        await metadata.sync()
        assert loop.time() - began_s == pytest.approx(0.01, abs=1e-3)
        await flushes
        assert loop.time() - began_s == pytest.approx(1.01 * MANY / SYNC_THREADS, abs=1e-3)
        await removals
        assert loop.time() - began_s == pytest.approx(2.0 * MANY / REMOVAL_THREADS, abs=1e-3)

    on_virtual_time(story)


def test_a_simulated_disk_with_its_own_threads_is_the_same_disk() -> None:
    async def story(disk: SimDisk) -> None:
        other = disk.with_own_threads()
        file = other.open("/data/x", create=True)
        file.write_at(0, b"abc")
        assert disk.open("/data/x").read_at(0, 3) == b"abc"
        disk.crash()
        assert other.life == 1
        with pytest.raises(StorageError, match="crashed"):
            file.size()

    on_virtual_time(story)


# Reads


async def test_a_read_of_what_is_in_memory_needs_no_thread(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(disk, tmp_path / "f", b"0123456789" * 200_000)

    def refuse(*_: object) -> None:
        raise AssertionError("a thread")

    descriptor = os.open(file.path, os.O_RDONLY)
    residency = page_cache.PageCache(memoryview(b"")).residency(descriptor)
    os.close(descriptor)
    if residency is Residency.UNKNOWN:
        pytest.fail("run the tests on a file system that tells what is in memory, or on tmpfs")
    monkeypatch.setattr(disk.reads, "submit", refuse)
    for offset, length in ((0, 10), (5, 1 << 20), (7, 3 << 20), (1_999_999, 50), (5_000_000, 1)):
        found = await reading(disk, partial(file.read_at, offset, length))
        assert found == file.read_at(offset, length)


@pytest.fixture
def is_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in the page cache, on whatever file system."""

    def cold(*_: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "cold")

    monkeypatch.setattr(os, "preadv", cold)


@pytest.mark.usefixtures("is_cold")
async def test_a_cold_read_goes_on_off_the_loop_and_the_work_begins_anew(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, runs = made(disk, tmp_path / "f", b"0123456789" * 20_000), 0
    gate = Gate(monkeypatch, "pread", lambda *_: True)

    def work() -> bytes:
        nonlocal runs
        runs += 1
        return file.read_at(2, 3) + file.read_at(8, 1) + file.read_at(199_998, 100)

    task = asyncio.create_task(reading(disk, work))
    await gate.begun()
    assert not task.done(), "the loop goes on"
    gate.open.set()
    assert await task == b"234889"
    assert runs == 3, "once for each place that it lacked, and once with all of it"


@pytest.mark.usefixtures("is_cold")
async def test_loaded_bytes_are_worth_nothing_once_the_file_changes_there(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(disk, tmp_path / "f", b"old old")

    async def read_while(change: Callable[[], None]) -> Loaded:
        loaded = Loaded()
        with monkeypatch.context() as patch:
            gate = Gate(patch, "pread", lambda *_: True)
            with pytest.raises(NotInMemoryError) as lacking, disk.from_memory(loaded):
                file.read_at(4, 3)
            load = asyncio.create_task(lacking.value.load(loaded))
            await gate.begun()
            change()
            gate.open.set()
            await load
        return loaded

    def cut_and_fill() -> None:
        file.truncate(4)
        file.write_at(4, b"new")

    assert (await read_while(lambda: None)).find(file, 4, 3) == b"old"
    assert (await read_while(lambda: file.write_at(7, b" and more"))).find(file, 4, 3) == b"old"
    assert (await read_while(lambda: file.write_at(6, b"D"))).find(file, 4, 3) is None
    assert (await read_while(cut_and_fill)).find(file, 4, 3) is None
    assert (await read_while(lambda: file.truncate(5))).find(file, 4, 3) is None
    assert await reading(disk, lambda: file.read_at(0, 99)) == b"old n"
    loaded = await read_while(file.close)
    assert loaded.find(file, 4, 3) is None


@pytest.mark.usefixtures("is_cold")
async def test_a_closed_file_is_read_to_the_end_by_a_descriptor_of_its_own(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may be another file's by then; and none is left open, read or never begun."""
    open_before = os.listdir("/proc/self/fd")
    gate = Gate(monkeypatch, "pread", lambda *_: True)
    file = made(disk, tmp_path / "f")
    loads = [asyncio.create_task(file.load(Loaded(), 0, 7)) for _ in range(3)]
    await gate.begun()
    loads[-1].cancel()
    file.close()
    gate.open.set()
    await asyncio.gather(*loads, return_exceptions=True)
    disk.close()
    assert os.listdir("/proc/self/fd") == open_before


@pytest.mark.usefixtures("is_cold")
async def test_what_a_load_ended_with_is_what_the_read_raises(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(disk, tmp_path / "f")

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(StorageError, match=f"cannot read {file.path}: Input/output error"):
        await reading(disk, lambda: file.read_at(0, 7))


@pytest.mark.usefixtures("is_cold")
async def test_a_bad_sector_behind_what_was_asked_for_fails_no_read(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, pread = made(disk, tmp_path / "f", bytes(100_000)), os.pread

    def broken(descriptor: int, length: int, offset: int) -> bytes:
        if offset + length > 5000:
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, length, offset)

    monkeypatch.setattr(os, "pread", broken)
    assert await reading(disk, lambda: file.read_at(100, 4000)) == bytes(4000)
    with pytest.raises(StorageError):
        await reading(disk, lambda: file.read_at(100, 4000) + file.read_at(4900, 200))


@pytest.mark.usefixtures("is_cold")
async def test_a_work_whose_bytes_never_stay_comes_to_its_end(
    disk: SystemDisk, tmp_path: Path
) -> None:
    """They are written again whenever they were loaded, or are too many to be kept."""
    file, runs = made(disk, tmp_path / "f", bytes(1000)), 0

    def work() -> bytes:
        nonlocal runs
        runs += 1
        file.write_at(0, b"%04d" % runs)
        return file.read_at(0, 4)

    assert await reading(disk, work) == b"%04d" % (LOADS_MAX + 1)
    many = made(disk, tmp_path / "many", bytes(40 << 16))
    assert len(await reading(disk, lambda: [many.read_at(at << 16, 9) for at in range(40)])) == 40


@pytest.mark.parametrize(
    ("kind", "is_read_at_once"), [("tmpfs", True), ("overlay", False), ("", False)]
)
async def test_a_file_system_that_tells_nothing_is_read_by_threads_unless_it_is_memory(
    disk: SystemDisk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    is_read_at_once: bool,
) -> None:
    tries = []

    def refuse(*args: object) -> int:
        tries.append(args)
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "preadv", refuse)
    monkeypatch.setattr(page_cache, "_file_system", lambda _device: kind)
    for number in range(3):
        file = made(disk, tmp_path / f"{number}")
        with disk.from_memory(Loaded()):
            if is_read_at_once:
                assert file.read_at(0, 7) == b"content"
            else:
                with pytest.raises(NotInMemoryError):
                    file.read_at(0, 7)
        assert await reading(disk, partial(file.read_at, 0, 7)) == b"content"
    assert len(tries) == 1, "once for each file system"


async def test_the_kind_of_a_file_system_is_told_by_its_device() -> None:
    assert page_cache._file_system(os.stat("/proc").st_dev) == "proc"
    assert page_cache._file_system(os.makedev(250, 250)) == ""


@pytest.mark.usefixtures("is_cold")
async def test_a_cold_index_is_read_before_it_is_mapped(disk: SystemDisk, tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    made(disk, path, b"entry---")

    def look() -> bytes:
        buffer = disk.open_index(str(path), capacity_bytes=8)
        try:
            return bytes(buffer.view)
        finally:
            buffer.close()

    with pytest.raises(NotInMemoryError), disk.from_memory(Loaded()):
        look()
    assert await reading(disk, look) == b"entry---"
    assert look() == b"entry---", "whoever may wait, waits"
