"""Markup, and how text gets into it: escaped, always. Pure.

What is made is well-formed XML as much as HTML, so that a strict parser proves nothing slipped in.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NewType

Markup = NewType("Markup", str)
"""Safe to put into a page. Only `text`, `element` and constants of this package make it."""

NOTHING = Markup("")
_EMPTY = frozenset({"circle", "col", "input", "line", "meta", "path", "rect"})
"""Elements that have no content; all others are closed by a tag, which HTML insists on."""

# XML has no control characters, not even as references: they are shown by their pictures.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
_NO_CHARACTERS = dict.fromkeys([*range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], 0xFFFD)
_SHOWN = _PICTURES | _NO_CHARACTERS


def text(value: object) -> Markup:
    """Anything, as text."""
    return Markup(escape(str(value).translate(_SHOWN)))


def join(parts: Iterable[Markup]) -> Markup:
    """Join parts in order."""
    return Markup("".join(parts))


def element(name: str, /, *content: Markup, **attributes: object) -> Markup:
    """An element; `class_` is `class`, other underscores are hyphens, None leaves one out."""
    opening = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{join(content)}</{name}>")


def _short(value: object) -> object:
    """Coordinates to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def clip(words: str, *, characters: int) -> str:
    """Its beginning, if it is longer; says how much is missing."""
    if len(words) <= characters:
        return words
    return f"{words[:characters]}… ({len(words) - characters:,} more characters)"
