"""The voter's durable state: log entries, term and vote, in one append-only file.

It owns `raft.wal` and what it says; it never decides what to write. Writes are collected and reach
the disk as one frame at the next `sync`, so that a frame is on stable storage before the next
begins (`wal_file` has the form). More may be written while a sync runs: it waits for the next one.
A crash can leave only the last frame unfinished; it is cleared at open, since nothing that depends
on it has left the node. Any other damage means that a vote or an acknowledged entry may be gone:
the node refuses to start.
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
    """The durable state, read at `open`, changed by `write_*`, made safe by `sync` or `compact`.

    It shows at once what was written. `written` and `stored` count: who waits for a record waits
    until `stored` is what `written` was behind it.

    After an error of `sync`, or one of `compact` that came too late to leave all as it was, the
    state on disk is unknown: every later call of them fails, and the node must end.
    """

    def __init__(self, file: File, *, disk: Disk, node_id: int) -> None:
        self.node_id = node_id
        self.incarnation = 0
        self.term = 0
        self.voted_for: int | None = None
        self.is_rejoining = True
        """The file was new at this or an earlier start, and no `write_rejoined` came since."""
        self.base_index = 0
        self.base_term = 0
        self.entries: list[WalEntry] = []
        """Entry `index` is at position `index - base_index - 1`."""
        self.written = 0
        """Records written by this process."""
        self.stored = 0
        """How many of them are on stable storage."""
        self.durable_index = 0
        """Up to here the log, as it is now, is on stable storage."""
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
        """Read the state, clearing an unfinished last frame, or make a new file.

        The incarnation becomes greater than any before, even after the file was lost (`wall_ms`).
        `reserve_bytes` counts for files made from now on. Errors: `StorageError` when the file is
        damaged or another node's, or when there is no room for a new one.
        """
        path = f"{directory}/{FILE_NAME}"
        disk.remove(path + _NEXT)
        if not disk.exists(path):
            await make_directory_durably(disk, directory)
            await _make_new(disk, path, node_id=node_id, reserve_bytes=reserve_bytes)
        else:  # who renamed it may not have come to this
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

    # What it says

    @property
    def last_index(self) -> int:
        """Of the last entry; `base_index` when there is none."""
        return self.base_index + len(self.entries)

    @property
    def last_term(self) -> int:
        """Of the last entry; `base_term` when there is none."""
        return self.entries[-1].term if self.entries else self.base_term

    @property
    def size_bytes(self) -> int:
        """What the frames take, without reserved space."""
        return self._end

    @property
    def is_dirty(self) -> bool:
        """Whether something was written that is not on stable storage yet."""
        return self.stored < self.written

    @property
    def is_stamp_durable(self) -> bool:
        """Whether the incarnation and the term, which all messages carry, are on stable storage."""
        return self.stored >= self._stamped

    def term_at(self, index: int) -> int | None:
        """The term of an entry, that of `base_index` included; None where nothing is known."""
        if index == self.base_index:
            return self.base_term
        if not self.base_index < index <= self.last_index:
            return None
        return self.entries[index - self.base_index - 1].term

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> list[WalEntry]:
        """Entries from `index` > `base_index` on whose commands fit; one fits in any case."""
        invariant(index > self.base_index, "entries the log no longer has", index)
        first = index - self.base_index - 1
        found: list[WalEntry] = []
        for entry in self.entries[first : first + max_entries]:
            max_bytes -= len(entry.command)
            if found and max_bytes < 0:
                break
            found.append(entry)
        return found

    # What changes it

    def write_incarnation(self, incarnation: int) -> None:
        """Take a greater incarnation than the clock gave at `open`."""
        self._write(RecordKind.START, a=incarnation)

    def write_vote(self, *, term: int, voted_for: int | None) -> None:
        """Enter `term`, having voted for that node or nobody yet; a vote is never changed."""
        self._write(RecordKind.VOTE, a=term, b=NOBODY if voted_for is None else voted_for)

    def write_entry(self, command: bytes, *, index: int, term: int) -> None:
        """Append an entry, which must follow the last one."""
        self._write(RecordKind.ENTRY, a=term, b=index, body=command)

    def write_truncation(self, first_index: int) -> None:
        """Remove this entry and all after it."""
        self._write(RecordKind.TRUNCATION, b=first_index)

    def write_rejoined(self) -> None:
        """This voter has caught up with what it may have forgotten: it takes part from now on."""
        self._write(RecordKind.REJOINED)

    def write_base(self, *, index: int, term: int) -> None:
        """Remove all entries: a snapshot holds everything up to this one, the log begins after."""
        self._write(RecordKind.BASE, a=term, b=index)

    async def sync(self) -> None:
        """Put everything written before the call on stable storage, off the loop.

        What is written while it runs waits for the next one; one at a time, `compact` included.
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
        """Reserve the space of the next file, for `compact`; may run while the log is in use.

        Errors: `StorageError`, which leaves nothing behind and this log as it was: try later.
        """
        if self._next is None:
            self._next = await reserve(self._disk, self._path + _NEXT, self._reserve_bytes)

    async def compact(self, *, base_index: int) -> None:
        """Go on in a new file without the entries up to `base_index`, which a snapshot holds.

        Stores what was written before as `sync` does; it may not be `write_base` whose snapshot is
        not on stable storage. Errors: `StorageError`; when it is for want of space this log is as
        it was, and goes on.
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
        """Close the file; what was not synced is lost, as nobody was told of it."""
        self._file.close()
        if self._next is not None:
            self._next.close()

    def _begin_storing(self) -> int:
        """What was written up to now is on its way; returns how many records that is."""
        self._unwritten = []
        self._syncing_index = self.last_index
        return self.written

    def _end_storing(self, covered: int) -> None:
        self.stored = covered
        # What was removed meanwhile was not stored, whatever took its place.
        self.durable_index = self._syncing_index
        self._is_known = True

    def _forget(self, base_index: int) -> None:
        """Drop the entries up to there, unless a snapshot took them away meanwhile."""
        if base_index > self.base_index:
            self.base_term, kept = self.term_at(base_index) or 0, base_index - self.base_index
            self.base_index, self.entries = base_index, self.entries[kept:]

    def _state(self, base_index: int) -> list[Record]:
        """What a file says whose log begins after `base_index`, but for the entries."""
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
        """The log behind `last_index` is another one now, or none."""
        self.durable_index = min(self.durable_index, last_index)
        self._syncing_index = min(self._syncing_index, last_index)

    def _require_known(self) -> None:
        if not self._is_known:
            raise StorageError(
                f"{self._path}: nobody knows what is on stable storage since a write failed; "
                "start this node anew"
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
        """Make sure of the last frame: its sync may have failed, and only memory holds it."""
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
