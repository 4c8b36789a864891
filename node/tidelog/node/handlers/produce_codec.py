"""gRPC codec of Produce: messages to plain requests, plain results to messages."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.partition.produce import Produce, ProduceData, ProduceResult
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceResult, ProduceRequest, ProduceResponse

_NEW = tuple.__new__
"""Skips the named tuple's own `__new__`, which costs as much as the rest of an item."""


def decode_produce(request: ProduceRequest) -> Produce:
    """Decode a request whose size and number of elements the transport has checked."""
    return Produce(
        acks=request.acks if request.HasField("acks") else ACKS_ALL,
        timeout_ms=request.timeout_ms,
        # Reading `records` copies them out of the message: of one partition at a time.
        partitions=(
            _NEW(ProduceData, (one.topic, one.partition, memoryview(one.records), one.topic_id))
            for one in request.partitions
        ),
        size_bytes=request.ByteSize(),
        transactional_id=request.transactional_id,
    )


def encode_produce(
    results: Iterable[ProduceResult],
    correlation_id: int = 0,
    *,
    into: ProduceResponse | None = None,
) -> ProduceResponse:
    """Encode the answer to the request with this correlation id, or more results `into` one."""
    response = ProduceResponse(correlation_id=correlation_id) if into is None else into
    for result in results:
        # Fields one by one: as keywords they take three times as long.
        answer = response.partitions.add()
        answer.topic, answer.partition = result.topic, result.partition
        answer.base_offset = result.base_offset
        answer.log_start_offset = result.log_start_offset
        if result.log_append_time_ms is not None:
            answer.log_append_time_ms = result.log_append_time_ms
        if result.error != common_pb2.NONE:
            _add_error(answer, result)
    return response


def _add_error(answer: PartitionProduceResult, result: ProduceResult) -> None:
    answer.error.code, answer.error.message = result.error, result.error_message
    for record in result.record_errors:
        answer.record_errors.add(batch_index=record.batch_index, message=record.message)
    leader = result.current_leader
    if leader is not None:
        answer.current_leader.leader_epoch = leader.leader_epoch
        if leader.leader_id is not None:
            answer.current_leader.leader_id = leader.leader_id
