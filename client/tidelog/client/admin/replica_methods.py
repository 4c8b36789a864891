"""Methods of the admin client about brokers' own replicas: their sizes, and logs' producers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.errors import TidelogError, error_from_wire
from tidelog.client.offsets import OffsetLookup
from tidelog.client.partition_arguments import Partitions, partitions_of
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2, data_pb2
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import DESCRIBE_LOG_DIRS, DESCRIBE_PRODUCERS, METADATA


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    """A replica in a folder: the size of its log, and the committed records that it lacks."""

    size_bytes: int
    offset_lag: int


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """A broker's folder of data; sizes of its file system are None with an error."""

    path: str
    replicas: Mapping[TopicPartition, ReplicaSize]
    total_bytes: int | None
    usable_bytes: int | None
    error: TidelogError | None


@dataclass(frozen=True, slots=True)
class ProducerDescription:
    """An idempotent producer that a log remembers. `last_sequence` is None before its first one."""

    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_timestamp_ms: int
    coordinator_epoch: int | None = None
    """Epoch of the transaction coordinator; None: none has written a marker."""
    transaction_start_offset: int | None = None
    """First offset of its open transaction."""


class ReplicaMethods(ABC):
    """Part of `Admin`."""

    _routing: Routing
    _ports: ClientPorts
    _lookup: OffsetLookup
    _request_timeout_ms: int
    _api_timeout_ms: int

    @abstractmethod
    async def __aenter__(self) -> object: ...

    @abstractmethod
    async def __aexit__(self, *exc_info: object) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """See `Admin.close`."""

    async def describe_log_dirs(
        self, broker_ids: Iterable[int] = ()
    ) -> dict[int, list[LogDirDescription] | TidelogError]:
        """Folders of these live brokers (none named: all), by broker, or why it did not answer."""
        request = MetadataRequest(topics=[""])  # no topic, and not all of them
        metadata = await self._routing.call_any(
            METADATA, request, timeout_ms=self._request_timeout_ms
        )
        addresses = {one.node_id: one.address for one in metadata.brokers}
        asked = list(dict.fromkeys(broker_ids)) or sorted(addresses)
        found = await asyncio.gather(*(self._log_dirs(one, addresses.get(one)) for one in asked))
        return dict(zip(asked, found, strict=True))

    async def describe_producers(
        self, partitions: Partitions
    ) -> dict[TopicPartition, list[ProducerDescription] | TidelogError]:
        """Idempotent producers that the leader of each partition remembers, the oldest first."""

        async def ask(
            address: str, epochs: Mapping[TopicPartition, int]
        ) -> Sequence[data_pb2.DescribeProducersResponse.Partition]:
            request = data_pb2.DescribeProducersRequest(
                partitions=[
                    common_pb2.TopicPartition(topic=tp.topic, partition=tp.partition)
                    for tp in epochs
                ]
            )
            response = await self._routing.call_leader(
                address,
                DESCRIBE_PRODUCERS,
                request,
                partitions=list(epochs),
                answer_ms=0,
                timeout_ms=self._request_timeout_ms,
            )
            return response.partitions

        wanted = partitions_of(partitions, method="describe_producers")
        found = await self._lookup.leaders.ask_each(wanted, ask, timeout_ms=self._api_timeout_ms)
        return {
            tp: result
            if isinstance(result, TidelogError)
            else [_producer(one) for one in result.producers]
            for tp, result in found.items()
        }

    async def _log_dirs(
        self, broker_id: int, address: str | None
    ) -> list[LogDirDescription] | TidelogError:
        if address is None:
            return error_from_wire(
                common_pb2.Error(
                    code=common_pb2.BROKER_NOT_AVAILABLE, message=f"broker {broker_id} is not alive"
                )
            )
        try:
            answer = await self._ports.transport.call(
                address,
                DESCRIBE_LOG_DIRS,
                data_pb2.DescribeLogDirsRequest(),
                timeout_ms=self._request_timeout_ms,
            )
        except TidelogError as error:
            return error
        return [_log_dir(one) for one in answer.log_dirs]


def _log_dir(found: data_pb2.DescribeLogDirsResponse.LogDir) -> LogDirDescription:
    is_known = found.error.code == common_pb2.NONE
    return LogDirDescription(
        path=found.path,
        replicas={
            TopicPartition(one.topic, one.partition): ReplicaSize(one.size_bytes, one.offset_lag)
            for one in found.partitions
        },
        total_bytes=found.total_bytes if is_known else None,
        usable_bytes=found.usable_bytes if is_known else None,
        error=None if is_known else error_from_wire(found.error),
    )


def _producer(found: data_pb2.DescribeProducersResponse.Producer) -> ProducerDescription:
    return ProducerDescription(
        found.producer_id,
        found.producer_epoch,
        None if found.last_sequence < 0 else found.last_sequence,
        found.last_timestamp_ms,
        None if found.coordinator_epoch < 0 else found.coordinator_epoch,
        found.transaction_start_offset if found.HasField("transaction_start_offset") else None,
    )
