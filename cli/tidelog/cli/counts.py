"""Numbers and their nouns: `1 record`, `2 records`."""

from __future__ import annotations


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """The count and its noun; `plural` where that is not the noun and an s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
