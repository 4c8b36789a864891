"""Looks up where partitions start and end, each at its leader, across leader changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    CallFailedError,
    KafkaError,
    TidelogError,
    error_from_wire,
)
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import LIST_OFFSETS

Spec = ListOffsetsRequest.Spec
EARLIEST = ListOffsetsRequest.EARLIEST
LATEST = ListOffsetsRequest.LATEST


class OffsetLookup:
    """ListOffsets calls of one client."""

    def __init__(self, routing: Routing, *, backoff: Backoff, request_timeout_ms: int) -> None:
        self._routing = routing
        self._backoff = backoff
        self._request_timeout_ms = request_timeout_ms

    async def lookup(
        self, wanted: Mapping[TopicPartition, Spec], *, timeout_ms: int
    ) -> dict[TopicPartition, int]:
        """The offset of every partition: LATEST is the high watermark, EARLIEST the log start.

        Raises KafkaError for a topic or partition that does not exist, and the last failure after
        `timeout_ms`.
        """
        deadline_ms = self._routing.clock.monotonic_ms() + timeout_ms
        await self.check_exists(wanted, timeout_ms=timeout_ms)
        found: dict[TopicPartition, int] = {}
        failures = 0
        while True:
            missing = {tp: spec for tp, spec in wanted.items() if tp not in found}
            error = await self._ask_leaders(missing, found)
            if len(found) == len(wanted):
                return found
            if error is not None and not error.is_retriable:
                raise error
            if self._routing.clock.monotonic_ms() >= deadline_ms:
                names = ", ".join(f"{tp.topic}-{tp.partition}" for tp in missing)
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
        self, wanted: Mapping[TopicPartition, Spec], found: dict[TopicPartition, int]
    ) -> TidelogError | None:
        """Ask each leader once, all at the same time; fills `found`, returns the last error."""
        requests: dict[str, ListOffsetsRequest] = {}
        for tp, spec in wanted.items():
            leader = self._routing.metadata.leader(tp)
            if leader is not None and leader.address is not None:
                request = requests.setdefault(leader.address, ListOffsetsRequest())
                request.partitions.add(
                    topic=tp.topic,
                    partition=tp.partition,
                    spec=spec,
                    current_leader_epoch=leader.epoch,
                )
        results = await asyncio.gather(
            *(self._ask(address, request) for address, request in requests.items())
        )
        last_error: TidelogError | None = None
        for result in results:
            if isinstance(result, TidelogError):
                last_error = result
                continue
            for partition in result.partitions:
                last_error = self._take(partition, found) or last_error
        return last_error

    async def _ask(
        self, address: str, request: ListOffsetsRequest
    ) -> ListOffsetsResponse | TidelogError:
        try:
            response = await self._routing.transport.call(
                address, LIST_OFFSETS, request, timeout_ms=self._request_timeout_ms
            )
        except TidelogError as error:
            return error
        if len(response.partitions) != len(request.partitions):
            return CallFailedError(f"{address} did not answer for every partition")
        return response

    def _take(
        self, result: ListOffsetsResponse.Partition, found: dict[TopicPartition, int]
    ) -> TidelogError | None:
        tp = TopicPartition(result.topic, result.partition)
        if result.error.code == common_pb2.NONE:
            found[tp] = result.offset
            return None
        if result.HasField("current_leader"):
            self._routing.metadata.apply_hint(tp, result.current_leader)
        return error_from_wire(result.error)
