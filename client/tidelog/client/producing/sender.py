"""The sender: sends a producer's batches to the leaders of their partitions.

Owns the sending loop: up to `max_in_flight` requests at a time to every broker, on one stream. The
accumulator decides which batches are ready and in which order, the metadata where they go
(`ready_partitions` combines both), and `outcomes` what an answer means.

A broker without a request in flight gets all ready batches. A broker with one gets another only
when full batches make half of a request: full batches gain nothing by waiting, while batches that
still take records fill up until the next answer. Sending those whenever a request may be sent, as
Kafka does, makes more and smaller requests of the same records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.client.backoff import Backoff
from tidelog.client.connections import RETRIES_MAX
from tidelog.client.errors import (
    CallFailedError,
    ClientClosedError,
    TidelogError,
    TransactionAbortedError,
    raise_for,
)
from tidelog.client.observer import Delivery
from tidelog.client.producing.accumulator import Accumulator
from tidelog.client.producing.outcomes import Batches, Outcomes, fail
from tidelog.client.producing.produce_stream import ProduceStreams
from tidelog.client.producing.ranked import Ranked
from tidelog.client.producing.ready_partitions import ReadyPartitions
from tidelog.client.producing.sequences import Sequences
from tidelog.client.producing.transaction_state import TransactionState
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.client.unwinding import unwind
from tidelog.v1.data_pb2 import (
    InitProducerIdRequest,
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
)
from tidelog.v1.methods import INIT_PRODUCER_ID

_ANSWER_MARGIN_MS = 1_000
"""The time that a call waits beyond the broker's own limit, so that the broker's answer arrives."""


@dataclass(frozen=True, slots=True)
class SenderConfig:
    """The limits of a sender: sizes in bytes, times in milliseconds; acks 0, 1 or -1."""

    acks: int
    max_request_size: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    retries: int = RETRIES_MAX
    """The maximum number of times that a batch is sent again."""
    max_in_flight: int = 5
    """The maximum number of requests to one broker without an answer."""
    backoff: Backoff = field(default_factory=Backoff)


class Sender:
    """The sending loop of one producer."""

    def __init__(
        self,
        *,
        accumulator: Accumulator[Delivery],
        routing: Routing,
        config: SenderConfig,
        sequences: Sequences | None = None,
        transaction: TransactionState | None = None,
    ) -> None:
        self._transaction = transaction
        self._accumulator = accumulator
        self._sequences = sequences
        self._routing = routing
        self._config = config
        self._clock = routing.clock
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._streams = ProduceStreams(
            routing.transport,
            on_open=self.wake,
            max_idle_ms=routing.connections.connections_max_idle_ms,
        )
        self._requests: dict[str, list[asyncio.Task[None]]] = {}
        self._outcomes = Outcomes(
            accumulator=accumulator,
            routing=routing,
            sequences=sequences,
            backoff=config.backoff,
            delivery_timeout_ms=config.delivery_timeout_ms,
            retries=config.retries,
            on_progress=self.report_progress,
            on_failed=self._fail_transaction,
        )
        self._enough = config.max_request_size // 2
        """The bytes of full batches that justify another request to a broker with one in flight."""
        self._ready = ReadyPartitions(
            accumulator,
            enough=self._enough,
            address_of=self._address_of,
            give_up=self._outcomes.give_up_the_gone,
        )
        self._identifying: asyncio.Task[None] | None = None
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the loop on the running event loop."""
        self._routing.on_change(self.wake)
        self._routing.metadata.on_move(self._outcomes.note_moved)
        name = f"{self._routing.connections.client_id}-sender"
        self._loop_task = asyncio.create_task(self._run(), name=name)

    def wake(self) -> None:
        """Wake the loop after a change of the accumulator or the metadata."""
        self._wake.set()

    async def wait_for_progress(self) -> None:
        """Wait until a batch gets its outcome."""
        await self._progress.wait()

    async def stop(self) -> None:
        """Stop the loop and the requests in flight; batches without an outcome fail.

        They fail even if this is cancelled, or if a call ignores its own cancellation: after
        UNWIND_MS such a call is abandoned, and its answer has no effect.
        """
        requests = (task for tasks in self._requests.values() for task in tasks)
        every = (self._loop_task, self._identifying, *requests)
        tasks = [task for task in every if task is not None]
        try:
            await unwind([*tasks, *self._streams.close()])
        finally:
            for batch in self._accumulator.incomplete:
                message = "the producer was closed before the record was acknowledged"
                error = ClientClosedError(message)
                error.is_outcome_unknown = batch.is_in_flight or batch.is_outcome_unknown
                fail(batch, error)
                batch.runs.clear()
            self.report_progress()

    async def abandon(self) -> None:
        """Drop all batches, of an aborted transaction; requests in flight end without an answer.

        The answer to one that ignores its cancellation has no effect.
        """
        requests = [task for tasks in self._requests.values() for task in tasks]
        for batch in self._accumulator.drop_all():
            fail(batch, self._aborted())
        self.report_progress()
        await unwind(requests)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._clock.monotonic_ms()
            self._outcomes.expire(now_ms)
            self._drop_failed()
            self._dispatch(now_ms)
            await self._sleep_until(self._accumulator.next_event_ms())

    async def _sleep_until(self, event_ms: int | None) -> None:
        """Sleep until woken, or until the accumulator's next event."""
        if event_ms is None:
            await self._wake.wait()
            return
        delay_ms = max(1, event_ms - self._clock.monotonic_ms())
        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _dispatch(self, now_ms: int) -> None:
        """Send requests to every broker with ready batches, within the limits."""
        self._accumulator.advance(now_ms)
        if not self._may_send():
            return
        self._ready.look()
        if self._ready.has_leaderless:
            self._routing.request_refresh()
        for address in self._ready.addresses:
            while self._may_send() and (worth := self._worth_sending(address)):
                if self._transaction is not None:
                    self._transaction.is_touched = True
                task = asyncio.create_task(self._send(address, self._take(worth)))
                self._requests.setdefault(address, []).append(task)
                self._ready.look()

    def _may_send(self) -> bool:
        """True if a batch is ready and can be numbered.

        To be checked after each update of the lines: batches given up there may have ended the last
        epoch of the producer id.
        """
        may = self._transaction is None or self._transaction.may_send
        return may and bool(self._accumulator.ready) and self._is_identified()

    def _address_of(self, tp: TopicPartition) -> str | None:
        leader = self._routing.metadata.leader(tp)
        return None if leader is None else leader.address

    def _worth_sending(self, address: str) -> Ranked[int, TopicPartition] | None:
        """The partitions of the next request to a leader; None: send no request now."""
        line = self._ready.line(address)
        in_flight = len(self._requests.get(address, ()))
        if not in_flight:
            return line.ready
        if in_flight >= self._config.max_in_flight or not self._streams.is_open(address):
            return None
        return line.full if line.full_bytes >= self._enough else None

    def _is_identified(self) -> bool:
        """True if batches can be numbered or need not be; if not, request a producer id."""
        if self._sequences is None or self._sequences.producer_id is not None:
            return True
        if self._identifying is None or self._identifying.done():
            self._identifying = asyncio.create_task(self._identify(self._sequences))
        return False

    async def _identify(self, sequences: Sequences) -> None:
        """Ask one broker after the other for a producer id until one gives it."""
        timeout_ms = self._config.request_timeout_ms
        request = InitProducerIdRequest(timeout_ms=timeout_ms)
        failures = 0
        while sequences.producer_id is None:
            try:
                response = await self._routing.call_any(
                    INIT_PRODUCER_ID, request, timeout_ms=timeout_ms + _ANSWER_MARGIN_MS
                )
                raise_for(response.error)
            except TidelogError as error:
                self._outcomes.identity_error = error
                self._routing.prefer_another()
                failures += 1
                delay_ms = self._config.backoff.delay_ms(failures, self._routing.random)
                await asyncio.sleep(delay_ms / 1000)
            else:
                sequences.adopt(response.producer_id, response.producer_epoch)
        self._outcomes.identity_error = None
        self.wake()

    def _take(self, partitions: Iterable[TopicPartition]) -> list[Batches]:
        """Take batches of these partitions up to the request's size, at least of the first."""
        room = self._config.max_request_size
        items: list[Batches] = []
        for tp in partitions:
            batches = self._accumulator.take(tp, max_bytes=room)
            items.append(batches)
            room -= sum(len(batch.data) for batch in batches)
            if room <= 0:
                break
        return items

    async def _send(self, address: str, items: list[Batches]) -> None:
        try:
            results = await self._call(address, items)
        except TidelogError as error:
            if not items[0][0].is_over:  # of a transaction that was aborted meanwhile
                self._outcomes.handle_failure(address, items, error)
        else:
            if not items[0][0].is_over:
                self._outcomes.handle_answer(items, results)
        finally:
            for batches in items:
                self._outcomes.renumber(batches[0].tp)
            task = asyncio.current_task()
            self._requests[address] = [one for one in self._requests[address] if one is not task]
            self.report_progress()
            self.wake()

    async def _call(self, address: str, items: list[Batches]) -> Sequence[PartitionProduceResult]:
        timeout_ms = self._config.request_timeout_ms
        if self._sequences is None:
            fields = items
        else:
            fields = [[batch] for batches in items for batch in batches]
        request = ProduceRequest(
            acks=self._config.acks,
            timeout_ms=timeout_ms,
            transactional_id=self._transaction.transactional_id if self._transaction else "",
            partitions=[
                PartitionProduceData(
                    topic=batches[0].tp.topic,
                    partition=batches[0].tp.partition,
                    topic_id=batches[0].topic_id,
                    records=b"".join(batch.data for batch in batches),
                )
                for batches in fields
            ],
        )
        answer = self._streams.call(address, request, timeout_ms=timeout_ms + _ANSWER_MARGIN_MS)
        response = await self._routing.while_it_leads(
            address, answer, partitions=[batches[0].tp for batches in items], answer_ms=0
        )
        if len(response.partitions) != len(fields):
            raise CallFailedError(
                f"{address} answered {len(response.partitions)} of {len(fields)} records fields"
            )
        return response.partitions

    def _fail_transaction(self, error: TidelogError) -> None:
        if self._transaction is not None:
            self._transaction.fail(self._transaction.number, error)
            self.wake()

    def _drop_failed(self) -> None:
        """Fail what waits in a transaction that can only be aborted: it is never sent."""
        transaction = self._transaction
        if transaction is None or transaction.may_send:
            return
        dropped = self._accumulator.drop_waiting()
        for batch in dropped:
            fail(batch, self._aborted())
        if dropped:
            self.report_progress()

    def _aborted(self) -> TidelogError:
        failure = None if self._transaction is None else self._transaction.failure
        return TransactionAbortedError(
            f"the record's transaction was aborted, none of it is visible: {failure}"
        )

    def report_progress(self) -> None:
        """Wake those in `wait_for_progress`."""
        self._progress.set()
        self._progress.clear()
