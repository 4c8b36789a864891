"""A consumer's streams of Fetch requests, one per broker, which remembers the partitions asked for.

Owns the last request to each broker, so that a request names only changed partitions (KIP-227), and
matches answers to requests: answers come in order. A result is valid if its partition was not named
again since. After a result with records, an error or a diverging epoch the broker does not read the
partition again until a request names it: such a result is never dropped while the same is wanted,
though the call that asked for it was cancelled. It ends the wait of the next one. The next request
replaces a stream that has ended, as one does that is idle for too long, and names all partitions.
Retries nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.client.connections import CONNECTIONS_MAX_IDLE_MS
from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.client.records import TopicPartition
from tidelog.net.idle_timer import IdleTimer
from tidelog.net.transport import Stream, Transport
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    READ_UNCOMMITTED,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenPartition,
    IsolationLevel,
    PartitionFetchResult,
)
from tidelog.v1.methods import FETCH_STREAM


@dataclass(frozen=True, slots=True)
class Fetched:
    """A partition's result; `records` are taken out once, since every access copies them."""

    result: PartitionFetchResult
    records: bytes

    @property
    def is_final(self) -> bool:
        """True if the broker does not read the partition again until a request names it."""
        is_refused = self.result.error.code != common_pb2.NONE
        return bool(self.records) or is_refused or self.result.HasField("diverging_epoch")


Answer = Mapping[TopicPartition, Fetched]
"""The results of partitions that have any."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a request: milliseconds and bytes."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: IsolationLevel = READ_UNCOMMITTED


class FetchStreams:
    """The streams of a consumer, each opened on first use."""

    def __init__(
        self,
        transport: Transport,
        limits: FetchLimits,
        *,
        max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
    ) -> None:
        self._transport = transport
        self._max_idle_ms = max_idle_ms
        self._limits = limits
        self._streams: dict[str, _FetchStream] = {}
        self._is_closed = False

    async def fetch(
        self, address: str, wanted: Mapping[TopicPartition, FetchPartition], *, timeout_ms: int
    ) -> Answer:
        """Fetch these partitions and no others; one call per broker at a time.

        Errors: UnreachableError, CallFailedError. Cancelling it only leaves the answer to the next
        call.
        """
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await (await self._open(address)).ask(wanted, self._limits)
        except TimeoutError:
            stream = self._streams.pop(address, None)
            if stream is not None:
                stream.end()
            raise CallFailedError(f"{address} did not answer within {timeout_ms} ms") from None

    async def _open(self, address: str) -> _FetchStream:
        stream = self._streams.get(address)
        if stream is None or stream.is_over:
            opened = await self._transport.open_stream(address, FETCH_STREAM)
            if self._is_closed:  # an opening that did not heed its cancellation
                opened.close()
                raise CallFailedError(f"the consumer was closed before {address} was reached")
            stream = self._streams[address] = _FetchStream(opened, address, self._max_idle_ms)
        return stream

    def close(self) -> list[asyncio.Task[None]]:
        """End all streams and open no more; return the tasks that end with them."""
        self._is_closed = True
        return [stream.end() for stream in self._streams.values()]


class _FetchStream:
    """A stream, and the partitions that its broker remembers."""

    def __init__(
        self, stream: Stream[FetchRequest, FetchResponse], address: str, max_idle_ms: int
    ) -> None:
        self._stream = stream
        self._address = address
        # The last request of each partition, with the number of the request that named it.
        self._named: dict[TopicPartition, tuple[int, FetchPartition]] = {}
        self._sent = self._answered = 0
        self._waiter: tuple[int, asyncio.Future[Answer]] | None = None
        self._unclaimed: dict[TopicPartition, tuple[FetchPartition, Fetched]] = {}
        """Final results of the last answer for which nobody waited, and what asked for them."""
        self._end: TidelogError | None = None
        self._idle = IdleTimer(
            max_idle_ms, is_busy=lambda: self._answered < self._sent, expire=self.end
        )
        self._receiving = asyncio.create_task(self._receive())

    @property
    def is_over(self) -> bool:
        return self._end is not None

    async def ask(
        self, wanted: Mapping[TopicPartition, FetchPartition], limits: FetchLimits
    ) -> Answer:
        unclaimed, self._unclaimed = self._unclaimed, {}
        claimed = {tp: of for tp, (asked, of) in unclaimed.items() if wanted.get(tp) == asked}
        if claimed:
            return claimed
        request = self._request(wanted, limits)
        number, self._sent = self._sent, self._sent + 1
        self._idle.touch()
        for partition in request.partitions:
            tp = TopicPartition(partition.topic, partition.partition)
            self._named[tp] = number, partition
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiter = number, waiter
        try:
            await self._stream.send(request)
        except (TidelogError, asyncio.CancelledError):
            self.end()  # it may have been sent or not
            raise
        return await waiter

    def _request(
        self, wanted: Mapping[TopicPartition, FetchPartition], limits: FetchLimits
    ) -> FetchRequest:
        request = FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            isolation_level=limits.isolation_level,
        )
        for tp in [tp for tp in self._named if tp not in wanted]:
            del self._named[tp]
            request.forgotten.append(ForgottenPartition(topic=tp.topic, partition=tp.partition))
        for tp, partition in wanted.items():
            known = self._named.get(tp)
            if known is None or known[1] != partition:
                request.partitions.append(partition)
        return request

    def end(self) -> asyncio.Task[None]:
        """End the stream; return the task that ends with it."""
        self._finish(CallFailedError(f"the stream to {self._address} was closed"))
        self._receiving.cancel()
        return self._receiving

    def _finish(self, error: TidelogError) -> None:
        if self._end is None:
            self._end = error
            self._idle.stop()
            self._stream.close()
            if self._waiter is not None and not self._waiter[1].done():
                self._waiter[1].set_exception(error)
                self._waiter[1].exception()  # retrieved: its caller may get the error from send

    async def _receive(self) -> None:
        try:
            while True:
                self._on_answer(await self._stream.receive())
        except TidelogError as error:
            self._finish(error)

    def _on_answer(self, response: FetchResponse) -> None:
        number, self._answered = self._answered, self._answered + 1
        self._idle.touch()
        answer: dict[TopicPartition, Fetched] = {}
        final: dict[TopicPartition, tuple[FetchPartition, Fetched]] = {}
        for result in response.partitions:
            tp = TopicPartition(result.topic, result.partition)
            named = self._named.get(tp)
            if named is None or named[0] > number:
                continue
            answer[tp] = Fetched(result, result.records)
            if answer[tp].is_final:
                del self._named[tp]
                final[tp] = named[1], answer[tp]
        if self._waiter is None or self._waiter[1].done():
            self._unclaimed = final or self._unclaimed
        elif self._waiter[0] == number or final:
            self._waiter[1].set_result(answer)
