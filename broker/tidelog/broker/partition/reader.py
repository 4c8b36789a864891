"""Reads of single partitions: for fetches, ListOffsets and OffsetForLeaderEpoch.

Owns the state shared by all fetches: limits, numbers of waiting consumers, counters. The
partition's core decides which records may be read. Record batches pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TypeVar

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.partition.late_loads import LateLoads
from tidelog.broker.partition.partition_map import HINTED_CODES, PartitionMap
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition.replica_stats import ReplicaStats
from tidelog.broker.replica.events import FollowerIdentity
from tidelog.core.env import Clock
from tidelog.core.errors import KafkaError, TidelogError
from tidelog.core.memory_reads import Loaded
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import error_message, to_wire
from tidelog.net.unread_responses import UnreadResponse, UnreadResponses
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

T = TypeVar("T")


class Reader:
    """Handler of all requests that read partitions."""

    def __init__(
        self,
        *,
        partitions: PartitionMap,
        config: ReplicaConfig,
        clock: Clock,
        stats: ReplicaStats,
        unread: UnreadResponses,
    ) -> None:
        self.waiting_consumers = 0
        self.waiting_reads = 0
        """Partitions with consumer loads from the disk that are running or not read yet."""
        self.late_loads = LateLoads()
        self.unread_by_replicas = UnreadResponses(
            config.unread.of_replicas(config.replica_unread_response_bytes_max), clock.monotonic_ms
        )
        self._unread = unread
        self._partitions = partitions
        self._config = config
        self._clock = clock
        self._stats = stats
        self._turns = 0

    async def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Look up each partition's offset on its leader; see `leading.list_offset`."""
        response, level = ListOffsetsResponse(), request.isolation_level
        async for asked in in_turns(request.partitions):
            result = response.partitions.add(topic=asked.topic, partition=asked.partition)
            try:
                partition = self._partitions.find(asked.topic, asked.partition, asked.topic_id)
                await partition.log.reading(
                    partial(leading.list_offset, partition, asked, result, isolation_level=level)
                )
            except TidelogError as error:
                result.offset = result.leader_epoch = -1
                self._fail_lookup(result, to_wire(error))
        return response

    async def offset_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        """Find the end of the largest epoch ≤ the requested one on the leader (KIP-101, 279)."""
        response = OffsetForLeaderEpochResponse()
        async for asked in in_turns(request.partitions):
            result = response.partitions.add(topic=asked.topic, partition=asked.partition)
            try:
                partition = self._partitions.find(asked.topic, asked.partition, asked.topic_id)
                partition.check_leadership(
                    asked.current_leader_epoch if asked.HasField("current_leader_epoch") else None
                )
                end = partition.epoch_end(asked.leader_epoch)
                result.end.leader_epoch, result.end.end_offset = end
            except KafkaError as error:
                result.error.CopyFrom(to_wire(error))
        return response

    def follower(self, request: Fetch) -> FollowerIdentity | None:
        """Identity of the fetching replica; None for a consumer."""
        if request.replica_id is None:
            return None
        return self._partitions.follower(request.replica_id, request.replica_epoch)

    def max_bytes(self, request: Fetch) -> int:
        """Maximum record bytes of one answer."""
        config = self._config
        is_follower = request.replica_id is not None
        limit = config.replica_fetch_response_max_bytes if is_follower else config.fetch_max_bytes
        return min(request.max_bytes, limit) if request.max_bytes > 0 else limit

    def deadline_ms(self, request: Fetch) -> int:
        """Latest time to answer, on the monotonic clock."""
        wait_ms = max(0, min(request.max_wait_ms, self._config.fetch_wait_max_ms))
        return self._clock.monotonic_ms() + wait_ms

    def begin_response(self, connection: str, follower: FollowerIdentity | None) -> UnreadResponse:
        """Begin a fetch's response; each known follower has room apart from all consumers."""
        if follower is None or not follower.is_known:
            return self._unread.begin(connection)
        return self.unread_by_replicas.begin(str(follower.broker_id))

    def rotate(self, waiting: Collection[T]) -> list[T]:
        """Rotate the order at each call: full answers must not starve the partitions at the end."""
        self._turns += 1
        first = self._turns % max(1, len(waiting))
        ordered = list(waiting)
        return ordered[first:] + ordered[:first]

    def count(self, follower: FollowerIdentity | None, size_bytes: int) -> None:
        """Count the bytes read for a consumer or follower."""
        if follower is None:
            self._stats.bytes_out += size_bytes
        else:
            self._stats.bytes_replicated_out += size_bytes

    def read_one(
        self,
        asked: FetchPosition,
        result: FetchResult,
        *,
        follower: FollowerIdentity | None,
        isolation_level: int,
        max_bytes: int,
        has_read: bool,
        loaded: Loaded,
    ) -> int:
        """Fill `result`, possibly with an error; return its number of record bytes.

        At most `max_bytes`; unless `has_read`, a single larger batch is allowed. Raises
        `NotInMemoryError`, see `leading.read`.
        """
        limit = asked.partition_max_bytes or self._config.fetch_partition_max_bytes_default
        try:
            partition = self._partitions.find(asked.topic, asked.partition, asked.topic_id)
            size_bytes = leading.read(
                partition,
                asked,
                result,
                follower=follower,
                isolation_level=isolation_level,
                max_bytes=min(limit, max_bytes),
                has_read=has_read,
                loaded=loaded,
            )
        except TidelogError as error:
            self.fail(result, to_wire(error), follower)
            return 0
        if result.error != common_pb2.NONE:
            self._note_refused(result, follower)
        return size_bytes

    @property
    def may_wait(self) -> bool:
        """True when another consumer may wait for records."""
        return self.waiting_consumers < self._config.waiting_fetches_max

    @property
    def may_load(self) -> bool:
        """True when another read of a consumer may wait for the disk."""
        return self.waiting_reads < self._config.waiting_reads_max

    def refuse_to_wait(self, result: FetchResult) -> None:
        """Refuse a fetch at once: too many are waiting."""
        message = f"{self._config.waiting_fetches_max} fetches are waiting already: try again later"
        self.fail(result, error_message(common_pb2.THROTTLING_QUOTA_EXCEEDED, message))

    def refuse_to_load(self, result: FetchResult) -> None:
        """Refuse a read at once: too many are waiting for the disk."""
        message = (
            f"{self._config.waiting_reads_max} reads wait for the disk already: try again later"
        )
        self.fail(result, error_message(common_pb2.THROTTLING_QUOTA_EXCEEDED, message))

    def fail(
        self, result: FetchResult, error: Error, follower: FollowerIdentity | None = None
    ) -> None:
        """Answer with an error, and with the current leader where that helps."""
        result.error, result.error_message = error.code, error.message
        self._note_refused(result, follower)

    def _note_refused(self, result: FetchResult, follower: FollowerIdentity | None) -> None:
        what = "read refused"
        if follower is not None:
            what = f"fetch of replica {follower.broker_id} refused"
        error = error_message(result.error, result.error_message)
        self._partitions.note_refusal(what, result.topic, result.partition, error)
        if result.error in HINTED_CODES:
            result.current_leader = self._partitions.current_leader(result.topic, result.partition)

    def _fail_lookup(self, result: ListOffsetsResponse.Partition, error: Error) -> None:
        result.error.CopyFrom(error)
        self._partitions.note_refusal("read refused", result.topic, result.partition, error)
        if error.code in HINTED_CODES:
            hint = self._partitions.leader_hint(result.topic, result.partition)
            if hint is not None:
                result.current_leader.CopyFrom(hint)
