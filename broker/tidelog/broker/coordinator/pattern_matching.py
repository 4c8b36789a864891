"""The matching of patterns with topics, on the loop in slices, before anything rests on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from tidelog.broker.coordinator.patterns.topic_patterns import TopicPatterns
from tidelog.core.background import Background
from tidelog.core.errors import CoordinatorLoadInProgressError
from tidelog.metadata.image import MetadataImage

MATCH_TIMEOUT_S = 5.0
"""Longest wait of a request for its group's patterns."""


class PatternMatching:
    """The patterns of a broker's groups, and the task that matches them while there is work."""

    def __init__(self, image: Callable[[], MetadataImage], background: Background) -> None:
        self.topics = TopicPatterns()
        self._image = image
        self._background = background
        self._is_at_work = False
        self._has_settled = asyncio.Event()

    def are_known(self, patterns: Iterable[str]) -> bool:
        """True if each of them was matched with all topics once."""
        return all(map(self.topics.is_settled, patterns))

    async def match(self, loaded: Collection[str], pattern: str | None) -> None:
        """Wait until a group's patterns and that of a request are matched.

        Raises `InvalidRegularExpressionError` for the one of the request,
        `CoordinatorLoadInProgressError` if it takes too long.
        """
        try:
            async with asyncio.timeout(MATCH_TIMEOUT_S):
                while not self._has_all(loaded, pattern):
                    await self._wait()
        except TimeoutError:
            raise CoordinatorLoadInProgressError(
                "the coordinator is matching patterns with topics: try again"
            ) from None

    def _has_all(self, loaded: Collection[str], pattern: str | None) -> bool:
        """True if all are matched; those that are not are begun. Raises as `match`."""
        self._follow()
        for one in loaded:
            self.topics.add_loaded(one)
        if pattern:
            self.topics.add(pattern)
        return self.are_known([*loaded, pattern] if pattern else loaded)

    async def follow(self, used: Sequence[str], *, timeout_s: float) -> None:
        """Match topics that are new, and forget patterns that are not used; wait that long."""
        if not used and not len(self.topics):
            return  # a coordinator without patterns does nothing of this
        for one in used:
            self.topics.add_loaded(one)
        self.topics.retain(frozenset(used))
        self._follow()
        try:
            async with asyncio.timeout(timeout_s):
                while self.topics.is_busy:
                    await self._wait()
        except TimeoutError:
            return  # goes on beside; the next look finds more of it

    def _follow(self) -> None:
        image = self._image()
        self.topics.follow(image.topics, source=image.topics_by_id)

    async def _wait(self) -> None:
        """Wait until a pattern is settled."""
        if not self._is_at_work:
            self._is_at_work = True
            self._background.spawn("group-patterns", self._work())
        self._has_settled.clear()
        await self._has_settled.wait()

    async def _work(self) -> None:
        try:
            while self.topics.is_busy:
                if self.topics.work() is not None:
                    self._has_settled.set()
                await asyncio.sleep(0)
        finally:
            self._is_at_work = False
            self._has_settled.set()
