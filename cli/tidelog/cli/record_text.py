"""Bytes of records as JSON shows them."""

from __future__ import annotations

import base64


def text_fields(name: str, content: bytes | None) -> dict[str, str | None]:
    """The field as text; what is not UTF-8 as base64, with `<name>_encoding` beside it."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(content).decode()
        return {name: encoded, f"{name}_encoding": "base64"}
