"""DeleteRecords: raise each partition's log start, then wait for the in-sync replicas.

The partition's core decides whether records may be deleted; an error in one partition affects no
other.
"""

from __future__ import annotations

import asyncio

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import HINTED_CODES, PartitionMap
from tidelog.broker.partition.purgatory import DelayedAnswer
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Clock
from tidelog.core.errors import TidelogError
from tidelog.core.internal_topics import check_not_internal
from tidelog.core.turns import PER_TURN, in_turns, turn
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
        response = DeleteRecordsResponse()
        delayed = DelayedAnswer("deleted")
        begun: list[Partition | None] = []
        for first in range(0, len(request.partitions), PER_TURN):
            if first:
                await turn()
            piece = request.partitions[first : first + PER_TURN]
            for asked in piece:
                response.partitions.add(
                    topic=asked.topic, partition=asked.partition, low_watermark=-1
                )
            begun += await asyncio.gather(
                *(
                    self._begin(asked, response.partitions[index], delayed, index)
                    for index, asked in enumerate(piece, first)
                )
            )
        left_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        failures = await delayed.wait(left_ms)
        async for index, partition in in_turns(enumerate(begun)):
            if partition is not None:
                self._end(response.partitions[index], partition, failures.get(index))
        return response

    async def _begin(
        self,
        asked: DeleteRecordsRequest.Partition,
        result: DeleteRecordsResponse.Partition,
        delayed: DelayedAnswer,
        index: int,
    ) -> Partition | None:
        """Delete on this replica; None: it was refused."""
        try:
            check_not_internal(asked.topic, "the deletion of its records")
            partition = self._partitions.find(asked.topic, asked.partition, asked.topic_id)
            await leading.delete_records(partition, asked.offset, answer=delayed, index=index)
        except TidelogError as error:
            self._fail(result, to_wire(error))
            return None
        return partition

    def _end(
        self,
        result: DeleteRecordsResponse.Partition,
        partition: Partition,
        failure: Error | None,
    ) -> None:
        try:
            if failure is None:
                result.low_watermark = leading.low_watermark(partition)
        except TidelogError as error:
            failure = to_wire(error)
        if failure is not None:
            self._fail(result, failure)

    def _fail(self, result: DeleteRecordsResponse.Partition, error: Error) -> None:
        self._partitions.note_refusal("deletion refused", result.topic, result.partition, error)
        result.error.CopyFrom(error)
        if error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(result.topic, result.partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)
