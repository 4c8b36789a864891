"""Moves a producer's batches to the brokers that lead their partitions, and their outcomes back.

Owns the sending loop: one Produce request in flight per broker, which carries every ready partition
that broker leads. What is ready and in which order is the accumulator's decision; where to, the
metadata's.

    answer                          what happens to the batch NONE
    acknowledged retriable, new leader named     back to the front of its queue, sent there at once
    (KIP-951) retriable, call failed          back to the front, after a pause; metadata refreshed
    MESSAGE_TOO_LARGE, many records back as two halves anything else                   failed;
    batches that shared the request's partition are tried alone first

A call that broke or timed out may have been appended; the batch is sent again and its records may
then be in the log twice (until producers are idempotent).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.client.accumulator import Accumulator, Batch
from tidelog.client.backoff import Backoff
from tidelog.client.deliveries import Delivery
from tidelog.client.errors import (
    CallFailedError,
    ClientClosedError,
    DeliveryTimeoutError,
    TidelogError,
    error_from_wire,
)
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)
from tidelog.v1.methods import PRODUCE

Batches = list[Batch[Delivery]]
_ANSWER_MARGIN_MS = 1_000
"""How much longer than the broker's own limit a call waits, so that the broker's answer gets home.
"""


@dataclass(frozen=True, slots=True)
class SenderConfig:
    """Sizes in bytes, times in milliseconds; acks 0, 1 or -1."""

    acks: int
    max_request_size: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    backoff: Backoff = field(default_factory=Backoff)


class Sender:
    """The sending loop of one producer."""

    def __init__(
        self, *, accumulator: Accumulator[Delivery], routing: Routing, config: SenderConfig
    ) -> None:
        self._accumulator = accumulator
        self._routing = routing
        self._config = config
        self._clock = routing.clock
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._requests: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[TopicPartition, int] = {}
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the loop on the running event loop."""
        self._routing.on_change(self.wake)
        self._loop_task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Something is new in the accumulator or the metadata."""
        self._wake.set()

    async def wait_for_progress(self) -> None:
        """Return when some batch has had its outcome."""
        await self._progress.wait()

    async def stop(self) -> None:
        """Stop the loop and the requests in flight; batches without an outcome fail."""
        tasks = [task for task in (self._loop_task, *self._requests.values()) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for batch in self._accumulator.incomplete:
            error = ClientClosedError("the producer was closed before the record was acknowledged")
            error.is_outcome_unknown = batch.is_in_flight or batch.is_outcome_unknown
            _fail(batch, error)
        self._report_progress()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._clock.monotonic_ms()
            for batch in self._accumulator.expire(now_ms):
                self._give_up(batch, self._timeout_error(batch))
            self._dispatch(now_ms)
            await self._sleep_until(self._accumulator.next_event_ms())

    async def _sleep_until(self, event_ms: int | None) -> None:
        """Until woken, or until the accumulator has something new to say."""
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
        """One request to every broker that has none in flight and something to get."""
        by_address: dict[str, list[TopicPartition]] = {}
        for tp in self._accumulator.ready(now_ms):
            leader = self._routing.metadata.leader(tp)
            if leader is None or leader.address is None:
                self._routing.request_refresh()
            elif leader.address not in self._requests:
                by_address.setdefault(leader.address, []).append(tp)
        for address, partitions in by_address.items():
            items = self._take(partitions)
            task = asyncio.create_task(self._send(address, items))
            self._requests[address] = task

    def _take(self, partitions: Sequence[TopicPartition]) -> list[Batches]:
        """Batches of these partitions up to the request's size, of the first in any case."""
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
            self._routing.request_refresh()
            for batches in items:
                self._retry(batches, error)
        else:
            for batches, result in zip(items, results, strict=True):
                self._settle(batches, result)
        finally:
            del self._requests[address]
            self._report_progress()
            self.wake()

    async def _call(self, address: str, items: list[Batches]) -> Sequence[PartitionProduceResult]:
        timeout_ms = self._config.request_timeout_ms
        request = ProduceRequest(
            acks=self._config.acks,
            timeout_ms=timeout_ms,
            partitions=[
                PartitionProduceData(
                    topic=batches[0].tp.topic,
                    partition=batches[0].tp.partition,
                    records=b"".join(batch.data for batch in batches),
                )
                for batches in items
            ],
        )
        response: ProduceResponse = await self._routing.transport.call(
            address, PRODUCE, request, timeout_ms=timeout_ms + _ANSWER_MARGIN_MS
        )
        if len(response.partitions) != len(items):
            raise CallFailedError(
                f"{address} answered {len(response.partitions)} of {len(items)} partitions"
            )
        return response.partitions

    def _settle(self, batches: Batches, result: PartitionProduceResult) -> None:
        """What an answer means for the batches of one partition (see the table above)."""
        tp = batches[0].tp
        if result.error.code == common_pb2.NONE:
            self._failures.pop(tp, None)
            self._accumulator.complete(batches)
            _acknowledge(batches, result.base_offset)
            return
        error = error_from_wire(result.error)
        if error.is_retriable:
            is_moved = result.HasField("current_leader") and self._routing.metadata.apply_hint(
                tp, result.current_leader
            )
            if not is_moved:
                self._routing.request_refresh()
            self._retry(batches, error, at_once=is_moved)
        elif len(batches) > 1:
            for batch in batches:
                batch.is_alone = True
            self._retry(batches, error, at_once=True)
        elif error.code == common_pb2.MESSAGE_TOO_LARGE and batches[0].records_count > 1:
            self._accumulator.split(batches[0])
        else:
            self._accumulator.complete(batches)
            self._give_up(batches[0], error)

    def _retry(self, batches: Batches, error: TidelogError, *, at_once: bool = False) -> None:
        """Back to the front of the queue; there the delivery timeout is looked at."""
        tp = batches[0].tp
        for batch in batches:
            batch.last_error = error
            batch.is_outcome_unknown |= error.is_outcome_unknown
        now_ms = self._clock.monotonic_ms()
        if at_once:
            self._accumulator.retry(batches, at_ms=now_ms)
            return
        failures = self._failures[tp] = self._failures.get(tp, 0) + 1
        delay_ms = self._config.backoff.delay_ms(failures, self._routing.random)
        self._accumulator.retry(batches, at_ms=now_ms + delay_ms)

    def _timeout_error(self, batch: Batch[Delivery]) -> DeliveryTimeoutError:
        topic, partition = batch.tp
        return DeliveryTimeoutError(
            f"{topic}-{partition} took no record within {self._config.delivery_timeout_ms} ms; "
            f"last: {batch.last_error or 'the partition has no leader'}",
            is_outcome_unknown=batch.is_outcome_unknown,
        )

    def _give_up(self, batch: Batch[Delivery], error: TidelogError) -> None:
        error.is_outcome_unknown |= batch.is_outcome_unknown
        self._failures.pop(batch.tp, None)
        _fail(batch, error)
        self._report_progress()

    def _report_progress(self) -> None:
        self._progress.set()
        self._progress.clear()


def _acknowledge(batches: Batches, base_offset: int) -> None:
    for batch in batches:
        for run in batch.runs:
            offset = base_offset + run.first if base_offset >= 0 else -1
            run.waiter.acknowledged(batch.tp, offset, run.records_count)
        base_offset = base_offset + batch.records_count if base_offset >= 0 else -1


def _fail(batch: Batch[Delivery], error: Exception) -> None:
    for run in batch.runs:
        run.waiter.failed(error, run.records_count)
