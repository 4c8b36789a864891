"""APIs by key, and their messages, whose modules are imported when first asked for."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from importlib import import_module

from tidelog.kafka.message import Message
from tidelog.kafka.messages.table import APIS

__all__ = ["APIS", "API_VERSIONS", "request_class", "response_class"]

API_VERSIONS = 18
"""Key of the API by which a client asks for all others, in whatever version it has."""

_classes: dict[tuple[int, str], type[Message]] = {}


def request_class(key: int) -> type[Message]:
    """The class of an API's requests. Raises KeyError for an API that is not in `APIS`."""
    return _class(key, "Request")


def response_class(key: int) -> type[Message]:
    """The class of an API's responses. Raises KeyError for an API that is not in `APIS`."""
    return _class(key, "Response")


def _class(key: int, kind: str) -> type[Message]:
    found = _classes.get((key, kind))
    if found is None:
        api = APIS[key]
        module = import_module(f"tidelog.kafka.messages.{api.module}_{kind.lower()}")
        found = _classes[key, kind] = getattr(module, f"{api.name}{kind}")
    return found
