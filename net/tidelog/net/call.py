"""The RPC call of a request: its connection, and when its response was sent. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Call(NamedTuple):
    """Call data for handlers with a parameter `call`, which count their responses themselves."""

    connection: str
    """Address of the caller: the same for all calls of one connection."""
    when_taken: Callable[[Callable[[], None]], object]
    """Function that registers a callback for when the response was sent, or the call has ended."""


def _at_once(then: Callable[[], None]) -> None:
    then()


LOCAL_CALL = Call("", _at_once)
"""Call without a connection: a response counts as sent when it is returned."""
