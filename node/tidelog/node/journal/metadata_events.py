"""Journal events of a metadata batch, with its records' causes, the same on every node.

Compares each record with the state before it. Decides nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidelog.core.journal import Event, Kind
from tidelog.metadata.image import MetadataImage
from tidelog.v1.metadata_records_pb2 import (
    BrokerFencingRecord,
    MetadataBatch,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)


class _State(NamedTuple):
    """State of a partition as far as events need it."""

    leader_id: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    damaged: tuple[int, ...]
    offline: tuple[int, ...]


_NOBODY = _State(None, (), (), (), ())
_MEMBERS = (Kind.ISR, Kind.ELR, Kind.DAMAGED, Kind.OFFLINE)
"""Kinds of the replica sets, in their order in `_State` after the leader."""


def batch_events(before: MetadataImage, batch: MetadataBatch, *, offset: int) -> Iterator[Event]:
    """Iterate over the events of applying the batch, committed at `offset`, to `before`."""
    if batch.controller_epoch != before.controller_epoch:
        yield Event(
            Kind.CONTROLLER,
            f"controller {batch.controller_id} was elected and has decided",
            before=f"{before.controller_epoch}",
            after=f"{batch.controller_epoch}",
            controller_epoch=batch.controller_epoch,
            metadata_offset=offset,
        )
    return (yield from _Batch(before, offset).events(batch))


class _Batch:
    """Events of one batch, in which a later record may change an earlier one's result."""

    def __init__(self, before: MetadataImage, offset: int) -> None:
        self._before = before
        self._offset = offset
        self._created: dict[bytes, str] = {}
        self._states: dict[tuple[bytes, int], _State] = {}
        self._fenced: dict[int, bool] = {}

    def events(self, batch: MetadataBatch) -> Iterator[Event]:
        """Iterate over the events in record order."""
        for record in batch.records:
            match record.WhichOneof("record"):
                case "register_broker":
                    yield self._registration_event(record.register_broker)
                case "broker_fencing":
                    yield self._fencing(record.broker_fencing)
                case "topic":
                    yield self._topic_created(record.topic)
                case "remove_topic":
                    yield self._topic_removed(record.remove_topic)
                case "partition_change":
                    yield from self._change_events(record.partition_change)

    def _registration_event(self, record: RegisterBrokerRecord) -> Event:
        known = self._before.brokers.get(record.broker_id)
        self._fenced[record.broker_id] = True
        return Event(
            Kind.REGISTRATION,
            record.cause,
            before="" if known is None else f"epoch {known.broker_epoch}",
            after=f"epoch {self._offset}",
            broker_id=record.broker_id,
            broker_epoch=self._offset,
            metadata_offset=self._offset,
        )

    def _fencing(self, record: BrokerFencingRecord) -> Event:
        known = self._before.brokers.get(record.broker_id)
        was_fenced = self._fenced.get(record.broker_id, known is None or known.is_fenced)
        self._fenced[record.broker_id] = record.fenced
        return Event(
            Kind.FENCING,
            record.cause,
            before="fenced" if was_fenced else "unfenced",
            after="fenced" if record.fenced else "unfenced",
            broker_id=record.broker_id,
            broker_epoch=record.broker_epoch or self._offset,
            metadata_offset=self._offset,
        )

    def _topic_created(self, record: TopicRecord) -> Event:
        self._created[record.topic_id] = record.name
        return Event(
            Kind.TOPIC,
            "it was requested",
            after=record.topic_id.hex(),
            topic=record.name,
            metadata_offset=self._offset,
        )

    def _topic_removed(self, record: RemoveTopicRecord) -> Event:
        return Event(
            Kind.TOPIC,
            "it was deleted",
            before=record.topic_id.hex(),
            topic=self._name_of(record.topic_id),
            metadata_offset=self._offset,
        )

    def _change_events(self, record: PartitionChangeRecord) -> Iterator[Event]:
        key = (record.topic_id, record.partition)
        was = self._states.get(key) or self._state_of(record)
        now = self._states[key] = _state(record)
        leaders = (None if was is None else was.leader_id, now.leader_id)
        if was is None or leaders[0] != leaders[1]:
            before, after = ("none" if one is None else f"{one}" for one in leaders)
            yield self._change(record, Kind.LEADER, before, after)
        for kind, were, are in zip(_MEMBERS, (was or _NOBODY)[1:], now[1:], strict=True):
            if were != are:
                yield self._change(record, kind, _format_ids(were), _format_ids(are))

    def _change(self, record: PartitionChangeRecord, kind: Kind, before: str, after: str) -> Event:
        return Event(
            kind,
            record.cause,
            before=before,
            after=after,
            topic=self._name_of(record.topic_id),
            partition=record.partition,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            metadata_offset=self._offset,
        )

    def _name_of(self, topic_id: bytes) -> str:
        return self._created.get(topic_id) or self._before.topics_by_id.get(topic_id, "")

    def _state_of(self, record: PartitionChangeRecord) -> _State | None:
        name = self._name_of(record.topic_id)
        known = self._before.partition(name, record.partition)
        if known is None:
            return None
        return _State(known.leader_id, known.isr, known.elr, known.damaged, known.offline)


def _state(record: PartitionChangeRecord) -> _State:
    return _State(
        leader_id=record.leader_id if record.HasField("leader_id") else None,
        isr=tuple(record.isr),
        elr=tuple(record.elr),
        damaged=tuple(record.damaged),
        offline=tuple(record.offline),
    )


def _format_ids(members: Iterable[int]) -> str:
    return ",".join(map(str, members)) or "none"
