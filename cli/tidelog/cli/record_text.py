"""Keys and values of records as JSON fields."""

from __future__ import annotations

import base64


def text_fields(name: str, content: bytes | None) -> dict[str, str | None]:
    """A field as text; bytes that are not UTF-8 as base64, with a field `<name>_encoding`."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(content).decode()
        return {name: encoded, f"{name}_encoding": "base64"}
