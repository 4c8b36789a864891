"""Methods of the admin client about transactions (KIP-664).

A transaction hangs when it is open in a partition's log and its coordinator has no part in it any
more, as after an unclean election that lost its marker. To say so, the coordinators of all ids must
have been asked: while one is loading, away, or changes, the look fails and is to be repeated.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.client.admin.replica_methods import ProducerDescription
from tidelog.client.admin.transaction_views import (
    AbortedTransaction,
    HangingTransaction,
    TransactionDescription,
    TransactionListing,
    description,
)
from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    CoordinatorNotAvailableError,
    DeliveryTimeoutError,
    TidelogError,
    TransactionalIdNotFoundError,
    UnknownTopicOrPartitionError,
    error_from_wire,
    raise_for,
)
from tidelog.client.groups.coordinator_calls import RETRIED, CoordinatorCalls
from tidelog.client.offsets import OffsetLookup
from tidelog.client.partition_arguments import Partitions
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, LeaderHint
from tidelog.v1.coordinator_pb2 import FindCoordinatorRequest
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import (
    ABORT_HANGING_TRANSACTION,
    ABORT_TRANSACTION,
    DESCRIBE_TRANSACTIONS,
    END_TRANSACTIONS,
    FIND_COORDINATOR,
    LIST_TRANSACTIONS,
    METADATA,
)
from tidelog.v1.transactions_pb2 import (
    AbortHangingTransactionRequest,
    AbortHangingTransactionResponse,
    AbortTransactionRequest,
    DescribeTransactionsRequest,
    EndTransactionsRequest,
    ListTransactionsRequest,
)

IDS_MAX = 1_000
"""Producer ids of one request; more are asked for in several."""
_OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})

Coordinators = dict[int, tuple[int, int]]
"""Leader and its epoch, by partition of the internal topic."""


class TransactionMethods(ABC):
    """Part of `Admin`."""

    _routing: Routing
    _ports: ClientPorts
    _lookup: OffsetLookup
    _request_timeout_ms: int
    _api_timeout_ms: int
    _backoff = Backoff()

    @abstractmethod
    async def __aenter__(self) -> object: ...

    @abstractmethod
    async def __aexit__(self, *exc_info: object) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """See `Admin.close`."""

    @abstractmethod
    async def list_topics(self, *, list_internal: bool = False) -> list[str]:
        """See `Admin.list_topics`."""

    @abstractmethod
    async def describe_producers(
        self, partitions: Partitions
    ) -> dict[TopicPartition, list[ProducerDescription] | TidelogError]:
        """See `Admin.describe_producers`."""

    async def list_transactions(self, states: Iterable[str] = ()) -> list[TransactionListing]:
        """List the transactional ids of all brokers in these states, or all, by id.

        Raises the first broker's error; CoordinatorLoadInProgressError, if one still reads its ids.
        """
        request = ListTransactionsRequest(states=list(states))
        return await self._list_all(request)

    async def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, TransactionDescription | TidelogError]:
        """Describe transactional ids; or why not, as TransactionalIdNotFoundError."""
        results: dict[str, TransactionDescription | TidelogError] = {}
        for name in dict.fromkeys(transactional_ids):
            try:
                results[name] = await self._describe(name)
            except TidelogError as error:
                results[name] = error
        return results

    async def abort_transaction(self, transactional_id: str) -> AbortedTransaction:
        """Abort what a transactional id has open, whatever its producer is about to do.

        Returns when that is decided for good; markers follow. Raises TransactionalIdNotFoundError,
        InvalidTxnStateError (nothing is open), KafkaError.
        """
        request = AbortTransactionRequest(transactional_id=transactional_id)
        response = await self._coordinator(transactional_id).call(
            ABORT_TRANSACTION, lambda: request, timeout_ms=self._api_timeout_ms
        )
        raise_for(response.error)
        return AbortedTransaction(response.producer_id, response.producer_epoch)

    async def end_transactions(
        self, group: str, members: Iterable[TransactionMember] = (), *, timeout_ms: int = 120_000
    ) -> None:
        """Commit the transactions of members together, or none; abort all others of the group.

        `group`: what their ids have before a slash; `members`: from `hand_over_transaction`, none
        of them: only abort. Returns when that is decided for good; markers follow. Repeated, it
        gives the first answer. Raises InvalidTxnStateError when a member is not open in its epoch
        any more: nothing was committed, and the members are aborted. Raises ProducerFencedError
        when other producers have had the ids since: all were committed, or none. Raises
        InvalidRequestError, and DeliveryTimeoutError when nobody answered in time: the outcome is
        unknown, call again.
        """
        request, members = EndTransactionsRequest(group=group), list(members)
        ids = [member.transactional_id for member in members]
        for member in members:
            request.members.add(
                transactional_id=member.transactional_id,
                producer_id=member.producer_id,
                producer_epoch=member.producer_epoch,
            )
        observer = self._ports.observer
        if observer is not None:
            observer.handed_over_commit_begun(ids)
        try:
            response = await self._coordinator(group).call(
                END_TRANSACTIONS, lambda: request, timeout_ms=timeout_ms
            )
        except TidelogError as error:
            raise DeliveryTimeoutError(
                f"the end of the transactions of {group!r} was not answered within {timeout_ms} "
                f"ms: call end_transactions() again; last: {error}",
                is_outcome_unknown=True,
            ) from error
        raise_for(response.error)
        if observer is not None:
            observer.handed_over_committed(ids)

    async def find_hanging_transactions(
        self, *, max_age_ms: int = 900_000, topics: Iterable[str] = ()
    ) -> list[HangingTransaction]:
        """Find transactions that are open in logs, silent for longer, and of no coordinator.

        `topics`: where to look; none named: all. Raises CoordinatorLoadInProgressError and
        CoordinatorNotAvailableError while a coordinator cannot tell, and the first error of a
        partition: nothing is guessed.
        """
        names = list(topics) or await self.list_topics(list_internal=True)
        partitions = [tp for name in names for tp in await self._partitions(name)]
        suspects = await self._open_in(partitions, max_age_ms)
        if not suspects:
            return []
        before = await self._coordinators()
        known = await self._known({one.producer_id for one in suspects})
        if before != await self._coordinators():
            raise CoordinatorNotAvailableError(
                "coordinators of transactions moved while they were asked: look again"
            )
        left = [
            one
            for one in suspects
            if TopicPartition(one.topic, one.partition) not in known.get(one.producer_id, ())
        ]
        # What was ended meanwhile does not hang: its marker came before the coordinator forgot it.
        places = dict.fromkeys((one.topic, one.partition) for one in left)
        still = {one._replace(age_ms=0) for one in await self._open_in(places, max_age_ms)}
        return [one for one in left if one._replace(age_ms=0) in still]

    async def abort_hanging_transaction(
        self, partition: tuple[str, int], *, start_offset: int
    ) -> AbortedTransaction:
        """Abort, in one partition, a transaction that `find_hanging_transactions` has found.

        `start_offset`: its first offset. If a coordinator commits it all the same, the records of
        this partition stay aborted. Raises InvalidTxnStateError (no open transaction begins there,
        or not any more), KafkaError.
        """
        tp = TopicPartition(*partition)

        async def ask(
            address: str, _epochs: Mapping[TopicPartition, int]
        ) -> Sequence[_AbortResult]:
            request = AbortHangingTransactionRequest(
                topic=tp.topic, partition=tp.partition, start_offset=start_offset
            )
            response = await self._routing.transport.call(
                address, ABORT_HANGING_TRANSACTION, request, timeout_ms=self._request_timeout_ms
            )
            return [_AbortResult(tp.topic, tp.partition, response)]

        found = await self._lookup.leaders.ask_each([tp], ask, timeout_ms=self._api_timeout_ms)
        result = found[tp]
        if isinstance(result, TidelogError):
            raise result
        answer = result.answer
        return AbortedTransaction(answer.producer_id, answer.producer_epoch, answer.marker_offset)

    # Coordinators

    async def _list_all(self, request: ListTransactionsRequest) -> list[TransactionListing]:
        metadata = await self._routing.call_any(
            METADATA, MetadataRequest(topics=[""]), timeout_ms=self._request_timeout_ms
        )
        listings = await asyncio.gather(
            *(self._list_of(one.node_id, one.address, request) for one in metadata.brokers)
        )
        return sorted(one for listing in listings for one in listing)

    async def _list_of(
        self, broker_id: int, address: str, wanted: ListTransactionsRequest
    ) -> list[TransactionListing]:
        request = ListTransactionsRequest()
        request.CopyFrom(wanted)
        found: list[TransactionListing] = []
        deadline_ms = self._routing.clock.monotonic_ms() + self._api_timeout_ms
        failures = 0
        while True:
            response = await self._routing.transport.call(
                address, LIST_TRANSACTIONS, request, timeout_ms=self._request_timeout_ms
            )
            if response.error.code != common_pb2.NONE:
                failures += 1
                await self._wait(error_from_wire(response.error), failures, deadline_ms)
                continue
            found += [
                TransactionListing(
                    one.transactional_id,
                    one.producer_id,
                    one.producer_epoch,
                    one.state,
                    one.age_ms,
                    broker_id,
                )
                for one in response.transactions
            ]
            if not response.has_more or not response.transactions:
                return found
            request.after_transactional_id = response.transactions[-1].transactional_id

    async def _wait(self, error: TidelogError, failures: int, deadline_ms: int) -> None:
        delay_ms = self._backoff.delay_ms(failures, self._routing.random)
        is_late = self._routing.clock.monotonic_ms() + delay_ms >= deadline_ms
        if is_late or error.code not in RETRIED:
            raise error
        await asyncio.sleep(delay_ms / 1000)

    async def _describe(self, name: str) -> TransactionDescription:
        calls = self._coordinator(name)
        request = DescribeTransactionsRequest(transactional_ids=[name])
        deadline_ms = self._routing.clock.monotonic_ms() + self._api_timeout_ms
        failures = 0
        while True:
            response = await calls.call(
                DESCRIBE_TRANSACTIONS, lambda: request, timeout_ms=self._api_timeout_ms
            )
            raise_for(response.error)
            (found,) = response.transactions
            if found.error.code not in RETRIED:
                raise_for(found.error)
                return description(found, await self._coordinator_id(name))
            failures += 1
            await calls.pause(calls.refused(found), failures, deadline_ms)

    async def _coordinator_id(self, name: str) -> int:
        request = FindCoordinatorRequest(transactional_ids=[name])
        found = await self._routing.call_any(
            FIND_COORDINATOR, request, timeout_ms=self._request_timeout_ms
        )
        broker_id: int = found.coordinators[0].broker.node_id
        return broker_id

    def _coordinator(self, name: str) -> CoordinatorCalls:
        return CoordinatorCalls(
            self._routing,
            name,
            backoff=self._backoff,
            request_timeout_ms=self._request_timeout_ms,
            is_transactional=True,
        )

    # Hanging ones

    async def _partitions(self, topic: str) -> list[tuple[str, int]]:
        view = await self._routing.topic(topic, timeout_ms=self._api_timeout_ms)
        return [(topic, number) for number in sorted(view.leaders)]

    async def _open_in(
        self, partitions: Iterable[tuple[str, int]], max_age_ms: int
    ) -> list[HangingTransaction]:
        """Find the open transactions of logs that have been silent for longer than `max_age_ms`."""
        found: list[HangingTransaction] = []
        now_ms = self._ports.clock.wall_ms()
        for tp, producers in (await self.describe_producers(partitions)).items():
            if isinstance(producers, UnknownTopicOrPartitionError):
                continue  # deleted meanwhile
            if isinstance(producers, TidelogError):
                raise producers
            for one in producers:
                age_ms = now_ms - one.last_timestamp_ms
                if one.transaction_start_offset is not None and age_ms > max_age_ms:
                    found.append(
                        HangingTransaction(
                            tp.topic,
                            tp.partition,
                            one.producer_id,
                            one.producer_epoch,
                            one.transaction_start_offset,
                            age_ms,
                        )
                    )
        return sorted(found)

    async def _coordinators(self) -> Coordinators:
        """Find who coordinates each partition of ids, in the words of each coordinator itself.

        Raises CoordinatorNotAvailableError if a partition has none that says so.
        """
        request = MetadataRequest(topics=[TRANSACTIONS_TOPIC])
        seen = await self._routing.call_any(METADATA, request, timeout_ms=self._request_timeout_ms)
        (topic,) = seen.topics
        if topic.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
            return {}  # no id was ever used
        raise_for(topic.error)
        own: Coordinators = {}
        for broker in seen.brokers:
            answer: Any = await self._routing.transport.call(
                broker.address, METADATA, request, timeout_ms=self._request_timeout_ms
            )
            for one in answer.topics[0].partitions:
                if one.HasField("leader_id") and one.leader_id == broker.node_id:
                    own[one.partition] = max(
                        own.get(one.partition, (-1, -1)),
                        (one.leader_epoch, one.leader_id),
                    )
        missing = [one.partition for one in topic.partitions if one.partition not in own]
        if missing:
            raise CoordinatorNotAvailableError(
                f"{TRANSACTIONS_TOPIC}-{missing[0]} has no coordinator now, and its transactional "
                "ids are not known: look again"
            )
        return own

    async def _known(self, producer_ids: Iterable[int]) -> dict[int, set[TopicPartition]]:
        """Find the partitions that coordinators will write markers to, by producer id."""
        wanted, known = sorted(producer_ids), dict[int, set[TopicPartition]]()
        for first in range(0, len(wanted), IDS_MAX):
            ids = wanted[first : first + IDS_MAX]
            for listed in await self._list_all(ListTransactionsRequest(producer_ids=ids)):
                if listed.state not in _OPEN_STATES:
                    continue
                try:
                    one = await self._describe(listed.transactional_id)
                except TransactionalIdNotFoundError:
                    continue
                if one.state in _OPEN_STATES:
                    known.setdefault(listed.producer_id, set()).update(one.partitions)
        return known


@dataclass(slots=True)
class _AbortResult:
    """A leader's answer, as `LeaderCalls` takes them."""

    topic: str
    partition: int
    answer: AbortHangingTransactionResponse

    @property
    def error(self) -> Error:
        """See `PartitionResult`."""
        return self.answer.error

    @property
    def current_leader(self) -> LeaderHint:
        """See `PartitionResult`."""
        return self.answer.current_leader

    def HasField(self, field_name: str, /) -> bool:  # noqa: N802  # protobuf's name
        """See `PartitionResult`."""
        return self.answer.HasField("current_leader") if field_name == "current_leader" else True
