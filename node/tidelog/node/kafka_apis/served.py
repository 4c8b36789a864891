"""Rows of the table of served APIs: versions, handler, and how requests are treated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidelog.kafka.apis import APIS
from tidelog.kafka.message import Message
from tidelog.net.call import Call


class ApiCall(NamedTuple):
    """A request's circumstances, beside its message."""

    call: Call
    """Connection, listener and client id."""
    version: int
    """Version of the API that the request has and the response will have."""


ELEMENTS_MAX = 32_768
"""Elements of a request: above a topic and a partition for each of the 10,000 that a cluster has.

A message of so many is read in one turn of at most 32 ms, and written in one.
"""
ApiHandler = Callable[[Any, ApiCall], Awaitable[Message | None]]
"""Function of the request's message; None: the request has no response.

Errors are told in the response. Where it has no place for one, raise `ConnectionClosedError`.
"""


@dataclass(frozen=True, slots=True)
class ServedApi:
    """An API that is served completely from its schema's first version to `last`."""

    key: int
    last: int
    handler: ApiHandler
    advertised_from: int | None = None
    """First version in the list that clients get, where it is not the first that is served."""
    is_pipelined: bool = False
    """True: begun while earlier requests of such APIs are at work, in the order of their coming."""
    is_abandoned: bool = False
    """True: its request ends with its connection; it is read into memory and then waits."""
    elements_max: int = ELEMENTS_MAX
    """Elements of all lists of a request: more than an honest client names."""

    @property
    def first(self) -> int:
        """First version that is served."""
        return APIS[self.key].first

    def serves(self, version: int) -> bool:
        """Tell if this version is served."""
        return self.first <= version <= self.last

    @property
    def advertised(self) -> tuple[int, int, int]:
        """Key, first and last version in the list that clients get."""
        first = self.first if self.advertised_from is None else self.advertised_from
        return self.key, first, self.last
