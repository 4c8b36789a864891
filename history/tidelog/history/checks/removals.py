"""Records of a partition that may be gone, and when: by deletions, retention or compaction. Pure.

    deletion        below the offset of one that was asked for and not refused
    retention.ms    when the timestamp is older; a record without one by the time of its send, or
                    with the nearest record that has one
    retention.bytes when so many bytes may lie above it: an upper bound of them
    compaction      when a later record has its key, and a tombstone at any time

What none of these takes must be there. Judges nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import NamedTuple

from tidelog.history.history import Deletion, Keeping, Parts, Send

RECORD_OVERHEAD_BYTES = 100
"""More than a batch of one record has beside its key, value and headers."""
UNKNOWN_RECORD_BYTES = 4_096
"""More than a record has of which nothing is known but its offset."""
_NOTHING = Keeping()


class Known(NamedTuple):
    """A record whose place is known for good."""

    value: bytes
    send: Send | None
    parts: Parts | None
    """As it was sent, or else as it was read."""


@dataclass
class Removals:
    """See the module; `records` are those known by offset, of the whole history."""

    records: Mapping[int, Known]
    keeping: Keeping = _NOTHING
    wall_s: float = 0.0
    deletions: Sequence[Deletion] = ()
    unplaced: Iterable[Send] = field(default_factory=list)
    """Sends that may have been stored, nobody knows where."""

    def may_be_gone(self, offset: int, at_s: float) -> bool:
        """True if the record at an offset need not be served at this time."""
        known = self.records.get(offset)
        if known is None or self._is_deleted(offset, at_s):
            return True
        return (
            self._is_expired(offset, known, at_s)
            or self._is_pushed_out(offset)
            or (self.keeping.is_compacted and self._is_superseded(offset, known, at_s))
        )

    def deleted_before(self, at_s: float) -> Deletion | None:
        """The deletion with the highest log start that was acknowledged before this time."""
        ended = [
            one
            for one in self.deletions
            if one.outcome == "ok"
            and one.offset is not None
            and one.ended_s is not None
            and one.ended_s < at_s
        ]
        return max(ended, key=lambda one: one.offset or 0, default=None)

    def _is_deleted(self, offset: int, at_s: float) -> bool:
        return any(
            one.outcome != "fail" and one.before > offset and one.invoked_s <= at_s
            for one in self.deletions
        )

    def _is_expired(self, offset: int, known: Known, at_s: float) -> bool:
        retention_ms = self.keeping.retention_ms
        if retention_ms is None:
            return False
        named_ms = _named_ms(known)
        if named_ms is None or named_ms < 0:
            if known.send is None or (named_ms is not None and self._goes_along(offset, at_s)):
                return True
            named_ms = self._wall_ms(known.send.invoked_s)
        if at_s == inf:
            return True
        return named_ms < self._wall_ms(at_s) + self.keeping.skew_ms - retention_ms

    def _goes_along(self, offset: int, at_s: float) -> bool:
        """True if a record without a timestamp may go with the nearest one that has one.

        The newest timestamp of a segment is its age, as in Kafka; its file's time only without any.
        """
        return any(self._next_is_expired(offset, step, at_s) for step in (-1, 1))

    def _next_is_expired(self, offset: int, step: int, at_s: float) -> bool:
        offsets, _ = self._sizes
        place = offset + step
        while 0 <= place <= offsets[-1]:
            known = self.records.get(place)
            if known is None:
                return True
            named_ms = _named_ms(known)
            if named_ms is None or named_ms >= 0:
                return self._is_expired(place, known, at_s)
            place += step
        return False

    def _wall_ms(self, at_s: float) -> int:
        return int((self.wall_s + at_s) * 1000)

    def _is_pushed_out(self, offset: int) -> bool:
        retention_bytes = self.keeping.retention_bytes
        if retention_bytes is None:
            return False
        return self._bytes_above(offset) >= retention_bytes

    def _bytes_above(self, offset: int) -> int:
        offsets, sums = self._sizes
        place = bisect_right(offsets, offset)
        there = len(offsets) - place
        between = offsets[-1] - offset - there if there else 0
        known = sums[-1] - sums[place - 1] if place else (sums[-1] if sums else 0)
        unknown = between + sum(1 for _ in self.unplaced)
        return known + unknown * UNKNOWN_RECORD_BYTES

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int]]:
        offsets = sorted(self.records)
        return offsets, list(accumulate(_size(self.records[one]) for one in offsets))

    def _is_superseded(self, offset: int, known: Known, at_s: float) -> bool:
        if known.parts is None:
            return True
        if known.parts.is_null:
            return True
        later = self._last_of_key.get(known.parts.key, -1)
        return later > offset or self._may_be_overwritten(known.parts.key, at_s)

    @cached_property
    def _last_of_key(self) -> dict[bytes | None, int]:
        return {
            one.parts.key: offset
            for offset, one in sorted(self.records.items())
            if one.parts is not None and one.parts.key is not None
        }

    def _may_be_overwritten(self, key: bytes | None, at_s: float) -> bool:
        """True if a record that nobody was shown may have come later: it may be gone itself."""
        return any(
            one.parts is not None and one.parts.key == key and one.invoked_s <= at_s
            for one in self.unplaced
        )


def _named_ms(known: Known) -> int | None:
    return None if known.parts is None else known.parts.timestamp_ms


def _size(known: Known) -> int:
    parts = known.parts
    if parts is None:
        return len(known.value) + RECORD_OVERHEAD_BYTES
    headers = sum(len(name) * 4 + len(value or b"") + 20 for name, value in parts.headers)
    return len(known.value) + len(parts.key or b"") + headers + RECORD_OVERHEAD_BYTES
