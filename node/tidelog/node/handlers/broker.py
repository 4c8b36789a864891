"""Handlers of `tidelog.v1.Broker`: the data plane, and topics created on first use."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import partial
from typing import Any

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.broker.partition.fetch import Fetch, FetchResult
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import BrokerNotAvailableError
from tidelog.core.turns import in_turns, listed, written
from tidelog.core.wire_errors import error_message
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, TopicImage
from tidelog.net.call import LOCAL_CALL, Call, counts_responses
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.client_traffic import ClientTraffic
from tidelog.node.handlers.fetch_codec import decode_fetch, decode_position, encode_fetch
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.node.handlers.produce_stream import ProduceStream
from tidelog.node.handlers.reached import Hinted, address_hints, live_brokers
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceAnswers,
    ProduceRequest,
    ProduceResponse,
)
from tidelog.v1.transactions_pb2 import (
    AbortHangingTransactionRequest,
    AbortHangingTransactionResponse,
    WriteTransactionMarkersRequest,
    WriteTransactionMarkersResponse,
)


class BrokerHandler:
    """Passes each request to the replica manager; answers metadata from the current image."""

    def __init__(
        self,
        *,
        own: OwnCluster,
        replica_manager: ReplicaManager,
        image: Callable[[], MetadataImage],
        controller_id: Callable[[], int | None],
        forwarder: ControllerForwarder,
        producer_ids: ProducerIds,
        reports: UnreachableReports,
    ) -> None:
        self._own = own
        self._replica_manager = replica_manager
        self._image = image
        self._controller_id = controller_id
        self._forwarder = forwarder
        self._producer_ids = producer_ids
        self._reports = reports
        self._topics = _TopicAnswers()
        self.traffic = ClientTraffic()

    async def produce(self, request: ProduceRequest, call: Call = LOCAL_CALL) -> ProduceResponse:
        """See `Broker.Produce`."""
        return await (await self._begin(call, request))

    def produce_stream(
        self, requests: AsyncIterator[ProduceRequest], call: Call = LOCAL_CALL
    ) -> AsyncGenerator[ProduceAnswers, None]:
        """See `Broker.ProduceStream`."""
        begin = partial(self._begin, call)
        stream = ProduceStream(begin, is_full=lambda: self._replica_manager.appender.is_full)
        return stream.answers(requests)

    @counts_responses
    async def fetch(self, request: FetchRequest, call: Call = LOCAL_CALL) -> FetchResponse:
        """See `Broker.Fetch`."""
        self._check(request)
        session = self._replica_manager.session(call)
        results = await session.fetch(await _decode_fetch(request))
        response = await _encode_fetch(results)
        await self._address(response.partitions, call)
        if request.HasField("replica_id"):
            self._own.stamp(response)
        else:
            self._count_fetched(call, results)
        return response

    @counts_responses
    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest], call: Call = LOCAL_CALL
    ) -> AsyncGenerator[FetchResponse, None]:
        """See `Broker.FetchStream`."""
        replica_id: int | None = None

        async def heard() -> AsyncGenerator[Fetch, None]:
            nonlocal replica_id
            async for request in requests:
                self._check(request)
                if request.HasField("replica_id"):
                    replica_id = request.replica_id
                    self._reports.note_request(replica_id)
                yield await _decode_fetch(request)

        try:
            async with aclosing(self._replica_manager.session(call).answers(heard())) as answers:
                async for results in answers:
                    response = await _encode_fetch(results)
                    if replica_id is None:
                        self._count_fetched(call, results)
                    del results  # their records must not be in memory twice while it is unread
                    await self._address(response.partitions, call)
                    if replica_id is not None:
                        self._own.stamp(response)
                    yield response
        except (asyncio.CancelledError, GeneratorExit):
            if replica_id is not None:
                self._reports.hung_up(replica_id)
            raise

    async def _address(self, results: Sequence[Hinted], call: Call) -> None:
        """Put the leaders' addresses into answers."""
        image, listener = self._image(), call.listener
        await written(results, lambda piece: address_hints(piece, image, listener))

    def _count_fetched(self, call: Call, results: Iterable[FetchResult]) -> None:
        self.traffic.fetched(call.client_id, sum(len(one.records) for one in results))

    def _check(self, request: FetchRequest) -> None:
        """Check the cluster id of a replica; consumers send none."""
        if request.HasField("replica_id"):
            self._own.check(request, who=f"replica {request.replica_id}")

    async def list_offsets(
        self, request: ListOffsetsRequest, call: Call = LOCAL_CALL
    ) -> ListOffsetsResponse:
        """See `Broker.ListOffsets`."""
        response = await self._replica_manager.reader.list_offsets(request)
        await self._address(response.partitions, call)
        return response

    async def delete_records(
        self, request: DeleteRecordsRequest, call: Call = LOCAL_CALL
    ) -> DeleteRecordsResponse:
        """See `Broker.DeleteRecords`."""
        response = await self._replica_manager.record_deleter.delete_records(request)
        await self._address(response.partitions, call)
        return response

    async def describe_log_dirs(self, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """See `Broker.DescribeLogDirs`."""
        return await self._replica_manager.descriptions.describe_log_dirs(request)

    async def describe_producers(
        self, request: DescribeProducersRequest, call: Call = LOCAL_CALL
    ) -> DescribeProducersResponse:
        """See `Broker.DescribeProducers`."""
        response = await self._replica_manager.descriptions.describe_producers(request)
        await self._address(response.partitions, call)
        return response

    async def write_transaction_markers(
        self, request: WriteTransactionMarkersRequest
    ) -> WriteTransactionMarkersResponse:
        """See `Broker.WriteTransactionMarkers`."""
        self._own.check(request, who="a transaction coordinator")
        response = await self._replica_manager.markers.write(request)
        self._own.stamp(response)
        return response

    async def abort_hanging_transaction(
        self, request: AbortHangingTransactionRequest, call: Call = LOCAL_CALL
    ) -> AbortHangingTransactionResponse:
        """See `Broker.AbortHangingTransaction`."""
        response = await self._replica_manager.markers.abort_hanging(request)
        await self._address([response], call)
        return response

    async def offset_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        """See `Broker.OffsetForLeaderEpoch`."""
        return await self._replica_manager.reader.offset_for_leader_epoch(request)

    async def init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        """See `Broker.InitProducerId`."""
        return await self._producer_ids.init_producer_id(request)

    async def metadata(self, request: MetadataRequest, call: Call = LOCAL_CALL) -> MetadataResponse:
        """Answer from the image; see `Broker.Metadata`.

        Raises `KafkaError` before this broker has received any metadata: it does not know which
        topics exist, and an empty answer would mislead clients.
        """
        if self._image() is EMPTY_IMAGE:
            raise BrokerNotAvailableError(
                "this broker has reached no controller yet: ask another, or try again",
            )
        failed: dict[str, common_pb2.Error] = {}
        if request.allow_auto_topic_creation:
            failed = await self._forwarder.create_missing(dict.fromkeys(request.topics))
        image = self._image()
        # Answering a topic requested twice only once bounds the answer.
        names = list(dict.fromkeys(request.topics)) or sorted(image.topics)
        response = MetadataResponse(
            brokers=live_brokers(image, call.listener),
            cluster_id=self._own.cluster_id,
            controller_id=self._controller_id(),
            metadata_offset=image.offset,
        )
        async for name in in_turns(names):
            response.topics.append(self._topics.answer(image, name, failed.get(name)))
        return response

    async def _begin(
        self, call: Call, request: ProduceRequest
    ) -> Coroutine[Any, Any, ProduceResponse]:
        """Work on a request, once its topics exist or cannot be created."""
        failed = await self._forwarder.create_missing(
            # A request with a topic id does not mean any other incarnation.
            dict.fromkeys(one.topic for one in request.partitions if not one.topic_id)
        )
        return self._produce(request, failed, call)

    async def _produce(
        self, request: ProduceRequest, failed: Mapping[str, common_pb2.Error], call: Call
    ) -> ProduceResponse:
        produce = decode_produce(request)
        self.traffic.produced(call.client_id, produce.size_bytes)
        results = await self._replica_manager.appender.produce(produce)
        response = ProduceResponse(correlation_id=request.correlation_id)
        await written(results, partial(encode_produce, into=response))
        await self._address(response.partitions, call)
        if failed:
            async for result in in_turns(response.partitions):
                if result.topic in failed:
                    result.error.CopyFrom(failed[result.topic])
        return response


async def _decode_fetch(request: FetchRequest) -> Fetch:
    return decode_fetch(request, await listed(map(decode_position, request.partitions)))


async def _encode_fetch(results: Sequence[FetchResult]) -> FetchResponse:
    response = FetchResponse()
    await written(results, partial(encode_fetch, into=response))
    return response


class _TopicAnswers:
    """Cached answers of topics, one per state of each: many clients request the same."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[TopicImage, MetadataResponse.Topic]] = {}

    def answer(
        self, image: MetadataImage, name: str, failure: common_pb2.Error | None
    ) -> MetadataResponse.Topic:
        """Answer for one topic; `failure` is the error of its attempted creation, if any."""
        topic = image.topics.get(name)
        if topic is None:
            return MetadataResponse.Topic(name=name, error=failure or unknown_topic(name))
        made = self._made.get(name)
        if made is None or made[0] is not topic:
            if len(self._made) > 2 * len(image.topics):
                self._made.clear()  # most are of deleted topics
            answer = MetadataResponse.Topic(
                name=name, topic_id=topic.topic_id, partitions=_partitions(topic)
            )
            made = self._made[name] = topic, answer
        return made[1]


def _partitions(topic: TopicImage) -> list[MetadataResponse.Partition]:
    return [
        MetadataResponse.Partition(
            partition=partition.partition,
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=partition.replicas,
            isr=partition.isr,
        )
        for partition in topic.partitions
    ]


def unknown_topic(name: str) -> common_pb2.Error:
    """Error UNKNOWN_TOPIC_OR_PARTITION for a topic missing in this broker's metadata."""
    return error_message(
        common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        f"topic {name!r} does not exist: create it first or check its name",
    )
