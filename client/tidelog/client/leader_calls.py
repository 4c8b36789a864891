"""Requests about many partitions, each sent to its leader, repeated until all have an answer.

Owns the choice of brokers and the retries, also across leader changes. The caller makes the
requests and interprets the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.connections import RETRIES_MAX
from tidelog.client.errors import (
    CallFailedError,
    KafkaError,
    LeaderNotAvailableError,
    TidelogError,
    UnknownTopicOrPartitionError,
    error_from_wire,
)
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

    def __init__(self, routing: Routing, *, backoff: Backoff, retries: int = RETRIES_MAX) -> None:
        self._routing = routing
        self._backoff = backoff
        self._retries = retries

    async def ask_each(
        self,
        partitions: Iterable[TopicPartition],
        ask: Ask[Result],
        *,
        timeout_ms: int,
        is_all: bool = False,
    ) -> dict[TopicPartition, Result | TidelogError]:
        """The answer or the error of every partition, each perhaps asked for several times.

        An error that no retry can help is final at once, the last of others after `timeout_ms` or
        after `retries` more attempts.
        With `is_all` the first final one ends it: partitions without an answer are left out then.
        Raises UnreachableError when no address answers who leads.
        """
        deadline_ms = self._routing.clock.monotonic_ms() + timeout_ms
        wanted = list(dict.fromkeys(partitions))
        results: dict[TopicPartition, Result | TidelogError] = {}
        results |= await self._absent(wanted, timeout_ms=timeout_ms, is_one_enough=is_all)
        last: dict[TopicPartition, TidelogError] = {}
        failures = 0
        while not (is_all and any(isinstance(one, TidelogError) for one in results.values())):
            missing = [tp for tp in wanted if tp not in results]
            for tp, answer in (await self._ask_leaders(missing, ask)).items():
                if isinstance(answer, TidelogError) and answer.is_retriable:
                    last[tp] = answer
                else:
                    results[tp] = answer
            missing = [tp for tp in missing if tp not in results]
            is_late = self._routing.clock.monotonic_ms() >= deadline_ms
            if missing and (is_late or failures >= self._retries):
                results |= {tp: last.get(tp) or _silent(tp) for tp in missing}
            if not missing or len(results) == len(wanted):
                break
            self._routing.request_refresh()
            failures += 1
            await asyncio.sleep(self._backoff.delay_ms(failures, self._routing.random) / 1000)
        return {tp: results[tp] for tp in wanted if tp in results}

    async def check_exists(self, wanted: Iterable[TopicPartition], *, timeout_ms: int) -> None:
        """Raise KafkaError unless every topic and partition exists."""
        absent = await self._absent(wanted, timeout_ms=timeout_ms, is_one_enough=True)
        for error in absent.values():
            raise error

    async def _absent(
        self, wanted: Iterable[TopicPartition], *, timeout_ms: int, is_one_enough: bool
    ) -> dict[TopicPartition, KafkaError]:
        """The error of each partition that does not exist; of one at least where that is enough."""
        by_topic: dict[str, list[TopicPartition]] = {}
        for tp in wanted:
            by_topic.setdefault(tp.topic, []).append(tp)
        found: dict[TopicPartition, KafkaError] = {}
        for topic, partitions in by_topic.items():
            if found and is_one_enough:
                break
            try:
                numbers = [tp.partition for tp in partitions]
                view = await self._routing.topic_with(topic, numbers, timeout_ms=timeout_ms)
            except KafkaError as error:
                found |= dict.fromkeys(partitions, error)
                continue
            for tp in partitions:
                if tp.partition not in view.leaders:
                    found[tp] = UnknownTopicOrPartitionError(
                        f"topic {topic!r} has partitions 0 to {len(view.leaders) - 1}, "
                        f"not {tp.partition}",
                    )
        return found

    async def _ask_leaders(
        self, partitions: Iterable[TopicPartition], ask: Ask[Result]
    ) -> dict[TopicPartition, Result | TidelogError]:
        """Ask each known leader once, all at the same time."""
        by_address: dict[str, dict[TopicPartition, int]] = {}
        for tp in partitions:
            leader = self._routing.metadata.leader(tp)
            if leader is not None and leader.address is not None:
                by_address.setdefault(leader.address, {})[tp] = leader.epoch
        answers = await asyncio.gather(
            *(_answer(ask, address, epochs) for address, epochs in by_address.items())
        )
        found: dict[TopicPartition, Result | TidelogError] = {}
        for epochs, answer in zip(by_address.values(), answers, strict=True):
            if isinstance(answer, TidelogError):
                found |= dict.fromkeys(epochs, answer)
                continue
            for result in answer:
                found[TopicPartition(result.topic, result.partition)] = self._taken(result)
        return found

    def _taken(self, result: Result) -> Result | TidelogError:
        """The answer for a partition, or its error; a leader that this names is taken over."""
        if result.error.code == common_pb2.NONE:
            return result
        if result.HasField("current_leader"):
            tp = TopicPartition(result.topic, result.partition)
            self._routing.metadata.apply_hint(tp, result.current_leader)
        return error_from_wire(result.error)


def _silent(tp: TopicPartition) -> TidelogError:
    return LeaderNotAvailableError(f"no leader answers for {tp.topic}-{tp.partition}")


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
