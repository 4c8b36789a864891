"""The call that a request came by: whose it is, and when its response was taken. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Call(NamedTuple):
    """Handlers with a parameter `call` are given it; they count their responses themselves."""

    connection: str
    """The caller's address: the same for all calls of one connection."""
    when_taken: Callable[[Callable[[], None]], object]
    """Have something done when the transport has taken the one response, or the call has ended."""


def _at_once(then: Callable[[], None]) -> None:
    then()


LOCAL_CALL = Call("", _at_once)
"""Over no connection: a response is taken when it is returned."""
