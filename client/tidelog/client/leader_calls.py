"""Requests about many partitions, each sent to its leader, repeated until all have an answer.

Owns the choice of brokers and the retries, also across leader changes. The caller makes the
requests and interprets the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError, KafkaError, TidelogError, error_from_wire
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, LeaderHint


class PartitionResult(Protocol):
    """A leader's answer for one partition."""

    topic: str
    partition: int

    @property
    def error(self) -> Error:
        """The error of the partition; NONE for an answer."""

    @property
    def current_leader(self) -> LeaderHint:
        """The present leader, if the broker that was asked knows it."""

    def HasField(self, field_name: str, /) -> bool:  # noqa: N802  # protobuf's name
        """See `google.protobuf.message.Message`."""


Result = TypeVar("Result", bound=PartitionResult)
Ask = Callable[[str, Mapping[TopicPartition, int]], Awaitable[Sequence[Result]]]
"""Asks the leader at an address about partitions, given with their known leader epochs. Returns one
result per partition, or raises a `TidelogError`.
"""


class LeaderCalls:
    """The calls of a client to the leaders of partitions."""

    def __init__(self, routing: Routing, *, backoff: Backoff) -> None:
        self._routing = routing
        self._backoff = backoff

    async def ask_all(
        self, partitions: Iterable[TopicPartition], ask: Ask[Result], *, timeout_ms: int
    ) -> dict[TopicPartition, Result]:
        """Ask until there is an answer for every partition.

        Raises KafkaError for a topic or partition that does not exist, and the last failure after
        `timeout_ms`.
        """
        deadline_ms = self._routing.clock.monotonic_ms() + timeout_ms
        missing = dict.fromkeys(partitions)
        await self.check_exists(missing, timeout_ms=timeout_ms)
        found: dict[TopicPartition, Result] = {}
        failures = 0
        while True:
            error = await self._ask_leaders([tp for tp in missing if tp not in found], ask, found)
            if len(found) == len(missing):
                return found
            if error is not None and not error.is_retriable:
                raise error
            if self._routing.clock.monotonic_ms() >= deadline_ms:
                names = ", ".join(f"{t}-{p}" for t, p in missing.keys() - found.keys())
                raise error or KafkaError(
                    common_pb2.LEADER_NOT_AVAILABLE, f"no leader answers for {names}"
                )
            self._routing.request_refresh()
            failures += 1
            await asyncio.sleep(self._backoff.delay_ms(failures, self._routing.random) / 1000)

    async def check_exists(self, wanted: Iterable[TopicPartition], *, timeout_ms: int) -> None:
        """Raise KafkaError unless every topic and partition exists."""
        for tp in wanted:
            view = await self._routing.topic(tp.topic, timeout_ms=timeout_ms)
            if tp.partition not in view.leaders:
                raise KafkaError(
                    common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
                    f"topic {tp.topic!r} has partitions 0 to {len(view.leaders) - 1}, "
                    f"not {tp.partition}",
                )

    async def _ask_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Ask[Result],
        found: dict[TopicPartition, Result],
    ) -> TidelogError | None:
        """Ask all leaders once, concurrently; add their answers to `found`.

        Returns one of the errors, if there are any, preferably one that no retry can help.
        """
        by_address: dict[str, dict[TopicPartition, int]] = {}
        for tp in partitions:
            leader = self._routing.metadata.leader(tp)
            if leader is not None and leader.address is not None:
                by_address.setdefault(leader.address, {})[tp] = leader.epoch
        answers = await asyncio.gather(
            *(_answer(ask, address, epochs) for address, epochs in by_address.items())
        )
        errors: list[TidelogError] = []
        for answer in answers:
            if isinstance(answer, TidelogError):
                errors.append(answer)
            else:
                errors += [e for result in answer if (e := self._take(result, found)) is not None]
        return min(errors, key=lambda error: error.is_retriable, default=None)

    def _take(self, result: Result, found: dict[TopicPartition, Result]) -> TidelogError | None:
        tp = TopicPartition(result.topic, result.partition)
        if result.error.code == common_pb2.NONE:
            found[tp] = result
            return None
        if result.HasField("current_leader"):
            self._routing.metadata.apply_hint(tp, result.current_leader)
        return error_from_wire(result.error)


async def _answer(
    ask: Ask[Result], address: str, epochs: Mapping[TopicPartition, int]
) -> Sequence[Result] | TidelogError:
    try:
        results = await ask(address, epochs)
    except TidelogError as error:
        return error
    if len(results) != len(epochs):
        return CallFailedError(f"{address} did not answer for every partition")
    return results
