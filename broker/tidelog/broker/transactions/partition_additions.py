"""Partitions added to transactions by their coordinators, in as few requests as possible.

A few requests at a time to each coordinator's broker; what comes meanwhile goes into the next one.
More than one, since a coordinator answers all of a request together, and waits with an id whose
last transaction lacks markers.
An addition that is not answered, or not yet possible, is sent again, to the coordinator of then.
It changes nothing when repeated, and nobody appends before it succeeds: so the outcome is never
unknown to a producer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.partition_adder import (
    Producer,
    TransactionPartition,
    check_transactional_id,
)
from tidelog.core.background import Background
from tidelog.core.env import Random
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CallFailedError,
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InconsistentClusterIdError,
    NotCoordinatorError,
    RequestTimedOutError,
    ThrottlingQuotaExceededError,
    TidelogError,
    UnreachableError,
)
from tidelog.core.wire_errors import raise_for
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
)

ADDITIONS_MAX = 10_000
"""Additions that wait; further ones are refused."""
PARTITIONS_PER_REQUEST = 1_000
REQUESTS_MAX = 4
"""Requests under way to each broker."""
TIMEOUT_S = 5.0
"""Maximum time of an addition, with all its attempts."""
ATTEMPT_S = 2.0
"""Maximum time of one attempt; the next one may have another coordinator."""
BACKOFF_S_MIN = 0.02
BACKOFF_S_MAX = 0.5

_AGAIN = (
    BrokerNotAvailableError,
    CallFailedError,
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InconsistentClusterIdError,  # of an address that is another cluster's now
    NotCoordinatorError,
    RequestTimedOutError,
    UnreachableError,
)
_ANSWERED = (
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
)
"""Errors that a producer gets as they are; others become the last of them."""

Ask = Callable[
    [int, AddPartitionsToTransactionsRequest], Awaitable[AddPartitionsToTransactionsResponse]
]
"""Sends a request to a broker, within `ATTEMPT_S`; raises `TidelogError`."""


class _Addition(NamedTuple):
    transactional_id: str
    producer: Producer
    partition: TransactionPartition
    answer: asyncio.Future[None]


@dataclass(slots=True)
class _Line:
    """Additions that wait for a request to one broker."""

    queue: deque[_Addition] = field(default_factory=deque)
    senders: int = 0


class PartitionAdditions:
    """See `PartitionAdder`. `coordinator_of` names the broker that coordinates an id, or None."""

    def __init__(
        self,
        *,
        coordinator_of: Callable[[str], int | None],
        ask: Ask,
        random: Random,
        background: Background,
    ) -> None:
        self._coordinator_of = coordinator_of
        self._ask = ask
        self._random = random
        self._background = background
        self._lines: dict[int, _Line] = {}
        """By broker; a broker that has one has a task that sends."""
        self._pending = 0

    async def add(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        """See `PartitionAdder`."""
        check_transactional_id(transactional_id)
        if self._pending >= ADDITIONS_MAX:
            raise ThrottlingQuotaExceededError(
                f"{ADDITIONS_MAX} partitions wait to be added to transactions: try again later"
            )
        self._pending += 1
        last: TidelogError | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                backoff_s = BACKOFF_S_MIN
                while True:
                    try:
                        return await self._attempt(transactional_id, producer, partition)
                    except TidelogError as error:
                        if not (isinstance(error, _AGAIN) or error.is_outcome_unknown):
                            raise
                        last = error
                    await asyncio.sleep(backoff_s * (0.5 + self._random.random() / 2))
                    backoff_s = min(2 * backoff_s, BACKOFF_S_MAX)
        except TimeoutError:
            raise _final_error(last, transactional_id) from last
        finally:
            self._pending -= 1

    async def _attempt(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        broker_id = self._coordinator_of(transactional_id)
        if broker_id is None:
            raise CoordinatorNotAvailableError(
                f"no broker coordinates transactional id {transactional_id!r} now"
            )
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enter(broker_id, _Addition(transactional_id, producer, partition, answer))
        try:
            async with asyncio.timeout(ATTEMPT_S):
                await answer
        except TimeoutError:
            raise CoordinatorNotAvailableError(
                f"broker {broker_id} has not answered for transactional id {transactional_id!r}"
            ) from None

    def _enter(self, broker_id: int, addition: _Addition) -> None:
        line = self._lines.setdefault(broker_id, _Line())
        line.queue.append(addition)
        if line.senders >= REQUESTS_MAX:
            return
        line.senders += 1
        self._background.spawn(
            f"transaction-partitions-{broker_id}", self._send_all(broker_id, line)
        )

    async def _send_all(self, broker_id: int, line: _Line) -> None:
        try:
            while sent := _take(line.queue):
                await self._send(broker_id, sent)
        finally:
            line.senders -= 1
            if not line.senders:
                del self._lines[broker_id]

    async def _send(self, broker_id: int, sent: dict[str, list[_Addition]]) -> None:
        try:
            response = await self._ask(broker_id, _request(sent))
            raise_for(response.error)
            _check_answers(response, sent)
        except TidelogError as error:
            for additions in sent.values():
                _resolve(additions, error)
            return
        for result, additions in zip(response.transactions, sent.values(), strict=True):
            try:
                raise_for(result.error)
            except TidelogError as error:
                _resolve(additions, error)
            else:
                _resolve(additions, None)


def _take(queue: deque[_Addition]) -> dict[str, list[_Addition]]:
    """Take the next request's additions by id; those of a second epoch of an id stay."""
    taken: dict[str, list[_Addition]] = {}
    later: list[_Addition] = []
    count = 0
    while queue and count < PARTITIONS_PER_REQUEST:
        addition = queue.popleft()
        if addition.answer.done():  # its attempt is over
            continue
        others = taken.setdefault(addition.transactional_id, [])
        if others and others[0].producer != addition.producer:
            later.append(addition)
            continue
        others.append(addition)
        count += 1
    queue.extendleft(reversed(later))
    return taken


def _request(sent: dict[str, list[_Addition]]) -> AddPartitionsToTransactionsRequest:
    request = AddPartitionsToTransactionsRequest()
    for name, additions in sent.items():
        producer = additions[0].producer
        one = request.transactions.add(
            transactional_id=name, producer_id=producer.id, producer_epoch=producer.epoch
        )
        by_topic: dict[tuple[bytes, str], set[int]] = {}
        for addition in additions:
            by_topic.setdefault(addition.partition.topic, set()).add(addition.partition.number)
        for (topic_id, topic), numbers in by_topic.items():
            one.topics.add(topic=topic, topic_id=topic_id, partitions=sorted(numbers))
    return request


def _check_answers(
    response: AddPartitionsToTransactionsResponse, sent: dict[str, list[_Addition]]
) -> None:
    if [one.transactional_id for one in response.transactions] != list(sent):
        raise CallFailedError("the coordinator's answers are not of the ids that were asked for")


def _resolve(additions: list[_Addition], error: TidelogError | None) -> None:
    for addition in additions:
        if addition.answer.done():
            continue
        if error is None:
            addition.answer.set_result(None)
        else:
            addition.answer.set_exception(error)


def _final_error(last: TidelogError | None, transactional_id: str) -> TidelogError:
    """Error of an addition whose time is over: retriable, and its outcome certain."""
    what = "no coordinator has answered" if last is None else last.message
    if isinstance(last, _ANSWERED):
        return type(last)(f"{what}: nothing was appended, try again")
    return CoordinatorNotAvailableError(
        f"transactional id {transactional_id!r}: {what}: nothing was appended, try again"
    )
