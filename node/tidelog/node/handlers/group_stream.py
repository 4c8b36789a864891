"""A member's stream: an answer to each heartbeat in their order, and pushes in between.

Owns at most one request and one push: while an answer is not taken, no further request is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from tidelog.broker.coordinator.consumer_heartbeats import Reply
from tidelog.broker.coordinator.member_streams import MemberStream
from tidelog.core.errors import InvalidRequestError, TidelogError
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

Answer: TypeAlias = Callable[
    [ConsumerGroupHeartbeatRequest], Awaitable[ConsumerGroupHeartbeatResponse]
]
Encode: TypeAlias = Callable[[Reply | TidelogError], ConsumerGroupHeartbeatResponse]


class GroupStream:
    """A stream of the member that its first request names."""

    def __init__(
        self,
        *,
        answer: Answer,
        encode: Encode,
        connect: Callable[[str, str], MemberStream],
        disconnect: Callable[[MemberStream], None],
    ) -> None:
        self._answer = answer
        self._encode = encode
        self._connect = connect
        self._disconnect = disconnect
        self._request: ConsumerGroupHeartbeatRequest | None = None
        self._has_room = asyncio.Event()
        self._is_at_end = False

    async def answers(
        self, requests: AsyncIterator[ConsumerGroupHeartbeatRequest]
    ) -> AsyncGenerator[ConsumerGroupHeartbeatResponse, None]:
        """Iterate over answers and pushes until the stream ends or the member has a newer one.

        A member that may have no stream gets the error as its only answer. Raises
        `InvalidRequestError` when a request names another member than the first.
        """
        first = await anext(requests, None)
        if first is None:
            return
        try:
            stream = self._connect(first.group_id, first.member_id)
        except TidelogError as error:
            yield self._encode(error)
            return
        reading = asyncio.create_task(self._read(first, requests, stream))
        reading.add_done_callback(lambda _: self._end(stream))
        try:
            while not self._is_at_end or self._request is not None:
                await stream.news.wait()
                stream.news.clear()
                if stream.is_replaced:
                    return
                if (pushed := stream.take()) is not None:
                    yield self._encode(pushed)
                if self._request is not None:
                    yield await self._answer_next(self._request)
            reading.result()
        finally:
            reading.cancel()
            self._disconnect(stream)

    async def _answer_next(
        self, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        response = await self._answer(request)
        self._request = None
        self._has_room.set()
        return response

    async def _read(
        self,
        first: ConsumerGroupHeartbeatRequest,
        requests: AsyncIterator[ConsumerGroupHeartbeatRequest],
        stream: MemberStream,
    ) -> None:
        await self._pass_on(first, stream)
        async for request in requests:
            if (request.group_id, request.member_id) != stream.key:
                raise InvalidRequestError(
                    "a stream is one member's: open another stream for another member"
                )
            await self._pass_on(request, stream)

    async def _pass_on(self, request: ConsumerGroupHeartbeatRequest, stream: MemberStream) -> None:
        self._request = request
        self._has_room.clear()
        stream.news.set()
        await self._has_room.wait()

    def _end(self, stream: MemberStream) -> None:
        self._is_at_end = True
        stream.news.set()
