"""Producer ids given out by this broker, from blocks that the controllers assigned to it alone.

Owns the rest of the current block; the next block is requested when it is used up, by one request
at a time. The rest is dropped when the process ends, so that no id is given out twice (KIP-730).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.core.errors import (
    BrokerNotAvailableError,
    ThrottlingQuotaExceededError,
    TidelogError,
    UnknownServerError,
)
from tidelog.core.wire_errors import error_message, raise_for, to_wire
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tidelog.v1.data_pb2 import InitProducerIdRequest, InitProducerIdResponse
from tidelog.v1.methods import ALLOCATE_PRODUCER_IDS

TIMEOUT_DEFAULT_MS = 5_000
TIMEOUT_MAX_MS = 15_000
WAITING_MAX = 1_000
"""Maximum number of requests waiting for a block; further ones are refused."""


class ProducerIds:
    """Handler of InitProducerId; `broker_epoch` is this broker's, -1 before it has registered."""

    def __init__(
        self, *, broker_id: int, broker_epoch: Callable[[], int], controllers: ControllerChannel
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._controllers = controllers
        self._left = range(0)
        self._asking = asyncio.Lock()
        self._waiting = 0

    async def init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        """Return a new id in epoch 0; on any error none was given out, and a retry is safe."""
        timeout_ms = min(request.timeout_ms, TIMEOUT_MAX_MS)
        if timeout_ms <= 0:
            timeout_ms = TIMEOUT_DEFAULT_MS
        try:
            return InitProducerIdResponse(producer_id=await self._next(timeout_ms))
        except TimeoutError:
            error = error_message(
                common_pb2.BROKER_NOT_AVAILABLE,
                "no controller assigned producer ids in time: try again",
            )
        except TidelogError as refused:
            error = to_wire(refused)
        return InitProducerIdResponse(error=error, producer_id=-1)

    async def _next(self, timeout_ms: int) -> int:
        if not self._left:
            await self._wait_for_block(timeout_ms)
        first, self._left = self._left[0], self._left[1:]
        return first

    async def _wait_for_block(self, timeout_ms: int) -> None:
        """Return with an id left, which the caller must take without another await."""
        if self._waiting >= WAITING_MAX:
            raise ThrottlingQuotaExceededError(
                f"{self._waiting} requests wait for producer ids already: try again later",
            )
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._asking:
                if not self._left:
                    self._left = _block(await self._ask(timeout_ms))
        finally:
            self._waiting -= 1

    async def _ask(self, timeout_ms: int) -> AllocateProducerIdsResponse:
        request = AllocateProducerIdsRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        return await self._controllers.call(ALLOCATE_PRODUCER_IDS, request, timeout_ms=timeout_ms)


def _block(response: AllocateProducerIdsResponse) -> range:
    """Block of an answer; raises `KafkaError`, retriable where another attempt may succeed."""
    if response.error.code in (common_pb2.STALE_BROKER_EPOCH, common_pb2.BROKER_ID_NOT_REGISTERED):
        raise BrokerNotAvailableError(
            f"this broker is not registered: ask another, or try again ({response.error.message})",
        )
    raise_for(response.error)
    start, length = response.producer_id_start, response.producer_id_len
    if length <= 0:
        raise UnknownServerError("the controllers assigned an empty block")
    return range(start, start + length)
