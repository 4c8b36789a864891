"""Which partitions a consumer reads and where it stands in each. Pure.

Two positions: `position` is the next offset the application gets, `fetch_offset` the next one asked
of the leader, ahead of it by what was fetched but not handed out. A seek gives the partition a new
generation; whatever was fetched under an older one is void.

The leader epoch of what was fetched last goes with each request, so that a leader whose log parted
from what was read says so instead of serving other records from there on (KIP-320).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.client.offsets import Spec
from tidelog.client.records import TopicPartition


@dataclass(slots=True, eq=False)
class Position:
    """Where reading stands in one partition; `position` is None until a reset was looked up."""

    tp: TopicPartition
    reset: Spec | None
    position: int | None = None
    fetch_offset: int | None = None
    topic_id: bytes = b""
    """The incarnation of the topic in which the offsets count; empty: that of the next fetch."""
    generation: int = 0
    failures: int = 0
    retry_at_ms: int = 0
    has_failed: bool = False
    """The application has to be told something before anything more is fetched."""
    is_paused: bool = False
    """The application wants nothing of it for now: a seek does not change that."""
    high_watermark: int | None = None
    """As of the newest answer; None: none yet, or it counted in another incarnation."""
    last_fetched_epoch: int | None = None
    """Of the record before `fetch_offset`; None where nothing was read since a seek."""
    epoch_offset: int = 0
    """The first offset read in that epoch."""

    def seek(self, offset: int, *, topic_id: bytes = b"") -> None:
        """Read from `offset` on; what was fetched is void."""
        self.position = offset
        self.topic_id = topic_id
        self.rewind()

    def seek_to(self, spec: Spec) -> None:
        """Read from the start or the end on, wherever that will be when it is looked up."""
        self.position = self.high_watermark = None
        self.topic_id = b""
        self.reset = spec
        self.rewind()

    def rewind(self) -> None:
        """Fetch again from where the application stands."""
        self.fetch_offset = self.position
        self.last_fetched_epoch = None
        self.generation += 1
        self.failures = self.retry_at_ms = 0
        self.has_failed = False

    def pause_until(self, retry_at_ms: int) -> None:
        """Not to be asked for before then: the last attempt failed."""
        self.failures += 1
        self.retry_at_ms = retry_at_ms

    def fetched(self, *, leader_epoch: int, base_offset: int, end_offset: int) -> None:
        """A batch is here, and so is everything below its end."""
        if leader_epoch != self.last_fetched_epoch:
            self.last_fetched_epoch = leader_epoch if leader_epoch >= 0 else None
            self.epoch_offset = max(base_offset, self.fetch_offset or 0)
        self.fetch_offset = end_offset
        self.failures = self.retry_at_ms = 0

    def divergent_offset(self, *, leader_epoch: int, end_offset: int) -> int:
        """From where on the leader, whose largest epoch up to the asked one ends there, has others.

        All that was read in an epoch that the leader does not know is gone.
        """
        is_known = leader_epoch == self.last_fetched_epoch
        return end_offset if is_known else min(end_offset, self.epoch_offset)


class Assignment:
    """The partitions a consumer was given, in the order they are asked for."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, Position] = {}

    def assign(self, partitions: Iterable[TopicPartition], *, reset: Spec | None) -> None:
        """Read these partitions and no others; those read before go on where they stood."""
        known = self._positions
        self._positions = {tp: known.get(tp) or Position(tp, reset) for tp in partitions}

    def get(self, tp: TopicPartition) -> Position | None:
        """The partition's position; None when it is not assigned."""
        return self._positions.get(tp)

    def all(self) -> list[Position]:
        """Every position, those served longest ago first."""
        return list(self._positions.values())

    def is_current(self, position: Position, generation: int) -> bool:
        """Whether what was asked for under this generation still counts."""
        is_assigned = self._positions.get(position.tp) is position
        return is_assigned and position.generation == generation

    def served(self, tp: TopicPartition) -> None:
        """Move the partition to the end: an answer's limit must not starve the others."""
        position = self._positions.pop(tp, None)
        if position is not None:
            self._positions[tp] = position
