"""Trace of a run, as one hash and, when asked for, as lines. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b


class Trace:
    """Every delivered message, fired timer and fault, in order: equal hashes mean equal runs."""

    def __init__(self, *, sink: Callable[[str], None] | None = None) -> None:
        self._hash = blake2b(digest_size=16)
        self._sink = sink

    def record(self, now_s: float, *fields: object) -> None:
        """Add one event at virtual time `now_s`; fields must print the same in every process."""
        line = f"{now_s:.6f} " + " ".join(map(str, fields))
        self._hash.update(line.encode() + b"\n")
        if self._sink is not None:
            self._sink(line)

    def record_message(self, now_s: float, label: str, content: bytes) -> None:
        """Add a delivered message with all its bytes."""
        self._hash.update(content)
        self.record(now_s, "deliver", label, f"{len(content)}B")

    def hexdigest(self) -> str:
        """The hash of all that was recorded so far."""
        return self._hash.hexdigest()
