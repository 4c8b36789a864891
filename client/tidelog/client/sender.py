"""Moves a producer's batches to the brokers that lead their partitions, and their outcomes back.

Owns the sending loop: one Produce request in flight per broker, which carries every ready partition
that broker leads. What is ready and in which order is the accumulator's decision; where to, the
metadata's.

    answer                            what happens to the batch
    NONE                              acknowledged
    retriable, new leader named       back to the front of its queue, sent there at once (KIP-951)
    retriable, call failed            back to the front, after a pause, which ends with the news of
                                      another leader; metadata refreshed
    another incarnation of the topic  back to the front; failed once the metadata says that its own
                                      is gone: it is not sent to the new one
    MESSAGE_TOO_LARGE, many records   back as two halves
    anything else                     failed; batches that shared its records field are tried alone
                                      first

A call that broke or timed out may have been appended. An idempotent producer's batches each have a
records field of their own, and numbers by which the log knows one that it has: see `sequences` for
their further answers. Without numbers a batch sent again may then be in the log twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from tidelog.client.accumulator import Accumulator, Batch
from tidelog.client.backoff import Backoff
from tidelog.client.deliveries import Delivery
from tidelog.client.errors import (
    CallFailedError,
    ClientClosedError,
    DeliveryTimeoutError,
    KafkaError,
    OutOfOrderSequenceError,
    TidelogError,
    error_from_wire,
    raise_for,
)
from tidelog.client.records import TopicPartition
from tidelog.client.routing import UNWIND_MS, Routing
from tidelog.client.sequences import Sequences, Verdict, verdict_on
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    InitProducerIdRequest,
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)
from tidelog.v1.methods import INIT_PRODUCER_ID, PRODUCE

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
        self,
        *,
        accumulator: Accumulator[Delivery],
        routing: Routing,
        config: SenderConfig,
        sequences: Sequences | None = None,
    ) -> None:
        self._accumulator = accumulator
        self._sequences = sequences
        self._routing = routing
        self._config = config
        self._clock = routing.clock
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._requests: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[TopicPartition, int] = {}
        # The leader epoch in which a partition last failed.
        self._failed_epochs: dict[TopicPartition, int] = {}
        self._identifying: asyncio.Task[None] | None = None
        self._identity_error: TidelogError | None = None
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
        """Stop the loop and the requests in flight; batches without an outcome fail.

        They fail at once even if this is cancelled, or a call does not heed its own cancellation:
        that one is left alone after a while, and its answer changes nothing any more.
        """
        every = (self._loop_task, self._identifying, *self._requests.values())
        tasks = [task for task in every if task is not None]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=UNWIND_MS / 1000)
        finally:
            for batch in self._accumulator.incomplete:
                message = "the producer was closed before the record was acknowledged"
                error = ClientClosedError(message)
                error.is_outcome_unknown = batch.is_in_flight or batch.is_outcome_unknown
                _fail(batch, error)
                batch.runs.clear()
            self._report_progress()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._clock.monotonic_ms()
            expired = self._accumulator.expire(now_ms)
            for batch in expired:
                self._give_up(batch, self._timeout_error(batch))
            for tp in dict.fromkeys(batch.tp for batch in expired):
                self._renumber(tp)
            self._resume_moved()
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

    def _resume_moved(self) -> None:
        """A partition that has a new leader since it failed does not pause any more (KIP-951)."""
        for tp, epoch in list(self._failed_epochs.items()):
            leader = self._routing.metadata.leader(tp)
            if leader is not None and leader.epoch > epoch:
                del self._failed_epochs[tp]
                self._accumulator.resume(tp)

    def _dispatch(self, now_ms: int) -> None:
        """One request to every broker that has none in flight and something to get."""
        by_address: dict[str, list[TopicPartition]] = {}
        ready = self._accumulator.ready(now_ms)
        if ready and not self._is_identified():
            return
        for tp in ready:
            if self._give_up_the_gone(tp):
                continue
            leader = self._routing.metadata.leader(tp)
            if leader is None or leader.address is None:
                self._routing.request_refresh()
            elif leader.address not in self._requests:
                by_address.setdefault(leader.address, []).append(tp)
        for address, partitions in by_address.items():
            items = self._take(partitions)
            task = asyncio.create_task(self._send(address, items))
            self._requests[address] = task

    def _give_up_the_gone(self, tp: TopicPartition) -> bool:
        """Fail what was meant for an incarnation of the topic that was deleted; whether any was."""
        metadata = self._routing.metadata
        gone = self._accumulator.discard(tp, lambda topic_id: metadata.is_gone(tp.topic, topic_id))
        for batch in gone:
            self._give_up(batch, _deleted(batch))
        if gone:
            self._renumber(tp)
            # What is left was taken for the new one.
            self.wake()
        return bool(gone)

    def _is_identified(self) -> bool:
        """Whether batches can be numbered, or need not be; if not, that is on its way."""
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
                self._identity_error = error
                self._routing.prefer_another()
                failures += 1
                delay_ms = self._config.backoff.delay_ms(failures, self._routing.random)
                await asyncio.sleep(delay_ms / 1000)
            else:
                sequences.adopt(response.producer_id, response.producer_epoch)
        self._identity_error = None
        self.wake()

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
                leader = self._routing.metadata.leader(batches[0].tp)
                is_moved = leader is not None and leader.address != address
                self._retry(batches, error, at_once=is_moved)
        else:
            answers = iter(results)
            for batches in items:
                if self._sequences is None:
                    self._settle(batches, next(answers))
                else:
                    self._settle_each(batches, list(islice(answers, len(batches))))
        finally:
            for batches in items:
                self._renumber(batches[0].tp)
            del self._requests[address]
            self._report_progress()
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
        response: ProduceResponse = await self._routing.call_leader(
            address,
            PRODUCE,
            request,
            partitions=[batches[0].tp for batches in items],
            answer_ms=0,
            timeout_ms=timeout_ms + _ANSWER_MARGIN_MS,
        )
        if len(response.partitions) != len(fields):
            raise CallFailedError(
                f"{address} answered {len(response.partitions)} of {len(fields)} records fields"
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
            self._retry(batches, error, at_once=self._is_moved(tp, result))
        elif len(batches) > 1:
            for batch in batches:
                batch.is_alone = True
            self._retry(batches, error, at_once=True)
        elif error.code == common_pb2.MESSAGE_TOO_LARGE and batches[0].records_count > 1:
            self._accumulator.split(batches[0])
        else:
            self._accumulator.complete(batches)
            self._give_up(batches[0], error)

    def _settle_each(self, batches: Batches, results: Sequence[PartitionProduceResult]) -> None:
        """What answers mean for numbered batches of one partition, see `sequences.verdict_on`."""
        tp = batches[0].tp
        resume_ms: int | None = None
        again: list[tuple[Batch[Delivery], Verdict]] = []
        over: list[tuple[Batch[Delivery], Verdict, PartitionProduceResult]] = []
        for batch, result in zip(batches, results, strict=True):
            error = error_from_wire(result.error) if result.error.code else None
            verdict = verdict_on(
                error, records_count=batch.records_count, is_after_another=bool(again)
            )
            if error is None or verdict in (Verdict.FAILED, Verdict.FENCED):
                over.append((batch, verdict, result))
                continue
            again.append((batch, verdict))
            _note_failure(batch, error)
            if resume_ms is None:
                at_once = verdict is Verdict.SPLIT or self._is_moved(tp, result)
                resume_ms = self._resume_ms(tp, at_once=at_once)
        # What comes again goes to the front of the queue, so the last one first.
        for batch, verdict in reversed(again):
            self._put_back(batch, verdict, at_ms=resume_ms or 0)
        if over:
            self._accumulator.complete([batch for batch, _, _ in over])
        for batch, verdict, result in over:
            self._finish(batch, verdict, result)

    def _put_back(self, batch: Batch[Delivery], verdict: Verdict, *, at_ms: int) -> None:
        if verdict is Verdict.SPLIT:
            self._accumulator.split(batch)
            return
        if verdict is Verdict.RENUMBER and self._sequences is not None:
            self._sequences.break_off(batch.tp)
        self._accumulator.retry([batch], at_ms=at_ms)

    def _finish(
        self, batch: Batch[Delivery], verdict: Verdict, result: PartitionProduceResult
    ) -> None:
        if verdict is not Verdict.DONE:
            self._give_up(batch, error_from_wire(result.error), is_fenced=verdict is Verdict.FENCED)
            return
        self._failures.pop(batch.tp, None)
        if self._sequences is not None:
            self._sequences.acknowledged(batch.tp)
        _acknowledge([batch], result.base_offset)

    def _renumber(self, tp: TopicPartition) -> None:
        """Go on in the next epoch if the partition's sequence broke; see `Accumulator.renumber`."""
        for batch in self._accumulator.renumber(tp):
            error = OutOfOrderSequenceError(
                f"{tp.topic}-{tp.partition}: a batch before this one was given up, or is gone from "
                f"the log; last: {batch.last_error}"
            )
            error.is_outcome_unknown = True
            _fail(batch, error)

    def _is_moved(self, tp: TopicPartition, result: PartitionProduceResult) -> bool:
        """Whether the refusal names another leader; if not, the metadata is refreshed."""
        is_moved = result.HasField("current_leader") and self._routing.metadata.apply_hint(
            tp, result.current_leader
        )
        if not is_moved:
            self._routing.request_refresh()
        return is_moved

    def _retry(self, batches: Batches, error: TidelogError, *, at_once: bool = False) -> None:
        """Back to the front of the queue; there the delivery timeout is looked at."""
        for batch in batches:
            _note_failure(batch, error)
        at_ms = self._resume_ms(batches[0].tp, at_once=at_once)
        self._accumulator.retry(batches, at_ms=at_ms)

    def _resume_ms(self, tp: TopicPartition, *, at_once: bool) -> int:
        """When a partition is sent to again after a failure."""
        now_ms = self._clock.monotonic_ms()
        if at_once:
            return now_ms
        leader = self._routing.metadata.leader(tp)
        self._failed_epochs[tp] = -1 if leader is None else leader.epoch
        failures = self._failures[tp] = self._failures.get(tp, 0) + 1
        return now_ms + self._config.backoff.delay_ms(failures, self._routing.random)

    def _timeout_error(self, batch: Batch[Delivery]) -> DeliveryTimeoutError:
        topic, partition = batch.tp
        return DeliveryTimeoutError(
            f"{topic}-{partition} took no record within {self._config.delivery_timeout_ms} ms; "
            f"last: {batch.last_error or self._identity_error or 'the partition has no leader'}",
            is_outcome_unknown=batch.is_outcome_unknown,
        )

    def _give_up(
        self, batch: Batch[Delivery], error: TidelogError, *, is_fenced: bool = False
    ) -> None:
        error.is_outcome_unknown |= batch.is_outcome_unknown
        if batch.numbers is not None and self._sequences is not None:
            self._sequences.break_off(batch.tp, is_fenced=is_fenced)
        self._failures.pop(batch.tp, None)
        _fail(batch, error)
        self._report_progress()

    def _report_progress(self) -> None:
        self._progress.set()
        self._progress.clear()


def _deleted(batch: Batch[Delivery]) -> TidelogError:
    return KafkaError(
        common_pb2.UNKNOWN_TOPIC_ID,
        f"topic {batch.tp.topic!r} was deleted after the record was taken and is perhaps there "
        "again: send the record again if it is meant for the new one",
    )


def _note_failure(batch: Batch[Delivery], error: TidelogError) -> None:
    batch.last_error = error
    batch.is_outcome_unknown |= error.is_outcome_unknown


def _acknowledge(batches: Batches, base_offset: int) -> None:
    for batch in batches:
        for run in batch.runs:
            offset = base_offset + run.first if base_offset >= 0 else -1
            run.waiter.acknowledged(batch.tp, offset, run.records_count)
        base_offset = base_offset + batch.records_count if base_offset >= 0 else -1


def _fail(batch: Batch[Delivery], error: Exception) -> None:
    for run in batch.runs:
        run.waiter.failed(error, run.records_count)
