"""Handlers of a service: how the RPCs that a descriptor names find the code that serves them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any


def callable_for(handler: object, rpc: str) -> Callable[..., Any]:
    """Return what serves an RPC by its name, such as `CreateTopics`.

    A handler is a mapping of callables by RPC names, or an object with a method for each RPC under
    its name in snake case. Raises `KeyError` or `AttributeError` where it serves no such RPC.
    """
    if isinstance(handler, Mapping):
        found: Callable[..., Any] = handler[rpc]
        return found
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower()
    method: Callable[..., Any] = getattr(handler, name)
    return method
