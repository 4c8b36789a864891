"""Produce requests: admission, one append for each partition, the wait for acknowledgement.

Decides which requests are taken at all; what a partition does with them is its core's. A fault of
one partition's batches is that partition's result and touches no other.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker import leading
from tidelog.broker.errors import error_message, to_wire
from tidelog.broker.partition.leader import ACKS_ALL
from tidelog.broker.partition_map import HINTED_CODES, PartitionMap
from tidelog.broker.purgatory import DelayedAnswer
from tidelog.broker.replica_config import ReplicaConfig
from tidelog.log.errors import OUTCOME_UNKNOWN_CODES, InvariantError, TidelogError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import (
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)

_ACKS = (ACKS_ALL, 0, 1)


class Appender:
    """Answers Produce. `is_held` says whether the broker takes no writes."""

    def __init__(
        self, *, partitions: PartitionMap, config: ReplicaConfig, is_held: Callable[[], bool]
    ) -> None:
        self.in_flight_bytes = 0
        """Of requests not answered yet."""
        self._partitions = partitions
        self._config = config
        self._is_held = is_held

    @property
    def is_full(self) -> bool:
        """Whether half of what may be in flight is: who can wait with more should."""
        return 2 * self.in_flight_bytes >= self._config.produce_in_flight_bytes_max

    async def produce(self, request: ProduceRequest) -> ProduceResponse:
        """One result a partition, in the order asked; never raises for what a client sent."""
        acks = request.acks if request.HasField("acks") else ACKS_ALL
        size_bytes = request.ByteSize()
        refusal = self._refusal(acks, size_bytes)
        if refusal is not None:
            self._partitions.note_refusal("append refused", "", -1, refusal)
            return _refused(request, refusal)
        self.in_flight_bytes += size_bytes
        try:
            return await self._append_all(request, acks)
        finally:
            self.in_flight_bytes -= size_bytes

    def _refusal(self, acks: int, size_bytes: int) -> Error | None:
        if acks not in _ACKS:
            return error_message(
                common_pb2.INVALID_REQUIRED_ACKS, f"acks is {acks}: it must be -1 (all), 0 or 1"
            )
        if self._is_held():
            return error_message(
                common_pb2.BROKER_NOT_AVAILABLE, "the cluster is stopping: it takes no writes"
            )
        limit = self._config.produce_in_flight_bytes_max
        if self.in_flight_bytes + size_bytes > limit:
            return error_message(
                common_pb2.THROTTLING_QUOTA_EXCEEDED,
                f"{self.in_flight_bytes} bytes are in flight and the limit is {limit}: nothing was "
                "appended, try again later",
            )
        return None

    async def _append_all(self, request: ProduceRequest, acks: int) -> ProduceResponse:
        response = ProduceResponse()
        delayed = DelayedAnswer("appended")
        for index, data in enumerate(request.partitions):
            result = response.partitions.add(
                topic=data.topic, partition=data.partition, base_offset=-1
            )
            try:
                self._append(data, result, acks=acks, delayed=delayed, index=index)
            except InvariantError:
                raise
            except TidelogError as error:
                self._fail(result, to_wire(error))
        failures = await delayed.wait(self._config.ack_timeout_ms(request.timeout_ms))
        for index, failure in failures.items():
            self._fail(response.partitions[index], failure)
        return response

    def _append(
        self,
        data: PartitionProduceData,
        result: PartitionProduceResult,
        *,
        acks: int,
        delayed: DelayedAnswer,
        index: int,
    ) -> None:
        hosted = self._partitions.find(data.topic, data.partition, data.topic_id)
        done = leading.append(hosted, data.records, acks=acks, answer=delayed, index=index)
        result.log_start_offset = hosted.log.log_start_offset
        if acks != 0:
            result.base_offset = done.base_offset
            if done.log_append_time_ms is not None:
                result.log_append_time_ms = done.log_append_time_ms

    def _fail(self, result: PartitionProduceResult, error: Error) -> None:
        is_unknown = error.code in OUTCOME_UNKNOWN_CODES
        what = "append not acknowledged" if is_unknown else "append refused"
        self._partitions.note_refusal(what, result.topic, result.partition, error)
        result.error.CopyFrom(error)
        result.base_offset = -1
        if error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(result.topic, result.partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)


def _refused(request: ProduceRequest, error: Error) -> ProduceResponse:
    return ProduceResponse(
        partitions=[
            PartitionProduceResult(
                topic=data.topic, partition=data.partition, error=error, base_offset=-1
            )
            for data in request.partitions
        ]
    )
