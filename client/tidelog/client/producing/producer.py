"""The producer: takes records, and returns their offsets once they are acknowledged.

Owns records and the report of their outcomes. Partitioners choose partitions, the accumulator owns
batches, the sender owns requests, `producer_engine` owns buffer space and the close. With
acks="all" an acknowledged record survives the loss of all but one in-sync replica. An idempotent
producer's record is stored once, however often its batch is sent; without idempotence it may be
stored twice when an answer is lost. It is never stored out of its partition's order. It goes only
to the incarnation of its topic that was known when it was taken: if that one is deleted, the record
fails with UNKNOWN_TOPIC_ID, and later records go to the new topic.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from typing import Generic, Literal, Self

from tidelog.client.backoff import Backoff
from tidelog.client.connections import (
    CONNECTIONS_MAX_IDLE_MS,
    RETRIES_MAX,
    ConnectionConfig,
)
from tidelog.client.errors import (
    BufferExhaustedError,
    ClientClosedError,
    InvalidTxnStateError,
    MessageTooLargeError,
    ProducerFencedError,
    TransactionAbortedError,
)
from tidelog.client.observer import Delivery
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.accumulator import (
    RECORD_OVERHEAD_BYTES,
    record_size,
)
from tidelog.client.producing.deliveries import BulkDelivery, SingleDelivery
from tidelog.client.producing.partitioners import (
    Pair,
    Partitioner,
    PartitionerName,
    Partitioning,
    group_pairs,
)
from tidelog.client.producing.producer_engine import (
    ProducerEngine,
    ProducerEngineConfig,
)
from tidelog.client.producing.producer_interceptors import (
    OnDelivery,
    ProducerInterceptor,
    ProducerInterceptors,
    ProducerRecord,
)
from tidelog.client.producing.serializers import K, Serializer, Serializers, V
from tidelog.client.producing.transaction_methods import TransactionMethods
from tidelog.client.records import BulkMetadata, Headers, RecordMetadata, TopicPartition
from tidelog.client.routing import named_bootstrap
from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport
from tidelog.records.batch import HEADER_BYTES

_ports_of = ClientPorts.of
_HALF_WAY = (
    BufferExhaustedError,
    ClientClosedError,
    InvalidTxnStateError,
    ProducerFencedError,
    TransactionAbortedError,
)
"""Errors between two chunks of many records: the result reports them."""


class Producer(TransactionMethods, Generic[K, V]):
    """Sends records to topics; use it as `async with Producer("127.0.0.1:9192") as producer`.

    A send to a missing topic creates it where the cluster allows that, and nothing else does.

    Sizes in bytes, times in milliseconds:
    - `bootstrap`, or by Kafka's name `bootstrap_servers`: brokers to ask first, "host:port,…".
    - `client_id`: the name in brokers' metrics and in this client's log; `connections_max_idle_ms`:
      a connection without a request for this long is closed, and opened again when needed.
    - `bootstrap_timeout_ms`: wait for a cluster that is about to start; without it the first call
      raises BootstrapRefusedError at once if nobody listens at any address.
    - `acks`: "all" waits for every in-sync replica, 1 for the leader, 0 for none (the offset is
      then -1).
    - `enable_idempotence`: no retry stores a record twice, whichever broker leads by then. This
      covers the retries of this object: a record that the program sends again, also after its
      restart, is another record. Default: on with acks="all", off otherwise, as it needs that.
    - `linger_ms`: time that a batch waits for more records. A batch fills up anyway while a request
      to its broker is in flight, so 0 costs little throughput.
    - `max_in_flight`: requests without an answer to one broker at a time (Kafka's
      max.in.flight.requests.per.connection). A partition is in several of them only with
      idempotence: without it a later request could overtake an earlier one that failed.
    - `compression`: "none", "gzip", "snappy", "lz4" or "zstd"; `compression_level`: 1 to 9 of gzip,
      1 to 17 of lz4, -131072 to 22 of zstd.
    - `batch_size`: size of a full batch. `max_request_size`: maximum size of a record, and size of
      a full request.
    - `buffer_memory`: bytes of records without an outcome; when full, sends wait up to
      `max_block_ms`.
    - `retries`: times that a batch is sent again, 0 to 2147483647; the default leaves the end to
      `delivery_timeout_ms`. 0 switches idempotence off, and contradicts `enable_idempotence=True`.
    - `request_timeout_ms`: limit of one attempt. `delivery_timeout_ms`: limit from send to failure,
      retries included. `close_timeout_ms`: limit of the wait for outcomes on leaving `async with`.
    - `partitioner`, for records sent without `partition=`: "default" (Kafka's murmur2 of the key;
      without a key like "sticky"), "murmur2" (no key counts as an empty key), "sticky" (a batch's
      worth to one partition, then to another), "round_robin", "random", or a callable, see
      `Partitioner`.
    - `key_serializer`, `value_serializer`: called with topic and object, return bytes or None (a
      null). They are not called for None, which is null. Without one, objects must be bytes.
    - `transactional_id`: records are sent in transactions, see `transaction`; one running producer
      for each id: a new one fences the older one. `transaction_timeout_ms`: the coordinator aborts
      a transaction that is open for longer; at most the brokers' transaction.max.timeout.ms.
    - `interceptors`: see every record before it is serialized, in this order, and its outcome,
      taken or not; an exception in one is logged and ignored.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str] | None = None,
        *,
        bootstrap_servers: str | Sequence[str] | None = None,
        client_id: str = "tidelog-producer",
        connections_max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
        bootstrap_timeout_ms: int = 0,
        acks: Literal["all", -1, 0, 1] = "all",
        enable_idempotence: bool | None = None,
        linger_ms: int = 0,
        batch_size: int = 256 << 10,
        compression: str = "none",
        compression_level: int | None = None,
        max_request_size: int = 1 << 20,
        buffer_memory: int = 64 << 20,
        max_block_ms: int = 60_000,
        max_in_flight: int = 5,
        request_timeout_ms: int = 10_000,
        delivery_timeout_ms: int = 120_000,
        close_timeout_ms: int = 30_000,
        partitioner: PartitionerName | Partitioner = "default",
        key_serializer: Serializer[K] | None = None,
        value_serializer: Serializer[V] | None = None,
        interceptors: Sequence[ProducerInterceptor[K, V]] | None = None,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        retries: int = RETRIES_MAX,
        retry_backoff_ms: int = 20,
        retry_backoff_max_ms: int = 200,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        bootstrap = named_bootstrap(bootstrap, bootstrap_servers)
        self._config = config = ProducerEngineConfig(
            acks=acks,
            enable_idempotence=enable_idempotence,
            linger_ms=linger_ms,
            batch_size=batch_size,
            compression=compression,
            compression_level=compression_level,
            max_request_size=max_request_size,
            buffer_memory=buffer_memory,
            max_block_ms=max_block_ms,
            max_in_flight=max_in_flight,
            request_timeout_ms=request_timeout_ms,
            delivery_timeout_ms=delivery_timeout_ms,
            retries=retries,
            backoff=Backoff(retry_backoff_ms, retry_backoff_max_ms),
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
        )
        named = ConnectionConfig(client_id, connections_max_idle_ms, bootstrap_timeout_ms)
        self._ports = _ports_of(transport=transport, clock=clock, random=random, connections=named)
        self._engine = ProducerEngine(bootstrap, ports=self._ports, config=config)
        self.close_timeout_ms = close_timeout_ms
        self._partitioning = Partitioning(partitioner, self._ports.random, switch_bytes=batch_size)
        self._serializers = Serializers(key=key_serializer, value=value_serializer)
        self._interceptors = ProducerInterceptors(interceptors or ())

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start sending, as `async with` does; no broker is called before the first record.

        With `transactional_id` the coordinator is: raises InvalidTransactionTimeoutError,
        KafkaError, and after `delivery_timeout_ms` the last error; the producer is then closed.
        """
        await self._engine.initialise()

    async def stop(self) -> None:
        """Close, as leaving `async with` does: flush for at most `close_timeout_ms`, or abort."""
        await self.close(timeout_ms=self.close_timeout_ms)

    async def send(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Iterable[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> RecordMetadata:
        """Send one record and wait until it is acknowledged; without a value it is a null.

        Raises MessageTooLargeError and the broker's refusals at once, DeliveryTimeoutError when
        retries did not succeed in time, and the errors of `submit`. Cancelling it stops the wait,
        not the record.
        """
        future = await self.submit(
            topic,
            value=value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
            on_delivery=on_delivery,
        )
        return await future

    async def submit(
        self,
        topic: str,
        value: V | None = None,
        key: K | None = None,
        *,
        headers: Iterable[tuple[str, bytes | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Take one record, return the future of its outcome; wait for metadata and buffer only.

        Raises MessageTooLargeError, BufferExhaustedError after max_block_ms, ClientClosedError,
        SerializationError, PartitionerError, and KafkaError for a topic or partition that does not
        exist; with `transactional_id` InvalidTxnStateError, TransactionAbortedError and
        ProducerFencedError. Records submitted by one task keep their order in a partition. For a
        record that was taken, `on_delivery` is called once on the loop, even if no task waits; an
        exception in it is logged.
        """
        record = ProducerRecord(topic, value, key, tuple(headers), partition, timestamp_ms)
        if self._interceptors:
            record = self._interceptors.on_send(record)
        listener = on_delivery
        if on_delivery is not None or self._interceptors:
            listener = self._interceptors.listener(on_delivery)
        transaction = 0
        try:
            transaction = self._engine.enter()
            return await self._take(record, listener, transaction)
        except Exception as error:
            self._engine.note_failure(transaction, error)
            self._interceptors.on_acknowledgement(None, error)
            raise

    async def send_many(
        self,
        topic: str,
        values: Sequence[V | None],
        *,
        keys: Sequence[K | None] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> BulkMetadata:
        """Send many records and wait until each has its outcome; much cheaper than one by one.

        Delivery failures are counted in the result, not raised. Raises the errors of `submit_many`.
        """
        future = await self.submit_many(
            topic, values, keys=keys, partition=partition, timestamp_ms=timestamp_ms
        )
        return await future

    async def submit_many(
        self,
        topic: str,
        values: Sequence[V | None],
        *,
        keys: Sequence[K | None] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[BulkMetadata]:
        """Take many records, in this order for each partition; return when all are in the buffer.

        Raises the errors of `submit` before any record is taken. If the buffer stays full or the
        producer is closed half-way, the result reports it instead: `failed` counts the records that
        were not taken. Cancelling it half-way stops it: the records taken so far are sent.
        Interceptors are called for every record, and may change key and value only.
        """
        if self._interceptors:
            values, keys = self._intercept(topic, values, keys, partition, timestamp_ms)
        transaction = 0
        try:
            transaction = self._engine.enter()
            return await self._take_many(
                topic, values, keys, partition, timestamp_ms, transaction=transaction
            )
        except Exception as error:
            self._engine.note_failure(transaction, error)
            if self._interceptors:
                for _ in values:
                    self._interceptors.on_acknowledgement(None, error)
            raise

    async def flush(self) -> None:
        """Send lingering batches and wait until every record taken so far has its outcome."""
        await self._engine.flush()

    async def close(self, *, timeout_ms: int = 30_000) -> None:
        """Flush for at most `timeout_ms`; remaining records fail with ClientClosedError.

        An open transaction is aborted instead, for at most that time.
        Cancelling it ends the wait; the producer is closed nevertheless.
        """
        await self._engine.close(timeout_ms=timeout_ms)

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of the topic. Raises the errors of `submit`."""
        return sorted((await self._engine.topic(topic)).leaders)

    async def _take(
        self, record: ProducerRecord[K, V], listener: OnDelivery | None, transaction: int
    ) -> asyncio.Future[RecordMetadata]:
        """See `submit`."""
        topic, _, _, headers, partition, timestamp_ms = record
        pair = self._serializers.pair(topic, record.key, record.value)
        size = record_size(*pair, headers)
        self._check_size(size)
        timestamp_ms = self._timestamp(timestamp_ms)
        view = self._engine.known(topic)
        if view is None or not self._engine.admits(size):
            view = await self._engine.admit(topic, size)
        if partition is None:
            partition = self._partitioning.one(topic, view, pair, size)
        elif partition not in view.leaders:
            await self._engine.check_partition(topic, partition)
            view = await self._engine.admit(topic, size)
        self._engine.check(transaction)
        delivery = SingleDelivery(timestamp_ms=timestamp_ms, listener=listener)
        self._append(
            TopicPartition(topic, partition),
            (pair,),
            timestamp_ms=timestamp_ms,
            headers=headers,
            delivery=delivery,
            topic_id=view.topic_id,
        )
        return delivery.future

    def _intercept(
        self,
        topic: str,
        values: Sequence[V | None],
        keys: Sequence[K | None] | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> tuple[list[V | None], list[K | None]]:
        """Pass values and keys through the interceptors."""
        records = [
            self._interceptors.on_send(
                ProducerRecord(topic, value, key, (), partition, timestamp_ms)
            )
            for key, value in zip(keys or repeat(None, len(values)), values, strict=True)
        ]
        return [record.value for record in records], [record.key for record in records]

    async def _take_many(
        self,
        topic: str,
        values: Sequence[V | None],
        keys: Sequence[K | None] | None,
        partition: int | None,
        timestamp_ms: int | None,
        *,
        transaction: int,
    ) -> asyncio.Future[BulkMetadata]:
        """See `submit_many`."""
        pairs = self._serializers.pairs(topic, keys, values)
        sizes = [
            RECORD_OVERHEAD_BYTES + (len(key) if key else 0) + (len(value) if value else 0)
            for key, value in pairs
        ]
        self._check_size(max(sizes, default=0))
        ends = list(accumulate(sizes, initial=0))
        timestamp_ms = self._timestamp(timestamp_ms)
        view = await self._engine.topic(topic)
        targets: list[int] | None = None
        if partition is None:
            targets = self._partitioning.each(topic, view, pairs)
        elif partition not in view.leaders:
            await self._engine.check_partition(topic, partition)
        listener = self._interceptors.listener()
        delivery = BulkDelivery(count=len(pairs), timestamp_ms=timestamp_ms, listener=listener)
        start = 0
        while start < len(pairs):
            # A batch's worth at a time, at least one record.
            stop = max(start + 1, bisect_right(ends, ends[start] + self._config.batch_size) - 1)
            size, chunk = ends[stop] - ends[start], pairs[start:stop]
            try:
                view = await self._engine.admit(topic, size)
                self._engine.check(transaction)
            except _HALF_WAY as error:
                self._engine.note_failure(transaction, error)
                delivery.fail(error, len(pairs) - start)
                break
            if partition is not None:
                groups = {partition: chunk}
            elif targets is not None:
                groups = group_pairs(chunk, targets[start:stop])
            else:
                groups = self._partitioning.groups(topic, view, chunk, size)
            for target, group in groups.items():
                self._append(
                    TopicPartition(topic, target),
                    group,
                    timestamp_ms=timestamp_ms,
                    headers=(),
                    delivery=delivery,
                    topic_id=view.topic_id,
                )
            start = stop
        return delivery.future

    def _append(
        self,
        tp: TopicPartition,
        pairs: Sequence[Pair],
        *,
        timestamp_ms: int,
        headers: Headers,
        delivery: Delivery,
        topic_id: bytes,
    ) -> None:
        observer = self._engine.observer
        if observer is not None and len(pairs) > 1:  # each record has a waiter of its own
            for pair in pairs:
                self._append(
                    tp,
                    (pair,),
                    timestamp_ms=timestamp_ms,
                    headers=headers,
                    delivery=delivery,
                    topic_id=topic_id,
                )
            return
        if observer is not None:
            delivery = observer.sends(tp, pairs[0], delivery, topic_id=topic_id)
        is_news = self._engine.accumulator.append(
            tp,
            pairs,
            timestamp_ms=timestamp_ms,
            headers=headers,
            waiter=delivery,
            now_ms=self._ports.clock.monotonic_ms(),
            topic_id=topic_id,
        )
        if is_news:
            self._engine.announce()

    def _check_size(self, size_bytes: int) -> None:
        if HEADER_BYTES + size_bytes > self._config.max_request_size:
            raise MessageTooLargeError(
                f"a record of {size_bytes} bytes is above max_request_size="
                f"{self._config.max_request_size}: send a smaller record, or raise this limit and "
                "the topic's max.message.bytes"
            )

    def _timestamp(self, timestamp_ms: int | None) -> int:
        if timestamp_ms is None:
            return self._ports.clock.wall_ms()
        if not 0 <= timestamp_ms < 1 << 62:
            raise ValueError(f"timestamp_ms={timestamp_ms} is not milliseconds since 1970")
        return timestamp_ms
