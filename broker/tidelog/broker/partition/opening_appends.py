"""Waits of appends to partitions that this broker is about to lead, in order.

A topic's leaders are named as soon as it is created. Each opens its log some milliseconds later,
and its metadata may be behind those of the broker that named it. An append that comes before that
waits for a part of its time-out, and later ones of its partition wait behind it. When the first is
refused, so are all that came meanwhile: sent again, they keep their order. Owns the lines; decides
nothing about appends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.partition.append_order import AppendOrder, Place
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.errors import (
    KafkaError,
    LeaderNotAvailableError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)

UNKNOWN = UnknownTopicOrPartitionError, UnknownTopicIdError
NOT_YET = LeaderNotAvailableError, *UNKNOWN
"""Errors of `PartitionMap.find` that may be over in some milliseconds."""
_LOOK_S, _LOOK_MAX_S = 0.002, 0.02
"""Pause until the next look, doubled from the first to the last of these."""
Where = tuple[str, int]
"""Id of the topic in hexadecimal digits, or its name, and the partition."""


class Held(NamedTuple):
    """A waiting append."""

    place: Place
    number: int
    """Number of appends that have entered any line, this one included."""


class OpeningAppends:
    """Lines of appends by topic and partition."""

    def __init__(self, config: ReplicaConfig) -> None:
        self.waiting = 0
        """Number of appends that wait."""
        self._config = config
        self._order = AppendOrder()
        self._entered = 0
        self._refused: dict[Where, range] = {}
        """Numbers that are refused when their turn comes."""

    def is_free(self, where: Where) -> bool:
        """True when no earlier append to this partition waits."""
        return self._order.is_free(where)

    def enter(self, where: Where, error: KafkaError | None) -> Held:
        """Take the last place in line; `leave` it once the append is done.

        Raises `error`, or LEADER_NOT_AVAILABLE, while `opening_waits_max` appends wait.
        """
        if self.waiting >= self._config.opening_waits_max:
            raise error or _behind(where)
        self.waiting += 1
        self._entered += 1
        return Held(self._order.enter(where), self._entered)

    def leave(self, where: Where, held: Held) -> None:
        """Let the next append in."""
        self.waiting -= 1
        held.place.leave()
        if self._order.is_free(where):
            self._refused.pop(where, None)

    async def opened(
        self, where: Where, held: Held, find: Callable[[], object], *, timeout_ms: int
    ) -> None:
        """Wait for the turn, and until `find` raises none of `NOT_YET`, for a part of the time-out.

        Raises what `find` raises in the end, or LEADER_NOT_AVAILABLE: nothing was appended.
        """
        loop, config = asyncio.get_running_loop(), self._config
        end_s = loop.time() + min(timeout_ms, config.opening_wait_ms_max) / 1000
        unknown_end_s = loop.time() + min(timeout_ms, config.unknown_topic_wait_ms_max) / 1000
        pause_s = _LOOK_S
        try:
            async with asyncio.timeout_at(end_s):
                await held.place.turn()
        except TimeoutError:
            self._refuse_behind(where, held)
            raise _behind(where) from None
        if held.number in self._refused.get(where, ()):
            raise _behind(where)
        while True:
            try:
                find()
            except NOT_YET as error:
                is_unknown = isinstance(error, UNKNOWN)
                if loop.time() + pause_s > (unknown_end_s if is_unknown else end_s):
                    self._refuse_behind(where, held)
                    raise
            else:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LOOK_MAX_S)

    def _refuse_behind(self, where: Where, held: Held) -> None:
        self._refused[where] = range(held.number + 1, self._entered + 1)


def _behind(where: Where) -> LeaderNotAvailableError:
    return LeaderNotAvailableError(
        f"{where[0]}-{where[1]} is still being opened, and batches before this one wait or were "
        "refused: try again",
    )
