"""OffsetForLeaderEpoch: where a leader epoch ended, for consumers that look for truncation."""

from __future__ import annotations

from tidelog.broker.partition.reader import Reader
from tidelog.core.turns import PER_PIECE, Turns
from tidelog.kafka.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from tidelog.kafka.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tidelog.node.kafka_apis.error_codes import Place, kafka_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, data_pb2

_NONE = -1


class LeaderEpochsHandler:
    """Handler of OffsetForLeaderEpoch."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def __call__(
        self, request: OffsetForLeaderEpochRequest, call: ApiCall
    ) -> OffsetForLeaderEpochResponse:
        """See `ApiHandler`."""
        del call
        lookups = data_pb2.OffsetForLeaderEpochRequest()
        turns = Turns(PER_PIECE)
        async for topic in turns.of(request.topics):
            async for part in turns.of(topic.partitions):
                epoch = part.current_leader_epoch
                lookups.partitions.add(
                    topic=topic.topic,
                    partition=part.partition,
                    leader_epoch=part.leader_epoch,
                    current_leader_epoch=None if epoch == _NONE else epoch,
                )
        found = iter((await self._reader.offset_for_leader_epoch(lookups)).partitions)
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[_answer(next(found)) async for _ in turns.of(topic.partitions)],
                )
                async for topic in turns.of(request.topics)
            ]
        )


def _answer(found: data_pb2.OffsetForLeaderEpochResponse.Partition) -> EpochEndOffset:
    if found.error.code != common_pb2.NONE:
        code = kafka_code(found.error.code, Place.PARTITION)
        return EpochEndOffset(error_code=code, partition=found.partition)
    epoch, end = found.end.leader_epoch, found.end.end_offset
    return EpochEndOffset(
        partition=found.partition,
        leader_epoch=epoch,
        end_offset=_NONE if epoch == _NONE else end,
    )
