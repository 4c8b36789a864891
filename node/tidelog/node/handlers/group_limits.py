"""Bounds of requests to a coordinator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Protocol

from tidelog.core.errors import InvalidRequestError
from tidelog.core.turns import PER_PIECE, in_turns

PARTITIONS_MAX = 50_000
"""Partitions of one request, as many as a group may have committed offsets of."""
GROUPS_MAX = 10_000
"""Groups of one request."""
DESCRIBED_BYTES_MAX = 16 << 20
"""Bytes of an answer from which on further groups are not described."""


class OfTopic(Protocol):
    """Partitions of a topic in a request."""

    @property
    def partitions(self) -> Sized:
        """The partitions."""


async def check_partitions(topics: Iterable[OfTopic], what: str) -> None:
    """Raise `InvalidRequestError` for a request with too many partitions, before it is read."""
    count = 0
    async for topic in in_turns(topics, PER_PIECE):
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
