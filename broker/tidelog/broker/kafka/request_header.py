"""The head of a request: its API, version, correlation id and client id. Pure.

    v0  int16 api key, int16 api version, int32 correlation id
    v1  v0, nullable string of client id (int16 length, -1: null)
    v2  v1, tagged fields

Which of them a request has follows from its API and version, which the caller looks up. Also
recognises what clients of other protocols send first.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from struct import Struct
from typing import NamedTuple

from tidelog.core.errors import InvalidRequestError

TAGS_MAX = 100
"""Maximum tagged fields of a header, of which Kafka defines none: more are no header."""
VARINT_BYTES_MAX = 5
_FIXED = Struct(">hhi")
_LENGTH = Struct(">h")
_TLS_HANDSHAKE = b"\x16\x03"
_HTTP2 = b"PRI "
_HTTP_METHODS = frozenset(
    {*(b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"CONN", b"OPTI", b"TRAC", b"PATC")}
)


class Refusal(Enum):
    """Reasons to refuse a connection's bytes; each is logged once."""

    SIZE = "a frame of an invalid size"
    HEADER = "a request header that cannot be read"
    API = "a request that is not advertised"
    HTTP2 = "HTTP/2, as gRPC speaks it"
    TLS = "TLS"
    HTTP = "HTTP"


class RefusedFrameError(InvalidRequestError):
    """Bytes that are no request served here: the connection is closed, as Kafka does."""

    def __init__(self, refusal: Refusal, what: str) -> None:
        super().__init__(f"{refusal.value}: {what}")
        self.refusal = refusal


class ApiForm(NamedTuple):
    """Versions of the headers of an API's version."""

    request_header: int
    """0, 1 or 2."""
    answer_header: int
    """0: the correlation id; 1: tagged fields follow it."""


ApiForms = Callable[[int, int], ApiForm | None]
"""Function of api key and version; None: neither is advertised."""


class RequestHeader(NamedTuple):
    """Head of a request. A client may send any client id, or null."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def read_header(frame: memoryview, forms: ApiForms) -> tuple[RequestHeader, ApiForm, memoryview]:
    """Return header, form and the rest of a frame. Errors: `RefusedFrameError`."""
    if len(frame) < _FIXED.size:
        raise _unreadable(f"{len(frame)} bytes")
    api_key, api_version, correlation_id = _FIXED.unpack_from(frame)
    form = forms(api_key, api_version)
    if form is None:
        raise RefusedFrameError(Refusal.API, f"api key {api_key}, version {api_version}")
    at, client_id = _FIXED.size, None
    if form.request_header >= 1:
        client_id, at = _read_client_id(frame, at)
    if form.request_header >= 2:  # the version of a header with tagged fields
        at = _skip_tagged_fields(frame, at)
    return RequestHeader(api_key, api_version, correlation_id, client_id), form, frame[at:]


def size_refusal(first: bytes, size: int, bytes_max: int) -> RefusedFrameError:
    """Return the error for a size that no frame has, by the first bytes of the connection."""
    foreign = {
        Refusal.HTTP2: first == _HTTP2,
        Refusal.TLS: first.startswith(_TLS_HANDSHAKE),
        Refusal.HTTP: first in _HTTP_METHODS,
    }
    for refusal, is_so in foreign.items():
        if is_so:
            return RefusedFrameError(refusal, "this listener speaks Kafka's protocol alone")
    return RefusedFrameError(Refusal.SIZE, f"{size} bytes, allowed are 0 to {bytes_max}")


def _read_client_id(frame: memoryview, at: int) -> tuple[str | None, int]:
    if len(frame) < at + _LENGTH.size:
        raise _unreadable("it ends before its client id")
    (length,) = _LENGTH.unpack_from(frame, at)
    at += _LENGTH.size
    if length == -1:
        return None, at
    if not 0 <= length <= len(frame) - at:
        raise _unreadable(f"a client id of {length} bytes")
    try:
        return str(frame[at : at + length], "utf-8"), at + length
    except UnicodeDecodeError as error:
        raise _unreadable("a client id that is not UTF-8") from error


def _skip_tagged_fields(frame: memoryview, at: int) -> int:
    count, at = _read_varint(frame, at)
    if count > TAGS_MAX:
        raise _unreadable(f"{count} tagged fields")
    for _ in range(count):
        _, at = _read_varint(frame, at)
        size, at = _read_varint(frame, at)
        if size > len(frame) - at:
            raise _unreadable(f"a tagged field of {size} bytes")
        at += size
    return at


def _read_varint(frame: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(frame[at : at + VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # the last byte has no continuation bit
            return value, at + index + 1
    raise _unreadable("it ends within its tagged fields")


def _unreadable(what: str) -> RefusedFrameError:
    return RefusedFrameError(Refusal.HEADER, what)
