"""Fetch of consumers: record batches as the log has them, one whole answer for each request.

Sessions are answered with id 0, upon which clients name all partitions in each request (KIP-227).
Followers of this cluster fetch over gRPC: a caller that says it is a replica is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.turns import PER_PIECE, Turns, listed
from tidelog.kafka.messages.fetch_request import FetchPartition, FetchRequest
from tidelog.kafka.messages.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from tidelog.metadata.image import MetadataImage
from tidelog.node.handlers.client_traffic import ClientTraffic
from tidelog.node.kafka_apis.error_codes import (
    FETCH_SESSION_ID_NOT_FOUND,
    fetch_code,
    throttle_ms,
)
from tidelog.node.kafka_apis.reached import NO_LEADER, leaders_at
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import READ_COMMITTED

TOPIC_IDS_FROM = 13
"""First version in which a request names topics by their ids alone."""
_UNKNOWN = -1


class FetchHandler:
    """Handler of Fetch."""

    def __init__(
        self,
        *,
        replica_manager: ReplicaManager,
        image: Callable[[], MetadataImage],
        traffic: ClientTraffic,
    ) -> None:
        self._replica_manager = replica_manager
        self._image = image
        self._traffic = traffic

    async def __call__(self, request: FetchRequest, call: ApiCall) -> FetchResponse:
        """See `ApiHandler`."""
        if request.session_id:
            return FetchResponse(error_code=FETCH_SESSION_ID_NOT_FOUND)
        found = await listed(self._positions(request, call.version))
        refused = {n: error for n, (_, error) in enumerate(found) if error is not None}
        fetch = Fetch(
            [position for position, error in found if error is None],
            # An error is told at once, and 0 bytes are there at once.
            max_wait_ms=request.max_wait_ms if request.min_bytes > 0 and not refused else 0,
            min_bytes=request.min_bytes,
            max_bytes=max(1, request.max_bytes),
            isolation_level=request.isolation_level,
        )
        read = iter(await self._replica_manager.session(call.call).fetch(fetch))
        results = [refused[n] if n in refused else next(read) for n in range(len(found))]
        self._traffic.fetched(call.call.client_id, sum(len(one.records) for one in results))
        return await self._response(request, results, call)

    def _positions(
        self, request: FetchRequest, version: int
    ) -> Iterator[tuple[FetchPosition, FetchResult | None]]:
        """Each position, and its refusal by what is checked here."""
        image, is_replica = self._image(), _is_replica(request)
        for topic in request.topics:
            name, topic_id, is_known = topic.topic, b"", True
            if version >= TOPIC_IDS_FROM:
                known = image.topic_by_id(topic.topic_id)
                is_known = known is not None
                name, topic_id = "" if known is None else known.name, topic.topic_id
            for part in topic.partitions:
                error = None
                if is_replica or not is_known:
                    error = FetchResult(
                        name,
                        part.partition,
                        error=common_pb2.CLUSTER_AUTHORIZATION_FAILED
                        if is_replica
                        else common_pb2.UNKNOWN_TOPIC_ID,
                    )
                yield _position(name, topic_id, part), error

    async def _response(
        self, request: FetchRequest, results: list[FetchResult], call: ApiCall
    ) -> FetchResponse:
        left, turns = iter(results), Turns(PER_PIECE)
        leaders = (one.current_leader for one in results)
        is_committed = request.isolation_level == READ_COMMITTED
        return FetchResponse(
            throttle_time_ms=throttle_ms({one.error for one in results}),
            responses=[
                FetchableTopicResponse(
                    topic=topic.topic,
                    topic_id=topic.topic_id,
                    partitions=[
                        _partition(part.partition, next(left), is_committed=is_committed)
                        async for part in turns.of(topic.partitions)
                    ],
                )
                async for topic in turns.of(request.topics)
            ],
            node_endpoints=[
                NodeEndpoint(*one) for one in leaders_at(leaders, self._image(), call.call.listener)
            ],
        )


def _is_replica(request: FetchRequest) -> bool:
    state = request.replica_state
    return request.replica_id >= 0 or (state is not None and state.replica_id >= 0)


def _position(name: str, topic_id: bytes, asked: FetchPartition) -> FetchPosition:
    epoch, last_epoch = asked.current_leader_epoch, asked.last_fetched_epoch
    return FetchPosition(
        name,
        asked.partition,
        asked.fetch_offset,
        topic_id,
        None if epoch == _UNKNOWN else epoch,
        None if last_epoch == _UNKNOWN else last_epoch,
        # 0 bytes, which still bring one batch, are the broker's default to the reader.
        partition_max_bytes=max(1, asked.partition_max_bytes),
    )


def _partition(partition: int, result: FetchResult, *, is_committed: bool) -> PartitionData:
    if result.error != common_pb2.NONE:
        leader = result.current_leader
        return PartitionData(
            partition_index=partition,
            error_code=fetch_code(result.error),
            high_watermark=_UNKNOWN,
            current_leader=None
            if leader is None
            else LeaderIdAndEpoch(
                NO_LEADER if leader.leader_id is None else leader.leader_id, leader.leader_epoch
            ),
            records=b"",
        )
    return PartitionData(
        partition_index=partition,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        # Null tells a reader of all records from one of whose records none was aborted.
        aborted_transactions=[AbortedTransaction(*one) for one in result.aborted_transactions]
        if is_committed
        else None,
        records=result.records,
    )
