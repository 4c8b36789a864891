"""One segment: a file of whole batches, named by its base offset, and its offset index.

Owns where things are inside the file. Never checks what a producer sent and never decides what is
valid after a crash: see `partition_log` and `recovery`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.log.batch import HEADER_BYTES, BatchHeader, Buffer, parse_header
from tidelog.log.config import LogConfig
from tidelog.log.env import Disk
from tidelog.log.errors import CorruptMessageError, StorageError, invariant
from tidelog.log.index import IndexEntry, OffsetIndex

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
MAX_RELATIVE_OFFSET = 2**31 - 1
_WINDOW_BYTES = 4096
"""How much is read at once when headers are walked."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Whole batches; `next_offset` follows the last of them and is the offset asked for if none."""

    records: bytes
    next_offset: int


class Segment:
    """`next_offset` is the offset after the last batch, `size` the bytes of all batches."""

    def __init__(self, disk: Disk, directory: str, *, base_offset: int, config: LogConfig) -> None:
        """Open or create; call `load` before anything else when the files may hold something."""
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self._disk = disk
        self._index_interval_bytes = config.index_interval_bytes
        path = segment_path(directory, base_offset)
        self.file = disk.open(path, create=True)
        self._index = OffsetIndex(
            disk,
            path.removesuffix(LOG_SUFFIX) + INDEX_SUFFIX,
            base_offset=base_offset,
            max_bytes=config.segment_index_bytes,
        )

    def has_room(self, *, last_offset: int, size_bytes: int, config: LogConfig) -> bool:
        """Whether `size_bytes` more up to `last_offset` belong here; an empty segment takes all."""
        return not self.size or (
            self.size + size_bytes <= config.segment_bytes
            and last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
            and not self._index.is_full
        )

    def append(self, records: Buffer, headers: Sequence[BatchHeader]) -> None:
        """Write the batches `headers` describe in one piece at the end."""
        invariant(headers[0].base_offset == self.next_offset, headers[0], self.next_offset)
        self.file.write_at(self.size, records)
        for header in headers:
            self.extend(header)

    def extend(self, header: BatchHeader) -> None:
        """Take note that the batch of `header` lies at the end of the file."""
        self._index_batch(IndexEntry(header.base_offset, self.size))
        self.size += header.size_in_bytes
        self.next_offset = header.next_offset

    def load(self) -> None:
        """Find the end of a segment known to be whole; adds index entries that are missing.

        Raises `CorruptMessageError` when the file is not made of whole batches.
        """
        self._continue_from(self._checked(self._index.last))
        file_bytes = self.file.size()
        for _, header in self._headers(self.size, file_bytes):
            self.extend(header)
        if self.size != file_bytes:
            raise CorruptMessageError(f"{self.file.path} ends {self.size - file_bytes:+} bytes off")

    def reset(self) -> None:
        """Forget all batches and the index, for whoever goes over the file with `extend`."""
        self._index.clear()
        self._continue_from(IndexEntry(self.base_offset, 0))

    def read(self, offset: int, *, max_bytes: int, upper_bound: int) -> ReadResult:
        """Whole batches from the one with `offset` on, as `PartitionLog.read`; needs `offset` here.

        Headers are walked from the last index entry before each of both ends, no others.
        """
        entry = self._checked(lambda: self._index.floor_offset(offset))
        start, first = self._first_reaching(offset, entry.position)
        if first.last_offset >= upper_bound:
            return ReadResult(b"", offset)
        limit = start + max(max_bytes, first.size_in_bytes)
        end = self._cut(IndexEntry(first.base_offset, start), limit, upper_bound)
        records = self.file.read_at(start, end.position - start)
        if len(records) != end.position - start:
            raise StorageError(f"{self.file.path} is shorter than what was written to it")
        return ReadResult(records, end.offset)

    def truncate_to(self, offset: int) -> None:
        """Drop every batch that holds `offset` or a later one."""
        entry = self._checked(lambda: self._index.floor_offset(offset))
        cut = self._cut(entry, self.size, offset)
        self._index.truncate_to(cut.offset)
        self.size, self.next_offset = cut.position, cut.offset
        self.file.truncate(self.size)

    async def sync(self) -> None:
        """Bring all batches, and the index, to stable storage."""
        await self.file.sync()
        await self._index.sync()

    def close(self) -> None:
        """Close both files; nothing is synced."""
        self._index.close()
        self.file.close()

    def delete(self) -> None:
        """Close and remove both files."""
        self.close()
        self._disk.remove(self._index.path)
        self._disk.remove(self.file.path)

    def _first_reaching(self, offset: int, position: int) -> tuple[int, BatchHeader]:
        for at, header in self._headers(position, self.size):
            if header.last_offset >= offset:
                return at, header
        raise CorruptMessageError(f"{self.file.path} has lost the batch with offset {offset}")

    def _cut(self, start: IndexEntry, limit: int, upper_bound: int) -> IndexEntry:
        """Where the first batch begins that ends beyond `limit` or reaches `upper_bound`."""
        if limit >= self.size and upper_bound >= self.next_offset:
            return IndexEntry(self.next_offset, self.size)
        by_position = self._checked(lambda: self._index.floor_position(limit))
        by_offset = self._checked(lambda: self._index.floor_offset(upper_bound))
        nearest = max(start, min(by_position, by_offset))
        for position, header in self._headers(nearest.position, self.size):
            if position + header.size_in_bytes > limit or header.last_offset >= upper_bound:
                return IndexEntry(header.base_offset, position)
        return IndexEntry(self.next_offset, self.size)

    def _checked(self, look_up: Callable[[], IndexEntry]) -> IndexEntry:
        """What the index says, if the log says so too; else the index is made anew first."""
        entry = look_up()
        if not entry.position or self._is_batch(entry):
            return entry
        self._index.clear()
        for position, header in self._headers(0, self.size or self.file.size()):
            self._index_batch(IndexEntry(header.base_offset, position))
        return look_up()

    def _index_batch(self, entry: IndexEntry) -> None:
        if entry.position - self._index.last().position > self._index_interval_bytes:
            self._index.append(entry)

    def _is_batch(self, entry: IndexEntry) -> bool:
        try:
            header = parse_header(self.file.read_at(entry.position, HEADER_BYTES))
        except CorruptMessageError:
            return False
        return header.base_offset == entry.offset

    def _continue_from(self, entry: IndexEntry) -> None:
        self.next_offset, self.size = entry

    def _headers(self, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        """Each batch that lies wholly between `position` and `end`, by position and header."""
        window, window_at = b"", position
        while position + HEADER_BYTES <= end:
            at = position - window_at
            if at + HEADER_BYTES > len(window):
                window, window_at, at = self.file.read_at(position, _WINDOW_BYTES), position, 0
            header = parse_header(window, at)
            if position + header.size_in_bytes > end:
                return
            yield position, header
            position += header.size_in_bytes


def segment_path(directory: str, base_offset: int) -> str:
    """The log file of a segment: its base offset in 20 digits."""
    return f"{directory}/{base_offset:020d}{LOG_SUFFIX}"


def base_offsets(disk: Disk, directory: str) -> list[int]:
    """Of the segments in a folder, ascending; other files are not looked at."""
    names = (name for name in disk.list(directory) if name.endswith(LOG_SUFFIX))
    stems = (name.removesuffix(LOG_SUFFIX) for name in names)
    return [int(stem) for stem in stems if len(stem) == 20 and stem.isdecimal()]
