"""Error codes in a response, for metrics: wherever its message has a field `error_code`. Pure.

Paths to these fields are found once for each class; Kafka's `errorCounts` are written by hand.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from tidelog.kafka.message import Message


class _Paths(NamedTuple):
    """Fields of a class of structs that lead to error codes."""

    has_code: bool
    lists: Sequence[str]
    """Fields with lists of structs that have some."""


def error_codes(response: Message) -> Iterator[int]:
    """Return the codes of a response that are not 0, one for each place that has one."""
    return _codes(response, _paths(type(response)))


def _codes(struct: Any, paths: _Paths) -> Iterator[int]:
    if paths.has_code and struct.error_code:
        yield struct.error_code
    for name in paths.lists:
        items = getattr(struct, name) or ()
        inner = _paths(type(items[0])) if items else _NONE
        if inner.lists:
            for item in items:
                yield from _codes(item, inner)
        else:
            yield from filter(None, [item.error_code for item in items])


def _paths(of: type[Any]) -> _Paths:
    found = _known.get(of)
    if found is None:
        found = _known[of] = _find_paths(of)
    return found


def _find_paths(of: type[Any]) -> _Paths:
    hints = get_type_hints(of)
    lists = [
        name
        for name in of.__struct_fields__
        for inner in _structs(hints[name])
        if _paths(inner) != _NONE
    ]
    return _Paths("error_code" in of.__struct_fields__, tuple(lists))


def _structs(hint: Any) -> list[type[Any]]:
    """The struct of a list's items, where a field's type is a list of them."""
    parts = [hint, *get_args(hint)]
    items = [item for part in parts for item in get_args(part)]
    return [one for one in items if isinstance(one, type) and issubclass(one, msgspec.Struct)]


_known: dict[type[Any], _Paths] = {}
_NONE = _Paths(has_code=False, lists=())
