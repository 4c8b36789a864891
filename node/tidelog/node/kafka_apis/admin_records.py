"""DeleteRecords: on the leader of each partition; others answer NOT_LEADER_OR_FOLLOWER."""

from __future__ import annotations

from tidelog.core.turns import PER_PIECE, Turns
from tidelog.kafka.messages.delete_records_request import DeleteRecordsRequest
from tidelog.kafka.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tidelog.node.kafka_apis.admin_refusals import given_time_ms
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import Place, kafka_code, throttle_ms
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import data_pb2


class DeleteRecordsHandler:
    """Handler of DeleteRecords. Offset -1 stands for the high watermark, as on gRPC."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(self, request: DeleteRecordsRequest, call: ApiCall) -> DeleteRecordsResponse:
        """See `ApiHandler`."""
        del call
        turns = Turns(PER_PIECE)
        deleted = await self._ports.replica_manager.record_deleter.delete_records(
            data_pb2.DeleteRecordsRequest(
                partitions=[
                    data_pb2.DeleteRecordsRequest.Partition(
                        topic=topic.name, partition=one.partition_index, offset=one.offset
                    )
                    async for topic in turns.of(request.topics)
                    async for one in turns.of(topic.partitions)
                ],
                timeout_ms=given_time_ms(request.timeout_ms),
            )
        )
        results = iter(deleted.partitions)
        return DeleteRecordsResponse(
            throttle_time_ms=throttle_ms({one.error.code for one in deleted.partitions}),
            topics=[
                DeleteRecordsTopicResult(
                    topic.name, [_result(next(results)) async for _ in turns.of(topic.partitions)]
                )
                async for topic in turns.of(request.topics)
            ],
        )


def _result(one: data_pb2.DeleteRecordsResponse.Partition) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=one.partition,
        low_watermark=one.low_watermark,
        error_code=kafka_code(one.error.code, Place.PARTITION),
    )
