"""What tests of the write-ahead log share: opening one on a simulated disk, and what it says."""

from __future__ import annotations

import random
from typing import NamedTuple

from tidelog.core.env import make_directory_durably
from tidelog.raft.durable_state import WalEntry
from tidelog.raft.wal import FILE_NAME, Wal
from tidelog.simulation.engine.disk import SimDisk

FOLDER = "/data/meta"
PATH = f"{FOLDER}/{FILE_NAME}"
SECTOR = 512
RESERVE = 24 * SECTOR


class State(NamedTuple):
    """All that a log says, but for its incarnation, which every start changes."""

    term: int
    voted_for: int | None
    is_rejoining: bool
    base: tuple[int, int]
    entries: tuple[WalEntry, ...]


def new_disk(seed: int = 1) -> SimDisk:
    return SimDisk(random.Random(seed), 0.0)


async def open_wal(
    disk: SimDisk, *, node_id: int = 1, wall_ms: int = 1000, reserve_bytes: int = RESERVE
) -> Wal:
    return await Wal.open(
        disk=disk,
        directory=FOLDER,
        node_id=node_id,
        wall_ms=wall_ms,
        reserve_bytes=reserve_bytes,
    )


def state_of(wal: Wal) -> State:
    base = wal.base_index, wal.base_term
    return State(wal.term, wal.voted_for, wal.is_rejoining, base, tuple(wal.entries))


def content_of(disk: SimDisk, path: str = PATH) -> bytes:
    return disk.open(path).read_at(0, disk.size(path))


async def disk_with(content: bytes, path: str = PATH, *, seed: int = 1) -> SimDisk:
    """A new disk with this file on stable storage and nothing else."""
    disk = new_disk(seed)
    await make_directory_durably(disk, FOLDER)
    file = disk.open(path, create=True)
    file.write_at(0, content)
    await file.sync()
    await disk.sync_directory(FOLDER)
    return disk


class Left(NamedTuple):
    """A log as a node left it."""

    content: bytes
    frames: list[tuple[int, State]]
    """Where each frame ends, and the state up to there."""


async def write_history(disk: SimDisk, *, reserve_bytes: int = RESERVE, tail: int = 1) -> Left:
    """Votes, entries, a compaction and a truncation; the last frame has `tail` sectors."""
    wal = await open_wal(disk, reserve_bytes=reserve_bytes)
    wal.write_vote(term=1, voted_for=2)
    for index in (1, 2, 3, 4):
        wal.write_entry(b"\0" + bytes([index]) * 300, index=index, term=1)
    wal.write_rejoined()
    await wal.sync()
    await wal.compact(base_index=2)
    frames = [(wal.size_bytes, state_of(wal))]
    wal.write_vote(term=2, voted_for=None)
    wal.write_entry(b"\0" + b"\5" * 1200, index=5, term=2)
    await wal.sync()
    frames.append((wal.size_bytes, state_of(wal)))
    wal.write_vote(term=4, voted_for=3)
    await wal.sync()
    frames.append((wal.size_bytes, state_of(wal)))
    wal.write_truncation(4)
    wal.write_entry(b"\0" + b"\6" * (SECTOR * tail - 300), index=4, term=4)
    await wal.sync()
    frames.append((wal.size_bytes, state_of(wal)))
    assert frames[-1][0] - frames[-2][0] == tail * SECTOR
    wal.close()
    return Left(content_of(disk), frames)
