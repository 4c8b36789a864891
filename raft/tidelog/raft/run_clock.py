"""Clock that runs only while this node's loop runs, so that peers are not blamed for its stalls.

A loop without CPU receives nothing: without this clock a starved follower would mistake its own
stall for the leader's silence, and a starved leader for its followers' (decision 0026). A late step
counts as if it had run when it was due, and all timeouts are extended by the delay. Pure.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

PROMPT_S = 0.01
"""Tolerated delay of a step; without it, steps in quick succession would stop the clock."""


class RunClock:
    """Conversion of a monotonic clock's seconds into seconds during which this loop ran."""

    def __init__(self) -> None:
        self._absent_s = 0.0
        self._due_s = float("inf")

    def step(self, monotonic_s: float) -> float:
        """Time of a step that begins now. Never decreases."""
        self._absent_s += max(0.0, monotonic_s - self._due_s - PROMPT_S)
        self._due_s = float("inf")
        return self.now(monotonic_s)

    def plan(self, monotonic_s: float, next_step_in_s: float) -> None:
        """Set the delay until the next step is due; the step may come sooner."""
        self._due_s = monotonic_s + next_step_in_s

    def now(self, monotonic_s: float) -> float:
        """Time between two steps, for status queries."""
        return min(monotonic_s, self._due_s + PROMPT_S) - self._absent_s
