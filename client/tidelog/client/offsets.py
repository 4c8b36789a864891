"""Look-ups of offsets at partition leaders: the start and end of a log, and offsets by time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.connections import RETRIES_MAX
from tidelog.client.errors import TidelogError
from tidelog.client.leader_calls import LeaderCalls
from tidelog.client.records import TopicPartition
from tidelog.client.results import require_all
from tidelog.client.routing import Routing
from tidelog.v1.data_pb2 import (
    READ_UNCOMMITTED,
    IsolationLevel,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from tidelog.v1.methods import LIST_OFFSETS

Found = TypeVar("Found")
Spec = ListOffsetsRequest.Spec
EARLIEST = ListOffsetsRequest.EARLIEST
LATEST = ListOffsetsRequest.LATEST
At = Literal["earliest", "latest", "max_timestamp"] | datetime | int
"""A place in a partition; times have a time zone, or are milliseconds since the Unix epoch."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SPECS: Mapping[str, Spec] = {
    "earliest": EARLIEST,
    "latest": LATEST,
    "max_timestamp": ListOffsetsRequest.MAX_TIMESTAMP,
}


class ListedOffset(NamedTuple):
    """The offset that a leader found; -1: no such record. Look-ups by time have a timestamp."""

    offset: int
    timestamp_ms: int | None
    leader_epoch: int


class OffsetQuery(NamedTuple):
    """The offset to look up; `timestamp_ms` applies to TIMESTAMP only."""

    spec: Spec
    timestamp_ms: int = 0

    @classmethod
    def of(cls, at: At) -> OffsetQuery:
        """Make a query. Errors: ValueError for an unknown name or a time without a time zone."""
        if isinstance(at, str):
            if at not in _SPECS:
                raise ValueError(f"at={at!r}: one of {', '.join(_SPECS)}, a datetime or an int")
            return cls(_SPECS[at])
        return cls(ListOffsetsRequest.TIMESTAMP, _milliseconds(at))


class OffsetLookup:
    """The ListOffsets calls of a client."""

    def __init__(
        self,
        routing: Routing,
        *,
        backoff: Backoff,
        request_timeout_ms: int,
        retries: int = RETRIES_MAX,
        isolation_level: IsolationLevel = READ_UNCOMMITTED,
    ) -> None:
        self.leaders = LeaderCalls(routing, backoff=backoff, retries=retries)
        self._routing = routing
        self._request_timeout_ms = request_timeout_ms
        self._isolation_level = isolation_level

    async def lookup(
        self, wanted: Mapping[TopicPartition, Spec], *, timeout_ms: int
    ) -> dict[TopicPartition, int]:
        """The offset of every partition: EARLIEST is the log start, LATEST the high watermark.

        To readers of committed records LATEST is the last stable offset.
        """
        queries = {tp: OffsetQuery(spec) for tp, spec in wanted.items()}
        found = await self.find(queries, timeout_ms=timeout_ms)
        return {tp: listed.offset for tp, listed in found.items()}

    async def start_of(
        self, tp: TopicPartition, spec: Spec, *, timeout_ms: int
    ) -> tuple[int, bytes]:
        """An offset of a partition, and the topic id of the incarnation that it belongs to."""

        async def look_up() -> int:
            return (await self.lookup({tp: spec}, timeout_ms=timeout_ms))[tp]

        offset, topic_ids = await self._in_one_incarnation([tp], look_up, timeout_ms=timeout_ms)
        return offset, topic_ids[tp.topic]

    async def starts_at_times(
        self, times: Mapping[TopicPartition, OffsetQuery], *, timeout_ms: int
    ) -> dict[TopicPartition, tuple[int, bytes]]:
        """Like `start_of`: the first record at or after each time; the end if there is none."""

        async def look_up() -> dict[TopicPartition, int]:
            # The ends first, so that a record appended in between is not missed.
            ends = await self.lookup(dict.fromkeys(times, LATEST), timeout_ms=timeout_ms)
            found = await self.find(times, timeout_ms=timeout_ms)
            return {tp: at.offset if at.offset >= 0 else ends[tp] for tp, at in found.items()}

        offsets, topic_ids = await self._in_one_incarnation(times, look_up, timeout_ms=timeout_ms)
        return {tp: (offset, topic_ids[tp.topic]) for tp, offset in offsets.items()}

    async def starts_before_ends(
        self, partitions: Sequence[TopicPartition], *, offsets_count: int, timeout_ms: int
    ) -> dict[TopicPartition, tuple[int, bytes]]:
        """Like `start_of`: `offsets_count` before each high watermark, or the log start."""

        async def look_up() -> dict[TopicPartition, int]:
            ends = await self.lookup(dict.fromkeys(partitions, LATEST), timeout_ms=timeout_ms)
            starts = await self.lookup(dict.fromkeys(partitions, EARLIEST), timeout_ms=timeout_ms)
            return {tp: max(starts[tp], end - offsets_count) for tp, end in ends.items()}

        offsets, topic_ids = await self._in_one_incarnation(
            partitions, look_up, timeout_ms=timeout_ms
        )
        return {tp: (offset, topic_ids[tp.topic]) for tp, offset in offsets.items()}

    async def _in_one_incarnation(
        self,
        partitions: Iterable[TopicPartition],
        look_up: Callable[[], Awaitable[Found]],
        *,
        timeout_ms: int,
    ) -> tuple[Found, dict[str, bytes]]:
        """The result of `look_up` and the topic ids; repeated if a topic is recreated meanwhile."""
        topics = dict.fromkeys(tp.topic for tp in partitions)
        while True:
            ids = {
                name: (await self._routing.topic(name, timeout_ms=timeout_ms)).topic_id
                for name in topics
            }
            found = await look_up()
            metadata = self._routing.metadata
            if not any(metadata.is_gone(name, topic_id) for name, topic_id in ids.items()):
                return found, ids

    async def find(
        self, wanted: Mapping[TopicPartition, OffsetQuery], *, timeout_ms: int
    ) -> dict[TopicPartition, ListedOffset]:
        """The offset found in every partition; raises the first refusal, without asking on."""
        return require_all(await self.find_each(wanted, timeout_ms=timeout_ms, is_all=True))

    async def find_each(
        self,
        wanted: Mapping[TopicPartition, OffsetQuery],
        *,
        timeout_ms: int,
        is_all: bool = False,
    ) -> dict[TopicPartition, ListedOffset | TidelogError]:
        """The offset found in every partition, or its error; see `LeaderCalls.ask_each`."""

        async def ask(
            address: str, epochs: Mapping[TopicPartition, int]
        ) -> Sequence[ListOffsetsResponse.Partition]:
            request = ListOffsetsRequest(isolation_level=self._isolation_level)
            for tp, epoch in epochs.items():
                spec, timestamp_ms = wanted[tp]
                view = self._routing.metadata.topic(tp.topic)
                request.partitions.add(
                    topic=tp.topic,
                    partition=tp.partition,
                    spec=spec,
                    timestamp_ms=timestamp_ms,
                    current_leader_epoch=epoch,
                    topic_id=b"" if view is None else view.topic_id,
                )
            response = await self._routing.call_leader(
                address,
                LIST_OFFSETS,
                request,
                partitions=list(epochs),
                answer_ms=0,
                timeout_ms=self._request_timeout_ms,
            )
            return response.partitions

        found = await self.leaders.ask_each(wanted, ask, timeout_ms=timeout_ms, is_all=is_all)
        return {tp: _list(result) for tp, result in found.items()}


def _list(result: ListOffsetsResponse.Partition | TidelogError) -> ListedOffset | TidelogError:
    if isinstance(result, TidelogError):
        return result
    timestamp_ms = result.timestamp_ms if result.HasField("timestamp_ms") else None
    return ListedOffset(result.offset, timestamp_ms, result.leader_epoch)


def _milliseconds(at: datetime | int) -> int:
    """Round up to whole milliseconds, so that no record before the time is included."""
    if isinstance(at, int):
        return at
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone: add one")
    return -((_EPOCH - at) // timedelta(milliseconds=1))
