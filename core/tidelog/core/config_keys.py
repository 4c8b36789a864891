"""Configuration keys, declared once each as fields of frozen dataclasses. Pure.

A field made with `declare` (or `field(metadata=declaration(...))`, for a key without a default) is
the only place that says a key's name, type, default, bounds and meaning. Everything else is read
from it: the file and the environment (`config_sources`), docs/CONFIGURATION.md, error messages. A
dataclass may hold others that declare keys of their own; a field without a declaration cannot be
configured.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from tidelog.core.config_types import Value, ValueType, as_text
from tidelog.core.errors import InvalidConfigError

T = TypeVar("T", bound=Value)
C = TypeVar("C")

ENVIRONMENT_PREFIX = "TIDELOG_"
SHOWN_CHARACTERS_MAX = 260
"""Longer than every key and every topic's value; the rest is neither compared nor shown."""
_DECLARATION = "declaration"


@dataclass(frozen=True, slots=True)
class _Declaration:
    """Declaration of a field's key; `name` None: the field's name with dots for underscores."""

    type: ValueType
    doc: str
    name: str | None
    is_dynamic: bool


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A configuration key. `default` None: it has no default; only a required key must be set."""

    name: str
    type: ValueType
    default: Value | None
    doc: str
    is_required: bool
    is_dynamic: bool
    """True if a change takes effect without a restart."""

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return ENVIRONMENT_PREFIX + self.name.upper().replace(".", "_")

    @property
    def default_text(self) -> str:
        """The default as one would write it; empty without one."""
        return "" if self.default is None else as_text(self.default)

    def parse(self, text: str) -> Value:
        """The value of `text`; raises `KafkaError` INVALID_CONFIG with name, value and rule."""
        value = self.type.parse(text)
        if value is None:
            shown = text[:SHOWN_CHARACTERS_MAX]
            raise InvalidConfigError(f"{self.name}={shown!r}: must be {self.type.rule}")
        return value


def declaration(
    value_type: ValueType, doc: str, *, key: str | None = None, is_dynamic: bool = False
) -> Mapping[str, object]:
    """Metadata of a dataclass field that declares a key."""
    return {_DECLARATION: _Declaration(value_type, doc, key, is_dynamic)}


def declare(
    default: T, value_type: ValueType, doc: str, *, key: str | None = None, is_dynamic: bool = False
) -> T:
    """A dataclass field that declares a key with a default."""
    metadata = declaration(value_type, doc, key=key, is_dynamic=is_dynamic)
    made: T = field(default=default, metadata=metadata)
    return made


def keys_of(config: type) -> Mapping[str, ConfigKey]:
    """Keys that `config` and the dataclasses in it declare, by name, in their order.

    Raises `ValueError` when a key is declared twice.
    """
    keys: dict[str, ConfigKey] = {}
    for key in _keys(config):
        if key.name in keys:
            raise ValueError(f"{key.name} is declared twice")
        keys[key.name] = key
    return keys


def build_config(config: type[C], values: Mapping[str, Any]) -> C:
    """A `config` with these values; a key that is not among them has its default."""
    arguments: dict[str, Any] = {}  # each of its field's type
    for one in fields(config):  # type: ignore[arg-type]  # a dataclass, as `keys_of` has seen
        said, inner = one.metadata.get(_DECLARATION), _inner(one.default_factory)
        name = _name(one.name, said) if said is not None else ""
        if name in values:
            arguments[one.name] = values[name]
        elif inner is not None:
            arguments[one.name] = build_config(inner, values)
    return config(**arguments)


def values_of(config: object) -> Mapping[str, Value | None]:
    """The values that a `config` and the dataclasses in it have of the keys they declare."""
    values: dict[str, Value | None] = {}
    for one in fields(config):  # type: ignore[arg-type]  # a dataclass, as `keys_of` has seen
        said, value = one.metadata.get(_DECLARATION), getattr(config, one.name)
        if said is not None:
            values[_name(one.name, said)] = value
        elif _inner(one.default_factory) is not None:
            values |= values_of(value)
    return values


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The name that `name` was probably meant to be; None: nothing is near."""
    found = get_close_matches(name[:SHOWN_CHARACTERS_MAX], list(names), n=1, cutoff=cutoff)
    return found[0] if found else None


def _keys(config: type) -> Iterator[ConfigKey]:
    for one in fields(config):
        said, inner = one.metadata.get(_DECLARATION), _inner(one.default_factory)
        if said is not None:
            yield ConfigKey(
                name=_name(one.name, said),
                type=said.type,
                default=None if one.default is MISSING else one.default,
                doc=said.doc,
                is_required=one.default is MISSING,
                is_dynamic=said.is_dynamic,
            )
        elif inner is not None:
            yield from _keys(inner)


def _inner(factory: object) -> type | None:
    return factory if isinstance(factory, type) and is_dataclass(factory) else None


def _name(field_name: str, said: _Declaration) -> str:
    return said.name or field_name.replace("_", ".")
