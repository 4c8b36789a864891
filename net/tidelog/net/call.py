"""The RPC call of a request: connection, listener, caller, deadline. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tidelog.net.client_ids import UNNAMED
from tidelog.net.listeners import Listener, one_listener

ANONYMOUS = "User:ANONYMOUS"
"""Kafka's principal of a caller that did not say who it is."""
F = TypeVar("F", bound=Callable[..., Any])  # a handler's method, of any RPC
_COUNTS = "counts_responses"


class Call(NamedTuple):
    """Call data, passed beside the request to handlers' methods with a parameter `call`."""

    connection: str
    """Address of the caller: the same for all calls of one connection."""
    when_taken: Callable[[Callable[[], None]], object]
    """Function that registers a callback for when the response was sent, or the call has ended."""
    listener: Listener
    """This node's listener; addresses in the answer are those of the same listener."""
    principal: str = ANONYMOUS
    client_id: str = UNNAMED
    """The client's name of itself, for metrics alone."""
    connection_number: int = 0
    """Number of a connection whose requests are carried out one by one; later ones have higher
    numbers. 0: no such connection."""
    deadline_s: float | None = None
    """End of the caller's wait on the loop's clock; None: unspecified."""


def counts_responses(method: F) -> F:
    """Mark a handler's method that counts its unread responses itself."""
    setattr(method, _COUNTS, True)
    return method


def does_count_responses(method: object) -> bool:
    """Tell if a handler's method is marked so."""
    return getattr(method, _COUNTS, False) is True


def _at_once(then: Callable[[], None]) -> None:
    then()


LOCAL_CALL = Call("", _at_once, one_listener("localhost:0")[0])
"""Call without a connection: a response counts as sent when it is returned."""
