"""Frames as a client of Kafka's protocol writes them."""

from __future__ import annotations

from tidelog.kafka.apis import APIS
from tidelog.kafka.message import Message
from tidelog.kafka.messages.request_header import RequestHeader
from tidelog.kafka.wire import Buffer

SIZE_BYTES = 4
"""Bytes of a frame's size, which does not count itself."""


def write_request(
    message: Message, *, version: int, correlation_id: int, client_id: str | None = None
) -> list[Buffer]:
    """Write a whole frame: size, header 2 where the version is flexible, else 1, and message."""
    api = APIS[message.API_KEY]
    header = RequestHeader(
        request_api_key=api.key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    head = b"".join(header.encode(2 if version >= api.flexible_from else 1))
    buffers = message.encode(version)
    size = len(head) + sum(map(len, buffers))
    return [size.to_bytes(SIZE_BYTES, "big") + head, *buffers]
