"""Positions of a segment's batches, read from its bytes alone. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import CRC_START, parse_header


class Span(NamedTuple):
    """A batch of a `.log` file: bytes `[start, end)`."""

    start: int
    end: int

    @property
    def guarded_from(self) -> int:
        """From this byte on its CRC covers it."""
        return self.start + CRC_START


def spans(content: bytes) -> list[Span]:
    """Spans of whole batches, up to the first byte that begins none."""
    found: list[Span] = []
    at = 0
    while at < len(content):
        try:
            end = at + parse_header(content, at).size_in_bytes
        except CorruptMessageError:
            break
        if end > len(content):
            break
        found.append(Span(at, end))
        at = end
    return found
