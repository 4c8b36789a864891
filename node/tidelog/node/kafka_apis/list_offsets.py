"""ListOffsets: offsets by time, and by negative timestamps, which stand for ends of the log.

A replica id means nothing: the answer is about committed records, as for a consumer. Followers of
this cluster call by gRPC, and clients that are none send an id (kafka-python 3.0.0 to 3.0.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from tidelog.broker.partition.reader import Reader
from tidelog.core.turns import PER_PIECE, Turns
from tidelog.kafka.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from tidelog.kafka.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.node.kafka_apis.error_codes import UNSUPPORTED_VERSION, Place, kafka_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, data_pb2

_Found = data_pb2.ListOffsetsResponse.Partition
_Asked = data_pb2.ListOffsetsRequest
_NOTHING = -1


class _Stand(NamedTuple):
    """Meaning of a negative timestamp."""

    since: int
    """First version of the API that has it."""
    spec: data_pb2.ListOffsetsRequest.Spec | None
    """None: no record is found, as without tiered storage."""


STANDS: Mapping[int, _Stand] = {
    -1: _Stand(1, _Asked.LATEST),
    -2: _Stand(1, _Asked.EARLIEST),
    -3: _Stand(7, _Asked.MAX_TIMESTAMP),
    -4: _Stand(8, _Asked.EARLIEST),  # the earliest that is on the broker's disk: all are
    -5: _Stand(9, None),  # the latest in tiered storage
    -6: _Stand(11, None),  # the earliest that waits for its upload
}


class ListOffsetsHandler:
    """Handler of ListOffsets."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def __call__(self, request: ListOffsetsRequest, call: ApiCall) -> ListOffsetsResponse:
        """See `ApiHandler`."""
        response = ListOffsetsResponse()
        # An open enum: the reader refuses numbers that name no level.
        lookups = _Asked(isolation_level=cast(data_pb2.IsolationLevel, request.isolation_level))
        asked_of: list[ListOffsetsPartitionResponse] = []
        turns = Turns(PER_PIECE)
        twice, response.topics = await _named_twice(request, turns), []
        async for topic in turns.of(request.topics):
            answers = []
            async for part in turns.of(topic.partitions):
                answer = ListOffsetsPartitionResponse(partition_index=part.partition_index)
                answers.append(answer)
                answer.error_code = _refusal(part, call.version)
                if (topic.name, part.partition_index) in twice:
                    answer.error_code = common_pb2.INVALID_REQUEST
                if answer.error_code == common_pb2.NONE and _add(lookups, topic.name, part):
                    asked_of.append(answer)
            response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        found = await self._reader.list_offsets(lookups)
        async for answer, one in turns.of(zip(asked_of, found.partitions, strict=True)):
            _fill(answer, one)
        return response


async def _named_twice(request: ListOffsetsRequest, turns: Turns) -> set[tuple[str, int]]:
    seen: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    async for topic in turns.of(request.topics):
        async for part in turns.of(topic.partitions):
            key = topic.name, part.partition_index
            (twice if key in seen else seen).add(key)
    return twice


def _refusal(asked: ListOffsetsPartition, version: int) -> int:
    """Number of an error; 0: none."""
    stand = STANDS.get(asked.timestamp)
    if asked.timestamp < 0 and (stand is None or version < stand.since):
        return UNSUPPORTED_VERSION
    return common_pb2.NONE


def _add(lookups: data_pb2.ListOffsetsRequest, topic: str, asked: ListOffsetsPartition) -> bool:
    """Add a partition to look up; False: nothing can be found."""
    stand = STANDS.get(asked.timestamp, _Stand(0, _Asked.TIMESTAMP))
    if stand.spec is None:
        return False
    epoch = asked.current_leader_epoch
    lookups.partitions.add(
        topic=topic,
        partition=asked.partition_index,
        spec=stand.spec,
        timestamp_ms=max(0, asked.timestamp),
        current_leader_epoch=None if epoch == _NOTHING else epoch,
    )
    return True


def _fill(answer: ListOffsetsPartitionResponse, found: _Found) -> None:
    if found.error.code != common_pb2.NONE:
        answer.error_code = kafka_code(found.error.code, Place.PARTITION)
        return
    answer.offset, answer.leader_epoch = found.offset, found.leader_epoch
    if found.HasField("timestamp_ms"):
        answer.timestamp = found.timestamp_ms
