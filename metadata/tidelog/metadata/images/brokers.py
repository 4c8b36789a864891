"""Registered brokers: image, replay and snapshot."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tidelog.core.errors import invariant
from tidelog.metadata import endpoints
from tidelog.metadata.endpoints import EndpointImage, images_of
from tidelog.metadata.images.copied import Copied
from tidelog.v1 import metadata_records_pb2 as records


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker. `broker_epoch` is the metadata offset of its registration (KIP-631)."""

    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    endpoints: tuple[EndpointImage, ...]
    rack: str
    is_fenced: bool

    @property
    def address(self) -> str:
        """host:port of the internal endpoint, which other nodes call."""
        return next((one.address for one in self.endpoints if one.is_internal), "")

    def address_at(self, listener: str) -> str:
        """host:port of the endpoint of the listener with this name; empty without one."""
        return next((one.address for one in self.endpoints if one.listener == listener), "")


class BrokersDelta:
    """The brokers while the records of one batch apply; new ones get `broker_epoch`."""

    def __init__(self, brokers: Mapping[int, BrokerImage], broker_epoch: int) -> None:
        self._brokers = Copied(brokers)
        self._broker_epoch = broker_epoch
        self.registered: set[int] = set()
        """Brokers of which an incarnation was registered meanwhile."""

    @property
    def brokers(self) -> Mapping[int, BrokerImage]:
        """The brokers by id after the records so far."""
        return self._brokers.now

    def register(self, record: records.RegisterBrokerRecord) -> None:
        """Add an incarnation of a broker, fenced; it replaces an earlier one."""
        self.registered.add(record.broker_id)
        self._brokers.changed[record.broker_id] = BrokerImage(
            broker_id=record.broker_id,
            incarnation_id=record.incarnation_id,
            broker_epoch=record.broker_epoch or self._broker_epoch,
            endpoints=images_of(record.endpoints),
            rack=record.rack,
            is_fenced=True,
        )

    def set_fencing(self, record: records.BrokerFencingRecord) -> None:
        """Fence a broker or let it in."""
        broker = self._brokers.now.get(record.broker_id)
        invariant(
            broker is not None and broker.broker_epoch == record.broker_epoch,
            "fencing names the broker's current epoch",
            broker,
            record.broker_epoch,
        )
        if broker is not None:
            self._brokers.changed[record.broker_id] = replace(broker, is_fenced=record.fenced)


def records_of(brokers: Mapping[int, BrokerImage]) -> Iterator[records.MetadataRecord]:
    """The records that make the brokers again, in their order."""
    for broker in brokers.values():
        registration = records.RegisterBrokerRecord(
            broker_id=broker.broker_id,
            incarnation_id=broker.incarnation_id,
            endpoints=endpoints.records_of(broker.endpoints),
            rack=broker.rack,
            broker_epoch=broker.broker_epoch,
        )
        yield records.MetadataRecord(register_broker=registration)
        if not broker.is_fenced:
            fencing = records.BrokerFencingRecord(
                broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=False
            )
            yield records.MetadataRecord(broker_fencing=fencing)
