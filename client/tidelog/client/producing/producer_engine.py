"""The engine of every producer: a buffer of records, the sender that empties it, the routing.

Owns the wait for buffer space, flush and close, and the limits of the three parts. The producer or
the table writer decides which records enter the buffer, and for which partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import TopicView
from tidelog.client.connections import RETRIES_MAX, check_range
from tidelog.client.errors import (
    BufferExhaustedError,
    ClientClosedError,
    ClientConfigError,
    InvalidTxnStateError,
    TidelogError,
    TransactionAbortedError,
    UnknownTopicOrPartitionError,
)
from tidelog.client.observer import Delivery, WriterObserver
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.accumulator import Accumulator, AccumulatorConfig
from tidelog.client.producing.sender import Sender, SenderConfig
from tidelog.client.producing.sequences import Sequences
from tidelog.client.producing.transaction_state import TransactionState
from tidelog.client.producing.transactions import Transactions, TransactionsConfig
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.records.compression import Codec, codec_named

TRANSACTIONAL_ID_CHARACTERS_MAX = 249
"""As the coordinator's limit."""
METADATA_MAX_IDLE_MS = 300_000
"""Time without a send after which a topic is forgotten: Kafka's metadata.max.idle.ms."""
_ACKS: dict[str | int, int] = {"all": -1, -1: -1, 0: 0, 1: 1}


@dataclass(frozen=True, slots=True)
class ProducerEngineConfig:
    """The options of a `Producer` that concern its engine: sizes in bytes, times in ms."""

    acks: str | int
    enable_idempotence: bool | None
    linger_ms: int
    batch_size: int
    compression: str
    compression_level: int | None
    max_request_size: int
    buffer_memory: int
    max_block_ms: int
    max_in_flight: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    retries: int = RETRIES_MAX
    backoff: Backoff = field(default_factory=Backoff)
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        """Raise ClientConfigError for contradictory options, and the errors of `codec_named`."""
        if self.acks not in _ACKS:
            raise ClientConfigError(f'acks={self.acks!r}: use "all", 1 or 0')
        check_range("retries", self.retries, least=0, most=RETRIES_MAX)
        if self.enable_idempotence and not self.retries:
            raise ClientConfigError(
                "enable_idempotence=True needs retries of at least 1, not 0: only a batch that may "
                "be sent again needs to be recognised"
            )
        if self.enable_idempotence and _ACKS[self.acks] != -1:
            raise ClientConfigError(
                f'enable_idempotence=True needs acks="all", not {self.acks}: with fewer '
                "acknowledgements a record may be lost, and with it what the next leader knows of "
                "the producer"
            )
        if not 0 < self.batch_size <= self.max_request_size <= self.buffer_memory:
            raise ClientConfigError("batch_size <= max_request_size <= buffer_memory must hold")
        if self.max_in_flight < 1:
            raise ClientConfigError(f"max_in_flight={self.max_in_flight}: it must be at least 1")
        codec_named(self.compression, level=self.compression_level)
        if self.transactional_id is not None:
            self._check_transactional(self.transactional_id)

    def _check_transactional(self, transactional_id: str) -> None:
        if not 0 < len(transactional_id) <= TRANSACTIONAL_ID_CHARACTERS_MAX:
            raise ClientConfigError(
                f"transactional_id has {len(transactional_id)} characters: 1 to "
                f"{TRANSACTIONAL_ID_CHARACTERS_MAX}, or None for no transactions"
            )
        if _ACKS[self.acks] != -1:
            raise ClientConfigError(
                f'transactional_id needs acks="all", not {self.acks}: what is committed must '
                "survive its leader"
            )
        if not self.is_idempotent:
            raise ClientConfigError(
                "transactional_id needs idempotence: leave enable_idempotence and retries as they "
                "are by default"
            )
        check_range("transaction_timeout_ms", self.transaction_timeout_ms, least=0, most=2**31 - 1)

    @property
    def codec(self) -> Codec:
        """The codec of batches."""
        return codec_named(self.compression, level=self.compression_level)

    @property
    def is_idempotent(self) -> bool:
        """True if batches are numbered: by default whenever acks and retries allow it."""
        can_be = _ACKS[self.acks] == -1 and self.retries > 0
        return can_be if self.enable_idempotence is None else self.enable_idempotence


class ProducerEngine:
    """The engine of a producer, from its first use until `close`."""

    def __init__(
        self, bootstrap: str | Sequence[str], *, ports: ClientPorts, config: ProducerEngineConfig
    ) -> None:
        is_transactional = config.transactional_id is not None
        sequences = Sequences(is_transactional=is_transactional) if config.is_idempotent else None
        self._config = config
        self._ports = ports
        self.observer: WriterObserver | None = None
        if ports.observer is not None:
            self.observer = ports.observer.writer(
                acks=_ACKS[config.acks],
                is_idempotent=config.is_idempotent,
                transactional_id=config.transactional_id,
            )
        asking = RoutingConfig(
            allow_auto_topic_creation=True,
            metadata_max_idle_ms=METADATA_MAX_IDLE_MS,
            backoff=config.backoff,
        )
        self.routing = Routing(bootstrap, ports=ports, config=asking)
        gathering = AccumulatorConfig(
            batch_size=config.batch_size,
            linger_ms=config.linger_ms,
            buffer_memory=config.buffer_memory,
            delivery_timeout_ms=config.delivery_timeout_ms,
            codec=config.codec,
            compression_level=config.compression_level,
        )
        self.accumulator: Accumulator[Delivery] = Accumulator(gathering, sequences)
        self.routing.keep(lambda: {batch.tp.topic for batch in self.accumulator.incomplete})
        state = None
        if config.transactional_id is not None:
            state = TransactionState(config.transactional_id)
        self._sender = Sender(
            accumulator=self.accumulator,
            routing=self.routing,
            config=_sender_config(config),
            sequences=sequences,
            transaction=state,
        )
        self._transactions: Transactions | None = None
        if state is not None and sequences is not None:
            self._transactions = Transactions(
                state,
                routing=self.routing,
                sender=self._sender,
                accumulator=self.accumulator,
                sequences=sequences,
                config=_transactions_config(config),
                observer=self.observer,
            )
        self._has_news = self._is_started = self.is_closed = False

    def start(self) -> None:
        """Start the sender on the running loop, once."""
        if not self._is_started:
            self._is_started = True
            self._sender.start()

    async def initialise(self) -> None:
        """Start, and initialise a transactional producer; if that fails, close and raise."""
        self.start()
        if self._transactions is None:
            return
        try:
            await self._transactions.initialise()
        except BaseException:
            await self.close(timeout_ms=0)
            raise

    @property
    def is_transactional(self) -> bool:
        """True if records are sent in transactions only."""
        return self._transactions is not None

    @property
    def transactions(self) -> Transactions:
        """The producer's transactions. Errors: ClientClosedError, InvalidTxnStateError."""
        if self.is_closed:
            raise ClientClosedError("the producer is closed")
        if self._transactions is None:
            raise InvalidTxnStateError(
                "the producer has no transactions: make it with transactional_id="
            )
        self.start()
        return self._transactions

    def enter(self) -> int:
        """Admit a send; return its transaction's number, for `check` and `note_failure`.

        Errors: those of `TransactionState.enter`; none without transactions.
        """
        return 0 if self._transactions is None else self._transactions.state.enter()

    def check(self, transaction: int) -> None:
        """Raise what `TransactionState.check` does: a record must not join a later transaction."""
        if self._transactions is not None:
            self._transactions.state.check(transaction)

    def note_failure(self, transaction: int, error: BaseException) -> None:
        """Note a send that failed before it was in the buffer: its transaction cannot commit."""
        if self._transactions is None or isinstance(error, ClientClosedError):
            return
        if not isinstance(error, TidelogError):
            error = TransactionAbortedError(f"a record was not taken: {error}")
        self._transactions.state.fail(transaction, error)

    def known(self, topic: str) -> TopicView | None:
        """The topic, if the metadata knows it."""
        return self.routing.known(topic)

    async def topic(self, topic: str) -> TopicView:
        """The topic. Errors: ClientClosedError; KafkaError if none is found in time."""
        if self.is_closed:
            raise ClientClosedError("the producer is closed")
        self.start()
        return await self.routing.topic(topic, timeout_ms=self._config.max_block_ms)

    async def check_partition(self, topic: str, partition: int) -> None:
        """Look for a partition, which may be newer than what this client knows.

        Raises the errors of `topic`, and UnknownTopicOrPartitionError if the topic lacks it.
        """
        await self.topic(topic)
        view = await self.routing.topic_with(
            topic, [partition], timeout_ms=self._config.max_block_ms
        )
        if partition not in view.leaders:
            raise UnknownTopicOrPartitionError(
                f"topic {topic!r} has partitions 0 to {len(view.leaders) - 1}, not {partition}",
            )

    def admits(self, size_bytes: int) -> bool:
        """True if `size_bytes` can be taken without waiting."""
        is_idle = not self._has_news and not self.is_closed
        return is_idle and self.accumulator.has_room(size_bytes)

    async def admit(self, topic: str, size_bytes: int) -> TopicView:
        """Wait until the buffer has room for `size_bytes`; return the topic.

        Raises BufferExhaustedError after max_block_ms, and the errors of `topic`.
        """
        view = await self.topic(topic)
        if self._has_news:
            # Yield to the sender once per batch: else a busy caller would fill the buffer.
            self._has_news = False
            await asyncio.sleep(0)
        if not self.accumulator.has_room(size_bytes):
            await self._wait_for_room(size_bytes)
        if self.is_closed:
            raise ClientClosedError("the producer is closed")
        return view

    def announce(self) -> None:
        """Wake the sender for a batch that was opened or filled."""
        self._has_news = True
        self._sender.wake()

    async def flush(self) -> None:
        """Send lingering batches and wait until every record taken so far has its outcome."""
        now_ms = self._ports.clock.monotonic_ms()
        self.accumulator.make_all_due()
        self._sender.wake()
        while not self.accumulator.is_done_until(now_ms):
            await self._sender.wait_for_progress()

    async def close(self, *, timeout_ms: int) -> None:
        """Flush for at most `timeout_ms`; remaining records fail with ClientClosedError.

        Cancelling it ends the wait; the producer is closed nevertheless.
        """
        if self.is_closed:
            return
        self.is_closed = True
        async with AsyncExitStack() as stack:
            # Each step runs even if this task is cancelled in the one before.
            stack.push_async_callback(self._ports.close)
            stack.push_async_callback(self.routing.close)
            stack.push_async_callback(self._sender.stop)
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    if self._transactions is not None:
                        await self._transactions.close()
                    await self.flush()
            except TimeoutError:
                pass  # the rest fails when the sender stops

    async def _wait_for_room(self, size_bytes: int) -> None:
        max_block_ms = self._config.max_block_ms
        try:
            async with asyncio.timeout(max_block_ms / 1000):
                while not self.is_closed and not self.accumulator.has_room(size_bytes):
                    await self._sender.wait_for_progress()
        except TimeoutError:
            raise BufferExhaustedError(
                f"buffer_memory={self._config.buffer_memory} stayed full for {max_block_ms} ms: "
                "brokers acknowledge more slowly than records are sent"
            ) from None


def _transactions_config(config: ProducerEngineConfig) -> TransactionsConfig:
    return TransactionsConfig(
        transaction_timeout_ms=config.transaction_timeout_ms,
        request_timeout_ms=config.request_timeout_ms,
        delivery_timeout_ms=config.delivery_timeout_ms,
        backoff=config.backoff,
    )


def _sender_config(config: ProducerEngineConfig) -> SenderConfig:
    return SenderConfig(
        acks=_ACKS[config.acks],
        max_request_size=config.max_request_size,
        request_timeout_ms=config.request_timeout_ms,
        delivery_timeout_ms=config.delivery_timeout_ms,
        retries=config.retries,
        max_in_flight=config.max_in_flight,
        backoff=config.backoff,
    )
