"""The listeners of this broker's coordinators, and the calls that wait to be delivered to them.

Owns the order: a partition reports while it carries out its core's effects, and its listeners are
called from a task of their own, when no step of any partition is half done. Bounded: for each
registration and partition at most one resignation, one election and one high watermark wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tidelog.broker.partition.partition_listener import (
    Leadership,
    LeadershipEnd,
    PartitionListener,
)
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.core.background import STOP_MS_MAX, Background, wait_for_tasks
from tidelog.core.turns import PER_TURN


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """A listener, registered for a topic or for one partition of it."""

    listener: PartitionListener
    topic: str
    partition: int | None


class PartitionListeners:
    """The `PartitionListener` of all partitions of this broker; forwards to those of coordinators.

    The registrations of a broker are its coordinators: a handful, for its whole life.
    """

    def __init__(self, partitions: PartitionMap, background: Background) -> None:
        self._partitions = partitions
        self._background = background
        self._registered: dict[str, list[Registration]] = {}
        """By topic."""
        self._undelivered: dict[tuple[Registration, int], _News] = {}
        """By registration and partition."""
        self._task: asyncio.Task[None] | None = None

    def add(
        self, listener: PartitionListener, *, topic: str, partition: int | None = None
    ) -> Registration:
        """Call `listener` about the topic of this name, or one partition of it, from now on.

        The topic need not exist yet. Leaderships that this broker has already are delivered first.
        """
        registration = Registration(listener, topic, partition)
        self._registered.setdefault(topic, []).append(registration)
        for hosted in self._partitions.held.values():
            leadership = hosted.leadership
            if leadership is not None and _concerns(registration, leadership):
                news = self._news(registration, leadership.partition)
                news.begun = leadership
                news.high_watermark = (leadership, hosted.log.high_watermark)
        return registration

    def remove(self, registration: Registration) -> None:
        """Stop calling its listener; what is undelivered is dropped."""
        listed = self._registered[registration.topic]
        listed.remove(registration)
        if not listed:
            del self._registered[registration.topic]
        for key in [key for key in self._undelivered if key[0] is registration]:
            del self._undelivered[key]

    async def drain(self) -> None:
        """Wait until all was delivered, at most `STOP_MS_MAX`."""
        if self._task is not None:
            await wait_for_tasks([self._task], limit_ms=STOP_MS_MAX)

    # What partitions report, see `PartitionListener`

    def on_election(self, leadership: Leadership) -> None:
        """Deliver it to the topic's listeners."""
        for news in self._find_concerned(leadership):
            news.begun = leadership

    def on_high_watermark_updated(self, leadership: Leadership, high_watermark: int) -> None:
        """Deliver it to the topic's listeners, unless a higher one comes first."""
        for news in self._find_concerned(leadership):
            news.high_watermark = (leadership, high_watermark)

    def on_resignation(self, leadership: Leadership, end: LeadershipEnd) -> None:
        """Deliver it to the topic's listeners to which the election was delivered."""
        for news in self._find_concerned(leadership):
            news.end(leadership, end)

    # Delivery

    def _find_concerned(self, leadership: Leadership) -> Iterator[_News]:
        for registration in self._registered.get(leadership.topic, ()):
            if _concerns(registration, leadership):
                yield self._news(registration, leadership.partition)

    def _news(self, registration: Registration, partition: int) -> _News:
        if self._task is None:
            self._task = self._background.spawn("partition-listeners", self._deliver())
        return self._undelivered.setdefault((registration, partition), _News())

    async def _deliver(self) -> None:
        while self._undelivered:
            for key in list(islice(self._undelivered, PER_TURN)):
                # A listener may remove a registration.
                while key in self._undelivered:
                    if not self._undelivered[key].deliver_next(key[0].listener):
                        del self._undelivered[key]
            await asyncio.sleep(0)
        self._task = None


@dataclass(slots=True)
class _News:
    """Undelivered calls of one registration about one partition, in the order of the fields."""

    ended: tuple[Leadership, LeadershipEnd] | None = None
    begun: Leadership | None = None
    high_watermark: tuple[Leadership, int] | None = None

    def end(self, leadership: Leadership, end: LeadershipEnd) -> None:
        """Add the resignation if the election was delivered; drop both otherwise."""
        self.high_watermark = None
        if self.begun is None:
            self.ended = (leadership, end)
        self.begun = None

    def deliver_next(self, listener: PartitionListener) -> bool:
        """Make one call; False when there is none to make.

        The call may lead to further news, of this very partition too.
        """
        if self.ended is not None:
            ended, self.ended = self.ended, None
            listener.on_resignation(*ended)
        elif self.begun is not None:
            begun, self.begun = self.begun, None
            listener.on_election(begun)
        elif self.high_watermark is not None:
            raised, self.high_watermark = self.high_watermark, None
            listener.on_high_watermark_updated(*raised)
        else:
            return False
        return True


def _concerns(registration: Registration, leadership: Leadership) -> bool:
    is_partition = registration.partition in (None, leadership.partition)
    return is_partition and registration.topic == leadership.topic
