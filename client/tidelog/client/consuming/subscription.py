"""The partitions of topics that are named, or whose names match a pattern, looked up now and then.

Owns the look-ups and their interval. Decides no position: the consumer assigns what is found.
Kafka's consumer protocol without a group: every subscriber reads all partitions.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from tidelog.client.errors import TidelogError
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.client.unwinding import unwind
from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import MetadataRequest, MetadataResponse
from tidelog.v1.methods import METADATA

OnChange = Callable[[Sequence[TopicPartition]], None]
"""Called with all partitions."""


class Subscription:
    """Topics by name, or with `pattern` every topic whose name it matches from its first letter.

    The `fixed` partitions are always among those found.
    """

    def __init__(
        self,
        routing: Routing,
        *,
        topics: Iterable[str],
        pattern: str | re.Pattern[str] | None = None,
        fixed: Iterable[TopicPartition] = (),
        request_timeout_ms: int,
    ) -> None:
        self._routing = routing
        self._topics = [topics] if isinstance(topics, str) else list(dict.fromkeys(topics))
        self._pattern = None if pattern is None else re.compile(pattern)
        self._request_timeout_ms = request_timeout_ms
        self._newest = -1
        """The largest metadata offset of the answers: a broker that lags behind is not believed."""
        self._found: dict[TopicPartition, None] = dict.fromkeys(fixed)
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._failure: TidelogError | None = None
        self._begin_again: Callable[[], None] = lambda: None
        if bool(self._topics) is (self._pattern is not None):
            raise ValueError("subscribe to topics by their names, or to a pattern: one of the two")

    async def first(self, *, timeout_ms: int) -> Sequence[TopicPartition]:
        """The partitions now.

        Raises UnknownTopicOrPartitionError for a named topic that no broker knows in time, and
        UnreachableError.
        """
        for name in self._topics:
            view = await self._routing.topic(name, timeout_ms=timeout_ms)
            self._found.update(dict.fromkeys(TopicPartition(name, one) for one in view.leaders))
        if self._pattern is not None:
            await self._look()
        return list(self._found)

    def start(self, on_change: OnChange, *, every_ms: int) -> None:
        """Look for partitions at this interval; call `on_change` with all if they differ."""
        self._settled.set()
        self._task = asyncio.create_task(self._watch(on_change, every_ms))

    def begin(
        self,
        on_found: OnChange,
        *,
        on_failure: Callable[[], None],
        on_change: OnChange,
        timeout_ms: int,
        every_ms: int,
    ) -> None:
        """Begin `first` without waiting, then `start`; a failure is raised by `raise_failure`."""

        async def work() -> None:
            try:
                on_found(await self.first(timeout_ms=timeout_ms))
            except TidelogError as error:
                self._failure = error
                on_failure()
                return
            finally:
                self._settled.set()
            await self._watch(on_change, every_ms)

        def begin() -> None:
            self._settled.clear()
            self._task = asyncio.create_task(work())

        self._begin_again = begin
        begin()

    async def found(self) -> None:
        """Wait for what `begin` began. Raises as `raise_failure`."""
        if self._task is not None and not self._task.done():
            await self._settled.wait()
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raise the error of what `begin` began, if it failed, and begin it again."""
        failure, self._failure = self._failure, None
        if failure is not None:
            self._begin_again()
            raise failure

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            await unwind([self._task])

    def cancel(self) -> None:
        """Look no more; does not wait."""
        if self._task is not None:
            self._task.cancel()

    async def _watch(self, on_change: OnChange, every_ms: int) -> None:
        while True:
            await asyncio.sleep(every_ms / 1000)
            try:
                is_changed = await self._look()
            except TidelogError:
                continue  # no broker answers now: the next look may find one
            if is_changed:
                on_change(list(self._found))

    async def _look(self) -> bool:
        """Ask a broker; True if the partitions are others than before."""
        response = await self._routing.call_any(
            METADATA, MetadataRequest(topics=self._topics), timeout_ms=self._request_timeout_ms
        )
        if response.metadata_offset < self._newest:
            return False
        found = self._partitions(response)
        await self._learn(response, {tp.topic: None for tp in found})
        self._newest = response.metadata_offset
        before, self._found = self._found, found
        return found.keys() != before.keys()

    async def _learn(self, response: MetadataResponse, wanted: Mapping[str, None]) -> None:
        """Have the leaders of the found partitions known, before the consumer asks for them."""
        metadata = self._routing.metadata
        known = [topic for topic in response.topics if metadata.topic(topic.name) is not None]
        del response.topics[:]
        response.topics.extend(known)
        metadata.update(response, now_ms=self._routing.clock.monotonic_ms())
        for name in wanted:
            await self._routing.topic(name, timeout_ms=self._request_timeout_ms)

    def _partitions(self, response: MetadataResponse) -> dict[TopicPartition, None]:
        """The partitions in an answer; those of a named topic stay, even if it was deleted."""
        found = dict(self._found) if self._pattern is None else {}
        for topic in response.topics:
            is_wanted = self._pattern is None or (
                topic.name not in INTERNAL_TOPICS and self._pattern.match(topic.name) is not None
            )
            if is_wanted and topic.error.code == common_pb2.NONE:
                for one in sorted(topic.partitions, key=lambda one: one.partition):
                    found[TopicPartition(topic.name, one.partition)] = None
        return found
