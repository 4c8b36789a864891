"""The real disk: what it does, and that its errors name the path."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.core.env import write_atomically
from tidelog.core.errors import DiskFullError, StorageError
from tidelog.core.system import (
    _IOV_MAX,
    SystemClock,
    SystemDisk,
    SystemRandom,
    raise_open_files_limit,
)


@pytest.fixture
def disk() -> Iterator[SystemDisk]:
    disk = SystemDisk()
    yield disk
    disk.close()


async def test_a_file_is_read_and_written_by_position(disk: SystemDisk, tmp_path: Path) -> None:
    file = disk.open(f"{tmp_path}/f", create=True)
    file.write_at(3, memoryview(b"abc"))
    assert (file.size(), file.read_at(0, 99), file.read_at(4, 1)) == (6, b"\0\0\0abc", b"b")
    assert file.read_at(50, 10) == b""
    file.truncate(4)
    await file.sync()
    assert file.read_at(0, 99) == b"\0\0\0a"
    file.close()
    file.close()


async def test_more_pieces_than_one_call_takes_are_all_written(
    disk: SystemDisk, tmp_path: Path
) -> None:
    file = disk.open(f"{tmp_path}/f", create=True)
    pieces = [b"%04d" % number for number in range(_IOV_MAX + 1)]
    file.write_pieces_at(2, pieces)
    assert file.read_at(2, 4 * len(pieces) + 1) == b"".join(pieces)
    file.close()


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, DiskFullError), (errno.EIO, StorageError)]
)
async def test_a_failed_sync_is_told_from_a_failed_write(
    disk: SystemDisk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: type[StorageError],
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fdatasync", refuse)
    monkeypatch.setattr(os, "pwrite", refuse)
    file = disk.open(f"{tmp_path}/f", create=True)
    with pytest.raises(kind) as caught:
        await file.sync()
    assert caught.value.is_sync_failure
    with pytest.raises(kind) as caught:
        file.write_at(0, b"a")
    assert not caught.value.is_sync_failure


def test_a_process_may_open_as_many_files_as_the_system_lets_it() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        assert raise_open_files_limit() == hard
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_an_index_buffer_is_the_file(disk: SystemDisk, tmp_path: Path) -> None:
    path = f"{tmp_path}/i"
    buffer = disk.open_index(path, capacity_bytes=4096)
    buffer.view[8:12] = b"abcd"
    await buffer.sync()
    assert disk.open(path).read_at(8, 4) == b"abcd"
    buffer.close(trim_to=12)
    buffer.close(trim_to=12)
    assert disk.open(path).size() == 12
    assert bytes(disk.open_index(path, capacity_bytes=64).view[8:16]) == b"abcd\0\0\0\0"


async def test_one_sync_of_a_folder_serves_all_who_ask_before_it_begins(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Semaphore(0), threading.Semaphore(0)
    fsync = os.fsync

    def held(descriptor: int) -> None:
        begun.release()
        assert go_on.acquire(timeout=60)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", held)
    first = asyncio.create_task(disk.sync_directory(str(tmp_path)))
    await asyncio.to_thread(begun.acquire, timeout=60)
    late = [asyncio.create_task(disk.sync_directory(str(tmp_path))) for _ in range(10)]
    await asyncio.to_thread(begun.acquire, timeout=60)
    go_on.release()
    await first
    assert not any(one.done() for one in late), "it began before they asked"
    go_on.release()
    await asyncio.gather(*late)
    assert not begun.acquire(blocking=False), "one for all of them"


async def test_a_failed_sync_of_a_folder_fails_all_who_asked(
    disk: SystemDisk, tmp_path: Path
) -> None:
    syncs = (disk.sync_directory(f"{tmp_path}/no") for _ in range(3))
    found = await asyncio.gather(*syncs, return_exceptions=True)
    assert [type(one) for one in found] == [StorageError] * 3


async def test_folders_and_names(disk: SystemDisk, tmp_path: Path) -> None:
    folder = f"{tmp_path}/a/b"
    disk.make_directory(folder)
    await write_atomically(disk, f"{folder}/z", b"1")
    await write_atomically(disk, f"{folder}/z", b"22")
    await write_atomically(disk, f"{folder}/c", b"3")
    assert disk.list(folder) == ["c", "z"]
    assert disk.open(f"{folder}/z").read_at(0, 9) == b"22"
    disk.remove(f"{folder}/c")
    disk.remove(f"{folder}/c")
    await disk.discard(f"{folder}/z")
    await disk.discard(f"{folder}/z")
    assert disk.list(folder) == []
    disk.remove_tree(f"{tmp_path}/a")
    disk.remove_tree(f"{tmp_path}/a")
    assert not disk.exists(folder)
    assert disk.list(folder) == []


async def test_a_large_file_is_freed_off_the_loop(
    disk: SystemDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{tmp_path}/old"
    disk.open(path, create=True).close()
    begun, may_end = threading.Event(), threading.Event()
    unlink = os.unlink

    def slow(one: str) -> None:
        begun.set()
        assert may_end.wait(60), "the loop goes on meanwhile"
        unlink(one)

    monkeypatch.setattr(os, "unlink", slow)
    removing = asyncio.create_task(disk.discard(path))
    while not begun.is_set():  # noqa: ASYNC110  # by a thread
        await asyncio.sleep(0)
    may_end.set()
    await removing
    assert not disk.exists(path)


async def test_errors_are_storage_errors_that_name_the_path(
    disk: SystemDisk, tmp_path: Path
) -> None:
    missing = f"{tmp_path}/none/f"
    with pytest.raises(StorageError, match=f"cannot open {missing}: No such file"):
        disk.open(missing, create=True)
    with pytest.raises(StorageError, match=missing):
        disk.open_index(missing, capacity_bytes=8)
    with pytest.raises(StorageError, match=missing):
        disk.rename(missing, f"{tmp_path}/g")
    with pytest.raises(StorageError, match=f"cannot sync {missing}"):
        await disk.sync_directory(missing)
    closed = disk.open(f"{tmp_path}/f", create=True)
    closed.close()
    for use in (closed.size, lambda: closed.read_at(0, 1), lambda: closed.write_at(0, b"x")):
        with pytest.raises(StorageError, match=f"{tmp_path}/f"):
            use()


def test_clock_and_randomness() -> None:
    clock = SystemClock()
    first = clock.monotonic_ms()
    assert clock.monotonic_ms() >= first
    assert clock.wall_ms() > 1_700_000_000_000
    rng = SystemRandom()
    assert 0 <= rng.random() < 1
    assert rng.randrange(3, 4) == 3
    assert len(rng.randbytes(16)) == 16
