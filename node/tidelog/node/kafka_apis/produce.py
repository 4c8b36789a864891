"""Produce: batches out of the frame into the log, without a copy in between.

Topics are not created here, as in Kafka: clients ask for that by Metadata. Errors of acks=0 close
the connection, since there is no answer to tell them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.partition.appender import Appender
from tidelog.broker.partition.produce import Produce, ProduceData, ProduceResult
from tidelog.core.errors import code_name
from tidelog.core.turns import PER_PIECE, Turns, listed
from tidelog.kafka.messages.produce_request import PartitionProduceData, ProduceRequest
from tidelog.kafka.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.metadata.image import MetadataImage
from tidelog.node.handlers.client_traffic import ClientTraffic
from tidelog.node.kafka_apis.error_codes import Place, kafka_code, throttle_ms
from tidelog.node.kafka_apis.reached import NO_LEADER, leaders_at
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.records.batch import MAGIC
from tidelog.v1 import common_pb2

TOPIC_IDS_FROM = 13
"""First version in which a request names topics by their ids alone."""
_MAGIC_AT = 16


class ProduceHandler:
    """Handler of Produce. Its first step appends, so that requests keep their order.

    A wide request, which takes several steps, is alone on its connection (`dispatch`).
    """

    def __init__(
        self,
        *,
        appender: Appender,
        image: Callable[[], MetadataImage],
        traffic: ClientTraffic,
    ) -> None:
        self._appender = appender
        self._image = image
        self._traffic = traffic

    async def __call__(self, request: ProduceRequest, call: ApiCall) -> ProduceResponse | None:
        """See `ApiHandler`."""
        found = await listed(self._partitions(request, call.version))
        refused = {n: error for n, (_, error) in enumerate(found) if error is not None}
        admitted = [data for data, error in found if error is None]
        size_bytes = sum(len(data.records) for data in admitted)
        self._traffic.produced(call.call.client_id, size_bytes)
        appended = iter(
            await self._appender.produce(
                Produce(request.acks, max(0, request.timeout_ms), admitted, size_bytes)
            )
        )
        results = [refused[n] if n in refused else next(appended) for n in range(len(found))]
        if request.acks == 0:
            _close_on_error(results)
            return None
        return await self._response(request, results, call)

    def _partitions(
        self, request: ProduceRequest, version: int
    ) -> Iterator[tuple[ProduceData, ProduceResult | None]]:
        """Each partition's batches, and their refusal by what is checked here."""
        image = self._image()
        for topic in request.topic_data:
            name, topic_id = topic.name, b""
            if version >= TOPIC_IDS_FROM:
                known = image.topic_by_id(topic.topic_id)
                name, topic_id = "" if known is None else known.name, topic.topic_id
            for part in topic.partition_data:
                records = memoryview(b"" if part.records is None else part.records)
                data = ProduceData(name, part.index, records, topic_id)
                yield data, _refusal(data)

    async def _response(
        self, request: ProduceRequest, results: list[ProduceResult], call: ApiCall
    ) -> ProduceResponse:
        left, turns = iter(results), Turns(PER_PIECE)
        leaders = (one.current_leader for one in results)
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[
                        _partition(part, next(left))
                        async for part in turns.of(topic.partition_data)
                    ],
                )
                async for topic in turns.of(request.topic_data)
            ],
            throttle_time_ms=throttle_ms({one.error for one in results}),
            node_endpoints=[
                NodeEndpoint(*one) for one in leaders_at(leaders, self._image(), call.call.listener)
            ],
        )


def _refusal(data: ProduceData) -> ProduceResult | None:
    """Refuse what has no whole batch of the format that this version of the API carries.

    The log would answer CORRUPT_MESSAGE, upon which clients send the same again.
    """
    records = data.records
    if len(records) > _MAGIC_AT and records[_MAGIC_AT] == MAGIC:
        return None
    what = "there is no record batch"
    if len(records) > _MAGIC_AT:
        what = f"record batches of magic {records[_MAGIC_AT]} are not stored, only of {MAGIC}"
    return ProduceResult(
        data.topic, data.partition, error=common_pb2.INVALID_RECORD, error_message=what
    )


def _partition(asked: PartitionProduceData, result: ProduceResult) -> PartitionProduceResponse:
    if result.error == common_pb2.NONE:
        at_ms = result.log_append_time_ms
        return PartitionProduceResponse(
            index=asked.index,
            base_offset=result.base_offset,
            log_append_time_ms=-1 if at_ms is None else at_ms,
            log_start_offset=result.log_start_offset,
        )
    leader = result.current_leader
    return PartitionProduceResponse(
        index=asked.index,
        error_code=kafka_code(result.error, Place.PARTITION),
        base_offset=-1,
        record_errors=[
            BatchIndexAndErrorMessage(one.batch_index, one.message) for one in result.record_errors
        ],
        error_message=result.error_message or None,
        current_leader=None
        if leader is None
        else LeaderIdAndEpoch(
            NO_LEADER if leader.leader_id is None else leader.leader_id, leader.leader_epoch
        ),
    )


def _close_on_error(results: list[ProduceResult]) -> None:
    for one in results:
        if one.error != common_pb2.NONE:
            raise ConnectionClosedError(
                f"acks=0 to {one.topic}-{one.partition}: {code_name(one.error)}"
            )
