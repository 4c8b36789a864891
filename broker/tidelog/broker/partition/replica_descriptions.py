"""Descriptions of a broker's replicas: sizes in its data folder, producers that logs remember.

Only reads. Each partition is described once in an answer, however often a request names it, so that
answers are bounded by what the broker holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import HINTED_CODES, PartitionMap
from tidelog.core.env import Disk
from tidelog.core.errors import StorageError, TidelogError
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import to_wire
from tidelog.log.producers import ProducerEntry
from tidelog.v1.common_pb2 import TopicPartition
from tidelog.v1.data_pb2 import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
)

_NONE = -1
_LogDir = DescribeLogDirsResponse.LogDir
_Producers = DescribeProducersResponse.Partition


class ReplicaDescriptions:
    """Handler of DescribeLogDirs and DescribeProducers."""

    def __init__(self, partitions: PartitionMap, *, log_dir: str, disk: Disk) -> None:
        self._partitions = partitions
        self._log_dir = log_dir
        self._disk = disk

    async def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Describe the data folder with the open ones of these partitions, or with all."""
        found = _LogDir(path=self._log_dir, total_bytes=_NONE, usable_bytes=_NONE)
        try:
            space = await self._disk.space(self._log_dir)
        except StorageError as error:
            found.error.CopyFrom(to_wire(error))
        else:
            found.total_bytes, found.usable_bytes = space
        held = self._partitions.held
        async for key in in_turns(_each(request.partitions) or sorted(held)):
            partition = held.get(key)
            if partition is not None and partition.is_open:
                _add_size(found, key, partition)
        return DescribeLogDirsResponse(log_dirs=[found])

    async def describe_producers(
        self, request: DescribeProducersRequest
    ) -> DescribeProducersResponse:
        """Describe the producers of each partition of which this broker holds a replica."""
        response = DescribeProducersResponse()
        for topic, number in _each(request.partitions):
            result = response.partitions.add(topic=topic, partition=number)
            try:
                log = self._partitions.find(topic, number).log
                result.producers.extend(map(_producer, log.producers.entries()))
            except TidelogError as error:
                self._fail(result, error)
            await asyncio.sleep(0)  # a log remembers thousands
        return response

    def _fail(self, result: _Producers, error: TidelogError) -> None:
        result.error.CopyFrom(to_wire(error))
        if result.error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(result.topic, result.partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)


def _each(partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((one.topic, one.partition) for one in partitions))


def _add_size(found: _LogDir, key: tuple[str, int], partition: Partition) -> None:
    log = partition.log
    found.partitions.add(
        topic=key[0],
        partition=key[1],
        size_bytes=log.size_in_bytes,
        offset_lag=max(0, log.high_watermark - log.log_end_offset),
    )


def _producer(entry: ProducerEntry) -> DescribeProducersResponse.Producer:
    return DescribeProducersResponse.Producer(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.batches[-1].last_sequence if entry.batches else _NONE,
        last_timestamp_ms=entry.timestamp_ms,
        coordinator_epoch=entry.coordinator_epoch,
        transaction_start_offset=entry.first_unstable_offset,
    )
