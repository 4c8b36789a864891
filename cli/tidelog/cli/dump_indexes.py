"""`.index`, `.timeindex` and `.txnindex` files: their entries, compared with the log.

An index that a node is writing ends in zeros. Entries are ordered as the log is, so one walk over
both, side by side, checks every entry.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from tidelog.cli.dump_batches import walk
from tidelog.cli.dump_files import Source
from tidelog.cli.dump_lines import Line, damage
from tidelog.core.errors import CorruptMessageError
from tidelog.log.aborted_index import ABORTED_ENTRY
from tidelog.log.index import OFFSET_ENTRY, TIME_ENTRY
from tidelog.records.batch import CONTROL_FLAG, BatchHeader
from tidelog.records.records import read_marker

_ENTRIES_PER_READ = 4096
_TRANSACTION_VERSION = 0

Entry = dict[str, int]
Check = Callable[[Entry], str | None]
"""Returns the problem of an entry, or None."""


def dump_index(source: Source, *, log: Source | None) -> Iterator[Line]:
    """A line per entry; with `log`, `isvalid`: the batch at the position ends at the offset."""
    base = source.base_offset
    entries = (
        (at, {"offset": base + relative, "position": position} if relative or position else None)
        for at, (relative, position) in _entries(source, OFFSET_ENTRY)
    )
    yield from _check_entries(entries, _offset_check(log) if log else None)
    yield from _cut_entry(source, OFFSET_ENTRY)


def dump_time_index(source: Source, *, log: Source | None) -> Iterator[Line]:
    """A line per entry; with `log`, `isvalid`: no record up to the offset is newer."""
    base = source.base_offset
    entries = (
        (at, {"timestamp": time, "offset": base + relative} if time or relative else None)
        for at, (time, relative) in _entries(source, TIME_ENTRY)
    )
    yield from _check_entries(entries, _time_check(log) if log else None)
    yield from _cut_entry(source, TIME_ENTRY)


def dump_transaction_index(source: Source, *, log: Source | None) -> Iterator[Line]:
    """A line per aborted transaction; with `log`, `isvalid`: it ends with its abort marker."""
    check, last_offset = _abort_check(log) if log else None, -1
    for at, (version, producer_id, *offsets) in _entries(source, ABORTED_ENTRY):
        names = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
        entry = dict(zip(names, (version, producer_id, *offsets), strict=True))
        problem = None
        if version != _TRANSACTION_VERSION:
            problem = f"unknown entry version {version}"
        elif entry["lastOffset"] <= last_offset:
            problem = "the entry is not above the previous one"
        elif check is not None:
            problem = check(entry)
        yield Line("entry", entry if check is None else {**entry, "isvalid": problem is None})
        last_offset = entry["lastOffset"]
        if problem is not None:
            yield damage(problem, position=at)
    yield from _cut_entry(source, ABORTED_ENTRY)


def _entries(source: Source, entry: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every whole entry with its position; a bounded number is in memory."""
    size = source.size() - source.size() % entry.size
    for start in range(0, size, _ENTRIES_PER_READ * entry.size):
        piece = source.read_at(start, min(_ENTRIES_PER_READ * entry.size, size - start))
        for number, fields in enumerate(entry.iter_unpack(piece)):
            yield start + number * entry.size, fields


def _cut_entry(source: Source, entry: struct.Struct) -> Iterator[Line]:
    """Report a partial last entry; preallocated zeros that make no whole entry are not one."""
    size = source.size()
    end = size - size % entry.size
    if any(source.read_at(end, size - end)):
        yield damage("the last entry is cut", position=end)


def _check_entries(
    entries: Iterator[tuple[int, Entry | None]], check: Check | None
) -> Iterator[Line]:
    previous: Entry = {}
    is_at_end = False
    for at, entry in entries:
        if entry is None:
            is_at_end = True
            continue
        problem = None
        if is_at_end:
            problem = "zeros precede the entry"
        elif any(entry[name] <= number for name, number in previous.items()):
            problem = "the entry is not above the previous one"
        elif check is not None:
            problem = check(entry)
        yield Line("entry", entry if check is None else {**entry, "isvalid": problem is None})
        if problem is None:
            previous = entry
        else:
            yield damage(problem, position=at)


def _offset_check(log: Source) -> Check:
    cursor = _Cursor(log)

    def check(entry: Entry) -> str | None:
        position, header = cursor.seek_position(entry["position"])
        if header is None or position != entry["position"]:
            return "no batch of the log begins at that position"
        if header.last_offset != entry["offset"]:
            return f"the batch at that position ends at offset {header.last_offset}"
        return None

    return check


def _time_check(log: Source) -> Check:
    cursor = _Cursor(log)

    def check(entry: Entry) -> str | None:
        header = cursor.seek_offset(entry["offset"])
        if header is None:
            return "the log ends before that offset"
        if cursor.max_timestamp != entry["timestamp"]:
            return f"the log's maximum timestamp up to that offset is {cursor.max_timestamp}"
        return None

    return check


def _abort_check(log: Source) -> Check:
    cursor = _Cursor(log)

    def check(entry: Entry) -> str | None:
        header = cursor.seek_offset(entry["lastOffset"])
        if header is None or header.last_offset != entry["lastOffset"]:
            return "no batch of the log ends at the last offset"
        if header.producer_id != entry["producerId"] or not header.attributes & CONTROL_FLAG:
            return f"the batch at the last offset is no marker of producer {entry['producerId']}"
        try:
            is_commit = read_marker(log.read_at(cursor.position, header.size_in_bytes)).is_commit
        except CorruptMessageError as error:
            return error.message
        return "the marker at the last offset commits" if is_commit else None

    return check


class _Cursor:
    """A position in the log that moves forward; it goes back only after a wrong entry."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._rewind()

    def seek_position(self, position: int) -> tuple[int, BatchHeader | None]:
        """The first batch that begins at `position` or after it."""
        if self._header is None or self.position > position:
            self._rewind()
        while self._header is not None and self.position < position:
            self._advance()
        return self.position, self._header

    def seek_offset(self, offset: int) -> BatchHeader | None:
        """The first batch that ends at `offset` or after it."""
        if self._header is None or self._header.base_offset > offset:
            self._rewind()
        while self._header is not None and self._header.last_offset < offset:
            self._advance()
        return self._header

    def _rewind(self) -> None:
        self._steps = walk(self._log)
        self.max_timestamp = -1
        """The maximum timestamp of the batches up to this one."""
        self._advance()

    def _advance(self) -> None:
        self._header = None
        for step in self._steps:
            if step.header is not None:
                self.position, self._header = step.position, step.header
                self.max_timestamp = max(self.max_timestamp, step.header.max_timestamp)
                return
