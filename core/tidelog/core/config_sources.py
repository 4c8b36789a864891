"""Sources of a node's configuration: the environment, before the file, before the default.

Pure: the caller reads the file and hands over the environment. All errors are raised at once:
unknown keys with the nearest that exists, values against their types, missing keys, and values that
contradict each other.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.core.config_keys import (
    ENVIRONMENT_PREFIX,
    SHOWN_CHARACTERS_MAX,
    ConfigKey,
    nearest,
)
from tidelog.core.config_types import Value
from tidelog.core.errors import InvalidConfigError, KafkaError

# A variable is only refused when it was surely meant for a node: others use the prefix as well, and
# an orchestrator makes some out of the name of a service.
_VARIABLE_CUTOFF = 0.85
DEFAULT, FILE = "default", "file"


@dataclass(frozen=True, slots=True)
class Rule:
    """Values that must go together; judged when each of `keys` has a value of its type."""

    keys: tuple[str, ...]
    broken: Callable[..., str | None]
    """The values of `keys`, in order → what is wrong with them, or None."""


@dataclass(slots=True)
class Settings:
    """A value of each key that has one, and where it is from: a variable, the file, a default."""

    values: dict[str, Any] = field(default_factory=dict)  # each of its key's type
    sources: dict[str, str] = field(default_factory=dict)

    def put(self, key: ConfigKey, value: Value | None, source: str) -> None:
        """Set the value of a key, whatever it was."""
        self.values[key.name], self.sources[key.name] = value, source


def read_settings(
    keys: Mapping[str, ConfigKey],
    text: str,
    environ: Mapping[str, str],
    *,
    rules: Sequence[Rule] = (),
) -> Settings:
    """The settings that TOML text and an environment make of `keys`.

    A table is read as dotted keys: `[log]` with `dirs` is `log.dirs`. Errors: `KafkaError`
    INVALID_CONFIG with all that is wrong, a line each.
    """
    settings, errors = Settings(), _Errors()
    given = _from_file(keys, text, errors)
    variables = _from_environment(keys, environ, errors)
    for key in keys.values():
        if key.variable in variables:
            written_there = variables[key.variable]
            value, shown = key.type.parse(written_there), f"{key.variable}={_show(written_there)}"
            source = key.variable
        elif key.name in given:
            raw = given[key.name]
            value, shown, source = key.type.read(raw), f"{key.name} = {_show(raw)}", FILE
        elif key.is_required:
            errors.add(f"{key.name} is missing ({key.doc})")
            continue
        else:
            settings.put(key, key.default, DEFAULT)
            continue
        if value is None:
            errors.add(f"{shown}: must be {key.type.rule}")
        else:
            settings.put(key, value, source)
    errors.judge(rules, settings.values)
    errors.raise_all()
    return settings


def without_variables(keys: Mapping[str, ConfigKey], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what configures a node."""
    variables = {key.variable for key in keys.values()}
    return {name: value for name, value in environ.items() if name not in variables}


class _Errors:
    """Errors of a configuration, in the order in which they were found."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, error: str) -> None:
        self._found.append(error)

    def judge(self, rules: Sequence[Rule], values: Mapping[str, Any]) -> None:
        for rule in rules:
            if all(key in values for key in rule.keys):
                error = rule.broken(*(values[key] for key in rule.keys))
                self._found += [] if error is None else [error]

    def raise_all(self) -> None:
        if len(self._found) == 1:
            raise _invalid(self._found[0])
        if self._found:
            raise _invalid("".join([f"{len(self._found)} errors", *_lines(self._found)]))


def _lines(errors: Sequence[str]) -> Iterator[str]:
    return (f"\n  {error}" for error in errors)


def _from_file(keys: Mapping[str, ConfigKey], text: str, errors: _Errors) -> dict[str, object]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid(f"not valid TOML: {error}") from error
    given: dict[str, object] = {}
    for name, value in _flatten(keys, tables, ""):
        if name not in keys:
            near = nearest(name, keys)
            hint = "see docs/CONFIGURATION.md" if near is None else f"did you mean {near!r}?"
            errors.add(f"unknown key {name[:SHOWN_CHARACTERS_MAX]!r}: {hint}")
        elif name in given:
            errors.add(f"{name} is given twice")
        else:
            given[name] = value
    return given


def _flatten(
    keys: Mapping[str, ConfigKey], table: Mapping[str, object], prefix: str
) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict) and prefix + name not in keys:
            yield from _flatten(keys, value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _from_environment(
    keys: Mapping[str, ConfigKey], environ: Mapping[str, str], errors: _Errors
) -> Mapping[str, str]:
    # Compared without the prefix, which all names share.
    variables = {key.variable: key.variable[len(ENVIRONMENT_PREFIX) :] for key in keys.values()}
    for name in sorted(environ):
        if name.startswith(ENVIRONMENT_PREFIX) and name not in variables:
            rest = name[len(ENVIRONMENT_PREFIX) :]
            near = nearest(rest, variables.values(), cutoff=_VARIABLE_CUTOFF)
            if near is not None:
                errors.add(f"unknown variable {name!r}: did you mean '{ENVIRONMENT_PREFIX}{near}'?")
    return {name: environ[name] for name in variables if name in environ}


def _show(value: object) -> str:
    return repr(value)[:SHOWN_CHARACTERS_MAX]


def _invalid(message: str) -> KafkaError:
    return InvalidConfigError(f"node configuration: {message}")
