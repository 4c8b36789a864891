"""Longest stalls of the node's event loop, for `/metrics`; always measured.

A stall is the delay of an idle timer: a long computation, a blocking wait on the loop, or a machine
that gave the process no CPU. Quorum, sessions and records share the loop, so during a stall this
node does not respond. The measured value is too short by at most one beat.
"""

from __future__ import annotations

import asyncio

from tidelog.core.env import Clock
from tidelog.core.logs import get_logger

BEAT_S = 0.025
RECENT_S = 60.0
LOGGED_S_MIN = 1.0
"""Minimum length of a stall that is logged."""

log = get_logger(__name__)


class LoopStalls:
    """Measurement of the running loop's stalls between `start` and `stop`."""

    def __init__(self, clock: Clock) -> None:
        self.longest_s = 0.0
        """Longest stall since the start."""
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._halves_s = (0.0, 0.0)
        """Longest stall of the current half of RECENT_S, and of the half before."""
        self._half_ends_s = 0.0

    @property
    def recent_s(self) -> float:
        """Longest stall of the last 30 to 60 s."""
        return max(self._halves_s)

    def start(self) -> None:
        """Start measuring."""
        self._half_ends_s = self._clock.monotonic_s() + RECENT_S / 2
        self._set_timer()

    def stop(self) -> None:
        """Stop measuring; the results stay."""
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
        if late_s >= LOGGED_S_MIN:
            log.warning("the event loop stood still", seconds=round(late_s, 3))
