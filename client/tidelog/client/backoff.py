"""The pause before a retry: exponential with jitter (KIP-580). Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.env import Random

_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class Backoff:
    """`initial_ms` at first, doubled after each further failure, at most `max_ms`; +- 20 %."""

    initial_ms: int = 50
    max_ms: int = 500

    def delay_ms(self, failures: int, random: Random) -> int:
        """The pause after `failures` (>= 1) failures in a row."""
        doublings = min(failures - 1, 16)
        delay = min(self.initial_ms << doublings, self.max_ms)
        return max(1, round(delay * (1 + _JITTER * (2 * random.random() - 1))))
