"""Expiry of committed offsets (KIP-211). Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

AS_CONFIGURED = -1
"""Retention of an offset whose client asked for none: offsets.retention.minutes."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Expiry of a group's offsets."""

    retention_ms: int
    subscribed: Container[str] = ()
    """Topics that the group's members read: their offsets do not expire."""
    empty_since_ms: int | None = None
    """Time since which the group has no members; None: it has some, or never had one."""

    def is_over(self, committed_ms: int, retention_ms: int, now_ms: int) -> bool:
        """True for an offset of a committed time, with a retention of its own if not below 0."""
        if retention_ms >= 0:
            return now_ms - committed_ms >= retention_ms
        kept_since_ms = max(committed_ms, self.empty_since_ms or 0)
        return now_ms - kept_since_ms >= self.retention_ms
