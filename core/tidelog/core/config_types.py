"""Types of configuration values: how a value is read from text or TOML, and written as text. Pure.

A type never repairs what it reads: a value outside its rule is refused with that rule. Text that a
type takes for a topic's config is a few dozen characters at most, so what is stored is bounded.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Value = int | float | str | tuple[object, ...] | Mapping[int, str]

MAX_I32 = 2**31 - 1
MAX_I64 = 2**63 - 1
DAY_MS = 24 * 60 * 60 * 1000

# Narrower than what Python's own int() and float() read: no spaces, underscores, "nan", "1e400".
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"[0-9](\.[0-9]{1,19})?")
_COMMA = re.compile(", ?")
_ADDRESS = re.compile(r"[^\s,/@]+:([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type with Kafka's name; `rule` completes "must be ...", `parse` gives None where it fails."""

    name: str
    rule: str
    parse: Callable[[str], Value | None]
    toml: tuple[type, ...] = (str,)
    """Types of a TOML value that `read` takes."""
    extremes: tuple[str, ...] = ()
    """Texts at the edges of what is legal, each word of those that have words."""

    def read(self, value: object) -> Value | None:
        """Read a TOML value as `parse` reads its text; None when the type or the rule is broken."""
        text = _text_of(value) if type(value) in self.toml else None
        return None if text is None else self.parse(text)


def whole_number(minimum: int, maximum: int = MAX_I64) -> ValueType:
    """Integer from `minimum` to `maximum`, both allowed."""

    def parse(text: str) -> int | None:
        value = int(text) if _WHOLE.fullmatch(text) else None
        return value if value is not None and minimum <= value <= maximum else None

    name = "INT" if maximum <= MAX_I32 else "LONG"
    rule = f"a whole number from {minimum} to {maximum}"
    return ValueType(name, rule, parse, (int,), (str(minimum), str(maximum)))


def ratio() -> ValueType:
    """Fraction from 0 to 1."""

    def parse(text: str) -> float | None:
        value = float(text) if _DECIMAL.fullmatch(text) else None
        return value if value is not None and value <= 1 else None

    return ValueType("DOUBLE", "a decimal number from 0 to 1", parse, (int, float), ("0", "1"))


def boolean() -> ValueType:
    """Boolean, `true` or `false`."""
    words = {"true": True, "false": False}
    return ValueType("BOOLEAN", "true or false", words.get, (bool,), tuple(words))


def text(minimum: int, maximum: int) -> ValueType:
    """Printable text of `minimum` to `maximum` characters."""

    def parse(text: str) -> str | None:
        return text if minimum <= len(text) <= maximum and text.isprintable() else None

    rule, extremes = f"{minimum} to {maximum} printable characters", ("x" * minimum, "x" * maximum)
    return ValueType("STRING", rule, parse, extremes=extremes)


def one_of(*words: str) -> ValueType:
    """Exactly one of `words`."""
    found = {word: word for word in words}
    return ValueType("STRING", f"one of {', '.join(words)}", found.get, extremes=words)


def list_of(*words: str) -> ValueType:
    """Comma-separated list of at least one of `words`, each at most once."""

    def parse(text: str) -> tuple[str, ...] | None:
        parts = tuple(_COMMA.split(text, maxsplit=len(words)))
        return parts if set(parts) <= set(words) and len(set(parts)) == len(parts) else None

    rule = f"a comma-separated list of {', '.join(words)}"
    return ValueType("LIST", rule, parse, (str, list), (*words, ",".join(words)))


def voters() -> ValueType:
    """Addresses by node id: `1@host:port,2@host:port`, or a TOML table of id = "host:port"."""

    def parse(text: str) -> Mapping[int, str] | None:
        pairs = [part.partition("@") for part in _COMMA.split(text)]
        if not all(_is_node_id(node_id) and is_address(address) for node_id, _, address in pairs):
            return None
        found = {int(node_id): address for node_id, _, address in sorted(pairs, key=_by_id)}
        return found if len(found) == len(pairs) else None

    rule = 'a list such as 1@127.0.0.1:9192,2@127.0.0.1:9193, or a table {1 = "127.0.0.1:9192"}'
    return ValueType("LIST", rule, parse, (str, list, dict))


def is_address(text: str) -> bool:
    """True if the text is `host:port`, with a port from 1 to 65535."""
    found = _ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 65536


def as_text(value: Value) -> str:
    """`value` as text that its type reads back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{node_id}@{address}" for node_id, address in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _text_of(value: object) -> str | None:
    """The text of a TOML value; None if it has none."""
    if isinstance(value, dict):
        if not all(isinstance(part, str) and "," not in part for part in value.values()):
            return None
        return ",".join(f"{key}@{part}" for key, part in value.items())
    if isinstance(value, list):
        if not all(isinstance(part, str) and "," not in part for part in value):
            return None
        return ",".join(value)
    return as_text(value) if isinstance(value, int | float | str) else None


def _is_node_id(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and 0 < int(text) <= MAX_I32


def _by_id(pair: tuple[str, str, str]) -> int:
    return int(pair[0])
