"""From a request's bytes to its handler, and from the response to bytes, by the table of APIs.

Bytes that are not the message which their header announces close the connection, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.kafka.request_header import ApiForm
from tidelog.broker.kafka.server import KafkaApis
from tidelog.kafka.apis import API_VERSIONS, APIS, request_class
from tidelog.kafka.errors import MalformedMessageError
from tidelog.kafka.message import Message
from tidelog.net.byte_streams import Buffer
from tidelog.net.call import Call
from tidelog.node.kafka_apis.api_versions import unsupported_version
from tidelog.node.kafka_apis.response_errors import error_codes
from tidelog.node.kafka_apis.served import ApiCall, ServedApi

NoteErrors = Callable[[int, Iterable[int]], None]


def _ignore(_api_key: int, _codes: Iterable[int]) -> None:
    """Note nothing."""


def dispatch(rows: Iterable[ServedApi], note_errors: NoteErrors = _ignore) -> KafkaApis:
    """Return what the listeners of a node with these APIs call.

    `note_errors` hears the api key and the error codes of each response.
    """
    served = {row.key: row for row in rows}
    return KafkaApis(
        forms=_Forms(served),
        handler=_Dispatch(served, note_errors),
        pipelined=frozenset(key for key, row in served.items() if row.is_pipelined),
        abandoned=frozenset(key for key, row in served.items() if row.is_abandoned),
    )


class _Forms:
    """Forms of the headers of served requests, and of ApiVersions in versions that are not."""

    def __init__(self, served: dict[int, ServedApi]) -> None:
        self._served = served

    def __call__(self, api_key: int, version: int) -> ApiForm | None:
        row = self._served.get(api_key)
        if row is None or not (row.serves(version) or api_key == API_VERSIONS):
            return None
        is_flexible = version >= APIS[api_key].flexible_from
        # A client reads an answer of ApiVersions before it knows which versions there are.
        return ApiForm(1 + is_flexible, is_flexible and api_key != API_VERSIONS)


class _Dispatch:
    """See `tidelog.broker.kafka.peer.Handler`."""

    def __init__(self, served: dict[int, ServedApi], note_errors: NoteErrors) -> None:
        self._served = served
        self._note_errors = note_errors

    async def __call__(self, request: Request, call: Call) -> Sequence[Buffer] | None:
        header = request.header
        row, version = self._served[header.api_key], header.api_version
        if not row.serves(version):
            return unsupported_version(self._served.values()).encode(0)
        message = _decode(request)
        if row.is_abandoned:
            request.release()
        response = await row.handler(message, ApiCall(call, version))
        if response is None:
            return None
        self._note_errors(header.api_key, error_codes(response))
        return response.encode(version)


def _decode(request: Request) -> Message:
    """Read the message; bytes behind it are passed over, as some clients send such."""
    header = request.header
    try:
        return request_class(header.api_key).decode_prefix(request.body, header.api_version)[0]
    except MalformedMessageError as error:
        raise ConnectionClosedError(str(error)) from error
