"""The subscription of a consumer, until the next one: by `subscribe`, or of assigned topics.

Owns which one is in force and its errors in the background; `subscription` does the look-ups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tidelog.client.consuming.subscription import Subscription
from tidelog.client.offsets import EARLIEST, Spec
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing

Assign = Callable[[Sequence[TopicPartition], Spec | None], None]
"""Read these partitions and no others; those that are new to the consumer start there."""


class Looks(NamedTuple):
    """The options of subscriptions; times in milliseconds."""

    reset: Spec | None
    """The start of partitions that the first look finds; later ones start at their first record."""
    request_timeout_ms: int
    api_timeout_ms: int
    """The limit of the first look."""
    metadata_max_age_ms: int
    """The interval of the later ones."""


class Subscriptions:
    """The subscription in force, if any."""

    def __init__(
        self,
        routing: Routing,
        looks: Looks,
        *,
        assign: Assign,
        on_failure: Callable[[], None],
    ) -> None:
        self._routing = routing
        self._assign = assign
        self._looks = looks
        self._on_failure = on_failure
        self._present: Subscription | None = None

    def __bool__(self) -> bool:
        """True while a subscription is in force, whether or not it has found partitions."""
        return self._present is not None

    async def subscribe(self, topics: Iterable[str], pattern: str | re.Pattern[str] | None) -> None:
        """Replace the subscription once the first look is done; see `Consumer.subscribe`."""
        subscription = self._new(topics, pattern=pattern)
        found = await subscription.first(timeout_ms=self._looks.api_timeout_ms)
        self._assign(found, self._looks.reset)
        self.end()
        self._present = subscription
        subscription.start(self._assign_later, every_ms=self._looks.metadata_max_age_ms)

    def assign(self, topics: Sequence[str], fixed: Sequence[TopicPartition]) -> None:
        """Replace the subscription by one of these topics, if any, and fixed partitions."""
        self.end()
        self._assign(fixed, self._looks.reset)
        if topics:
            self._present = self._new(topics, fixed=fixed)
            self._present.begin(
                lambda found: self._assign(found, self._looks.reset),
                on_failure=self._on_failure,
                on_change=self._assign_later,
                timeout_ms=self._looks.api_timeout_ms,
                every_ms=self._looks.metadata_max_age_ms,
            )

    async def found(self) -> None:
        """Wait until topics that were assigned by name are found. Raises their errors."""
        if self._present is not None:
            await self._present.found()

    def raise_failure(self) -> None:
        """Raise the error of topics that were assigned by name, if any, and look for them again."""
        if self._present is not None:
            self._present.raise_failure()

    def end(self) -> None:
        """End the subscription; does not wait."""
        if self._present is not None:
            self._present.cancel()
            self._present = None

    async def stop(self) -> None:
        """End the looks; the consumer is closing."""
        if self._present is not None:
            await self._present.stop()

    def _assign_later(self, found: Sequence[TopicPartition]) -> None:
        self._assign(found, EARLIEST)

    def _new(
        self,
        topics: Iterable[str],
        *,
        pattern: str | re.Pattern[str] | None = None,
        fixed: Iterable[TopicPartition] = (),
    ) -> Subscription:
        return Subscription(
            self._routing,
            topics=topics,
            pattern=pattern,
            fixed=fixed,
            request_timeout_ms=self._looks.request_timeout_ms,
        )
