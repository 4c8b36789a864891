"""Journal of a node: adds the node's time to events, records metadata batches, serves pages.

The journal is in memory: a node's own events are lost with its process. A controller restores
events of the metadata from its log at start; brokers keep only those they saw live.
"""

from __future__ import annotations

from tidelog.core.env import Clock
from tidelog.core.journal import Event
from tidelog.metadata.image import MetadataImage
from tidelog.node.journal.metadata_events import batch_events
from tidelog.node.journal.ring import Entry, Journal
from tidelog.v1.admin_pb2 import JournalEvent, ListEventsRequest, ListEventsResponse
from tidelog.v1.metadata_records_pb2 import MetadataBatch

PAGE_EVENTS_DEFAULT = 500
PAGE_EVENTS_MAX = 1_000
_NUMBERS = (
    *("partition", "broker_id", "leader_epoch", "partition_epoch", "broker_epoch"),
    *("controller_epoch", "metadata_offset"),
)


class NodeJournal:
    """Events of this node and, as learned here, of the cluster."""

    def __init__(self, *, node_id: int, clock: Clock, size_max: int, bytes_max: int) -> None:
        self._node_id = node_id
        self._clock = clock
        # Start from the clock, so that sequences increase across restarts: events are rarer than
        # 1/ms.
        self._journal = Journal(
            size_max=size_max, bytes_max=bytes_max, first_sequence=max(1, clock.wall_ms())
        )

    @property
    def size_bytes(self) -> int:
        """Approximate memory of the journal."""
        return self._journal.size_bytes

    def note(self, event: Event) -> None:
        """Record an event that happens now."""
        self._journal.note(event, self._clock.wall_ms())

    def on_batch(self, before: MetadataImage, batch: MetadataBatch, offset: int) -> None:
        """Record the events of a batch committed at `offset`, with the time of its decision."""
        time_ms = batch.decided_ms or self._clock.wall_ms()
        for event in batch_events(before, batch, offset=offset):
            self._journal.note(event, time_ms)

    def list_events(self, request: ListEventsRequest) -> ListEventsResponse:
        """List a page of events; see `Node.ListEvents`."""
        limit = min(request.limit if request.limit > 0 else PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX)
        found = self._journal.page(
            after=request.after_sequence,
            limit=limit + 1,
            matches=lambda entry: _is_asked_for(entry, request),
        )
        return ListEventsResponse(
            node_id=self._node_id,
            events=[_to_wire(entry) for entry in found[:limit]],
            has_more=len(found) > limit,
        )


def _is_asked_for(entry: Entry, request: ListEventsRequest) -> bool:
    event = entry.event
    return (
        request.topic in ("", event.topic)
        and request.group in ("", event.group)
        and (not request.HasField("partition") or request.partition == event.partition)
        and (not request.kinds or event.kind in request.kinds)
        and entry.last_ms >= request.since_ms
    )


def _to_wire(entry: Entry) -> JournalEvent:
    event = entry.event
    return JournalEvent(
        sequence=entry.sequence,
        time_ms=entry.time_ms,
        last_ms=entry.last_ms,
        count=entry.count,
        kind=event.kind,
        cause=event.cause,
        before=event.before,
        after=event.after,
        topic=event.topic,
        group=event.group,
        **{name: getattr(event, name) for name in _NUMBERS},
    )
