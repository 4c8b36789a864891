"""Timeline of a run, for people: faults, elections, operations. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable

SIMULATION_LOOP = "world"


class Timeline:
    """A line an event, `seconds who what`, handed to `sink` at once; silent without one."""

    def __init__(self, now_s: Callable[[], float], sink: Callable[[str], None] | None) -> None:
        self.is_kept = sink is not None
        """True if anyone reads it: who has much to say asks first."""
        self._now_s = now_s
        self._sink = sink

    def note(self, who: str, what: str) -> None:
        """Add an event."""
        if self._sink is not None:
            self._sink(f"{self._now_s():10.6f}  {who:<9} {what}")
