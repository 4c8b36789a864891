"""A consumer of Kafka's protocol, of partitions that are named: positions, and where they are read.

Names the leader epoch that it knows in each request; after a change it asks the new leader where
the epoch of the last record ended, and begins again from there if records it has read are gone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from tidelog.client import Record, TopicPartition
from tidelog.client.errors import OffsetOutOfRangeError
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import (
    CallFailedError,
    CorruptMessageError,
    TidelogError,
    UnreachableError,
)
from tidelog.kafka.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.kafka.messages.fetch_response import FetchResponse, PartitionData
from tidelog.kafka.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.kafka.messages.list_offsets_response import ListOffsetsResponse
from tidelog.kafka.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.kafka.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from tidelog.records.batch import iter_batches
from tidelog.records.compression import Codec
from tidelog.records.records import iter_records
from tidelog.simulation.wire.answers import RETRIED, name
from tidelog.simulation.wire.cluster_map import Leader
from tidelog.simulation.wire.link import Link
from tidelog.simulation.wire.wire_client import BACKOFF_S, WireClient
from tidelog.simulation.wire.wire_producer import UNEXPECTED
from tidelog.v1 import common_pb2

LATEST, EARLIEST = -1, -2
NO_EPOCH = -1
BATCH_BYTES = 20_000
"""More than any batch of these producers has."""
REPLICA_NOT_AVAILABLE = 9
EPOCH_NAMED_FROM = 9
"""First version of Fetch that names the leader epoch."""
TIMEOUT_S = 2.0
EPOCH_END = "epoch-end"
REPLICA_PROBABILITY, REPLICA_ID_MAX = 0.3, 8
"""Share of the readers that name a replica when they look offsets up, as kafka-python 3.0 does."""
LOOKUPS_MAX = 300
"""Attempts to look offsets up: longer than a leader may be away."""


@dataclass(slots=True)
class Position:
    """Position of a reader in a partition."""

    offset: int = 0
    last_epoch: int = NO_EPOCH
    """Leader epoch of the last record that was read."""
    confirmed_epoch: int = -1
    """Newest leader epoch in which the position is known to be in the log."""


class _Fetched(NamedTuple):
    """An answer, and what was asked by partition."""

    address: str
    leaders: Mapping[int, Leader]
    positions: Mapping[int, Position]
    """Those it was sent with: a seek since then makes others."""
    answer: FetchResponse

    @property
    def parts(self) -> Sequence[PartitionData]:
        return self.answer.responses[0].partitions if self.answer.responses else ()


class WireReader:
    """See `LoadReader`."""

    def __init__(
        self, client: WireClient, random: SeededRandom, *, is_lossy: bool, is_foreign: bool
    ) -> None:
        """Begin; `is_foreign`: it may fetch less than a batch, and look up as a replica."""
        self._client = client
        self._checks = client.checks
        self._positions: dict[int, Position] = {}
        self._is_lossy = is_lossy
        least = 1 if is_foreign else BATCH_BYTES
        self._partition_bytes_max = random.randrange(least, least + 3_000)
        self._bytes_max = random.randrange(least, least + 20_000)
        own = random.fork("replica")
        names_replica = is_foreign and own.random() < REPLICA_PROBABILITY
        self._replica_id = own.randrange(0, REPLICA_ID_MAX) if names_replica else -1
        self._topic_id: bytes | None = None
        self._fetching: dict[int, asyncio.Task[_Fetched | None]] = {}
        """By node: the fetch that it has not answered, or whose answer nobody took."""
        self._fetched_now: set[int] = set()  # only asked
        self._codecs: dict[tuple[int, int], str] = {}
        """By partition and offset, of what the last `getmany` returned."""
        client.timeout_s = TIMEOUT_S

    async def __aenter__(self) -> Self:
        """Nothing is begun yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the connections."""
        for task in self._fetching.values():
            task.cancel()
        self._client.close()

    def assign(self, partitions: Sequence[tuple[str, int]], /) -> None:
        """Read these partitions, from their beginning."""
        self._positions = {number: Position() for _, number in partitions}

    def seek(
        self, partition: tuple[str, int], offset: int, /, *, last_epoch: int = NO_EPOCH
    ) -> None:
        """Read on from an offset; `last_epoch` is that of the record before, where it is known."""
        self._positions[partition[1]] = Position(offset, last_epoch)

    def last_epoch(self, partition: int) -> int:
        """Leader epoch of the last record that was read."""
        return self._positions[partition].last_epoch

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Record]:
        """Fetch once from each leader. Raises `OffsetOutOfRangeError`; others are tried again."""
        del max_records  # a fetch of a few thousand bytes has fewer
        self._codecs.clear()
        await self._begin_fetches(timeout_ms)
        if not self._fetching:
            await asyncio.sleep(BACKOFF_S)
            return []
        await asyncio.wait(self._fetching.values(), return_when=asyncio.FIRST_COMPLETED)
        done = [node_id for node_id, task in self._fetching.items() if task.done()]
        fetched = [self._fetching.pop(node_id).result() for node_id in done]
        return await self._take([one for one in fetched if one is not None])

    def codec_of(self, record: Record) -> str:
        """See `CodecReader`."""
        return self._codecs[record.partition, record.offset]

    async def _begin_fetches(self, wait_ms: int) -> None:
        """Have a fetch at each leader: one that waits there does not hold the others up."""
        by_leader: defaultdict[int, dict[int, Leader]] = defaultdict(dict)
        for partition in self._positions:
            if partition in self._fetched_now or not await self._is_ready(partition):
                continue
            leader = self._client.leader(partition)
            if leader is not None and leader.node_id not in self._fetching:
                by_leader[leader.node_id][partition] = leader
        for node_id, leaders in by_leader.items():
            self._fetched_now |= leaders.keys()
            fetch = self._fetch(node_id, leaders, wait_ms)
            self._fetching[node_id] = asyncio.create_task(fetch, name=self._client.name)

    async def position(self, partition: tuple[str, int], /) -> int:
        """See `LoadReader.position`."""
        return self._positions[partition[1]].offset

    async def end_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """High watermarks. Raises `CallFailedError` if some leader is away for too long."""
        return {TopicPartition(*one): await self._offset(one[1], LATEST) for one in partitions}

    async def beginning_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """Log starts. Raises as `end_offsets`."""
        return {TopicPartition(*one): await self._offset(one[1], EARLIEST) for one in partitions}

    # Positions

    async def _is_ready(self, partition: int) -> bool:
        """Know the leader, and that the position is in its log."""
        leader = self._client.leader(partition)
        if leader is None:
            await self._client.refresh()
            leader = self._client.leader(partition)
        if leader is None or not self._is_of_this_topic():
            return False
        position = self._positions[partition]
        if leader.epoch < position.last_epoch:  # who led before has not what was read (KIP-320)
            await self._client.refresh()
            return False
        if position.last_epoch < 0 or position.confirmed_epoch >= leader.epoch:
            return True
        return await self._confirm(partition, position, leader)

    def _is_of_this_topic(self) -> bool:
        if not self._client.versions.has_ids:
            return True
        if self._topic_id is None:
            self._topic_id = self._client.topic_id
        return self._topic_id == self._client.topic_id

    async def _confirm(self, partition: int, position: Position, leader: Leader) -> bool:
        asked = OffsetForLeaderPartition(
            partition=partition,
            current_leader_epoch=leader.epoch,
            leader_epoch=position.last_epoch,
        )
        request = OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic=self._client.topic, partitions=[asked])]
        )
        version = self._client.versions.leader_epochs
        try:
            link = await self._client.link(leader.node_id)
            answer = await link.call(
                request, version, OffsetForLeaderEpochResponse, timeout_s=TIMEOUT_S
            )
        except (UnreachableError, CallFailedError):
            await self._client.refresh()
            return False
        (found,) = answer.topics[0].partitions
        if found.error_code:
            await self._on_error("OffsetForLeaderEpoch", found.error_code)
            return False
        self._checks.count("positions_confirmed")
        position.confirmed_epoch = leader.epoch
        if 0 <= found.end_offset < position.offset:
            what = f"{self._client.topic}-{partition}: epoch {found.leader_epoch} ends at"
            cut = f"{what} {found.end_offset}, {position.offset} is read"
            if not self._is_lossy:
                self._checks.report(EPOCH_END, cut)
            raise OffsetOutOfRangeError(cut)
        return True

    async def _offset(self, partition: int, at: int) -> int:
        for _ in range(LOOKUPS_MAX):
            leader = self._client.leader(partition)
            if leader is not None:
                found = await self._look_up(partition, leader, at)
                if found is not None:
                    return found
            await self._client.refresh()
            await asyncio.sleep(BACKOFF_S)
        raise CallFailedError(f"{self._client.topic}-{partition}: nobody tells its offset at {at}")

    async def _look_up(self, partition: int, leader: Leader, at: int) -> int | None:
        asked = ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=leader.epoch, timestamp=at
        )
        request = ListOffsetsRequest(
            replica_id=self._replica_id,
            topics=[ListOffsetsTopic(name=self._client.topic, partitions=[asked])],
        )
        version = self._client.versions.list_offsets
        try:
            link = await self._client.link(leader.node_id)
            answer = await link.call(request, version, ListOffsetsResponse, timeout_s=TIMEOUT_S)
        except TidelogError:
            return None
        (found,) = answer.topics[0].partitions
        if found.error_code:
            await self._on_error("ListOffsets", found.error_code)
            return None
        return found.offset

    # Fetches

    async def _fetch(
        self, node_id: int, leaders: Mapping[int, Leader], wait_ms: int
    ) -> _Fetched | None:
        positions = {one: self._positions[one] for one in leaders}
        try:
            link = await self._client.link(node_id)
            await self._try_gone_id(link, positions)
            # Not the id that is known by now: the positions are of this incarnation.
            topic_id = self._client.topic_id if self._topic_id is None else self._topic_id
            request = self._request(leaders, positions, topic_id, wait_ms)
            timeout_s = TIMEOUT_S + wait_ms / 1000
            version = self._client.versions.fetch
            answer = await link.call(request, version, FetchResponse, timeout_s=timeout_s)
        except (UnreachableError, CallFailedError):
            await self._client.refresh()
            return None
        finally:
            self._fetched_now -= leaders.keys()
        if answer.error_code:
            self._checks.report(UNEXPECTED, f"Fetch: {name(answer.error_code)}")
            return None
        return _Fetched(link.address, leaders, positions, answer)

    def _request(
        self,
        leaders: Mapping[int, Leader],
        positions: Mapping[int, Position],
        topic_id: bytes,
        wait_ms: int,
    ) -> FetchRequest:
        parts = [
            FetchPartition(
                partition=partition,
                current_leader_epoch=leader.epoch,
                fetch_offset=positions[partition].offset,
                partition_max_bytes=self._partition_bytes_max,
            )
            for partition, leader in leaders.items()
        ]
        topic = FetchTopic(topic=self._client.topic, topic_id=topic_id, partitions=parts)
        return FetchRequest(
            max_wait_ms=wait_ms, min_bytes=1, max_bytes=self._bytes_max, topics=[topic]
        )

    async def _take(self, fetched: Sequence[_Fetched]) -> list[Record]:
        """Nothing is read if some offset is out of range: all of it is fetched again."""
        for one in fetched:
            if {part.partition_index for part in one.parts} != set(one.leaders):
                self._checks.on_bad_answer(f"{one.address} omits partitions of a fetch")
            for part in self._awaited(one):
                if part.error_code == common_pb2.OFFSET_OUT_OF_RANGE:
                    raise OffsetOutOfRangeError(f"{one.address} does not have the offset")
        records: list[Record] = []
        for one in fetched:
            for part in self._awaited(one):
                if not part.error_code:
                    records += self._read(one.address, part, one.leaders[part.partition_index])
        for one in fetched:
            for part in self._awaited(one):
                if part.error_code:
                    await self._on_fetch_error(one, part)
        return sorted(records, key=lambda record: record.partition)

    def _awaited(self, fetched: _Fetched) -> list[PartitionData]:
        """Partitions that are to be read where the fetch began."""
        return [
            part
            for part in fetched.parts
            if self._positions.get(part.partition_index)
            is fetched.positions.get(part.partition_index)
        ]

    async def _on_fetch_error(self, fetched: _Fetched, part: PartitionData) -> None:
        hint, endpoints = part.current_leader, fetched.answer.node_endpoints
        if hint is not None:
            leader = Leader(hint.leader_id, hint.leader_epoch)
            self._client.take_hint(part.partition_index, leader, endpoints, fetched.address)
        await self._on_error("Fetch", part.error_code)

    def _read(self, address: str, part: PartitionData, leader: Leader) -> list[Record]:
        """Records from the position on; the batches are whole, and of no later leader epoch."""
        place = f"{self._client.topic}-{part.partition_index}"
        position = self._positions[part.partition_index]
        records: list[Record] = []
        try:
            for header, batch in iter_batches(bytes(part.records or b"")):
                epoch = header.partition_leader_epoch
                if epoch > leader.epoch and self._client.versions.fetch >= EPOCH_NAMED_FROM:
                    what = f"{place}/{header.base_offset} of epoch {epoch}"
                    self._checks.report(
                        "fenced-fetch", f"{address} served {what} at {leader.epoch}"
                    )
                codec = Codec(header.codec_id).name.lower()
                for record in iter_records(bytes(batch)):
                    if record.offset >= position.offset:
                        self._codecs[part.partition_index, record.offset] = codec
                        records.append(Record(self._client.topic, part.partition_index, *record))
                position.last_epoch = epoch
                position.offset = max(position.offset, header.next_offset)
        except CorruptMessageError as error:
            self._checks.report("whole-batches", f"{address} served {place}: {error}")
        position.confirmed_epoch = max(position.confirmed_epoch, leader.epoch)
        return records

    async def _try_gone_id(self, link: Link, positions: Mapping[int, Position]) -> None:
        """Read by the id of the incarnation before, as a client does that was away."""
        gone = self._checks.gone_id(self._client.topic, self._client.topic_id)
        if gone is None or not self._client.versions.has_ids:
            return
        if not self._client.is_gone_id_due():
            return
        request = self._request({one: Leader(-1, -1) for one in positions}, positions, gone, 0)
        version = self._client.versions.fetch
        answer = await link.call(request, version, FetchResponse, timeout_s=TIMEOUT_S)
        for one in answer.responses[0].partitions:
            self._checks.on_gone_id("Fetch", one.error_code)

    async def _on_error(self, api: str, code: int) -> None:
        self._checks.count(f"error_{code}")
        if code not in RETRIED and code != REPLICA_NOT_AVAILABLE:
            self._checks.report(UNEXPECTED, f"{api}: {name(code)}")
        await self._client.refresh()
        await asyncio.sleep(BACKOFF_S)
