"""Write-ahead log: a voter's entries, term and vote, in one append-only file.

Owns `raft.wal` and its contents; never decides what to write. Writes are collected and reach the
disk as one frame at the next `sync`, so that a frame is on stable storage before the next begins
(`wal_file` describes the format). Writes during a sync wait for the next one. A crash can leave
only the last frame unfinished; it is cleared at open, since no message that depends on it has left
the node. Any other damage means that a vote or an acknowledged entry may be lost: the node refuses
to start.
"""

from __future__ import annotations

from tidelog.core.env import Disk, File, make_directory_durably
from tidelog.core.errors import InvariantError, StorageError, invariant
from tidelog.raft import rules
from tidelog.raft.durable_state import NO_OP, REGULAR, WalEntry
from tidelog.raft.wal_file import (
    FORMAT,
    NOBODY,
    RecordKind,
    clear,
    discard,
    fill,
    publish,
    read_wal,
    refusal,
    reserve,
)
from tidelog.raft.wal_frames import DamagedFileError, Frame, Record, encode_frame, encode_record

__all__ = ["FILE_NAME", "NO_OP", "REGULAR", "RecordKind", "Wal", "WalEntry", "read_wal"]

FILE_NAME = "raft.wal"
_NEXT = ".next"


class Wal:
    """Durable state, read at `open`, changed by `write_*`, made durable by `sync` or `compact`.

    Writes are visible at once. `written` and `stored` count records: one is durable when `stored`
    reaches the value of `written` after its write.

    After an error of `sync`, or of `compact` past the point of no return, the state on disk is
    unknown: every later call of them fails, and the node must stop.
    """

    def __init__(self, file: File, *, disk: Disk, node_id: int) -> None:
        self.node_id = node_id
        self.incarnation = 0
        self.term = 0
        self.voted_for: int | None = None
        self.is_rejoining = True
        """True: the file was new at this or an earlier start, without a `write_rejoined` since."""
        self.base_index = 0
        self.base_term = 0
        self.entries: list[WalEntry] = []
        """Entry `index` is at position `index - base_index - 1`."""
        self.written = 0
        """Number of records written by this process."""
        self.stored = 0
        """Number of them on stable storage."""
        self.durable_index = 0
        """Last index up to which the log, in its current form, is on stable storage."""
        self._file = file
        self._disk = disk
        self._path = file.path
        self._next: File | None = None
        self._reserve_bytes = 0
        self._end = 0
        self._frames = 0
        self._unwritten: list[bytes] = []
        self._syncing_index = 0
        self._stamped = 0
        self._is_known = True

    @classmethod
    async def open(
        cls, *, disk: Disk, directory: str, node_id: int, wall_ms: int, reserve_bytes: int
    ) -> Wal:
        """Read the state, clearing an unfinished last frame, or create a new file.

        The incarnation becomes greater than any before, even after the file was lost (`wall_ms`).
        `reserve_bytes` applies to files created from now on. Raises `StorageError` when the file is
        damaged or another node's, or when there is no space for a new one.
        """
        path = f"{directory}/{FILE_NAME}"
        disk.remove(path + _NEXT)
        if not disk.exists(path):
            await make_directory_durably(disk, directory)
            await _make_new(disk, path, node_id=node_id, reserve_bytes=reserve_bytes)
        else:  # the process that renamed it may have crashed before this
            await disk.sync_directory(directory)
        wal = cls(disk.open(path), disk=disk, node_id=node_id)
        try:
            await wal._recover()
        except BaseException:
            wal.close()
            raise
        wal._reserve_bytes = reserve_bytes
        wal.durable_index = wal.last_index
        wal._write(RecordKind.START, a=rules.first_incarnation(wal.incarnation, wall_ms))
        return wal

    # State

    @property
    def last_index(self) -> int:
        """Index of the last entry; `base_index` when there is none."""
        return self.base_index + len(self.entries)

    @property
    def last_term(self) -> int:
        """Term of the last entry; `base_term` when there is none."""
        return self.entries[-1].term if self.entries else self.base_term

    @property
    def size_bytes(self) -> int:
        """Size of the frames, without preallocated space."""
        return self._end

    @property
    def is_dirty(self) -> bool:
        """True while some writes are not on stable storage yet."""
        return self.stored < self.written

    @property
    def is_stamp_durable(self) -> bool:
        """True when incarnation and term, which all messages carry, are on stable storage."""
        return self.stored >= self._stamped

    def term_at(self, index: int) -> int | None:
        """Term of an entry, `base_index` included; None where it is unknown."""
        if index == self.base_index:
            return self.base_term
        if not self.base_index < index <= self.last_index:
            return None
        return self.entries[index - self.base_index - 1].term

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> list[WalEntry]:
        """Entries from `index` > `base_index` on within the limits; at least one, if any."""
        invariant(index > self.base_index, "entries the log no longer has", index)
        first = index - self.base_index - 1
        found: list[WalEntry] = []
        for entry in self.entries[first : first + max_entries]:
            max_bytes -= len(entry.command)
            if found and max_bytes < 0:
                break
            found.append(entry)
        return found

    # Changes

    def write_incarnation(self, incarnation: int) -> None:
        """Store a greater incarnation than the clock gave at `open`."""
        self._write(RecordKind.START, a=incarnation)

    def write_vote(self, *, term: int, voted_for: int | None) -> None:
        """Store `term` and the vote in it, None for no vote yet; a vote is never changed."""
        self._write(RecordKind.VOTE, a=term, b=NOBODY if voted_for is None else voted_for)

    def write_entry(self, command: bytes, *, index: int, term: int) -> None:
        """Append an entry, which must follow the last one."""
        self._write(RecordKind.ENTRY, a=term, b=index, body=command)

    def write_truncation(self, first_index: int) -> None:
        """Remove this entry and all after it."""
        self._write(RecordKind.TRUNCATION, b=first_index)

    def write_rejoined(self) -> None:
        """Record that this voter has caught up: it participates from now on."""
        self._write(RecordKind.REJOINED)

    def write_base(self, *, index: int, term: int) -> None:
        """Remove all entries: the log begins after `index`, up to which a snapshot has them."""
        self._write(RecordKind.BASE, a=term, b=index)

    async def sync(self) -> None:
        """Put all writes before the call on stable storage, off the loop.

        Writes during the call wait for the next one. One call at a time, `compact` included.
        """
        self._require_known()
        if not self._unwritten:
            return
        frame = encode_frame(self._frames, b"".join(self._unwritten))
        covered = self._begin_storing()
        self._is_known = False
        self._file.write_at(self._end, frame)
        self._end += len(frame)
        self._frames += 1
        await self._file.sync()
        self._end_storing(covered)

    async def prepare_compaction(self) -> None:
        """Preallocate the next file, for `compact`; may run while the log is in use.

        Raises `StorageError`, which leaves no file behind and this log unchanged: retry later.
        """
        if self._next is None:
            self._next = await reserve(self._disk, self._path + _NEXT, self._reserve_bytes)

    async def compact(self, *, base_index: int) -> None:
        """Continue in a new file without the entries up to `base_index`, which a snapshot includes.

        Stores earlier writes as `sync` does; a `write_base` among them needs its snapshot on stable
        storage. Raises `StorageError`; if only disk space is missing, this log is unchanged and
        usable.
        """
        await self.prepare_compaction()
        self._require_known()
        is_inside = self.base_index <= base_index <= self.last_index
        invariant(is_inside, "compaction inside the log", base_index)
        kept = self.entries[base_index - self.base_index :]
        file, self._next = self._next, None
        assert file is not None
        unwritten, covered = self._unwritten, self._begin_storing()
        try:
            place = await fill(file, self._state(base_index), kept, node_id=self.node_id)
        except BaseException:
            self._unwritten = unwritten + self._unwritten
            discard(self._disk, file)
            raise
        file.close()
        self._is_known = False
        await publish(self._disk, file.path, self._path)
        self._file.close()
        self._file = self._disk.open(self._path)
        self._forget(base_index)
        self._frames, self._end = place.number, place.position
        self._end_storing(covered)

    def close(self) -> None:
        """Close the file; unsynced writes are lost, but no other node knows of them."""
        self._file.close()
        if self._next is not None:
            self._next.close()

    def _begin_storing(self) -> int:
        """Start storing all writes up to now; return the number of records written."""
        self._unwritten = []
        self._syncing_index = self.last_index
        return self.written

    def _end_storing(self, covered: int) -> None:
        self.stored = covered
        # Entries removed meanwhile were not stored, regardless of their replacements.
        self.durable_index = self._syncing_index
        self._is_known = True

    def _forget(self, base_index: int) -> None:
        """Drop the entries up to `base_index`, unless a snapshot removed them meanwhile."""
        if base_index > self.base_index:
            self.base_term, kept = self.term_at(base_index) or 0, base_index - self.base_index
            self.base_index, self.entries = base_index, self.entries[kept:]

    def _state(self, base_index: int) -> list[Record]:
        """Records, except entries, of a file whose log begins after `base_index`."""
        voted_for = NOBODY if self.voted_for is None else self.voted_for
        return [
            Record(RecordKind.START, self.incarnation),
            Record(RecordKind.VOTE, self.term, voted_for),
            *([] if self.is_rejoining else [Record(RecordKind.REJOINED)]),
            Record(RecordKind.BASE, self.term_at(base_index) or 0, base_index),
        ]

    def _write(self, kind: int, *, a: int = 0, b: int = 0, body: bytes = b"") -> None:
        record = Record(kind, a, b, body)
        self._apply(record)
        self._unwritten.append(encode_record(record))
        self.written += 1
        if kind in (RecordKind.START, RecordKind.VOTE):
            self._stamped = self.written

    def _apply(self, record: Record) -> None:
        kind, a, b, body = record
        match kind:
            case RecordKind.IDENTITY:
                self._check_identity(record)
            case RecordKind.START:
                self.incarnation = a
            case RecordKind.VOTE:
                self._apply_vote(term=a, voted_for=None if b == NOBODY else b)
            case RecordKind.ENTRY:
                invariant(b == self.last_index + 1, "entries follow each other", b)
                invariant(a >= self.last_term, "terms never fall", a)
                self.entries.append(WalEntry(body, b, a))
            case RecordKind.TRUNCATION:
                invariant(self.base_index < b <= self.last_index, "truncation inside the log", b)
                del self.entries[b - self.base_index - 1 :]
                self._shorten(b - 1)
            case RecordKind.REJOINED:
                self.is_rejoining = False
            case RecordKind.BASE:
                self._apply_base(index=b, term=a)
            case _:
                invariant(False, "unknown record kind", kind)

    def _check_identity(self, record: Record) -> None:
        if (record.a, record.b) != (FORMAT, self.node_id):
            raise StorageError(
                f"{self._path} is of node {record.b}, format {record.a}; this is node "
                f"{self.node_id}, format {FORMAT}: give every node its own data directory"
            )

    def _apply_vote(self, *, term: int, voted_for: int | None) -> None:
        invariant(term >= self.term, "terms never fall", term, self.term)
        is_first_vote = term > self.term or self.voted_for in (None, voted_for)
        invariant(is_first_vote, "one vote in a term", term, self.voted_for, voted_for)
        self.term, self.voted_for = term, voted_for

    def _apply_base(self, *, index: int, term: int) -> None:
        invariant(index >= self.base_index, "the log's begin never falls", index)
        invariant(term >= self.base_term, "terms never fall", term, self.base_term)
        self._shorten(self.base_index)
        self.base_index, self.base_term = index, term
        self.entries = []

    def _shorten(self, last_index: int) -> None:
        """Account for the removal or replacement of the log after `last_index`."""
        self.durable_index = min(self.durable_index, last_index)
        self._syncing_index = min(self._syncing_index, last_index)

    def _require_known(self) -> None:
        if not self._is_known:
            raise StorageError(
                f"{self._path}: its content is unknown since a write failed; restart this node"
            )

    async def _recover(self) -> None:
        last: Frame | None = None
        try:
            for frame, record in read_wal(self._file.read_at, self._file.size()):
                if record.kind == RecordKind.UNFINISHED:
                    await clear(self._file, frame.position, frame.end)
                else:
                    self._read(frame, record)
                    last = frame
        except DamagedFileError as error:
            raise refusal(self._path, error) from error
        if last is not None:
            await self._store_again(last)

    async def _store_again(self, frame: Frame) -> None:
        """Rewrite the last frame: its sync may have failed, so that only memory holds it."""
        self._file.write_at(
            frame.position, self._file.read_at(frame.position, frame.end - frame.position)
        )
        await self._file.sync()

    def _read(self, frame: Frame, record: Record) -> None:
        try:
            self._apply(record)
        except InvariantError as error:
            raise DamagedFileError(str(error), position=frame.position) from error
        self._end, self._frames = frame.end, frame.number + 1


async def _make_new(disk: Disk, path: str, *, node_id: int, reserve_bytes: int) -> None:
    file = await reserve(disk, path + _NEXT, reserve_bytes)
    try:
        await fill(file, [], [], node_id=node_id)
    except BaseException:
        discard(disk, file)
        raise
    file.close()
    await publish(disk, file.path, path)
