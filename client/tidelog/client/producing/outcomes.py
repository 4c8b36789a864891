"""The retry policy: the fate of a batch after an answer, a failed call or the delivery timeout.

Owns the verdict on each batch, and the pause of a partition after a failure. Sends nothing.

    answer                            fate of the batch
    NONE                              acknowledged
    retriable, `retries` times        failed with that error
    retriable, new leader named       back to its place in the queue, sent there at once (KIP-951)
    retriable, call failed            back, after a pause, which ends when another leader becomes
                                      known; metadata refreshed
    another incarnation of the topic  back; failed once the metadata shows that its own is deleted:
                                      it is not sent to the new one
    MESSAGE_TOO_LARGE, many records   back as two halves
    names records to blame (KIP-467)  these failed, each with its own words; back without them
    anything else                     failed; batches that shared its records field are first tried
                                      alone

A batch with records to blame fails as a whole where it is a transaction's, or may have been
appended before. A batch that fails in a transaction fails the transaction; a batch that must wait
for the end of the transaction before is sent again soon, and this counts as no retry.

After a broken or timed-out call the batch may have been appended. Each batch of an idempotent
producer has a records field of its own, and numbers by which the log recognises it: see `sequences`
for their further answers. Without numbers a retried batch may then be in the log twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    DeliveryTimeoutError,
    OutOfOrderSequenceError,
    TidelogError,
    UnknownTopicIdError,
    error_from_wire,
)
from tidelog.client.observer import Delivery
from tidelog.client.producing.accumulator import Accumulator
from tidelog.client.producing.batches import Batch
from tidelog.client.producing.sequences import Sequences, Verdict, verdict_on
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.core.errors import error_for
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceResult

Batches = list[Batch[Delivery]]
_COORDINATOR_CODES = frozenset(
    {
        common_pb2.CONCURRENT_TRANSACTIONS,
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.NOT_COORDINATOR,
    }
)
"""Answers of a leader that had to wait for the transaction coordinator: it leads all the same."""
_MARKERS_BACKOFF = Backoff(1, 20)
"""Pauses while markers of the transaction before are being written, some milliseconds."""


class Outcomes:
    """The outcomes of a producer's batches; calls `on_progress` after batches got theirs."""

    def __init__(
        self,
        *,
        accumulator: Accumulator[Delivery],
        routing: Routing,
        sequences: Sequences | None,
        backoff: Backoff,
        delivery_timeout_ms: int,
        retries: int,
        on_progress: Callable[[], None],
        on_failed: Callable[[TidelogError], None] = lambda _: None,
    ) -> None:
        self._accumulator = accumulator
        self._routing = routing
        self._sequences = sequences
        self._backoff = backoff
        self._delivery_timeout_ms = delivery_timeout_ms
        self._retries = retries
        self._report_progress = on_progress
        self._report_failed = on_failed
        self._failures: dict[TopicPartition, int] = {}
        # The leader epoch of each partition's last failure.
        self._failed_epochs: dict[TopicPartition, int] = {}
        self.identity_error: TidelogError | None = None
        """The reason why there is no producer id."""

    def handle_answer(
        self, items: Sequence[Batches], results: Sequence[PartitionProduceResult]
    ) -> None:
        """Handle the answer to a request: a list of batches per partition, results in its order."""
        answers = iter(results)
        for batches in items:
            if self._sequences is None:
                self._settle(batches, next(answers))
            else:
                self._settle_each(batches, list(islice(answers, len(batches))))

    def handle_failure(self, address: str, items: Sequence[Batches], error: TidelogError) -> None:
        """Handle a request to a broker that got no answer."""
        self._routing.request_refresh()
        for batches in items:
            leader = self._routing.metadata.leader(batches[0].tp)
            is_moved = leader is not None and leader.address != address
            self._retry(batches, error, at_once=is_moved)

    def expire(self, now_ms: int) -> None:
        """Fail the batches past the delivery timeout that are not in flight."""
        expired = self._accumulator.expire(now_ms)
        for batch in expired:
            self._give_up(batch, self._timeout_error(batch))
        for tp in dict.fromkeys(batch.tp for batch in expired):
            self.renumber(tp)

    def give_up_the_gone(self, tp: TopicPartition) -> bool:
        """Fail batches for a deleted incarnation of the topic; return whether there were any."""
        metadata = self._routing.metadata
        gone = self._accumulator.discard(tp, lambda topic_id: metadata.is_gone(tp.topic, topic_id))
        for batch in gone:
            self._give_up(batch, _deleted(batch))
        if gone:
            self.renumber(tp)
        return bool(gone)

    def note_moved(self, tp: TopicPartition) -> None:
        """Handle a change of a partition's leader or topic.

        A leader newer than that of the last failure ends the partition's pause (KIP-951).
        """
        self._accumulator.note_moved(tp)
        failed_epoch = self._failed_epochs.get(tp)
        leader = self._routing.metadata.leader(tp)
        if failed_epoch is not None and leader is not None and leader.epoch > failed_epoch:
            del self._failed_epochs[tp]
            self._accumulator.resume(tp)

    def _settle(self, batches: Batches, result: PartitionProduceResult) -> None:
        """Apply an answer to the batches of one partition (see the table above)."""
        tp = batches[0].tp
        if result.error.code == common_pb2.NONE:
            self._failures.pop(tp, None)
            self._accumulator.complete(batches)
            _acknowledge(batches, result)
            return
        error = error_from_wire(result.error)
        if error.is_retriable:
            self._retry(batches, error, at_once=self._is_moved(tp, result))
        elif len(batches) > 1:
            for batch in batches:
                batch.is_alone = True
            # No retry of these: at most one of them was refused.
            self._send_again(batches, error, at_once=True)
        elif error.code == common_pb2.MESSAGE_TOO_LARGE and batches[0].records_count > 1:
            self._accumulator.split(batches[0])
        elif not self._leave_out(batches[0], result, error):
            self._accumulator.complete(batches)
            self._give_up(batches[0], error)

    def _settle_each(self, batches: Batches, results: Sequence[PartitionProduceResult]) -> None:
        """Apply answers to the numbered batches of one partition, see `sequences.verdict_on`."""
        tp = batches[0].tp
        over: list[tuple[Batch[Delivery], Verdict, PartitionProduceResult]] = []
        for batch, result in zip(batches, results, strict=True):
            error = error_from_wire(result.error) if result.error.code else None
            verdict = verdict_on(
                error,
                records_count=batch.records_count,
                is_after_another=batch.is_after_another,
                is_transactional=self._sequences is not None and self._sequences.is_transactional,
            )
            if verdict is Verdict.FAILED and self._leave_out(batch, result, error):
                continue
            if error is None or verdict in (Verdict.FAILED, Verdict.FENCED):
                batch.is_stored = error is None
                over.append((batch, verdict, result))
                continue
            if error.code in _COORDINATOR_CODES:
                self._send_again([batch], error, at_once=False)
                continue
            # A batch that came too early waits only for the batches before it.
            is_early = error.code == common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER
            at_once = is_early or verdict is Verdict.SPLIT or self._is_moved(tp, result)
            self._put_back(batch, verdict, error, at_once=at_once)
        if over:
            self._accumulator.complete([batch for batch, _, _ in over])
        for batch, verdict, result in over:
            self._finish(batch, verdict, result)

    def _leave_out(
        self, batch: Batch[Delivery], result: PartitionProduceResult, error: TidelogError | None
    ) -> bool:
        """Fail the records that are to blame and send the others again; return whether it did so.

        Nothing of the batch was appended. Its sequences are missing in the log, so its epoch ends.
        """
        sequences = self._sequences
        blamed = {one.batch_index: one.message for one in result.record_errors}
        is_part = 0 < len(blamed) < batch.records_count
        is_part = is_part and min(blamed) >= 0 and max(blamed) < batch.records_count
        is_transactional = sequences is not None and sequences.is_transactional
        if error is None or not is_part or is_transactional or batch.is_outcome_unknown:
            return False
        if batch.numbers is not None and sequences is not None:
            sequences.break_off(batch.tp)
        self._accumulator.leave_out(batch, blamed)
        for run in batch.runs:
            for place in range(run.first, run.first + run.records_count):
                if place in blamed:
                    run.waiter.fail(error_for(error.code, blamed[place]), 1)
        self._report_progress()
        return True

    def _put_back(
        self, batch: Batch[Delivery], verdict: Verdict, error: TidelogError, *, at_once: bool
    ) -> None:
        if verdict is Verdict.SPLIT:
            _note_failure(batch, error)
            self._accumulator.split(batch)
            return
        if verdict is Verdict.RENUMBER and self._sequences is not None:
            self._sequences.break_off(batch.tp)
        self._retry([batch], error, at_once=at_once)

    def _finish(
        self, batch: Batch[Delivery], verdict: Verdict, result: PartitionProduceResult
    ) -> None:
        if verdict is not Verdict.DONE:
            self._give_up(batch, error_from_wire(result.error), is_fenced=verdict is Verdict.FENCED)
            return
        self._failures.pop(batch.tp, None)
        if self._sequences is not None:
            self._sequences.note_acknowledged(batch.tp)
        _acknowledge([batch], result)

    def renumber(self, tp: TopicPartition) -> None:
        """Begin the next epoch if the partition's sequence broke; see `Accumulator.renumber`."""
        for batch in self._accumulator.renumber(tp):
            error = OutOfOrderSequenceError(
                f"{tp.topic}-{tp.partition}: a batch before this one was given up, or is gone from "
                f"the log; last: {batch.last_error}"
            )
            error.is_outcome_unknown = batch.is_outcome_unknown
            fail(batch, error)

    def _is_moved(self, tp: TopicPartition, result: PartitionProduceResult) -> bool:
        """True if the refusal names another leader; if not, the metadata is refreshed."""
        is_moved = result.HasField("current_leader") and self._routing.metadata.apply_hint(
            tp, result.current_leader
        )
        if not is_moved:
            self._routing.request_refresh()
        return is_moved

    def _retry(self, batches: Batches, error: TidelogError, *, at_once: bool = False) -> None:
        """Send batches again that have retries left; fail the others with `error`."""
        spent = [batch for batch in batches if batch.retries >= self._retries]
        again = [batch for batch in batches if batch.retries < self._retries]
        for batch in again:
            batch.retries += 1
        if again:
            self._send_again(again, error, at_once=at_once)
        if spent:
            self._accumulator.complete(spent)
        for batch in spent:
            _note_failure(batch, error)
            self._give_up(batch, error)

    def _send_again(self, batches: Batches, error: TidelogError, *, at_once: bool) -> None:
        """Put batches back in their places in the queue, where the delivery timeout applies.

        The partition pauses only for the first batch that is sent again.
        """
        for batch in batches:
            _note_failure(batch, error)
        is_first = self._accumulator.is_first(batches[0])
        at_ms = self._resume_ms(batches[0].tp, error, at_once=at_once or not is_first)
        self._accumulator.retry(batches, at_ms=at_ms)

    def _resume_ms(self, tp: TopicPartition, error: TidelogError, *, at_once: bool) -> int:
        """The time at which batches are sent to a partition again after a failure."""
        now_ms = self._routing.clock.monotonic_ms()
        if at_once:
            return now_ms
        leader = self._routing.metadata.leader(tp)
        self._failed_epochs[tp] = -1 if leader is None else leader.epoch
        failures = self._failures[tp] = self._failures.get(tp, 0) + 1
        is_ending = error.code == common_pb2.CONCURRENT_TRANSACTIONS
        backoff = _MARKERS_BACKOFF if is_ending else self._backoff
        return now_ms + backoff.delay_ms(failures, self._routing.random)

    def _timeout_error(self, batch: Batch[Delivery]) -> DeliveryTimeoutError:
        topic, partition = batch.tp
        return DeliveryTimeoutError(
            f"{topic}-{partition} took no record within {self._delivery_timeout_ms} ms; "
            f"last: {batch.last_error or self.identity_error or 'the partition has no leader'}",
            is_outcome_unknown=batch.is_outcome_unknown,
        )

    def _give_up(
        self, batch: Batch[Delivery], error: TidelogError, *, is_fenced: bool = False
    ) -> None:
        error.is_outcome_unknown |= batch.is_outcome_unknown
        if batch.numbers is not None and self._sequences is not None:
            self._sequences.break_off(batch.tp, is_fenced=is_fenced)
        self._failures.pop(batch.tp, None)
        self._report_failed(error)
        fail(batch, error)
        self._report_progress()


def _deleted(batch: Batch[Delivery]) -> TidelogError:
    return UnknownTopicIdError(
        f"topic {batch.tp.topic!r} was deleted after the record was accepted, and may have "
        "been recreated: send the record again if it is meant for the new topic",
    )


def _note_failure(batch: Batch[Delivery], error: TidelogError) -> None:
    batch.last_error = error
    batch.is_outcome_unknown |= error.is_outcome_unknown


def _acknowledge(batches: Batches, result: PartitionProduceResult) -> None:
    base_offset = result.base_offset
    has_time = result.HasField("log_append_time_ms")
    append_time_ms = result.log_append_time_ms if has_time else None
    for batch in batches:
        for run in batch.runs:
            offset = base_offset + run.first if base_offset >= 0 else -1
            run.waiter.acknowledge(batch.tp, offset, run.records_count, append_time_ms)
        base_offset = base_offset + batch.records_count if base_offset >= 0 else -1


def fail(batch: Batch[Delivery], error: Exception) -> None:
    """Report the error to all waiters of the batch."""
    for run in batch.runs:
        run.waiter.fail(error, run.records_count)
