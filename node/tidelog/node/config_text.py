"""A node's configuration as text, as `parse_config` reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping


def config_text(values: Mapping[str, object]) -> str:
    """Encode as TOML: keys with texts, numbers, booleans, arrays and tables of them."""
    return "".join(f"{_value(key)} = {_value(value)}\n" for key, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_value(key)} = {_value(inner)}" for key, inner in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return json.dumps(value, ensure_ascii=False)
