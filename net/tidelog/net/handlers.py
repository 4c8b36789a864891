"""Handlers of a service: how the RPCs that a descriptor names find the code that serves them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from tidelog.net.call import Call, does_count_responses

Serve = Callable[[Any, Call], Any]
"""Function of request (or iterator of them) and call that returns an awaitable or iterator."""


def callable_for(handler: object, rpc: str) -> Callable[..., Any]:
    """Return what serves an RPC by its name, such as `CreateTopics`.

    A handler is a mapping of callables by RPC names, or an object with a method for each RPC under
    its name in snake case. Raises `KeyError` or `AttributeError` where it serves no such RPC.
    """
    if isinstance(handler, Mapping):
        found: Callable[..., Any] = handler[rpc]
        return found
    method: Callable[..., Any] = getattr(handler, _snake_case(rpc))
    return method


def serve_of(handler: object, rpc: str) -> Serve:
    """Return the same with the call as second argument, passed on to those with such a parameter.

    Raises as `callable_for`.
    """
    found = callable_for(handler, rpc)
    if _takes_call(_function_of(found)):
        return lambda request, call: found(request, call=call)
    return lambda request, _: found(request)


def counts_itself(handler: object, rpc: str) -> bool:
    """Tell if what serves the RPC counts its unread responses itself."""
    return does_count_responses(_function_of(callable_for(handler, rpc)))


def _function_of(found: Callable[..., Any]) -> Callable[..., Any]:
    """Unwrap partials and methods, so that no cache keeps a handler's object."""
    function = found.func if isinstance(found, partial) else found
    plain: Callable[..., Any] = getattr(function, "__func__", function)
    return plain


@cache
def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@cache
def _takes_call(function: Callable[..., Any]) -> bool:
    return "call" in inspect.signature(function).parameters
