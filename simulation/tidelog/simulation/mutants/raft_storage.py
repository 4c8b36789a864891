"""Mutants of what reaches the disk, and when."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from typing import Any, cast

from tidelog.core.env import Disk, File
from tidelog.raft import wal, wal_file
from tidelog.raft.driver import RaftDriver
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.engine import Engine
from tidelog.raft.leader_state import LeaderState
from tidelog.raft.outbox import Outbox
from tidelog.raft.replicated_log import StateMachine
from tidelog.raft.snapshots import SnapshotStore
from tidelog.raft.storage import Storage, Written
from tidelog.raft.syncing import Syncing
from tidelog.raft.voter import Voter
from tidelog.raft.wal import FILE_NAME, Wal
from tidelog.raft.wal_frames import (
    DamagedFileError,
    Frame,
    ReadAt,
    encode_frame,
    unfinished_end,
)
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1.raft_pb2 import RaftMessage

_ask_votes = Voter._ask_votes
_step = RaftDriver._step
_end_storing = Wal._end_storing
_open = Storage.open


@replaces(Storage, "sync")
async def never_synced(self: Storage) -> None:
    """Nothing reaches the disk."""
    if self.snapshots.has_received:
        await self.snapshots.install()
    if self.wal.is_dirty:
        self.wal._end_storing(self.wal._begin_storing())


@replaces(Syncing, "is_kept")
def send_before_sync(_self: Syncing, _written: Written) -> bool:
    """Votes and acknowledgements leave before the disk has them."""
    return True


@replaces(Outbox, "hint")
def stamp_sent_before_sync(self: Outbox, peer_id: int) -> RaftMessage:
    """A voter speaks in a term that a crash makes it forget."""
    self._hints.append(self._new_message(peer_id))
    return self._hints[-1]


@replaces(LeaderState, "own_index")
def own_ack_before_sync(self: LeaderState) -> int:
    """A leader counts its own copy before the disk has it."""
    return self._log.last_index


@replaces(Voter, "_ask_votes")
def candidate_asks_before_its_vote_is_stored(self: Voter) -> None:
    """A vote is asked for while a crash would forget the candidate's own."""
    promises = self._outbox.take_promises()
    _ask_votes(self)
    self._outbox._hints += self._outbox.take_promises()
    self._outbox._promises += promises


@replaces(RaftDriver, "_step")
async def stands_still_while_syncing(
    self: RaftDriver, storage: Storage, engine: Engine, machine: StateMachine, syncing: Syncing
) -> float:
    """A voter says and hears nothing while its disk syncs (before decision 0026)."""
    engine.steps_while_syncing = False
    return await _step(self, storage, engine, machine, syncing)


@replaces(Wal, "_end_storing")
def later_writes_counted_as_synced(self: Wal, _covered: int) -> None:
    """A sync is taken to cover what was written while it ran."""
    _end_storing(self, self.written)


@replaces(Wal, "sync")
async def frames_not_synced(self: Wal) -> None:
    """Frames are written and not synced."""
    if self._unwritten:
        frame = encode_frame(self._frames, b"".join(self._unwritten))
        covered = self._begin_storing()
        self._file.write_at(self._end, frame)
        self._end += len(frame)
        self._frames += 1
        self._end_storing(covered)


@replaces(Wal, "write_vote")
def vote_not_persisted(self: Wal, *, term: int, voted_for: int | None) -> None:
    """The term is on disk, whom it was given to is not."""
    self._write(wal_file.RecordKind.VOTE, a=term, b=wal_file.NOBODY)
    self.voted_for = voted_for


@replaces(Wal, "write_vote")
def term_not_persisted(self: Wal, *, term: int, voted_for: int | None) -> None:
    """Term and vote are only remembered."""
    self._apply_vote(term=term, voted_for=voted_for)


@replaces(Wal, "_store_again")
async def last_frame_not_stored_again(self: Wal, frame: Frame) -> None:
    """A start trusts a frame whose sync may have failed."""


@replaces(wal_file, "unfinished_end")
def torn_tail_is_damage(read_at: ReadAt, size: int, *, position: int, number: int) -> int:
    """The torn frame of a power cut keeps the voter from starting."""
    end = unfinished_end(read_at, size, position=position, number=number)
    if end != position:
        raise DamagedFileError("something is there", position=position)
    return end


@replaces(wal, "clear")
async def torn_tail_not_cleared(file: File, start: int, end: int) -> None:
    """The torn frame of a power cut stays behind the next frames."""


@replaces(SnapshotStore, "_publish")
async def log_trimmed_before_snapshot_is_durable(
    self: SnapshotStore, snapshot: SnapshotId, file: File
) -> None:
    """A snapshot counts before it is synced."""
    async with self._publishing:
        if self._is_newest(snapshot):
            await wal_file.publish(self._disk, file.path, self._path(snapshot))
            self._use(snapshot)


class _ForgetfulDisk:
    """A disk that stores no names."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:  # whatever the disk has
        return getattr(self._disk, name)

    async def sync_directory(self, path: str) -> None:
        """Not done."""


@replaces(Storage, "open")
async def names_not_synced_at_open(
    *,
    disk: Disk,
    directory: str,
    **options: Any,  # as of `Storage.open`
) -> Storage:
    """A start trusts names that a killed process may not have stored."""
    is_new = not disk.exists(f"{directory}/{FILE_NAME}")
    used = disk if is_new else cast("Disk", _ForgetfulDisk(disk))
    storage = await _open(disk=used, directory=directory, **options)
    storage.wal._disk = storage.snapshots._disk = disk
    return storage
