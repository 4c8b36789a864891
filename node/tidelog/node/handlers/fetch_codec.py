"""gRPC codec of Fetch: messages to plain requests, plain results to messages."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse, PartitionFetchResult

_NEW = tuple.__new__
"""Skips the named tuple's own `__new__`, which costs as much as the rest of an item."""


def decode_fetch(request: FetchRequest, positions: list[FetchPosition] | None = None) -> Fetch:
    """Decode a request whose size the transport has checked, or what is not in `positions`."""
    return Fetch(
        partitions=list(map(decode_position, request.partitions))
        if positions is None
        else positions,
        forgotten=[(one.topic, one.partition) for one in request.forgotten],
        replica_id=request.replica_id if request.HasField("replica_id") else None,
        replica_epoch=request.replica_epoch,
        max_wait_ms=request.max_wait_ms,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        isolation_level=request.isolation_level,
    )


def decode_position(asked: FetchPartition) -> FetchPosition:
    """Decode a position of a request."""
    has = asked.HasField
    return _NEW(
        FetchPosition,
        (
            asked.topic,
            asked.partition,
            asked.fetch_offset,
            asked.topic_id,
            asked.current_leader_epoch if has("current_leader_epoch") else None,
            asked.last_fetched_epoch if has("last_fetched_epoch") else None,
            asked.log_start_offset,
            asked.partition_max_bytes,
        ),
    )


def encode_fetch(
    results: Iterable[FetchResult], into: FetchResponse | None = None
) -> FetchResponse:
    """Encode an answer, or more results `into` one.

    Protobuf copies the records: drop `results` before sending it.
    """
    response = FetchResponse() if into is None else into
    for result in results:
        # Fields one by one: as keywords they take three times as long.
        answer = response.partitions.add()
        answer.topic, answer.partition = result.topic, result.partition
        answer.high_watermark = result.high_watermark
        answer.last_stable_offset = result.last_stable_offset
        answer.log_start_offset = result.log_start_offset
        if result.log_end_offset is not None:
            answer.log_end_offset = result.log_end_offset
        if result.records:
            answer.records = result.records
        for producer_id, first_offset in result.aborted_transactions:
            answer.aborted_transactions.add(producer_id=producer_id, first_offset=first_offset)
        if result.diverging_epoch is not None:
            end = answer.diverging_epoch
            end.leader_epoch, end.end_offset = result.diverging_epoch
        if result.error != common_pb2.NONE:
            _add_error(answer, result)
    return response


def _add_error(answer: PartitionFetchResult, result: FetchResult) -> None:
    answer.error.code, answer.error.message = result.error, result.error_message
    leader = result.current_leader
    if leader is not None:
        answer.current_leader.leader_epoch = leader.leader_epoch
        if leader.leader_id is not None:
            answer.current_leader.leader_id = leader.leader_id
