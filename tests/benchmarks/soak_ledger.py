"""What a soak's producers were told, and what was read in the end: who lost, doubled or moved what.

The history checker of `tidelog.history.checks` wants every call in memory at once, some hundred
bytes each; a soak makes millions. Here a record is ten bytes: it has a name, (producer, place,
sequence), which is its value as well, and sequences of one producer and place are sent in order
from 0 on.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

Place = tuple[str, int]
"""Topic and partition."""
OFFSET_UNKNOWN = -1
NO_OUTCOME, ACKNOWLEDGED, FAILED, UNKNOWN = range(4)
"""What became of a record, as its producer was told: FAILED is certainly not stored."""
VIOLATIONS = ("lost", "misplaced", "duplicated", "reordered", "unwritten", "failed_but_read")

_RECEIPT = struct.Struct("<HHqqB")
_OFFSET = struct.Struct("<q")


class Name(NamedTuple):
    """One record; `place` is an index of the soak's list of places."""

    producer: int
    place: int
    sequence: int

    def value(self, size_bytes: int) -> bytes:
        """The record's value, padded."""
        return (b"%d.%d.%d" % self).ljust(size_bytes)

    @classmethod
    def of(cls, value: bytes | None) -> Name | None:
        """The name that a value is; None for one that no producer made."""
        parts = (value or b"").rstrip().split(b".")
        if len(parts) != 3 or not all(part.isdigit() for part in parts):
            return None
        return cls(*map(int, parts))


class Receipt(NamedTuple):
    """What one producer was told of one record."""

    name: Name
    offset: int
    outcome: int

    def to_bytes(self) -> bytes:
        """As it lies in a file of receipts."""
        return _RECEIPT.pack(*self.name, self.offset, self.outcome)

    @staticmethod
    def iter_bytes(data: bytes) -> Iterator[Receipt]:
        """All receipts of a file; one that is cut short at the end is left out."""
        whole = len(data) // _RECEIPT.size * _RECEIPT.size
        for producer, place, sequence, offset, outcome in _RECEIPT.iter_unpack(data[:whole]):
            yield Receipt(Name(producer, place, sequence), offset, outcome)


@dataclass(slots=True)
class Stream:
    """What one producer sent to one place, by sequence."""

    outcomes: bytearray = field(default_factory=bytearray)
    offsets: array[int] = field(default_factory=lambda: array("q"))
    was_read: bytearray = field(default_factory=bytearray)
    last_read: int = -1

    def take(self, receipt: Receipt) -> None:
        """Note what became of a record."""
        missing = receipt.name.sequence + 1 - len(self.outcomes)
        if missing > 0:
            self.outcomes.extend(bytes(missing))
            self.was_read.extend(bytes(missing))
            self.offsets.extend([OFFSET_UNKNOWN] * missing)
        self.outcomes[receipt.name.sequence] = receipt.outcome
        self.offsets[receipt.name.sequence] = receipt.offset


class Ledger:
    """All receipts first, then all records of each place in offset order, then `counts`."""

    def __init__(self, receipts: Iterable[Receipt]) -> None:
        self._streams: dict[tuple[int, int], Stream] = {}
        self._found = dict.fromkeys(VIOLATIONS, 0)
        self.examples: list[str] = []
        """Some of what was wrong, in words."""
        for receipt in receipts:
            key = receipt.name.producer, receipt.name.place
            self._streams.setdefault(key, Stream()).take(receipt)

    def read(self, place: int, offset: int, value: bytes | None) -> None:
        """One record of the final read."""
        name = Name.of(value)
        stream = name and self._streams.get((name.producer, name.place))
        if name is None or not stream or name.place != place:
            return self._complain("unwritten", f"{value!r} at {offset} of place {place}")
        if name.sequence >= len(stream.outcomes):
            return self._complain("unwritten", f"{name} at {offset}")
        if stream.was_read[name.sequence]:
            return self._complain("duplicated", f"{name} again at {offset}")
        stream.was_read[name.sequence] = 1
        self._judge_first(name, stream, offset)
        return None

    def counts(self) -> dict[str, int]:
        """Records by what their producers were told, and every violation by its kind."""
        outcomes = [0] * 4
        for (producer, place), stream in self._streams.items():
            for kind in range(4):
                outcomes[kind] += stream.outcomes.count(kind)
            for sequence, outcome in enumerate(stream.outcomes):
                if outcome == ACKNOWLEDGED and not stream.was_read[sequence]:
                    name = Name(producer, place, sequence)
                    self._complain("lost", f"{name}, stored at {stream.offsets[sequence]}")
        return {
            "acknowledged": outcomes[ACKNOWLEDGED],
            "failed": outcomes[FAILED],
            "unknown": outcomes[UNKNOWN],
            "not_told": outcomes[NO_OUTCOME],
            "read": sum(stream.was_read.count(1) for stream in self._streams.values()),
            **self._found,
        }

    def _judge_first(self, name: Name, stream: Stream, offset: int) -> None:
        if name.sequence < stream.last_read:
            self._complain("reordered", f"{name} at {offset}, after {stream.last_read}")
        stream.last_read = max(stream.last_read, name.sequence)
        acked_offset = stream.offsets[name.sequence]
        if stream.outcomes[name.sequence] == FAILED:
            self._complain("failed_but_read", f"{name} at {offset}")
        elif acked_offset not in {OFFSET_UNKNOWN, offset}:
            self._complain("misplaced", f"{name} at {offset}, acknowledged at {acked_offset}")

    def _complain(self, kind: str, what: str) -> None:
        self._found[kind] += 1
        if len(self.examples) < 10:
            self.examples.append(f"{kind}: {what}")


@dataclass(slots=True)
class Digest:
    """All that one reader read of one place, offsets and values, in its order."""

    records: int = 0
    crc: int = 0

    def add(self, offset: int, value: bytes | None) -> None:
        """The next record."""
        self.records += 1
        self.crc = zlib.crc32(value or b"", zlib.crc32(_OFFSET.pack(offset), self.crc))
