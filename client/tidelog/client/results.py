"""Answers of the admin client's plural calls: a dictionary of each item's value or its error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tidelog.client.errors import TidelogError

Item = TypeVar("Item")
Value = TypeVar("Value")


def require_all(results: Mapping[Item, Value | TidelogError]) -> dict[Item, Value]:
    """The values of a plural call where every item succeeded; else raises the first item's error.

    Items that were changed stay changed: `results` says which.
    """
    values: dict[Item, Value] = {}
    for item, result in results.items():
        if isinstance(result, TidelogError):
            raise result
        values[item] = result
    return values
