"""Parts of records beside their values: drawn for each that is sent, noted of each that is read.

Keys repeat, so that compaction has something to do; headers repeat names and have nulls. Timestamps
are the clock's, the same as the one before, late or early as far as a broker takes them by default,
or none at all where the client's protocol has a way to say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidelog.client import Record
from tidelog.core.chance import SeededRandom, one_of
from tidelog.history.history import Parts
from tidelog.records.records import NO_TIMESTAMP

NAME_HEADER = "name"
"""Header with the name of a record whose value is null."""
LATE_MS_MAX, VERY_LATE_MS_MAX = 3_600_000, 6 * 24 * 3_600_000
"""Less than any retention of a topic whose records must stay."""
EARLY_MS_MAX = 50 * 60_000
"""Less than message.timestamp.after.max.ms, though clocks drift."""
TOMBSTONE_SHARE = 0.15
BACKDATED_SHARE = 0.8
"""Share of records whose retention is over when they are sent, between those of now."""
KEYS = 8
"""Keys of a producer that come again and again."""
PARTS_BYTES_MAX = 120
"""Bytes of a record beside its value, with key, headers and lengths."""
_NAMES = ("h", "trace", "ü", "")
_VALUES = (None, b"", b"v", b"\x00\xff" * 6)


@dataclass(frozen=True, slots=True)
class Carried:
    """Parts of a record that a producer's protocol carries."""

    may_omit_timestamp: bool = False
    """True if it can send a record without a timestamp (-1)."""
    has_timestamps: bool = True
    has_headers: bool = True
    is_key_text: bool = False


CARRIES_ALL = Carried()


class PartsDrawer:
    """Draws of one producer, of the parts that are `carried`.

    `is_backdating`: most of its records are older than their topic keeps them.
    `is_compacted`: the topic's records need keys, and some are tombstones.
    `wall_ms`: its clock, in milliseconds since the Unix epoch; None: its client names the times.
    """

    def __init__(
        self,
        random: SeededRandom,
        wall_ms: Callable[[], int] | None,
        *,
        codec: str = "",
        carried: Carried = CARRIES_ALL,
        is_compacted: bool = False,
        is_backdating: bool = False,
    ) -> None:
        self._random = random
        self._wall_ms = wall_ms
        self._codec = codec
        self._carried = carried
        self._is_compacted = is_compacted
        self._is_backdating = is_backdating
        self._last_ms = 0 if wall_ms is None else wall_ms()

    def draw(self, name: bytes) -> Parts:
        """Parts of the next record; one whose value is null has its name in a header."""
        is_null = self._is_compacted and self._random.random() < TOMBSTONE_SHARE
        return Parts(
            key=self._key(),
            headers=((NAME_HEADER, name),) if is_null else self._headers(),
            timestamp_ms=self._timestamp_ms() if self._carried.has_timestamps else None,
            codec=self._codec,
            is_null=is_null,
        )

    def value_bytes(self, most: int) -> int:
        """Size of the next value: half of them have all of it."""
        draw = self._random.random()
        return most if draw < 0.5 else self._random.randrange(0, most + 1)

    def _key(self) -> bytes | None:
        draw = self._random.random()
        if draw < 0.35 and not self._is_compacted:
            return None
        if draw < 0.9:
            return b"k%d" % self._random.randrange(0, KEYS)
        key = self._random.randbytes(self._random.randrange(0, 24))
        return key.hex().encode() if self._carried.is_key_text else key

    def _headers(self) -> tuple[tuple[str, bytes | None], ...]:
        if not self._carried.has_headers:
            return ()
        count = (0, 0, 0, 1, 2)[self._random.randrange(0, 5)]
        return tuple(
            (one_of(self._random, _NAMES), one_of(self._random, _VALUES)) for _ in range(count)
        )

    def _timestamp_ms(self) -> int | None:
        if self._wall_ms is None:
            return None
        now_ms, draw = self._wall_ms(), self._random.random()
        if self._is_backdating and self._random.random() < BACKDATED_SHARE:
            return now_ms - LATE_MS_MAX - self._random.randrange(0, VERY_LATE_MS_MAX)
        if draw < 0.08 and self._carried.may_omit_timestamp:
            return NO_TIMESTAMP
        if draw < 0.6:
            self._last_ms = now_ms
        elif draw < 0.75:
            self._last_ms = now_ms - self._random.randrange(0, LATE_MS_MAX)
        elif draw < 0.8:
            self._last_ms = now_ms - self._random.randrange(0, VERY_LATE_MS_MAX)
        elif draw < 0.9:
            self._last_ms = now_ms + self._random.randrange(0, EARLY_MS_MAX)
        return self._last_ms


def parts_of(record: Record[Any, Any], codec: str = "") -> Parts:
    """Parts of a record as it was read; `codec`: that of its batch, if the client tells."""
    return Parts(
        key=record.key,
        headers=record.headers,
        timestamp_ms=record.timestamp_ms,
        codec=codec,
        is_null=record.value is None,
    )


def name_of(record: Record[Any, Any]) -> bytes:
    """The value of a record, or the name that one without a value has in its headers."""
    if record.value is not None:
        return bytes(record.value)
    return next((value or b"" for name, value in record.headers if name == NAME_HEADER), b"")
