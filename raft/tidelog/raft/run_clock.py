"""Time that passes only while this node's loop runs, so that nobody is blamed for its absence.

A loop that gets no CPU hears nobody: without this a starved follower would take its own absence for
the leader's silence, and a starved leader for its followers' (decision 0026). A step that comes
late counts as if it had come when it was due, and all time-outs end so much later. Pure.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

PROMPT_S = 0.01
"""A step that comes so late is on time; else steps in quick succession would stop the clock."""


class RunClock:
    """Turns a monotonic clock's seconds into seconds in which this loop ran."""

    def __init__(self) -> None:
        self._absent_s = 0.0
        self._due_s = float("inf")

    def step(self, monotonic_s: float) -> float:
        """The time of a step that begins now. Never falls."""
        self._absent_s += max(0.0, monotonic_s - self._due_s - PROMPT_S)
        self._due_s = float("inf")
        return self.now(monotonic_s)

    def plan(self, monotonic_s: float, next_step_in_s: float) -> None:
        """The next step is due so long from now; it may come sooner."""
        self._due_s = monotonic_s + next_step_in_s

    def now(self, monotonic_s: float) -> float:
        """The time between two steps, for who looks on."""
        return min(monotonic_s, self._due_s + PROMPT_S) - self._absent_s
