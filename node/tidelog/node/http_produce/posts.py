"""The requests `POST /topics/TOPIC` of a node: admission, the body, the wait for every record.

Bounded: requests at a time, bytes and records of a body, and time, each by a key in `config`. A
request that is refused by its head has no body read. The records are sent by a `Producer` with
acks=all and idempotence, which finds the leader, tries again, and says if an outcome is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from tidelog.client.producing.producer import Producer
from tidelog.client.records import RecordMetadata
from tidelog.core.env import Clock, Random
from tidelog.core.errors import (
    BrokerNotAvailableError,
    ClusterAuthorizationFailedError,
    InvalidRequestError,
    MessageTooLargeError,
    RequestTimedOutError,
    ThrottlingQuotaExceededError,
    TidelogError,
)
from tidelog.net.transport import Transport
from tidelog.node.http_produce.answers import (
    Answer,
    Outcome,
    SlowBodyError,
    answer_for,
    refusal,
)
from tidelog.node.http_produce.config import HttpProduceConfig
from tidelog.node.http_produce.records import (
    PostedRecord,
    UnsupportedMediaTypeError,
    defaults_of,
    reader_of,
)

BODY_SHARE = TAKING_SHARE = 4
DELIVERY_SHARE = 2
"""Shares of `timeout_ms`: a quarter, a quarter and a half."""
RECORD_SLACK_BYTES = 64 << 10
"""Size of a record beyond its body: a key from the query, and the form of a batch."""
BATCH_BYTES = 256 << 10


class Post(NamedTuple):
    """Request with its head read and its body to come."""

    topic: str
    query: Sequence[tuple[str, str]]
    content_type: str
    """Media type in lower case, without parameters."""
    content_length: int | None
    """Announced length in bytes; None: the body comes in chunks."""
    body: AsyncIterator[bytes]
    content_encoding: str = ""
    origin: str | None = None
    """Header Origin, which browsers send for the page that asks."""


def producer_for(
    config: HttpProduceConfig,
    bootstrap: str | Sequence[str],
    transport: Transport | None = None,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
) -> Producer:
    """A producer for `RecordPosts`; its limits end within those of `config`."""
    record_bytes = config.max_bytes + RECORD_SLACK_BYTES
    return Producer(
        bootstrap,
        acks="all",
        enable_idempotence=True,
        batch_size=min(BATCH_BYTES, record_bytes),
        max_request_size=record_bytes,
        buffer_memory=config.requests_max * record_bytes,
        max_block_ms=config.timeout_ms // TAKING_SHARE,
        delivery_timeout_ms=config.timeout_ms // DELIVERY_SHARE,
        transport=transport,
        clock=clock,
        random=random,
    )


class RecordPosts:
    """Handler of POSTs; `close` refuses further ones and waits for the records taken."""

    def __init__(self, producer: Producer, config: HttpProduceConfig) -> None:
        self._producer = producer
        self._config = config
        self._working = 0
        self._is_closing = False

    async def close(self) -> None:
        """Send what was taken, for half of `timeout_ms` at most."""
        self._is_closing = True
        await self._producer.close(timeout_ms=self._config.timeout_ms // DELIVERY_SHARE)

    def refusal_by_head(self, post: Post) -> Answer | None:
        """The refusal that is certain before the body is read, if any."""
        try:
            self._check_head(post)
        except TidelogError as error:
            return refusal(error)
        return None

    async def answer(self, post: Post) -> Answer:
        """Read the body, produce its records, answer with their places. Never raises for input."""
        try:
            self._check_head(post)
        except TidelogError as error:
            return refusal(error)
        self._working += 1
        try:
            return await self._answer(post)
        except TidelogError as error:
            return refusal(error)
        finally:
            self._working -= 1

    def _check_head(self, post: Post) -> None:
        if post.origin is not None:
            raise ClusterAuthorizationFailedError(
                "a page in a browser may not write here: send no header Origin"
            )
        if self._is_closing:
            raise BrokerNotAvailableError("the node stops: ask another")
        if self._working >= self._config.requests_max:
            raise ThrottlingQuotaExceededError(
                f"http.produce.requests.max={self._config.requests_max} requests are worked on: "
                "nothing was sent, try again later"
            )
        if post.content_encoding not in ("", "identity"):
            raise UnsupportedMediaTypeError("Content-Encoding is not read: send the body as it is")
        reader_of(post.content_type)
        defaults_of(post.query)
        if post.content_length is not None:
            self._check_size(post.content_length)

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._config.max_bytes:
            raise MessageTooLargeError(
                f"the body is larger than http.produce.max.bytes={self._config.max_bytes}: "
                "send it in parts, or raise this limit and the topic's max.message.bytes"
            )

    async def _answer(self, post: Post) -> Answer:
        body = await self._read(post.body)
        records = reader_of(post.content_type)(
            body, self._config.records_max, defaults_of(post.query)
        )
        if not records:
            raise InvalidRequestError("the body holds no record")
        return await self._produce(post.topic, records)

    async def _read(self, chunks: AsyncIterator[bytes]) -> bytes:
        body = bytearray()
        timeout_ms = self._config.timeout_ms // BODY_SHARE
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                async for chunk in chunks:
                    self._check_size(len(body) + len(chunk))
                    body += chunk
        except TimeoutError:
            raise SlowBodyError(
                f"the body did not arrive within {timeout_ms} ms: nothing was sent"
            ) from None
        return bytes(body)

    async def _produce(self, topic: str, records: Sequence[PostedRecord]) -> Answer:
        """Send all records, in their order; once one is not taken, no later one is."""
        taken: list[asyncio.Future[RecordMetadata]] = []
        failure = await self._take(topic, records, taken)
        if failure is not None and not taken:
            return refusal(failure)
        outcomes: list[Outcome] = []
        for future in taken:
            try:
                outcomes.append(await future)
            except TidelogError as error:
                outcomes.append(error)
        if failure is not None:
            outcomes += [failure] * (len(records) - len(taken))
        return answer_for(topic, outcomes)

    async def _take(
        self,
        topic: str,
        records: Sequence[PostedRecord],
        taken: list[asyncio.Future[RecordMetadata]],
    ) -> TidelogError | None:
        """Fill `taken`; return the error of the first record that was not."""
        timeout_ms = self._config.timeout_ms // TAKING_SHARE
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                for value, key, headers, partition in records:
                    future = await self._producer.submit(
                        topic, value, key, headers=headers, partition=partition
                    )
                    taken.append(future)
        except TidelogError as error:
            return error
        except TimeoutError:
            return RequestTimedOutError(
                f"topic {topic!r} or room in the buffer was not found within {timeout_ms} ms: "
                "the record was not sent"
            )
        return None
