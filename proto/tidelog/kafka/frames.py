"""Frames of Kafka's protocol: four bytes of size, a header, a message.

Which header a frame has depends on API and version: requests have 2 where the version is flexible,
else 1; responses 1 and 0, those of ApiVersions always 0, since a client reads them before it knows
which versions the broker has (KIP-511).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from tidelog.kafka.api import Api
from tidelog.kafka.apis import APIS, request_class
from tidelog.kafka.errors import MalformedMessageError, UnsupportedVersionError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.request_header import RequestHeader
from tidelog.kafka.wire import ELEMENTS_MAX, Buffer

SIZE_BYTES = 4
"""Bytes of a frame's size, which does not count itself."""
API_VERSIONS = 18
"""Key of the API whose requests are read, as far as the header, in versions that are unknown."""

_read_head = Struct(">hhi").unpack_from
_HEAD_BYTES = 8
_pack_size_and_id = Struct(">ii").pack
_pack_size_id_tags = Struct(">iix").pack


class Request(NamedTuple):
    """A request whose header was read."""

    api: Api
    version: int
    """A version of `api`; of ApiVersions alone any."""
    correlation_id: int
    client_id: str | None
    body: memoryview

    @property
    def has_known_version(self) -> bool:
        """False for an ApiVersions request of a version that is not ours: answer in version 0."""
        return self.api.first <= self.version <= self.api.last

    def message(self, *, elements_max: int = ELEMENTS_MAX) -> Message:
        """Read the message. Raises MalformedMessageError.

        Bytes behind the message are passed over, as Kafka does: some clients send such.
        """
        kind = request_class(self.api.key)
        return kind.decode_prefix(self.body, self.version, elements_max=elements_max)[0]


def read_request(frame: Buffer) -> Request:
    """Read the header of a frame, without its size.

    Raises UnsupportedVersionError for an API or version that has no messages here, and
    MalformedMessageError for a header that is none.
    """
    if len(frame) < _HEAD_BYTES:
        problem = f"{len(frame)} bytes, where a header has {_HEAD_BYTES} or more"
        raise MalformedMessageError(problem).of("RequestHeader", 1)
    key, version, correlation_id = _read_head(frame)
    api = APIS.get(key)
    if api is None:
        raise UnsupportedVersionError("there is no such API here").of(f"API {key}", version)
    if not api.first <= version <= api.last and key != API_VERSIONS:
        problem = f"there are versions {api.first} to {api.last}"
        raise UnsupportedVersionError(problem).of(f"{api.name}Request", version)
    view = memoryview(frame)
    header, end = RequestHeader.decode_prefix(view, 2 if version >= api.flexible_from else 1)
    return Request(api, version, correlation_id, header.client_id, view[end:])


def write_response(
    message: Message, *, api: Api, version: int, correlation_id: int
) -> list[Buffer]:
    """Write a whole frame. Raises UnencodableMessageError."""
    buffers = message.encode(version)
    has_tags = version >= api.flexible_from and api.key != API_VERSIONS
    pack = _pack_size_id_tags if has_tags else _pack_size_and_id
    size = SIZE_BYTES + has_tags + sum(map(len, buffers))
    return [pack(size, correlation_id), *buffers]


def write_request(
    message: Message, *, version: int, correlation_id: int, client_id: str | None = None
) -> list[Buffer]:
    """Write a whole frame, as a client does. Raises UnencodableMessageError."""
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
