"""Markers as requests to the brokers that lead their partitions, this broker among them.

An answer counts only if it is of this cluster and has the results asked for, in their order: one
that cannot be matched says nothing of any marker, and all are sent again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from tidelog.broker.transactions.marker_lines import Marker
from tidelog.core.errors import (
    BrokerNotAvailableError,
    TidelogError,
    UnknownServerError,
    error_for,
)
from tidelog.core.wire_errors import raise_for
from tidelog.metadata.image import MetadataImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.peers import Peers
from tidelog.v1 import common_pb2
from tidelog.v1.methods import WRITE_TRANSACTION_MARKERS
from tidelog.v1.transactions_pb2 import (
    WriteTransactionMarkersRequest,
    WriteTransactionMarkersResponse,
)

ANSWER_TIMEOUT_MS = 5_000
"""Maximum wait for a broker's answer; longer than it waits for its in-sync replicas."""


class MarkerRequests:
    """A `MarkerWriter`; `write_here` writes to partitions that this broker leads."""

    def __init__(
        self,
        *,
        broker_id: int,
        image: Callable[[], MetadataImage],
        peers: Peers,
        own: OwnCluster,
        write_here: Callable[
            [WriteTransactionMarkersRequest], Awaitable[WriteTransactionMarkersResponse]
        ],
    ) -> None:
        self._broker_id = broker_id
        self._image = image
        self._peers = peers
        self._own = own
        self._write_here = write_here

    async def write(
        self, broker_id: int, markers: Sequence[Marker]
    ) -> Sequence[TidelogError | None]:
        """See `MarkerWriter`."""
        in_order = sorted(markers, key=lambda one: (one.attempt, one.partition))
        request = encode(in_order)
        if broker_id == self._broker_id:
            response = await self._write_here(request)
        else:
            response = await self._ask(broker_id, request)
        raise_for(response.error)
        results = dict(zip(in_order, decode(in_order, response), strict=True))
        return [results[one] for one in markers]

    async def _ask(
        self, broker_id: int, request: WriteTransactionMarkersRequest
    ) -> WriteTransactionMarkersResponse:
        broker = self._image().brokers.get(broker_id)
        if broker is None or not broker.address:
            raise BrokerNotAvailableError(f"broker {broker_id} has no address for other brokers")
        self._own.stamp(request)
        response = await self._peers.call(
            broker.address, WRITE_TRANSACTION_MARKERS, request, timeout_ms=ANSWER_TIMEOUT_MS
        )
        self._own.check(response, who=f"broker {broker_id}")
        return response


def encode(markers: Sequence[Marker]) -> WriteTransactionMarkersRequest:
    """Encode markers that are in the order of their attempts and partitions."""
    request = WriteTransactionMarkersRequest()
    for attempt, of_attempt in groupby(markers, key=lambda one: one.attempt):
        encoded = request.markers.add(
            producer_id=attempt.producer.id,
            producer_epoch=attempt.producer.epoch,
            coordinator_epoch=attempt.coordinator_epoch,
            commit=attempt.is_commit,
        )
        for topic, of_topic in groupby(of_attempt, key=lambda one: one.partition.topic):
            numbers = [one.partition.number for one in of_topic]
            encoded.topics.add(topic=topic.name, topic_id=topic.id, partitions=numbers)
    return request


def decode(
    markers: Sequence[Marker], response: WriteTransactionMarkersResponse
) -> list[TidelogError | None]:
    """Decode the result of each marker. Raises `UnknownServerError` where they do not match."""
    asked = [
        (one.attempt.producer.id, one.partition.topic.name, one.partition.number) for one in markers
    ]
    answered = [
        (of.producer_id, one.topic, one.partition)
        for of in response.markers
        for one in of.partitions
    ]
    if asked != answered:
        raise UnknownServerError("an answer about other markers than those that were sent")
    return [
        None if one.error.code == common_pb2.NONE else error_for(one.error.code, one.error.message)
        for of in response.markers
        for one in of.partitions
    ]
