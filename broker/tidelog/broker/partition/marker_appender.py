"""WriteTransactionMarkers and AbortHangingTransaction: ends of transactions in partitions led here.

All markers of a request are appended first, then the in-sync replicas are awaited for all of them:
a marker that only the leader has may be lost with it, and its coordinator would never know. Whether
a marker is refused (an older epoch, of the producer or of its coordinator) is the log's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.broker.partition.leader_io import TransactionEnd
from tidelog.broker.partition.partition_map import (
    HINTED_CODES,
    TOPIC_CHARACTERS_MAX,
    PartitionMap,
)
from tidelog.broker.partition.partition_writer import PartitionWriter, Written
from tidelog.core.env import Clock
from tidelog.core.errors import (
    InvalidRequestError,
    InvalidTxnStateError,
    TidelogError,
)
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import to_wire
from tidelog.log.producers import ProducerEntry
from tidelog.metadata.topics import TOPIC_ID_BYTES
from tidelog.v1.transactions_pb2 import (
    AbortHangingTransactionRequest,
    AbortHangingTransactionResponse,
    WriteTransactionMarkersRequest,
    WriteTransactionMarkersResponse,
)

MARKERS_MAX = 10_000
"""Markers of one request, a partition each; coordinators send a tenth of them."""
COMMIT_TIMEOUT_MS = 4_000
"""Maximum wait for the in-sync replicas; below a coordinator's wait for the answer."""
_NONE = -1
_Result = WriteTransactionMarkersResponse.Partition


class _Asked(NamedTuple):
    """A marker to write in one partition."""

    end: TransactionEnd
    topic: str
    topic_id: bytes
    partition: int
    result: _Result


class MarkerAppender:
    """Handler of both requests."""

    def __init__(self, *, partitions: PartitionMap, writer: PartitionWriter, clock: Clock) -> None:
        self._partitions = partitions
        self._writer = writer
        self._clock = clock

    async def write(
        self, request: WriteTransactionMarkersRequest
    ) -> WriteTransactionMarkersResponse:
        """Append a marker in each partition, a result each in request order."""
        response = WriteTransactionMarkersResponse()
        try:
            _check_bounds(request)
        except InvalidRequestError as error:
            response.error.CopyFrom(to_wire(error))
            return response
        waiting: list[tuple[_Result, Written]] = []
        async for asked in in_turns(_each(request, response)):
            written = self._append(asked)
            if written is not None:
                waiting.append((asked.result, written))
        deadline_ms = self._clock.monotonic_ms() + COMMIT_TIMEOUT_MS
        for result, written in waiting:
            await self._committed(result, written, deadline_ms)
        return response

    async def abort_hanging(
        self, request: AbortHangingTransactionRequest
    ) -> AbortHangingTransactionResponse:
        """Abort the transaction that begins at an offset, on an operator's request."""
        response = AbortHangingTransactionResponse(
            producer_id=_NONE, producer_epoch=_NONE, marker_offset=_NONE
        )
        try:
            entry = self._hanging(request)
            end = TransactionEnd(
                entry.producer_id,
                entry.producer_epoch + 1,
                max(0, entry.coordinator_epoch),
                is_commit=False,
            )
            place = (request.topic, request.partition, request.topic_id)
            written = self._writer.append_marker(*place, end)
            await written.committed(timeout_ms=COMMIT_TIMEOUT_MS)
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
            self._hint(response, request.topic, request.partition)
        else:
            response.producer_id = entry.producer_id
            response.producer_epoch = entry.producer_epoch
            response.marker_offset = written.base_offset
        return response

    def _hanging(self, request: AbortHangingTransactionRequest) -> ProducerEntry:
        """Find the producer of the open transaction that begins there."""
        found = self._partitions.find(request.topic, request.partition, request.topic_id)
        found.check_leadership(None)
        for entry in found.log.producers.entries():
            if entry.first_unstable_offset == request.start_offset:
                return entry
        raise InvalidTxnStateError(
            f"no transaction is open in {found.name} since offset {request.start_offset}: it is "
            "over, or began elsewhere: describe the producers of the partition again"
        )

    def _append(self, asked: _Asked) -> Written | None:
        try:
            if len(asked.topic_id) != TOPIC_ID_BYTES:
                raise InvalidRequestError(
                    f"a topic id of {len(asked.topic_id)} bytes: a marker names {TOPIC_ID_BYTES}"
                )
            return self._writer.append_marker(
                asked.topic, asked.partition, asked.topic_id, asked.end
            )
        except TidelogError as error:
            self._fail(asked.result, error)
            return None

    async def _committed(self, result: _Result, written: Written, deadline_ms: int) -> None:
        try:
            left_ms = max(0, deadline_ms - self._clock.monotonic_ms())
            await written.committed(timeout_ms=left_ms)
        except TidelogError as error:
            self._fail(result, error)
        else:
            result.offset = _NONE if written.is_duplicate else written.base_offset

    def _fail(self, result: _Result, error: TidelogError) -> None:
        result.error.CopyFrom(to_wire(error))
        self._hint(result, result.topic, result.partition)

    def _hint(
        self, result: _Result | AbortHangingTransactionResponse, topic: str, partition: int
    ) -> None:
        if result.error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(topic, partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)


def _check_bounds(request: WriteTransactionMarkersRequest) -> None:
    """Raise `InvalidRequestError` for a request that is too large, before anything is made of it.

    Names too: each is in the answer once for each of its partitions.
    """
    count = 0
    for marker in request.markers:
        count += not marker.topics
        for topic in marker.topics:
            count += max(1, len(topic.partitions))
            if len(topic.topic) > TOPIC_CHARACTERS_MAX:
                raise InvalidRequestError(
                    f"a topic's name of {len(topic.topic)} characters: names have at most "
                    f"{TOPIC_CHARACTERS_MAX}"
                )
        if count > MARKERS_MAX:
            raise InvalidRequestError(f"more than {MARKERS_MAX} markers: send several requests")


def _each(
    request: WriteTransactionMarkersRequest, response: WriteTransactionMarkersResponse
) -> Iterator[_Asked]:
    for marker in request.markers:
        answered = response.markers.add(producer_id=marker.producer_id)
        end = TransactionEnd(
            marker.producer_id, marker.producer_epoch, marker.coordinator_epoch, marker.commit
        )
        for topic in marker.topics:
            for number in topic.partitions:
                result = answered.partitions.add(topic=topic.topic, partition=number, offset=_NONE)
                yield _Asked(end, topic.topic, topic.topic_id, number, result)
