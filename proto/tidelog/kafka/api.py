"""Key, name and versions of an API of Kafka's protocol."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple


class Api(NamedTuple):
    """An API and the versions that its messages have."""

    key: int
    name: str
    module: str
    """Name of the messages' modules, without `_request` and `_response`."""
    first: int
    last: int
    flexible_from: int
    """First version with compact lengths and tagged fields; above `last` if none has."""
    is_unstable: bool
    """True if the last version is not final: clients do not speak it unless told to."""
