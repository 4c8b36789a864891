"""Topics of real nodes as their leaders have them, for the tests of clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.client.patience import PATIENCE_MS, until

from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.records.batch import BatchHeader, assign_offsets, iter_batches, parse_header
from tidelog.records.records import Record, iter_records
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import DeleteRecordsRequest, ProduceRequest
from tidelog.v1.methods import DELETE_RECORDS, PRODUCE, Method, Request, Response


class PartitionHome(Protocol):
    """The nodes that host a partition's replicas."""

    @property
    def image(self) -> MetadataImage:
        """What the controller has committed."""

    def log(self, node_id: int, topic: str, number: int) -> PartitionLog:
        """The log of a node's replica."""

    def move(self, name: str, partition: int, *, leader_id: int | None) -> asyncio.Task[None]:
        """Elect another member of the ISR; await the task to wait until all know."""

    async def ask(
        self, node_id: int | None, method: Method[Request, Response], request: Request
    ) -> Response:
        """Call a node; the call is not counted, and nothing happens to it."""


@dataclass(frozen=True)
class RealPartition:
    """A partition as its leader has it."""

    cluster: PartitionHome
    topic: str
    number: int

    @property
    def image(self) -> PartitionImage:
        """Its leader, ISR and epochs, as committed."""
        found = self.cluster.image.partition(self.topic, self.number)
        assert found is not None, f"no {self.topic}-{self.number}"
        return found

    @property
    def leader_id(self) -> int | None:
        """The leader's broker id."""
        return self.image.leader_id

    @property
    def log(self) -> PartitionLog:
        """The leader's log; without a leader the last one's."""
        image = self.image
        leader_id = image.last_known_leader_id if image.leader_id is None else image.leader_id
        return self.cluster.log(leader_id or image.replicas[0], self.topic, self.number)

    @property
    def end_offset(self) -> int:
        """The leader's log end offset."""
        return self.log.log_end_offset

    @property
    def start_offset(self) -> int:
        """The leader's log start offset."""
        return self.log.log_start_offset

    @property
    def batches(self) -> tuple[bytes, ...]:
        """Batches in the leader's log, from its start offset on."""
        log, batches = self.log, list[bytes]()
        offset, end = log.log_start_offset, log.log_end_offset
        while offset < end:  # a read ends with its segment
            read = log.read(offset, max_bytes=1 << 30, upper_bound=end)
            batches += [bytes(batch) for _, batch in iter_batches(bytes(read.records))]
            offset = read.next_offset
        return tuple(batches)

    def headers(self) -> list[BatchHeader]:
        """Headers of the batches."""
        return list(map(parse_header, self.batches))

    def records(self) -> list[Record]:
        """Records of the batches."""
        return [record for batch in self.batches for record in iter_records(batch)]

    def values(self) -> list[bytes | None]:
        """Values of the records."""
        return [record.value for record in self.records()]

    async def append(self, records: bytes, *, acks: int = -1) -> int:
        """Have the leader append batches, as any producer may; the first offset."""
        request = ProduceRequest(acks=acks, timeout_ms=PATIENCE_MS)
        request.partitions.add(topic=self.topic, partition=self.number, records=records)
        response = await self.cluster.ask(self.leader_id, PRODUCE, request)
        (result,) = response.partitions
        assert result.error.code == common_pb2.NONE, result.error
        return result.base_offset

    async def delete_before(self, offset: int) -> None:
        """Delete the records below an offset."""
        request = DeleteRecordsRequest(timeout_ms=PATIENCE_MS)
        request.partitions.add(topic=self.topic, partition=self.number, offset=offset)
        response = await self.cluster.ask(self.leader_id, DELETE_RECORDS, request)
        assert response.partitions[0].low_watermark == offset

    async def lay(self, batches: Iterable[bytes]) -> None:
        """Have every replica hold these batches, as after compaction, and elect the next one."""
        image = self.image
        for node_id in image.replicas:
            log = self.cluster.log(node_id, self.topic, self.number)
            for header, batch in map(_alone, batches):
                _, pieces = assign_offsets(
                    [(header, batch)],
                    base_offset=header.base_offset,
                    leader_epoch=image.leader_epoch,
                )
                log.append_as_follower(b"".join(pieces))
        leader_id = next(one for one in image.isr if one != image.leader_id)
        await self.cluster.move(self.topic, self.number, leader_id=leader_id)
        end = self.log.log_end_offset
        await until(lambda: self.log.high_watermark == end)


@dataclass(frozen=True)
class RealTopic:
    """A topic of the cluster."""

    topic_id: bytes
    partitions: Sequence[RealPartition]


def _alone(batch: bytes) -> tuple[BatchHeader, memoryview]:
    (found,) = iter_batches(batch)
    return found
