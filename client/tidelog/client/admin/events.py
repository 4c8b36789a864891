"""The events of the cluster: the journals of all nodes, fetched concurrently and merged.

Owns the merge: a metadata event is the same on every node that applied it, so it is listed once
with those nodes; events are ordered by time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.client.errors import TidelogError, UnreachableError, raise_for
from tidelog.core.journal import METADATA_KINDS
from tidelog.net.transport import Transport
from tidelog.v1.admin_pb2 import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    JournalEvent,
    ListEventsRequest,
    ListEventsResponse,
)
from tidelog.v1.methods import DESCRIBE_CLUSTER, LIST_EVENTS

_TIMEOUT_MS = 3_000
"""The limit of the wait for a silent node, such as a paused one."""


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """An event with its cause; times are wall-clock milliseconds.

    `nodes` are those that report it: all that applied a metadata event, else the event's own node.
    `count` equal refusals are one event from `time_ms` to `last_ms`. Numbers are None where they do
    not apply.
    """

    time_ms: int
    kind: str
    nodes: tuple[int, ...]
    topic: str | None
    partition: int | None
    broker_id: int | None
    before: str
    after: str
    cause: str
    count: int
    last_ms: int
    leader_epoch: int | None
    partition_epoch: int | None
    broker_epoch: int | None
    controller_epoch: int | None
    metadata_offset: int | None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The events to list; None: all. `since_ms` is compared with the nodes' clocks."""

    topic: str | None = None
    partition: int | None = None
    kinds: tuple[str, ...] = ()
    since_ms: int = 0
    nodes: tuple[int, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """The events of the nodes, the oldest first, and the nodes that did not answer.

    `position` is where the next look-up continues, see `EventLookup.story`.
    """

    events: tuple[ClusterEvent, ...]
    silent_nodes: tuple[int, ...]
    position: Mapping[int, int] = field(default_factory=dict)


class EventLookup:
    """The look-up of events: finds the nodes through any broker, and asks each."""

    def __init__(self, transport: Transport, *, bootstrap: Sequence[str]) -> None:
        self._transport = transport
        self._bootstrap = bootstrap

    async def story(self, wanted: EventFilter, *, after: Mapping[int, int] | None = None) -> Story:
        """List stored events that match; with `after`, the position of a story, only later ones.

        Raises UnreachableError if no address names the nodes.
        """
        nodes = await self._nodes()
        if wanted.nodes:
            nodes = {one: address for one, address in nodes.items() if one in wanted.nodes}
        position = dict(after or {})
        pages = await asyncio.gather(
            *(self._ask(address, wanted, position.get(one, 0)) for one, address in nodes.items())
        )
        found: list[ClusterEvent] = []
        silent = []
        for node_id, events in zip(nodes, pages, strict=True):
            if events is None:
                silent.append(node_id)
                continue
            found += [_event(event, node_id) for event in events]
            if events:
                position[node_id] = events[-1].sequence
        return Story(merge_events(found), tuple(silent), position)

    async def _nodes(self) -> dict[int, str]:
        answers = await asyncio.gather(*map(self._describe, self._bootstrap))
        nodes: dict[int, str] = {}
        for answer in answers:
            if answer is not None:
                nodes |= {one.node_id: one.address for one in answer.controllers}
                nodes |= {one.broker_id: one.address for one in answer.brokers}
        if not nodes:
            where = ", ".join(self._bootstrap)
            raise UnreachableError(f"no broker answers at {where}: is the cluster running?")
        return dict(sorted(nodes.items()))

    async def _describe(self, address: str) -> DescribeClusterResponse | None:
        try:
            return await self._transport.call(
                address, DESCRIBE_CLUSTER, DescribeClusterRequest(), timeout_ms=_TIMEOUT_MS
            )
        except TidelogError:
            return None

    async def _ask(
        self, address: str, wanted: EventFilter, after: int
    ) -> list[JournalEvent] | None:
        """Fetch all pages of a node; None when it does not answer."""
        request = ListEventsRequest(
            topic=wanted.topic or "",
            partition=wanted.partition,
            kinds=wanted.kinds,
            since_ms=wanted.since_ms,
            after_sequence=after,
            group=wanted.group or "",
        )
        found: list[JournalEvent] = []
        while True:
            try:
                page: ListEventsResponse = await self._transport.call(
                    address, LIST_EVENTS, request, timeout_ms=_TIMEOUT_MS
                )
                raise_for(page.error)
            except TidelogError:
                return None
            found += page.events
            if not page.has_more or not page.events:
                return found
            request.after_sequence = page.events[-1].sequence


def merge_events(events: Sequence[ClusterEvent]) -> tuple[ClusterEvent, ...]:
    """Merge events ordered by time; a metadata event that several nodes report is listed once."""
    by_identity: dict[object, ClusterEvent] = {}
    for place, event in enumerate(events):
        identity = same_event(event) or place
        known = by_identity.get(identity)
        if known is None:
            by_identity[identity] = event
        else:
            earliest = min(known, event, key=_in_time)
            nodes = tuple(sorted({*known.nodes, *event.nodes}))
            by_identity[identity] = replace(earliest, nodes=nodes)
    return tuple(sorted(by_identity.values(), key=_in_time))


def same_event(event: ClusterEvent) -> tuple[object, ...] | None:
    """The identity of a metadata event across nodes; None for an event of one node only."""
    if event.kind not in METADATA_KINDS or event.metadata_offset is None:
        return None
    return (
        *(event.metadata_offset, event.kind, event.topic, event.partition, event.broker_id),
        *(event.partition_epoch, event.after),
    )


def _in_time(event: ClusterEvent) -> tuple[int, int]:
    """The sort key; a stable sort keeps each node's order within a millisecond."""
    return event.time_ms, event.metadata_offset or 0


def _event(event: JournalEvent, node_id: int) -> ClusterEvent:
    def number(name: str) -> int | None:
        return int(getattr(event, name)) if event.HasField(name) else None

    return ClusterEvent(
        time_ms=event.time_ms,
        kind=event.kind,
        nodes=(node_id,),
        topic=event.topic or None,
        partition=number("partition"),
        broker_id=number("broker_id"),
        before=event.before,
        after=event.after,
        cause=event.cause,
        count=event.count,
        last_ms=event.last_ms,
        leader_epoch=number("leader_epoch"),
        partition_epoch=number("partition_epoch"),
        broker_epoch=number("broker_epoch"),
        controller_epoch=number("controller_epoch"),
        metadata_offset=number("metadata_offset"),
        group=event.group or None,
    )
