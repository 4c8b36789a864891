"""Bounds of requests to a coordinator, and their work in pieces, so that others have the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Protocol, TypeVar

from tidelog.core.errors import InvalidRequestError

PARTITIONS_MAX = 50_000
"""Partitions of one request, as many as a group may have committed offsets of."""
GROUPS_MAX = 10_000
"""Groups of one request."""
DESCRIBED_BYTES_MAX = 16 << 20
"""Bytes of an answer from which on further groups are not described."""
PER_PIECE = 500
"""Partitions that are read or written before other work has the loop."""

T = TypeVar("T")


class OfTopic(Protocol):
    """Partitions of a topic in a request."""

    @property
    def partitions(self) -> Sized:
        """The partitions."""


def check_partitions(topics: Iterable[OfTopic], what: str) -> None:
    """Raise `InvalidRequestError` for a request with too many partitions, before it is read."""
    count = 0
    for topic in topics:
        count += max(1, len(topic.partitions))
        if count > PARTITIONS_MAX:
            raise InvalidRequestError(
                f"{what} names more than {PARTITIONS_MAX} partitions: send several requests"
            )


def check_groups(group_ids: Sequence[str]) -> None:
    """Raise `InvalidRequestError` for a request with too many groups."""
    if len(group_ids) > GROUPS_MAX:
        raise InvalidRequestError(
            f"the request names {len(group_ids)} groups: at most {GROUPS_MAX}, send several"
        )


async def listed(items: Iterator[T]) -> list[T]:
    """List what an iterator makes, in pieces."""
    found: list[T] = []
    while piece := list(islice(items, PER_PIECE)):
        found += piece
        if len(piece) == PER_PIECE:
            await asyncio.sleep(0)
    return found


async def written(items: Sequence[T], write: Callable[[Sequence[T]], None]) -> None:
    """Write items in pieces."""
    for first in range(0, len(items), PER_PIECE):
        if first:
            await asyncio.sleep(0)
        write(items[first : first + PER_PIECE])
