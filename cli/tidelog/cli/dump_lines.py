"""The lines of a dump: named fields, shown as text like Kafka's or as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DAMAGE = "damage"
_PREFIXES = {_DAMAGE: "DAMAGED: ", "note": "note: ", "record": "| "}
_UNNAMED = "reason"


@dataclass(frozen=True, slots=True)
class Line:
    """An item found in a file, of a `kind`; a field that is None does not apply to it."""

    kind: str
    fields: Mapping[str, object]

    @property
    def is_damage(self) -> bool:
        """True if the line reports damage of the file."""
        return self.kind == _DAMAGE

    def as_json(self, path: Path) -> str:
        """The line as a JSON object."""
        return json.dumps({"file": str(path), "type": self.kind, **self.fields})

    def as_text(self) -> str:
        """The line as `name: value` pairs, with control characters escaped."""
        shown = (
            _text(value) if name == _UNNAMED else f"{name}: {_text(value)}"
            for name, value in self.fields.items()
            if value is not None
        )
        return _PREFIXES.get(self.kind, "") + " ".join(shown)


def damage(reason: str, **where: object) -> Line:
    """A line that reports damage at a place."""
    return Line(_DAMAGE, {_UNNAMED: reason, **where})


def note(reason: str, **where: object) -> Line:
    """A line that reports a fact that is no damage."""
    return Line("note", {_UNNAMED: reason, **where})


def _text(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        return value
    return str(value) if type(value) is int else json.dumps(value)
