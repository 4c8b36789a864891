"""A producer of Kafka's protocol: idempotent where its acks are all, several requests in flight.

Sends what its partitions' queues have ready to their leaders, and decides what each answer means.
One whose numbers are broken (a batch given up, a final error) sends nothing more: another one, with
an id of its own, takes its place. It writes to the incarnation of the topic that it first met.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Coroutine
from types import TracebackType
from typing import NamedTuple, Self

from tidelog.chaos.workloads.plans import ProducerPlan
from tidelog.client import RecordMetadata
from tidelog.client.errors import ClientClosedError, DeliveryTimeoutError
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.kafka.messages.produce_response import PartitionProduceResponse, ProduceResponse
from tidelog.records.compression import Codec
from tidelog.records.records import NO_TIMESTAMP, BatchBuilder
from tidelog.simulation.wire.answers import MAY_BE_STORED, OUT_OF_ORDER, RETRIED, name
from tidelog.simulation.wire.cluster_map import Leader
from tidelog.simulation.wire.link import Link
from tidelog.simulation.wire.partition_queue import Batch, PartitionQueue
from tidelog.simulation.wire.producer_habits import ProducerHabits
from tidelog.simulation.wire.refused_batches import RefusedBatch
from tidelog.simulation.wire.wire_client import BACKOFF_S, WireClient

ACKS_ALL = -1
REQUESTS_PER_BROKER_MAX = 5
"""Kafka's max.in.flight.requests.per.connection."""
RECORDS_PER_BATCH_MAX = 4
GONE_VALUE = b"to a topic that is gone"
UNEXPECTED = "unexpected-error"
BLAMED = "blamed-records"


class _Item(NamedTuple):
    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int
    future: asyncio.Future[RecordMetadata]


class _Sent(NamedTuple):
    partition: int
    batch: Batch[_Item]


class WireProducer:
    """See `LoadProducer`."""

    def __init__(
        self, client: WireClient, plan: ProducerPlan, habits: ProducerHabits, *, is_lossy: bool
    ) -> None:
        self._client = client
        self._checks = client.checks
        self._plan = plan
        self._is_lossy = is_lossy
        self._habits = habits
        self._codec = Codec[plan.compression.upper()]
        self._queues: defaultdict[int, PartitionQueue[_Item]] = defaultdict(PartitionQueue)
        self._not_before_s: dict[int, float] = {}
        """By partition: when it may be tried again."""
        self._in_flight: Counter[int] = Counter()
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._producer_id, self._epoch = -1, -1
        self._topic_id: bytes | None = None
        self._broken = ""
        self._is_closing = False
        self._running: asyncio.Task[None] | None = None
        client.timeout_s = plan.request_timeout_ms / 1000

    async def __aenter__(self) -> Self:
        """Begin."""
        self._running = asyncio.create_task(self._run(), name=self._client.name)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End when every record has its outcome."""
        self._is_closing = True
        self._wake.set()
        if self._running is not None:
            await self._running
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._client.close()

    async def submit(
        self,
        topic: str,
        /,
        *,
        value: bytes | None,
        partition: int,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Take a record. Raises `ClientClosedError` when its numbers are broken."""
        del topic
        if self._broken:
            raise ClientClosedError(self._broken)
        future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        at_ms = NO_TIMESTAMP if timestamp_ms is None else timestamp_ms
        item = _Item(value, key, headers, at_ms, future)
        self._queues[partition].waiting.append((item, self._now_s))
        self._wake.set()
        return future

    @property
    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    @property
    def _is_idempotent(self) -> bool:
        return self._plan.acks == ACKS_ALL

    # The loop

    async def _run(self) -> None:
        while not (self._is_closing and all(one.is_empty for one in self._queues.values())):
            self._wake.clear()
            self._expire()
            wait_s = await self._advance()
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _advance(self) -> float:
        """Send what may be sent; return the seconds after which to look again, if nobody wakes."""
        if all(one.is_empty for one in self._queues.values()):
            return self._plan.delivery_timeout_ms / 1000
        if self._is_idempotent and self._producer_id < 0:
            await self._ask_for_an_id()
            return BACKOFF_S if self._producer_id < 0 else 0.0
        ready: defaultdict[int, list[_Sent]] = defaultdict(list)
        is_unknown = False
        for partition in sorted(self._queues):
            if self._not_before_s.get(partition, 0.0) > self._now_s:
                continue
            leader = self._client.leader(partition)
            if leader is None:
                is_unknown |= not self._queues[partition].is_empty
                continue
            if self._in_flight[leader.node_id] < REQUESTS_PER_BROKER_MAX:
                batch = self._queues[partition].next_batch(RECORDS_PER_BATCH_MAX)
                if batch is not None:
                    ready[leader.node_id].append(_Sent(partition, batch))
        if not self._is_of_this_topic():
            self._break("the topic was made again")
            return 0.0
        for node_id, sent in ready.items():
            self._in_flight[node_id] += 1
            self._start(self._send(node_id, sent))
        if is_unknown:
            await self._client.refresh()
            return BACKOFF_S
        return 0.0 if ready else BACKOFF_S

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name=self._client.name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _expire(self) -> None:
        limit_s = self._now_s - self._plan.delivery_timeout_ms / 1000
        for queue in self._queues.values():
            oldest_s = queue.oldest_s()
            if oldest_s is not None and oldest_s <= limit_s:
                self._break("not acknowledged within delivery.timeout.ms")
                return

    def _break(self, why: str) -> None:
        """Give up everything: the numbers have a gap, or nobody knows."""
        self._broken = why
        for queue in self._queues.values():
            for item, is_outcome_unknown in queue.drop_all():
                error = DeliveryTimeoutError(why, is_outcome_unknown=is_outcome_unknown)
                item.future.set_exception(error)

    def _is_of_this_topic(self) -> bool:
        view = self._client.map.topics.get(self._client.topic)
        if view is None or not self._client.versions.has_ids:
            return True
        if self._topic_id is None:
            self._topic_id = view.topic_id
        return self._topic_id == view.topic_id

    async def _ask_for_an_id(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        version = self._client.versions.init_producer_id
        try:
            answer = await self._client.any_call(request, version, InitProducerIdResponse)
        except TidelogError:
            return
        if answer.error_code == 0:
            self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        elif answer.error_code not in RETRIED:
            self._checks.report(UNEXPECTED, f"InitProducerId: {name(answer.error_code)}")

    # Requests

    async def _send(self, node_id: int, sent: list[_Sent]) -> None:
        try:
            await self._try(node_id, sent)
        finally:
            self._in_flight[node_id] -= 1
            self._wake.set()

    async def _try(self, node_id: int, sent: list[_Sent]) -> None:
        try:
            link = await self._client.link(node_id)
        except (UnreachableError, CallFailedError) as error:
            await self._retry_all(sent, str(error), is_outcome_unknown=False)
            return
        self._try_gone_id(link, sent[0].partition)
        self._try_refused(link, sent[0].partition)
        request, version = self._request(sent), self._client.versions.produce
        if self._plan.acks == 0:
            link.send_unanswered(request, version)
            self._checks.count("acks_0_requests")
            for one in sent:
                self._acknowledge(one, -1)
            return
        if link.in_flight:
            self._checks.count("pipelined_requests")
        timeout_s = self._plan.request_timeout_ms / 1000
        try:
            answer = await link.call(request, version, ProduceResponse, timeout_s=timeout_s)
        except CallFailedError as error:
            await self._retry_all(sent, str(error), is_outcome_unknown=True)
            return
        await self._take(link, sent, answer)

    def _request(self, sent: list[_Sent]) -> ProduceRequest:
        data = [
            PartitionProduceData(index=one.partition, records=self._encode(one.batch))
            for one in sent
        ]
        # Not the id that is known by now: the numbers are of this incarnation.
        topic_id = self._client.topic_id if self._topic_id is None else self._topic_id
        topic = TopicProduceData(name=self._client.topic, topic_id=topic_id, partition_data=data)
        return ProduceRequest(
            acks=self._plan.acks, timeout_ms=self._plan.request_timeout_ms, topic_data=[topic]
        )

    def _encode(self, batch: Batch[_Item]) -> bytes:
        """The same bytes at each attempt."""
        builder = BatchBuilder(compression=self._codec)
        for item in batch.items:
            builder.append(
                timestamp_ms=item.timestamp_ms,
                key=item.key,
                value=item.value,
                headers=item.headers,
            )
        numbers = (self._producer_id, self._epoch, batch.sequence)
        if not self._is_idempotent:
            numbers = (-1, -1, batch.sequence if self._habits.is_numbering else -1)
        data = builder.build(
            producer_id=numbers[0], producer_epoch=numbers[1], base_sequence=numbers[2]
        )
        return self._habits.sealed(data, [item.timestamp_ms for item in batch.items])

    def _try_gone_id(self, link: Link, partition: int) -> None:
        """Write by the id of the incarnation before, as a client does that was away."""
        gone = self._checks.gone_id(self._client.topic, self._client.topic_id)
        if gone is None or not self._client.versions.has_ids or self._plan.acks == 0:
            return
        if not self._client.is_gone_id_due():
            return
        builder = BatchBuilder()
        builder.append(timestamp_ms=1, key=None, value=GONE_VALUE)
        data = [PartitionProduceData(index=partition, records=builder.build())]
        topic = TopicProduceData(name="", topic_id=gone, partition_data=data)
        request = ProduceRequest(acks=ACKS_ALL, timeout_ms=1_000, topic_data=[topic])
        asking = link.call(request, 13, ProduceResponse, timeout_s=self._client.timeout_s)
        self._start(self._hear_of_gone_id(asking))

    async def _hear_of_gone_id(self, asking: Awaitable[ProduceResponse]) -> None:
        try:
            answer = await asking
        except CallFailedError:
            return
        code = answer.responses[0].partition_responses[0].error_code
        self._checks.on_gone_id("Produce", code)

    def _try_refused(self, link: Link, partition: int) -> None:
        """Write what must be refused, beside the records of the load."""
        refused = self._habits.refused
        batch = None if refused is None else refused.draw()
        if batch is None:
            return
        data = [PartitionProduceData(index=partition, records=batch.data)]
        topic_id = self._client.topic_id
        topic = TopicProduceData(name=self._client.topic, topic_id=topic_id, partition_data=data)
        request = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[topic])
        version = self._client.versions.produce
        asking = link.call(request, version, ProduceResponse, timeout_s=self._client.timeout_s)
        self._start(self._hear_of_refusal(batch, asking))

    async def _hear_of_refusal(
        self, batch: RefusedBatch, asking: Awaitable[ProduceResponse]
    ) -> None:
        try:
            answer = await asking
        except CallFailedError:
            return
        self._checks.count("refused_batches")
        part = answer.responses[0].partition_responses[0]
        complaint = batch.complaint(part, self._client.versions.produce)
        if complaint:
            self._checks.report(BLAMED, f"{self._client.topic}-{part.index}: {complaint}")

    # Answers

    async def _take(self, link: Link, sent: list[_Sent], answer: ProduceResponse) -> None:
        by_index = {one.index: one for one in answer.responses[0].partition_responses}
        again: list[int] = []
        for one in sent:
            result = by_index.get(one.partition)
            if result is None:
                self._checks.on_bad_answer(f"{link.address} omits {one.partition}")
            elif result.error_code == 0:
                self._acknowledge(one, result.base_offset)
            elif not self._is_final(one, result.error_code):
                again.append(one.partition)
                self._retry(one, name(result.error_code), result.error_code in MAY_BE_STORED)
                self._take_hint(link, one.partition, result, answer)
            else:
                self._break(f"{name(result.error_code)}: {result.error_message}")
        wait_s = max(BACKOFF_S, answer.throttle_time_ms / 1000)
        for partition in again:
            self._not_before_s[partition] = self._now_s + wait_s
        if again:
            await self._client.refresh()

    def _take_hint(
        self,
        link: Link,
        partition: int,
        result: PartitionProduceResponse,
        answer: ProduceResponse,
    ) -> None:
        hint = result.current_leader
        if hint is not None:
            leader = Leader(hint.leader_id, hint.leader_epoch)
            self._client.take_hint(partition, leader, answer.node_endpoints, link.address)

    def _is_final(self, sent: _Sent, code: int) -> bool:
        """True if an error ends the producer: it is no use to send the batch again."""
        if code == OUT_OF_ORDER:
            is_first = self._queues[sent.partition].is_first(sent.batch)
            if is_first and not self._is_lossy:
                self._checks.report(
                    "sequence-lost",
                    f"{self._client.topic}-{sent.partition}: number {sent.batch.sequence} of"
                    f" {self._producer_id} is out of order, and all before it are acknowledged",
                )
            return is_first
        if code not in RETRIED:
            self._checks.report(UNEXPECTED, f"Produce: {name(code)}")
        return code not in RETRIED

    def _acknowledge(self, sent: _Sent, base_offset: int) -> None:
        self._queues[sent.partition].end(sent.batch)
        for number, item in enumerate(sent.batch.items):
            if not item.future.done():
                offset = base_offset if base_offset < 0 else base_offset + number
                metadata = RecordMetadata(self._client.topic, sent.partition, offset, -1)
                item.future.set_result(metadata)

    async def _retry_all(self, sent: list[_Sent], why: str, *, is_outcome_unknown: bool) -> None:
        for one in sent:
            self._retry(one, why, is_outcome_unknown)
            self._not_before_s[one.partition] = self._now_s + BACKOFF_S
        await self._client.refresh()

    def _retry(self, sent: _Sent, why: str, is_outcome_unknown: bool) -> None:  # noqa: FBT001
        queue = self._queues[sent.partition]
        queue.put_back(sent.batch, why, is_outcome_unknown=is_outcome_unknown)
