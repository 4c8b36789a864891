"""What the value of a configuration key can be, and how it is written as text. Pure.

A type never repairs what it reads: text outside its rule is refused with that rule. No text within
a rule is longer than a few dozen characters, so what is stored is bounded.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Value = int | float | str | tuple[str, ...]

MAX_I32 = 2**31 - 1
MAX_I64 = 2**63 - 1

# Narrower than what Python's own int() and float() read: no spaces, underscores, "nan", "1e400".
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"[0-9](\.[0-9]{1,19})?")
_COMMA = re.compile(", ?")


@dataclass(frozen=True, slots=True)
class ValueType:
    """`name` is Kafka's, `rule` completes "must be ...", `parse` is None for what breaks it."""

    name: str
    rule: str
    parse: Callable[[str], Value | None]


def whole_number(minimum: int, maximum: int = MAX_I64) -> ValueType:
    """From `minimum` to `maximum`, both allowed."""

    def parse(text: str) -> int | None:
        value = int(text) if _WHOLE.fullmatch(text) else None
        return value if value is not None and minimum <= value <= maximum else None

    name = "INT" if maximum <= MAX_I32 else "LONG"
    return ValueType(name, f"a whole number from {minimum} to {maximum}", parse)


def ratio() -> ValueType:
    """A share of a whole."""

    def parse(text: str) -> float | None:
        value = float(text) if _DECIMAL.fullmatch(text) else None
        return value if value is not None and value <= 1 else None

    return ValueType("DOUBLE", "a decimal number from 0 to 1", parse)


def boolean() -> ValueType:
    """A switch."""
    return ValueType("BOOLEAN", "true or false", {"true": True, "false": False}.get)


def one_of(*words: str) -> ValueType:
    """One of a few words."""
    return ValueType("STRING", f"one of {', '.join(words)}", {word: word for word in words}.get)


def list_of(*words: str) -> ValueType:
    """At least one of a few words, each once, with commas between."""

    def parse(text: str) -> tuple[str, ...] | None:
        parts = tuple(_COMMA.split(text, maxsplit=len(words)))
        return parts if set(parts) <= set(words) and len(set(parts)) == len(parts) else None

    return ValueType("LIST", f"a comma-separated list of {', '.join(words)}", parse)


def written(value: Value) -> str:
    """`value` as text that its type reads back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
