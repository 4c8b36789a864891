"""Patterns of a group's subscription, as text for the coordinator. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re

_WITHOUT_EFFECT = re.UNICODE | re.ASCII | re.DOTALL | re.DEBUG
"""Flags that change nothing for the names of topics, which are ASCII and have no lines."""


def pattern_text(pattern: str | re.Pattern[str] | None) -> str:
    """Return the text that means the same; empty: no pattern.

    Raises ValueError for a compiled pattern with a flag that the coordinator does not know.
    """
    if not isinstance(pattern, re.Pattern):
        return pattern or ""
    flags = re.RegexFlag(pattern.flags) & ~_WITHOUT_EFFECT
    if flags & ~re.IGNORECASE:
        raise ValueError(
            f"{pattern!r} has flags that a coordinator does not know: write a pattern without "
            "them; IGNORECASE and DOTALL it knows"
        )
    is_said = pattern.pattern.startswith(("(?i)", "(?is)", "(?si)"))
    return f"(?i){pattern.pattern}" if flags and not is_said else pattern.pattern
