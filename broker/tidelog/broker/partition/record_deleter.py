"""DeleteRecords: raise each partition's log start, then wait for the in-sync replicas.

The partition's core decides whether records may be deleted; an error in one partition affects no
other.
"""

from __future__ import annotations

import asyncio

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.partition_map import HINTED_CODES, PartitionMap
from tidelog.broker.partition.purgatory import DelayedAnswer
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Clock
from tidelog.core.errors import TidelogError
from tidelog.core.internal_topics import check_not_internal
from tidelog.core.wire_errors import to_wire
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import DeleteRecordsRequest, DeleteRecordsResponse


class RecordDeleter:
    """Handler of DeleteRecords."""

    def __init__(self, *, partitions: PartitionMap, config: ReplicaConfig, clock: Clock) -> None:
        self._partitions = partitions
        self._config = config
        self._clock = clock

    async def delete_records(self, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        """Delete in each partition, one result each in request order; client errors never raise."""
        timeout_ms = self._config.ack_timeout_ms(request.timeout_ms)
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        results = await asyncio.gather(
            *(self._answer(asked, deadline_ms) for asked in request.partitions)
        )
        return DeleteRecordsResponse(partitions=results)

    async def _answer(
        self, asked: DeleteRecordsRequest.Partition, deadline_ms: int
    ) -> DeleteRecordsResponse.Partition:
        result = DeleteRecordsResponse.Partition(
            topic=asked.topic, partition=asked.partition, low_watermark=-1
        )
        try:
            failure = await self._delete(asked, result, deadline_ms)
        except TidelogError as error:
            failure = to_wire(error)
        if failure is not None:
            self._fail(result, failure)
        return result

    async def _delete(
        self,
        asked: DeleteRecordsRequest.Partition,
        result: DeleteRecordsResponse.Partition,
        deadline_ms: int,
    ) -> Error | None:
        check_not_internal(asked.topic, "the deletion of its records")
        partition = self._partitions.find(asked.topic, asked.partition, asked.topic_id)
        delayed = DelayedAnswer("deleted")
        await leading.delete_records(partition, asked.offset, answer=delayed, index=0)
        left_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        failures = await delayed.wait(left_ms)
        if not failures:
            result.low_watermark = leading.low_watermark(partition)
        return failures.get(0)

    def _fail(self, result: DeleteRecordsResponse.Partition, error: Error) -> None:
        self._partitions.note_refusal("deletion refused", result.topic, result.partition, error)
        result.error.CopyFrom(error)
        if error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(result.topic, result.partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)
