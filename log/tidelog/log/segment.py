"""A segment: a file of whole batches, named by its base offset, and its indexes.

Owns the positions inside the file. Every batch it returns has been walked: base offsets without a
gap, valid lengths, epochs and CRCs, else `DamagedLogError` with the first bad offset. Never
validates a producer's batches and never decides which are valid after a crash: see `validation` and
`recovery`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tidelog.core.env import Disk
from tidelog.core.errors import DamagedLogError, StorageError, invariant
from tidelog.log import segment_walk
from tidelog.log.aborted_index import AbortedIndex
from tidelog.log.config import LogConfig
from tidelog.log.epochs import NO_END
from tidelog.log.file_names import (
    DELETED,
    INDEX,
    LOG,
    SEGMENT_KINDS,
    TIME_INDEX,
    TXN_INDEX,
    file_name,
)
from tidelog.log.index import IndexEntry, OffsetIndex, TimeEntry, TimeIndex
from tidelog.log.reindexing import NotIndexedError, Reindexing
from tidelog.log.segment_walk import Place, ReadResult, RunAt, damage_of, header_at
from tidelog.records.batch import BatchHeader, Buffer, parse_header

MAX_RELATIVE_OFFSET = 2**31 - 1
NO_TIMESTAMP = -1
HEADERS_PER_SLICE = 1024
"""Headers walked before yielding to other tasks."""


class Segment:
    """A segment; `next_offset` is the offset after the last batch, `size` all batches' bytes."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        base_offset: int,
        config: LogConfig,
        run_at: RunAt,
        suffix: str = "",
    ) -> None:
        """Open or create; call `load`, `reset` or `trust` first when the files may not be empty.

        `run_at` gives the epoch of an offset, see `batch.walk`.
        """
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self.has_unsynced_indexes = False
        """True: the indexes may not be on stable storage, and get no more entries by appends."""
        self._disk = disk
        self._directory = directory
        self.run_at = run_at
        self._index_interval_bytes = config.index_interval_bytes
        self._indexed_position = 0
        self._newest: TimeEntry | None = None
        self._last: tuple[Place, int, int] | None = None
        """Last batch added by `extend`, with the size and end offset after it."""
        self._first_timestamp: int | None = None
        self._reindexing: Reindexing | None = None
        self.file = disk.open(self._path(LOG, suffix), create=True)
        self._offsets = OffsetIndex(
            disk,
            self._path(INDEX, suffix),
            base_offset=base_offset,
            max_bytes=config.segment_index_bytes,
        )
        self._times = TimeIndex(
            disk,
            self._path(TIME_INDEX, suffix),
            base_offset=base_offset,
            max_bytes=config.segment_index_bytes,
        )
        self.aborted = AbortedIndex(disk, self._path(TXN_INDEX, suffix))

    @property
    def newest(self) -> TimeEntry:
        """Max timestamp, -1 when empty, and the last offset of the first batch with it.

        A batch that compaction left without records does not count.
        """
        if self._newest is None:
            self._newest = self._load_newest()
        return self._newest

    @property
    def max_timestamp(self) -> int:
        """Max timestamp, milliseconds since the Unix epoch; -1 when empty."""
        return self.newest.timestamp

    def has_room(self, header: BatchHeader, size_bytes: int, config: LogConfig) -> bool:
        """True when `size_bytes` more, ending with the batch of `header`, fit into this segment.

        An empty segment accepts any batch. segment.ms is measured between timestamps, as in Kafka.
        """
        return not self.size or (
            self.size + size_bytes <= config.segment_bytes
            and header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
            and self._age_at(header.max_timestamp) <= config.roll_ms
            and not self._offsets.file.is_full
            and not self._times.file.is_full
        )

    def warm(self) -> None:
        """Read the pages that the first append needs, so that it does not wait for the disk."""
        if self.size:
            self._newest = self.newest
            self._age_at(0)

    # Writing

    def append(self, pieces: Sequence[Buffer], headers: Sequence[BatchHeader]) -> None:
        """Append the batches of `headers`, whose bytes are `pieces`: all of them or none.

        Raises `StorageError`; its outcome is unknown only if a partial write could not be
        truncated.
        """
        invariant(headers[0].base_offset == self.next_offset, headers[0], self.next_offset)
        self._newest = self.newest  # May raise for damage, so before anything is written.
        if self.size + sum(map(len, pieces)) - self._indexed_position > self._index_interval_bytes:
            self._offsets.file.reserve()
            self._times.file.reserve()
        try:
            self.file.write_pieces_at(self.size, pieces)
        except StorageError as error:
            self._cut_off(error)
            raise
        for header in headers:
            self.extend(header)

    def extend(self, header: BatchHeader) -> None:
        """Account for the batch of `header` at the end of the file."""
        if not self.size:
            self._first_timestamp = header.max_timestamp
        newest, last_offset = self._newest or self.newest, header.last_offset
        if header.max_timestamp > newest.timestamp and header.records_count:
            newest = self._newest = TimeEntry(header.max_timestamp, last_offset)
        is_due = self.size - self._indexed_position > self._index_interval_bytes
        if is_due and self._reindexing is None:
            self._offsets.append(IndexEntry(last_offset, self.size))
            self._times.append(newest)
            self._indexed_position = self.size
        place = Place(self.size, header.base_offset)
        self.size += header.size_in_bytes
        self.next_offset = last_offset + 1
        self._last = place, self.size, self.next_offset

    def truncate_to(self, place: Place) -> None:
        """Drop the batch at `place`, as found by `place_of`, and all later ones."""
        self._offsets.truncate_to(place.base_offset)
        self._times.truncate_to(place.base_offset)
        self.aborted.truncate_to(place.base_offset)
        self.next_offset, self.size = place.base_offset, place.position
        self._newest = None
        if self._reindexing is not None and self._reindexing.position > self.size:
            self._begin_reindexing()
        self._indexed_position = self._last_indexed_position()
        self.file.truncate(self.size)

    def seal(self) -> None:
        """Seal the segment: complete the time index, truncate both indexes to their entries."""
        if self.size and self._reindexing is None:
            self._times.append(self.newest)
        self._offsets.file.seal()
        self._times.file.seal()
        self.has_unsynced_indexes = True

    async def sync(self) -> None:
        """Flush all batches and, once sealed, the indexes to stable storage."""
        await self.file.sync()
        await self.sync_indexes()

    async def sync_indexes(self) -> None:
        """Flush the indexes of a sealed segment to stable storage, if needed."""
        if not self.has_unsynced_indexes:
            return
        self.has_unsynced_indexes = False  # whatever comes meanwhile sets it again
        try:
            for index in (self._offsets.file, self._times.file, self.aborted):
                await index.sync()
        except BaseException:
            self.has_unsynced_indexes = True
            raise

    # Finding out what is there

    def trust(self, *, next_offset: int) -> None:
        """Accept the whole file as valid up to `next_offset`: a clean shutdown covers it."""
        self.next_offset, self.size = next_offset, self.file.size()
        self._indexed_position = self._last_indexed_position()

    def load(self) -> None:
        """Find the end of a segment known to be whole, from its last index entry on.

        Adds missing index entries. Raises `DamagedLogError` when the file does not consist of whole
        batches.
        """
        self.begin_load()
        while not self.load_more():
            pass

    def begin_load(self) -> None:
        """Accept the file up to its last index entry; `load_more` finds the rest."""
        self.size = self.file.size()
        self.size, self.next_offset = self._behind(self._offsets.last)
        self._indexed_position, self._newest = self._last_indexed_position(), None

    def load_more(self) -> bool:
        """Walk a slice towards the file's end; True when it is reached. Raises as `load`.

        May be repeated when bytes were not in memory: it continues where it stopped.
        """
        file_bytes, entries = self.file.size(), self._offsets.file.count
        headers = self._headers(Place(self.size, self.next_offset), file_bytes)
        count = 0
        try:
            for _, header in islice(headers, HEADERS_PER_SLICE):
                self.extend(header)
                count += 1
        finally:
            self.has_unsynced_indexes |= self._offsets.file.count != entries
        if count == HEADERS_PER_SLICE:
            return False
        if self.size != file_bytes:
            raise damage_of(self, f"it ends {file_bytes - self.size} bytes into a batch")
        return True

    def reset(self) -> None:
        """Drop all batches and index entries, before the file is walked again with `extend`."""
        self._offsets.file.clear()
        self._times.file.clear()
        self.size, self.next_offset, self._indexed_position = 0, self.base_offset, 0
        self._newest = TimeEntry(NO_TIMESTAMP, self.base_offset)
        self._first_timestamp = self._reindexing = None
        self.has_unsynced_indexes = True

    # Reading

    def read(self, offset: int, *, max_bytes: int, upper_bound: int) -> ReadResult:
        """Read whole batches from `offset`, which must be here, on; see `PartitionLog.read`.

        At most `max_bytes`, but always the whole first batch.
        """
        start = self.place_of(offset)
        data, end = segment_walk.good(self, start, max_bytes=max_bytes, upper_bound=upper_bound)
        if end == start:
            return ReadResult(b"", offset)
        length = end.position - start.position
        return ReadResult(data if length == len(data) else data[:length], end.base_offset)

    def check(self, start: Place, *, max_bytes: int) -> Place:
        """Verify the batches of the next `max_bytes`, at least one; return where they end."""
        return segment_walk.good(self, start, max_bytes=max_bytes, upper_bound=self.next_offset)[1]

    def batches(self, position: int = 0, *, max_bytes: int) -> list[tuple[BatchHeader, memoryview]]:
        """Read the valid batches of the next `max_bytes`, at least one, from a batch on."""
        header = header_at(self, position)
        start = Place(position, header.base_offset if header and position else self.base_offset)
        data, end = segment_walk.good(
            self, start, max_bytes=max_bytes, upper_bound=self.next_offset
        )
        view, at, found = memoryview(data), 0, []
        while at < end.position - position:
            header = parse_header(view, at)
            found.append((header, view[at : at + header.size_in_bytes]))
            at += header.size_in_bytes
        return found

    def headers(self, start: Place | None = None) -> Iterator[tuple[int, BatchHeader]]:
        """Iterate over position and header of each batch from `start` on; CRCs are not checked."""
        return self._headers(start or Place(0, self.base_offset), self.size)

    def reaching(self, timestamp: int) -> Iterator[Place]:
        """Iterate over the batches with a timestamp of at least `timestamp`."""
        if timestamp > self.max_timestamp:
            return
        start = self._time_place(lambda: self._times.floor(timestamp))
        for position, header in self._headers(start, self.size):
            if header.max_timestamp >= timestamp:
                yield Place(position, header.base_offset)

    def place_of(self, offset: int) -> Place:
        """Find the batch that holds `offset`, or the end; that batch itself may be damaged."""
        if self._last is not None:
            last, *end = self._last
            if offset == last.base_offset and end == [self.size, self.next_offset]:
                return last  # The position of an in-sync follower after each append.
        place = self._behind(lambda: self._offsets.floor(offset - 1))
        for position, header in self._headers(place, self.size, below=offset):
            if header.last_offset >= offset:
                return Place(position, header.base_offset)
            place = Place(position + header.size_in_bytes, header.next_offset)
        return place

    # Files

    def rename(self, *, suffix: str) -> None:
        """Rename all files to this suffix; the log comes last and so vouches for the others."""
        times, offsets = self._times.file, self._offsets.file
        for index, kind in ((self.aborted, TXN_INDEX), (times, TIME_INDEX), (offsets, INDEX)):
            index.rename(self._path(kind, suffix))
        path = self._path(LOG, suffix)
        self._disk.rename(self.file.path, path)
        self.file.path = path

    def retire(self) -> list[str]:
        """Close all files and rename them to `.deleted`; return their new paths."""
        self.close()
        paths = []
        for kind in SEGMENT_KINDS:
            path = self._path(kind)
            if self._disk.exists(path):
                self._disk.rename(path, path + DELETED)
                paths.append(path + DELETED)
        return paths

    def close(self) -> None:
        """Close all files, truncating the indexes to their entries; nothing is synced."""
        self._offsets.file.seal()
        self._times.file.seal()
        self.file.close()

    def delete(self) -> None:
        """Close and remove all files."""
        for index in (self._offsets.file, self._times.file, self.aborted):
            index.remove()
        self.file.close()
        self._disk.remove(self.file.path)

    # Inside

    def _path(self, kind: str, suffix: str = "") -> str:
        return f"{self._directory}/{file_name(self.base_offset, kind, suffix)}"

    def _cut_off(self, error: StorageError) -> None:
        try:
            self.file.truncate(self.size)
        except StorageError:
            error.is_outcome_unknown = True

    def _age_at(self, timestamp: int) -> int:
        """Time since the timestamp of the first batch; 0 where that has none."""
        if self._first_timestamp is None:
            header = header_at(self, 0)
            self._first_timestamp = header.max_timestamp if header else NO_TIMESTAMP
        return timestamp - self._first_timestamp if self._first_timestamp >= 0 else 0

    def _load_newest(self) -> TimeEntry:
        """Find the newest entry: the time index's last one, or a newer batch after it."""
        start, newest = Place(0, self.base_offset), TimeEntry(NO_TIMESTAMP, self.base_offset)
        if self.size:
            start = self._time_place(self._times.last)
        for _, header in self._headers(start, self.size):
            if header.max_timestamp > newest.timestamp and header.records_count:
                newest = TimeEntry(header.max_timestamp, header.last_offset)
        return newest

    def _time_place(self, look_up: Callable[[], TimeEntry | None]) -> Place:
        """Position of the batch that a time index entry names: no earlier batch is newer."""
        self._require_indexes()
        entry = look_up()
        if entry is None:
            return Place(0, self.base_offset)
        place = self.place_of(entry.offset)
        header = header_at(self, place.position)
        if header is not None and (header.max_timestamp, header.last_offset) == entry:
            return place
        self._begin_reindexing()
        return self._time_place(look_up)

    def _last_indexed_position(self) -> int:
        last = self._offsets.last()
        return last.position if last else 0

    def _behind(self, look_up: Callable[[], IndexEntry | None]) -> Place:
        """Find the end of the batch that an index entry names; its start if it is incomplete.

        When the entry contradicts the log, the indexes are rebuilt first.
        """
        self._require_indexes()
        entry = look_up()
        if entry is None:
            return Place(0, self.base_offset)
        header = header_at(self, entry.position)
        if header is not None and header.last_offset == entry.offset:
            behind = Place(entry.position + header.size_in_bytes, header.next_offset)
            is_whole = behind.position <= self.size
            return behind if is_whole else Place(entry.position, header.base_offset)
        self._begin_reindexing()
        return self._behind(look_up)

    def reindex(self) -> None:
        """Rebuild both indexes from the headers; waits for the disk where it must."""
        self._begin_reindexing()
        self._require_indexes()

    def _begin_reindexing(self) -> None:
        empty = TimeEntry(NO_TIMESTAMP, self.base_offset)
        self._reindexing = Reindexing(self._offsets, self._times, newest=empty)
        self.has_unsynced_indexes = True

    def _require_indexes(self) -> None:
        """Complete a rebuild, or have who may not wait for the disk wait for it: see `reading`."""
        if self._reindexing is None:
            return
        if (error := self._reindexing.error) is not None:
            self._reindexing.error = None
            raise error
        if not self._disk.mode.may_wait:
            raise NotIndexedError(self, self._disk)
        while not self.reindex_more():
            pass

    def note_reindex_error(self, error: StorageError) -> None:
        """See `Reindexed`."""
        if self._reindexing is not None:
            self._reindexing.error = error

    def reindex_more(self) -> bool:
        """See `Reindexed`."""
        done = self._reindexing
        if done is None:
            return True
        headers = self._headers(Place(done.position, done.next_offset), self.size)
        count = 0
        try:
            for _, header in islice(headers, HEADERS_PER_SLICE):
                done.note(header, interval_bytes=self._index_interval_bytes)
                count += 1
            if count == HEADERS_PER_SLICE:
                return False
            if done.position != self.size:
                raise damage_of(self, f"it ends {self.size - done.position} bytes into a batch")
        except DamagedLogError:
            self._end_reindexing(done)  # what lies before the damage can be looked up, and cut
            raise
        self._end_reindexing(done)
        self._newest = done.newest
        return True

    def _end_reindexing(self, done: Reindexing) -> None:
        self._indexed_position = done.indexed_position
        self._reindexing, self.has_unsynced_indexes = None, True

    def _headers(
        self, start: Place, end: int, *, below: int = NO_END
    ) -> Iterator[tuple[int, BatchHeader]]:
        return segment_walk.headers(self, start, end, below=below)
