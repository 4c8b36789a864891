"""What a dump consists of: lines of named fields, shown as text like Kafka's or as JSON. Pure."""

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
    """One thing found in a file; `kind` says what, None in `fields` that there is none of it."""

    kind: str
    fields: Mapping[str, object]

    @property
    def is_damage(self) -> bool:
        """Whether the file is not what it should be."""
        return self.kind == _DAMAGE

    def as_json(self, path: Path) -> str:
        """One JSON object."""
        return json.dumps({"file": str(path), "type": self.kind, **self.fields})

    def as_text(self) -> str:
        """`name: value` pairs, nothing in them that a terminal would obey."""
        shown = (
            _text(value) if name == _UNNAMED else f"{name}: {_text(value)}"
            for name, value in self.fields.items()
            if value is not None
        )
        return _PREFIXES.get(self.kind, "") + " ".join(shown)


def damage(reason: str, **where: object) -> Line:
    """The file is wrong there."""
    return Line(_DAMAGE, {_UNNAMED: reason, **where})


def note(reason: str, **where: object) -> Line:
    """Nothing wrong, but worth knowing."""
    return Line("note", {_UNNAMED: reason, **where})


def _text(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        return value
    return str(value) if type(value) is int else json.dumps(value)
