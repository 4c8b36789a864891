"""A clock for clients that wait without a loop."""

from __future__ import annotations


class HastyClock:
    """Goes on by `step_ms` whenever somebody looks at it."""

    def __init__(self, *, step_ms: int) -> None:
        self._step_ms = step_ms
        self._now_ms = 0

    def monotonic_ms(self) -> int:
        self._now_ms += self._step_ms
        return self._now_ms

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self._now_ms
