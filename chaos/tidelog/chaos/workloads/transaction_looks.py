"""Looks at transactions from outside: their coordinator, the logs; and calls that come late.

A late call is one as a producer might have sent it in a transaction that is over. Nothing of it is
in the history: a value that is stored all the same was never written, to its checks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tidelog.chaos.workloads.plans import LEDGER
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import Consumer, TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.admin.transaction_views import HangingTransaction, TransactionDescription
from tidelog.client.consuming.isolation import Isolation
from tidelog.client.errors import TidelogError
from tidelog.net.transport import Transport
from tidelog.records.batch import CONTROL_FLAG, iter_batches, set_sequence
from tidelog.records.records import Record, encode_batch, read_marker
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import FindCoordinatorRequest, TransactionalOffsetCommitRequest
from tidelog.v1.data_pb2 import FetchRequest, ProduceRequest
from tidelog.v1.methods import (
    END_TRANSACTION,
    FETCH,
    FIND_COORDINATOR,
    PRODUCE,
    TRANSACTIONAL_OFFSET_COMMIT,
    Method,
)
from tidelog.v1.transactions_pb2 import EndTransactionRequest

ASK_MS = 2_000
LATE_GROUP = "late"
"""Group of the offsets of late calls."""
RETRY_S = 0.2
ANSWERED_S_MAX = 20.0
"""A call goes from broker to broker for so long, until one answers that it is for it to answer."""
FETCHED_BYTES = 1 << 20
NOBODY_EPOCH = -1
NOT_THERE = frozenset(
    {
        common_pb2.NOT_COORDINATOR,
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        common_pb2.LEADER_NOT_AVAILABLE,
        common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.CONCURRENT_TRANSACTIONS,
        common_pb2.NOT_ENOUGH_REPLICAS,
        common_pb2.BROKER_NOT_AVAILABLE,
    }
)
"""Codes that are no answer yet: another broker is to be asked, or the same again."""


class Marker(NamedTuple):
    """A marker in a partition of the ledger."""

    partition: int
    offset: int
    producer_id: int
    producer_epoch: int
    is_commit: bool


class TransactionLooks:
    """Until `close`."""

    def __init__(self, port: WorkloadPort, *, partitions: int) -> None:
        self._port = port
        self._all = [TopicPartition(LEDGER, number) for number in range(partitions)]
        ports = port.client_ports("transaction-admin")
        self._transport: Transport = ports["transport"]
        self._admin = Admin(
            port.bootstrap, request_timeout_ms=ASK_MS, api_timeout_ms=2 * ASK_MS, **ports
        )
        levels: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")
        self._readers: dict[Isolation, Consumer[Any, Any]] = {
            level: Consumer(
                port.bootstrap,
                isolation_level=level,
                request_timeout_ms=ASK_MS,
                api_timeout_ms=2 * ASK_MS,
                **ports,
            )
            for level in levels
        }

    async def close(self) -> None:
        """Release the clients."""
        for reader in self._readers.values():
            await reader.close()
        await self._admin.close()

    # Seen

    async def describe(self, transactional_id: str) -> TransactionDescription | None:
        """Describe a transactional id; None: its coordinator did not say."""
        try:
            found = (await self._admin.describe_transactions([transactional_id]))[transactional_id]
        except TidelogError:
            return None
        return found if isinstance(found, TransactionDescription) else None

    async def ends(self, level: Isolation) -> Mapping[int, int]:
        """By partition the last stable offset, or the high watermark; empty: nobody said."""
        try:
            found = await self._readers[level].end_offsets(self._all)
        except TidelogError:
            return {}
        return {tp.partition: end for tp, end in found.items()}

    async def markers(self, partition: int) -> Sequence[Marker]:
        """Read the markers below the high watermark. Errors: `LookupError`, nobody answered."""
        found: list[Marker] = []
        offset, end = 0, 1
        while offset < end:
            request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=FETCHED_BYTES)
            request.partitions.add(topic=LEDGER, partition=partition, fetch_offset=offset)
            response = await self._ask(FETCH, request, lambda one: one.partitions[0].error.code)
            (result,) = response.partitions
            end = result.high_watermark
            for header, batch in iter_batches(result.records):
                if header.attributes & CONTROL_FLAG and header.base_offset >= offset:
                    is_commit = read_marker(batch).is_commit
                    producer = header.producer_id, header.producer_epoch
                    found.append(Marker(partition, header.base_offset, *producer, is_commit))
                offset = max(offset, header.base_offset + header.last_offset_delta + 1)
            if not result.records:
                break
        return found

    async def find_hanging(self, max_age_ms: int) -> Sequence[HangingTransaction] | None:
        """Find hanging transactions of the ledger; None: a coordinator could not tell."""
        try:
            return await self._admin.find_hanging_transactions(
                max_age_ms=max_age_ms, topics=[LEDGER]
            )
        except TidelogError as error:
            self._port.note("admin", f"hanging transactions are not known: {error}")
            return None

    async def abort_hanging(self, one: HangingTransaction) -> int:
        """Abort it; the offset of its marker. Raises `TidelogError`."""
        place = (one.topic, one.partition)
        found = await self._admin.abort_hanging_transaction(place, start_offset=one.start_offset)
        return -1 if found.marker_offset is None else found.marker_offset

    # Late calls; each returns the code of the answer of the broker whose turn it is to answer

    async def produce_late(
        self, known: TransactionDescription, partition: int, *, sequence: int
    ) -> int:
        """Send a record of that producer and epoch."""
        batch = set_sequence(
            encode_batch([Record(0, 0, None, b"late")]),
            producer_id=known.producer_id,
            producer_epoch=known.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        request = ProduceRequest(transactional_id=known.transactional_id, timeout_ms=ASK_MS)
        request.partitions.add(topic=LEDGER, partition=partition, records=batch)
        response = await self._ask(PRODUCE, request, lambda one: one.partitions[0].error.code)
        return int(response.partitions[0].error.code)

    async def end_late(self, known: TransactionDescription, *, is_commit: bool) -> int:
        """End its transaction."""
        request = EndTransactionRequest(
            transactional_id=known.transactional_id,
            producer_id=known.producer_id,
            producer_epoch=known.producer_epoch,
            commit=is_commit,
        )
        return int((await self._ask(END_TRANSACTION, request, _own_code)).error.code)

    async def commit_offsets_late(self, known: TransactionDescription) -> int:
        """Commit an offset of a group in its transaction."""
        request = TransactionalOffsetCommitRequest(
            transactional_id=known.transactional_id,
            producer_id=known.producer_id,
            producer_epoch=known.producer_epoch,
            group_id=LATE_GROUP,
            member_epoch=NOBODY_EPOCH,
        )
        topic = request.topics.add(topic=LEDGER)
        topic.partitions.add(partition=0, offset=1)
        # The first search for any group's coordinator creates the topic of offsets.
        await self._ask(FIND_COORDINATOR, FindCoordinatorRequest(group_ids=[LATE_GROUP]), _own_code)
        response = await self._ask(TRANSACTIONAL_OFFSET_COMMIT, request, _offsets_code)
        return _offsets_code(response)

    async def _ask(
        self, method: Method[Any, Any], request: Any, code_of: Callable[[Any], int]
    ) -> Any:
        """Ask one broker after the other, until one answers. Errors: `LookupError`."""
        ends_s = self._port.now_s + ANSWERED_S_MAX
        while self._port.now_s < ends_s:
            for address in self._port.bootstrap:
                try:
                    response = await self._transport.call(
                        address, method, request, timeout_ms=ASK_MS
                    )
                except TidelogError:
                    continue
                if code_of(response) not in NOT_THERE:
                    return response
            await asyncio.sleep(RETRY_S)
        raise LookupError(f"no broker answers {method.name}")


def _own_code(response: Any) -> int:
    return int(response.error.code)


def _offsets_code(response: Any) -> int:
    codes = [response.error.code]
    codes += [one.error.code for topic in response.topics for one in topic.partitions]
    return next((code for code in codes if code != common_pb2.NONE), common_pb2.NONE)
