"""A broker for clients' transactions: the coordinator's core, and logs that check epochs.

One broker leads all partitions and coordinates all ids. Its decisions are those of
`TransactionShard`; markers are written at once, or when the test says so.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import count
from typing import Any, NamedTuple

from tests.client.meddler import Meddler

from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.transactions.transaction import Producer, Topic, TransactionPartition
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_shard import TransactionShard
from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.core.errors import InvalidProducerEpochError, OutOfOrderSequenceError
from tidelog.core.wire_errors import to_wire
from tidelog.records.batch import TRANSACTIONAL_FLAG, BatchHeader, iter_batches
from tidelog.records.records import iter_records
from tidelog.v1 import common_pb2, coordinator_pb2, data_pb2, transactions_pb2
from tidelog.v1.common_pb2 import Endpoint

ADDRESS = "node1:9192"
TOPICS = {"t": (b"t" * 16, 3), "u": (b"u" * 16, 1), "__transaction_state": (b"s" * 16, 2)}


class Stored(NamedTuple):
    """A batch, or a marker where `values` is whether it commits."""

    header: BatchHeader | Producer
    values: list[bytes | None] | bool


class TransactionBroker(Meddler):
    """Give it to a client as its transport."""

    def __init__(self) -> None:
        super().__init__(self)
        self._transport = _Way(self)
        self.shard = TransactionShard(TransactionConfig(), coordinator_epoch=0)
        self.logs: dict[tuple[str, int], list[Stored]] = defaultdict(list)
        self.has_markers = True
        """Whether markers are written at once."""
        self.answers: asyncio.Event | None = None
        """Answers to Produce wait for it."""
        self.refusals: list[TidelogError] = []
        """Why batches were refused."""
        self.last_ms = 0
        """Timestamp of each producer's newest batch."""
        self.offsets: list[coordinator_pb2.TransactionalOffsetCommitRequest] = []
        self._ids = count(7)
        self._epochs: dict[int, int] = {}

    # What happened

    def values(self, topic: str = "t") -> list[bytes | None]:
        """Values of committed transactions, by partition."""
        found: list[bytes | None] = []
        for tp in sorted(self.logs):
            undecided: list[bytes | None] = []
            for one in self.logs[tp] if tp[0] == topic else ():
                if isinstance(one.values, bool):
                    found += undecided if one.values else []
                    undecided = []
                else:
                    undecided += one.values
        return found

    def headers(self, partition: int = 0) -> list[tuple[int, int]]:
        """Epoch and base sequence of each batch."""
        return [
            (one.header.producer_epoch, one.header.base_sequence)
            for one in self.logs["t", partition]
            if isinstance(one.header, BatchHeader)
        ]

    def state(self, name: str = "id") -> str:
        """The state of an id."""
        return self.shard.transactions[name].state.name

    # The coordinator

    def decide(self, decision: Any) -> Any:  # of every reply
        """Carry out a decision of the core; return the reply, or raise the refusal."""
        for record in decision.records:
            self.shard.replay(record)
        if self.has_markers:
            self.write_markers()
        if decision.refusal is not None:
            raise decision.refusal
        return decision.reply

    def abort(self, name: str = "id") -> None:
        """Abort what is open, as a time-out does."""
        for record in self.shard.abort(name, self._ids, self.now):
            self.shard.replay(record)
        self.write_markers()

    def write_markers(self) -> None:
        """Write the markers that lack."""
        for attempt in self.shard.prepared:
            partitions = self.shard.unmarked(attempt)
            producer = Producer(attempt.producer.id, attempt.producer.epoch)
            self._epochs[producer.id] = max(producer.epoch, self._epochs.get(producer.id, 0))
            for one in partitions:
                self.logs[one.topic.name, one.number].append(Stored(producer, attempt.is_commit))
            self.shard.note_marked(attempt, partitions)
            for record in self.shard.complete(attempt, self.now):
                self.shard.replay(record)

    @property
    def now(self) -> Moment:
        """The moment, which never changes."""
        return Moment(0, 0)

    def answer(self, method: str, request: Any) -> Any:  # of every type
        """Answer a request."""
        match method:
            case "Metadata":
                return _metadata(request)
            case "FindCoordinator":
                found = coordinator_pb2.FindCoordinatorResponse()
                broker = Endpoint(node_id=1, address=ADDRESS)
                for name in request.group_ids:
                    found.coordinators.add(group_id=name, broker=broker)
                for name in request.transactional_ids:
                    found.coordinators.add(transactional_id=name, broker=broker)
                return found
            case "InitTransactionalProducer":
                return self._ended(transactions_pb2.InitTransactionalProducerResponse(), request)
            case "EndTransaction":
                return self._ended(transactions_pb2.EndTransactionResponse(), request)
            case "TransactionalOffsetCommit":
                return self._take_offsets(request)
        return self._answer_tool(method, request)

    def _answer_tool(self, method: str, request: Any) -> Any:  # of every type
        tools = {
            "AbortTransaction": self._abort,
            "ListTransactions": self._list,
            "DescribeTransactions": self._describe,
            "DescribeProducers": self._describe_producers,
            "AbortHangingTransaction": self._abort_hanging,
        }
        if method not in tools:
            raise CallFailedError(f"no {method} here")
        return tools[method](request)

    async def close(self) -> None:
        """Nothing to release: a command closes its transport."""

    # Tools

    def _abort(self, request: Any) -> transactions_pb2.AbortTransactionResponse:
        answer = transactions_pb2.AbortTransactionResponse()
        one = self.shard.transactions.get(request.transactional_id)
        if one is None or one.state.name != "Ongoing":
            answer.error.code = common_pb2.INVALID_TXN_STATE
        else:
            answer.producer_id, answer.producer_epoch = one.producer
            self.abort(request.transactional_id)
        return answer

    def _list(self, request: Any) -> transactions_pb2.ListTransactionsResponse:
        response = transactions_pb2.ListTransactionsResponse()
        for name, one in sorted(self.shard.transactions.items()):
            is_wanted = not request.states or one.state.name in request.states
            is_wanted &= not request.producer_ids or one.producer.id in request.producer_ids
            if name <= request.after_transactional_id or not is_wanted:
                continue
            if response.transactions:
                response.has_more = True  # a page of one
                break
            response.transactions.add(
                transactional_id=name,
                producer_id=one.producer.id,
                producer_epoch=one.producer.epoch,
                state=one.state.name,
                age_ms=5,
            )
        return response

    def _describe(self, request: Any) -> transactions_pb2.DescribeTransactionsResponse:
        response = transactions_pb2.DescribeTransactionsResponse()
        for name in request.transactional_ids:
            found = response.transactions.add(transactional_id=name)
            one = self.shard.transactions.get(name)
            if one is None:
                found.error.code = common_pb2.TRANSACTIONAL_ID_NOT_FOUND
                continue
            found.producer_id, found.producer_epoch = one.producer
            found.state, found.transaction_timeout_ms = one.state.name, one.timeout_ms
            found.age_ms, found.coordinator_epoch = 5, 3
            for each in one.each_partition():
                found.topics.add(topic=each.topic.name, partitions=[each.number])
        return response

    def _describe_producers(self, request: Any) -> data_pb2.DescribeProducersResponse:
        response = data_pb2.DescribeProducersResponse()
        for asked in request.partitions:
            found = response.partitions.add(topic=asked.topic, partition=asked.partition)
            opened = self.opened(asked.topic, asked.partition)
            for (producer_id, epoch), start in opened.items():
                found.producers.add(
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    coordinator_epoch=-1,
                    last_timestamp_ms=self.last_ms,
                    transaction_start_offset=start,
                )
        return response

    def opened(self, topic: str, partition: int) -> dict[tuple[int, int], int]:
        """First offsets of the transactions that a log holds open, by producer."""
        found: dict[tuple[int, int], int] = {}
        for offset, one in enumerate(self.logs[topic, partition]):
            if isinstance(one.header, Producer):
                marked = one.header.id
                found = {key: start for key, start in found.items() if key[0] != marked}
            else:
                key = (one.header.producer_id, one.header.producer_epoch)
                found.setdefault(key, offset)
        return found

    def _abort_hanging(self, request: Any) -> transactions_pb2.AbortHangingTransactionResponse:
        response = transactions_pb2.AbortHangingTransactionResponse(marker_offset=-1)
        for key, start in self.opened(request.topic, request.partition).items():
            if start == request.start_offset:
                log = self.logs[request.topic, request.partition]
                response.producer_id, response.producer_epoch = key
                response.marker_offset = len(log)
                log.append(Stored(Producer(*key), False))  # an abort
                return response
        response.error.code = common_pb2.INVALID_TXN_STATE
        return response

    def _ended(self, response: Any, request: Any) -> Any:  # of two types
        try:
            if hasattr(request, "commit"):
                producer = Producer(request.producer_id, request.producer_epoch)
                decision: Any = self.shard.end(
                    request.transactional_id,
                    producer,
                    is_commit=request.commit,
                    fresh_ids=self._ids,
                    now=self.now,
                )
            else:
                has = request.HasField("producer_id")
                decision = self.shard.initialise(
                    request.transactional_id,
                    timeout_ms=request.transaction_timeout_ms,
                    expected=Producer(request.producer_id, request.producer_epoch) if has else None,
                    fresh_ids=self._ids,
                    now=self.now,
                )
            response.producer_id, response.producer_epoch = self.decide(decision)
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
        return response

    def _take_offsets(self, request: Any) -> coordinator_pb2.TransactionalOffsetCommitResponse:
        response = coordinator_pb2.TransactionalOffsetCommitResponse()
        producer = Producer(request.producer_id, request.producer_epoch)
        place = TransactionPartition(Topic(b"o" * 16, "__consumer_offsets"), 0)
        try:
            self.decide(
                self.shard.add_partitions(request.transactional_id, producer, [place], self.now)
            )
            self.offsets.append(request)
        except TidelogError as error:
            response.error.CopyFrom(to_wire(error))
        return response

    # Logs

    def produce(self, request: data_pb2.ProduceRequest) -> data_pb2.ProduceResponse:
        """Append batches, or refuse them."""
        response = data_pb2.ProduceResponse(correlation_id=request.correlation_id)
        for field in request.partitions:
            result = response.partitions.add(topic=field.topic, partition=field.partition)
            try:
                result.base_offset = self._append(request, field)
            except TidelogError as error:
                self.refusals.append(error)
                result.error.CopyFrom(to_wire(error))
                result.base_offset = -1
        return response

    def _append(
        self, request: data_pb2.ProduceRequest, field: data_pb2.PartitionProduceData
    ) -> int:
        log = self.logs[field.topic, field.partition]
        ((header, batch),) = iter_batches(field.records)
        assert header.attributes & TRANSACTIONAL_FLAG
        assert request.acks == -1
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.producer_epoch < self._epochs.get(header.producer_id, 0):
            raise InvalidProducerEpochError("an older epoch")
        topic_id = TOPICS[field.topic][0]
        place = TransactionPartition(Topic(topic_id, field.topic), field.partition)
        self.decide(
            self.shard.add_partitions(request.transactional_id, producer, [place], self.now)
        )
        mine = [
            one.header.base_sequence + len(one.values)
            for one in log
            if isinstance(one.header, BatchHeader)
            and (one.header.producer_id, one.header.producer_epoch) == producer
            and isinstance(one.values, list)
        ]
        expected = mine[-1] if mine else 0
        if header.base_sequence < expected:
            return 0  # a repeated one
        if header.base_sequence != expected:
            raise OutOfOrderSequenceError(f"{header.base_sequence}, not {expected}")
        log.append(Stored(header, [one.value for one in iter_records(bytes(batch))]))
        return len(log) - 1


class _Way:
    """The transport behind the meddler."""

    def __init__(self, broker: TransactionBroker) -> None:
        self._broker = broker

    async def call(self, _address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms > 0
        return self._broker.answer(method.name, request)

    async def open_stream(self, _address: str, _method: Any) -> Any:
        return _Stream(self._broker)


class _Stream:
    def __init__(self, broker: TransactionBroker) -> None:
        self._broker = broker
        self._answers: asyncio.Queue[data_pb2.ProduceResponse] = asyncio.Queue()

    async def send(self, request: data_pb2.ProduceRequest) -> None:
        self._answers.put_nowait(self._broker.produce(request))

    async def receive(self) -> data_pb2.ProduceAnswers:
        answer = await self._answers.get()
        if self._broker.answers is not None:
            await self._broker.answers.wait()
        return data_pb2.ProduceAnswers(answers=[answer])

    def close(self) -> None:
        pass


def _metadata(request: data_pb2.MetadataRequest) -> data_pb2.MetadataResponse:
    response = data_pb2.MetadataResponse(cluster_id="one", metadata_offset=1)
    response.brokers.add(node_id=1, address=ADDRESS)
    for name in request.topics or TOPICS:
        if name not in TOPICS:
            continue
        topic_id, partitions = TOPICS[name]
        topic = response.topics.add(name=name, topic_id=topic_id)
        for number in range(partitions):
            topic.partitions.add(
                partition=number, leader_id=1, leader_epoch=0, replicas=[1], isr=[1]
            )
    return response
