"""Produce requests: admission, one append for each partition, the wait for acknowledgement.

Decides which requests are admitted; the partition's core decides about its appends. An error in one
partition's batches is that partition's result and affects no other.

Most appends run in the request's first step, those of a wide request in turns: its connection has
nothing else begun until it is answered. Compressed batches are inflated first, to validate
their records, large ones by a worker. Large uncompressed batches are walked in slices, with other
work in between. Later appends to such a partition wait in line (`AppendOrder`), and all checks are
repeated when their turn has come. Batches for a partition that is being opened wait in a line
before all this (`OpeningAppends`). Transactional batches whose partition is not in the transaction
yet wait for its coordinator first (`TransactionalAppends`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.append_order import AppendOrder, Place
from tidelog.broker.partition.opening_appends import NOT_YET, Held, OpeningAppends, Where
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import HINTED_CODES, PartitionMap
from tidelog.broker.partition.produce import Produce, ProduceData, ProduceResult
from tidelog.broker.partition.purgatory import DelayedAnswer
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition.transactional_appends import Added, TransactionalAppends
from tidelog.broker.partition.transactional_batches import check_request, producer_of
from tidelog.broker.partition_adder import Producer
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.core.env import Clock
from tidelog.core.errors import (
    OUTCOME_UNKNOWN_CODES,
    BrokerNotAvailableError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaError,
    TidelogError,
    as_result,
)
from tidelog.core.internal_topics import check_not_internal
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import error_message, to_wire
from tidelog.core.workers import Workers
from tidelog.log.config import LogConfig
from tidelog.log.validation import (
    UNSEEN,
    Seen,
    asks_about_records,
    inspect_compressed,
    is_compressed,
    walk_uncompressed,
)
from tidelog.records.batch import Buffer, validate_batches
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

_ACKS = (ACKS_ALL, 0, 1)
_HELD = "the cluster is stopping: writes are refused"


@dataclass(slots=True)
class _Slot:
    """A partition's part of a request, and the place of its outcome."""

    data: ProduceData
    result: ProduceResult
    acks: int
    delayed: DelayedAnswer
    index: int
    transactional_id: str
    timeout_ms: int
    has_waited: bool = False
    """Set once its turn has come among those that wait for the partition to be opened."""
    added: Added | None = None
    """Set once the coordinator has the partition in the transaction."""


class _Look(NamedTuple):
    """Inspections of a request's records before its turn comes."""

    inflates: bool = False
    """True: a worker inflates the compressed batches."""
    walks: bool = False
    """True: uncompressed batches are walked in slices."""


_NO_LOOK = _Look()


class Appender:
    """Handler of Produce requests. `is_held` tells if the broker refuses writes."""

    def __init__(
        self,
        *,
        partitions: PartitionMap,
        config: ReplicaConfig,
        clock: Clock,
        workers: Workers,
        is_held: Callable[[], bool],
    ) -> None:
        self.in_flight_bytes = 0
        """Bytes of requests not answered yet."""
        self.inspections = 0
        """Number of appends whose batches a worker inflated first."""
        self._clock = clock
        self._workers = workers
        self._order = AppendOrder()
        self.openings = OpeningAppends(config)
        self.transactional = TransactionalAppends(config)
        """Its `adder` is the composition's to set, before the first request."""
        self._partitions = partitions
        self._config = config
        self._is_held = is_held

    @property
    def is_full(self) -> bool:
        """True when half of the in-flight limit is used: streams should read no further."""
        return 2 * self.in_flight_bytes >= self._config.produce_in_flight_bytes_max

    async def produce(self, request: Produce) -> list[ProduceResult]:
        """Append to each partition, one result each in request order; client errors never raise."""
        size_bytes = request.size_bytes
        refusal = self._refusal(request.acks, size_bytes)
        if request.transactional_id and refusal is None:
            request = request._replace(partitions=list(request.partitions))
            refusal = _transactional_refusal(request)
        if refusal is not None:
            self._partitions.note_refusal("append refused", "", -1, refusal)
            return [_refuse(data, refusal) async for data in in_turns(request.partitions)]
        self.in_flight_bytes += size_bytes
        try:
            return await self._append_all(request)
        finally:
            self.in_flight_bytes -= size_bytes

    def _refusal(self, acks: int, size_bytes: int) -> Error | None:
        if acks not in _ACKS:
            return error_message(
                common_pb2.INVALID_REQUIRED_ACKS, f"acks is {acks}: it must be -1 (all), 0 or 1"
            )
        if self._is_held():
            return error_message(common_pb2.BROKER_NOT_AVAILABLE, _HELD)
        limit = self._config.produce_in_flight_bytes_max
        if self.in_flight_bytes + size_bytes > limit:
            return error_message(
                common_pb2.THROTTLING_QUOTA_EXCEEDED,
                f"{self.in_flight_bytes} bytes are in flight and the limit is {limit}: nothing was "
                "appended, try again later",
            )
        return None

    async def _append_all(self, request: Produce) -> list[ProduceResult]:
        results: list[ProduceResult] = []
        timeout_ms = self._config.ack_timeout_ms(request.timeout_ms)
        delayed = DelayedAnswer("appended")
        later: list[asyncio.Task[None]] = []
        async for data in in_turns(request.partitions):
            index, result = len(results), ProduceResult(data.topic, data.partition)
            results.append(result)
            slot = _Slot(
                *(data, result, request.acks, delayed, index),
                *(request.transactional_id, timeout_ms),
            )
            try:
                later += self._append(slot)
            except TidelogError as error:
                self._refuse(result, as_result(error))
        if later:
            await asyncio.gather(*later)
        failures = await delayed.wait(timeout_ms)
        async for index, failure in in_turns(failures.items()):
            self._fail(results[index], failure)
        return results

    def _append(self, slot: _Slot) -> list[asyncio.Task[None]]:
        """Append one partition's batches, or return a task, with a place in line, to do so."""
        data = slot.data
        check_not_internal(data.topic, "an append")
        if not slot.has_waited and not self.openings.is_free(_where(data)):
            return [self._append_once_open(slot)]
        try:
            partition = self._find(data)
        except NOT_YET as error:
            if slot.has_waited:
                raise
            return [self._append_once_open(slot, error)]
        if slot.transactional_id and slot.added is None:
            producer = producer_of(data.records)
            if not self.transactional.is_free(partition, producer):
                return [self._append_once_added(partition, producer, slot)]
        is_large = len(data.records) > self._config.walk_inline_bytes_max
        look = _Look(inflates=self._is_long(data.records, partition), walks=is_large)
        if look == _NO_LOOK and self._order.is_free(partition):
            self._append_now(partition, slot)
            return []
        leading.check_may_append(partition, slot.acks)
        place = self._order.enter(partition)
        task = asyncio.create_task(self._append_in_turn(partition, place, slot, look))
        # Runs for a task cancelled before its first step, too.
        task.add_done_callback(lambda _: place.leave())
        return [task]

    def _find(self, data: ProduceData) -> Partition:
        """Find the partition, also of a topic that is named by its id alone (KIP-516).

        Raises the errors of `PartitionMap.find`, and `InvalidTopicError` for an internal topic.
        """
        topic = data.topic
        if not topic and data.topic_id:
            known = self._partitions.image.topic_by_id(data.topic_id)
            topic = "" if known is None else known.name
            check_not_internal(topic, "an append")
        return self._partitions.find(topic, data.partition, data.topic_id)

    def _append_once_open(self, slot: _Slot, error: KafkaError | None = None) -> asyncio.Task[None]:
        """Return a task, with a place in the partition's line, that appends its batches.

        Raises `error` where it may not wait.
        """
        where = _where(slot.data)
        held = self.openings.enter(where, error)
        task = asyncio.create_task(self._append_opened(held, slot))
        task.add_done_callback(lambda _: self.openings.leave(where, held))
        return task

    async def _append_opened(self, held: Held, slot: _Slot) -> None:
        data = slot.data
        try:
            await self.openings.opened(
                _where(data),
                held,
                lambda: self._find(data),
                timeout_ms=slot.timeout_ms,
            )
            slot.has_waited = True
            await asyncio.gather(*self._append(slot))
        except TidelogError as error:
            self._refuse(slot.result, error)

    def _append_once_added(
        self, partition: Partition, producer: Producer, slot: _Slot
    ) -> asyncio.Task[None]:
        """Return a task, with a place in the producer's line, that appends its batch."""
        leading.check_may_append(partition, slot.acks)
        place = self.transactional.enter(partition, producer)
        task = asyncio.create_task(self._append_added(place, producer, slot))
        task.add_done_callback(lambda _: self.transactional.leave(place))
        return task

    async def _append_added(self, place: Place, producer: Producer, slot: _Slot) -> None:
        data = slot.data

        def find() -> tuple[Partition, int]:
            partition = self._find(data)
            return partition, leading.check_may_append(partition, slot.acks)

        try:
            slot.added = await self.transactional.added(
                place, find, transactional_id=slot.transactional_id, producer=producer
            )
            await asyncio.gather(*self._append(slot))
        except TidelogError as error:
            self._refuse(slot.result, error)

    def _is_long(self, records: Buffer, partition: Partition) -> bool:
        """True when there are compressed batches whose inflation may take long."""
        config = self._config
        return (
            len(records) > config.inspection_inline_bytes_max
            and (config.compressed_records_inspection or asks_about_records(partition.log.config))
            and is_compressed(records)
        )

    async def _append_in_turn(
        self, partition: Partition, place: Place, slot: _Slot, look: _Look
    ) -> None:
        try:
            config = partition.log.config
            seen = await self._look_into(config, slot.data.records, look)
            await place.turn()
            # Topic id, leader, epoch and config may have changed: check all of them again.
            data = slot.data
            partition = self._find(data)
            self._append_now(partition, slot, seen if partition.log.config == config else UNSEEN)
        except TidelogError as error:
            self._refuse(slot.result, error)

    async def _look_into(self, config: LogConfig, records: Buffer, look: _Look) -> Seen:
        seen = UNSEEN
        if look.inflates:
            self.inspections += 1
            now_ms = self._clock.wall_ms()
            seen = await self._workers.run(
                partial(inspect_compressed, records, config=config, now_ms=now_ms)
            )
        if look.walks:
            batches = list(seen.batches) or validate_batches(
                records, max_message_bytes=config.max_message_bytes
            )
            now_ms = self._clock.wall_ms()
            for _ in walk_uncompressed(batches, config=config, now_ms=now_ms):
                await asyncio.sleep(0)
            seen = seen._replace(walked=True, batches=batches)
        return seen

    def _append_now(self, partition: Partition, slot: _Slot, seen: Seen = UNSEEN) -> None:
        result = slot.result
        if slot.transactional_id:
            self._check_added(partition, slot)
        done = leading.append(
            partition,
            slot.data.records,
            acks=slot.acks,
            answer=slot.delayed,
            index=slot.index,
            seen=seen._replace(inspected=True) if self._is_exempt(partition) else seen,
            transactional=bool(slot.transactional_id),
        )
        result.log_start_offset = partition.log.log_start_offset
        if slot.acks != 0:
            result.base_offset = done.base_offset
            if done.log_append_time_ms is not None:
                result.log_append_time_ms = done.log_append_time_ms

    def _check_added(self, partition: Partition, slot: _Slot) -> None:
        if self._is_held():
            raise BrokerNotAvailableError(_HELD)
        now = Added.now(partition, leading.check_may_append(partition, slot.acks))
        self.transactional.check(slot.added, now, producer_of(slot.data.records))

    def _is_exempt(self, partition: Partition) -> bool:
        """True when neither broker nor topic asks for an inspection of compressed batches."""
        if self._config.compressed_records_inspection:
            return False
        return not asks_about_records(partition.log.config)

    def _refuse(self, result: ProduceResult, error: TidelogError) -> None:
        self._fail(result, to_wire(error))
        if isinstance(error, InvalidRecordError | InvalidTimestampError):
            result.record_errors = error.record_errors

    def _fail(self, result: ProduceResult, error: Error) -> None:
        is_unknown = error.code in OUTCOME_UNKNOWN_CODES
        what = "append not acknowledged" if is_unknown else "append refused"
        self._partitions.note_refusal(what, result.topic, result.partition, error)
        result.error, result.error_message = error.code, error.message
        result.base_offset = -1
        if error.code in HINTED_CODES:
            result.current_leader = self._partitions.current_leader(result.topic, result.partition)


def _transactional_refusal(request: Produce) -> Error | None:
    try:
        check_request(request)
    except KafkaError as error:
        return to_wire(error)
    return None


def _refuse(data: ProduceData, error: Error) -> ProduceResult:
    return ProduceResult(data.topic, data.partition, error=error.code, error_message=error.message)


def _where(data: ProduceData) -> Where:
    """Name the line of a partition: by the topic's id, whose name may become known in between."""
    return data.topic_id.hex() or data.topic, data.partition
