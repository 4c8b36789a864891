"""The longest stalls of the node's event loop, for `/metrics`: always measured.

A stall is how late a timer comes that does nothing else: something computed for long, waited for a
device on the loop, or the machine gave the process no CPU. Quorum, sessions and records share the
loop, so during a stall this node is away. It shows shorter than it was by one beat at most.
"""

from __future__ import annotations

import asyncio

import structlog

from tidelog.core.env import Clock

BEAT_S = 0.025
RECENT_S = 60.0
TOLD_S = 1.0
"""A stall from this length on is logged."""

log = structlog.get_logger(__name__)


class LoopStalls:
    """Measures the running loop between `start` and `stop`."""

    def __init__(self, clock: Clock) -> None:
        self.longest_s = 0.0
        """Since the start."""
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._halves_s = (0.0, 0.0)
        """The longest of the present half of RECENT_S, and of the one before."""
        self._half_ends_s = 0.0

    @property
    def recent_s(self) -> float:
        """The longest stall of about the last minute: of 30 to 60 s."""
        return max(self._halves_s)

    def start(self) -> None:
        """Begin to measure."""
        self._half_ends_s = self._clock.monotonic_s() + RECENT_S / 2
        self._set_timer()

    def stop(self) -> None:
        """Measure no more; what was measured stays."""
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self._due_s = self._clock.monotonic_s() + BEAT_S
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        now_s = self._clock.monotonic_s()
        self._note(max(0.0, now_s - self._due_s), now_s)
        self._set_timer()

    def _note(self, late_s: float, now_s: float) -> None:
        if now_s >= self._half_ends_s:
            has_slept = now_s >= self._half_ends_s + RECENT_S / 2
            self._halves_s = (0.0, 0.0 if has_slept else self._halves_s[0])
            self._half_ends_s = now_s + RECENT_S / 2
        self._halves_s = (max(late_s, self._halves_s[0]), self._halves_s[1])
        self.longest_s = max(late_s, self.longest_s)
        if late_s >= TOLD_S:
            log.warning("the event loop stood still", seconds=round(late_s, 3))
