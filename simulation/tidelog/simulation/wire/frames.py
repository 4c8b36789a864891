"""A connection of Kafka's protocol from the client's end: requests and answers as frames. Pure.

Answers come in the order of the requests; one that is not asked for, or comes before its turn, is
the broker's fault: `BadAnswerError`. A size is compared with its limit before anything is kept.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import NamedTuple

from tidelog.kafka.apis import API_VERSIONS, APIS, response_class
from tidelog.kafka.errors import KafkaMessageError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.request_header import RequestHeader

ANSWER_BYTES_MAX = 16 << 20
_SIZE = Struct(">i")
_HEAD = Struct(">ii")


class BadAnswerError(Exception):
    """Bytes that no broker may answer, and why."""


class Asked(NamedTuple):
    """A request that has no answer yet."""

    correlation_id: int
    key: int
    version: int


class Answer(NamedTuple):
    """An answer, to the oldest request that had none."""

    asked: Asked
    message: Message


class FrameConnection:
    """Requests of one connection, and their answers."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._last_id = 0
        self._unanswered: deque[Asked] = deque()
        self._unread = bytearray()

    @property
    def unanswered(self) -> int:
        """Number of requests that wait for an answer."""
        return len(self._unanswered)

    def write(self, request: Message, version: int, *, has_answer: bool = True) -> bytes:
        """Return the frame of a request."""
        self._last_id += 1
        if has_answer:
            self._unanswered.append(Asked(self._last_id, request.API_KEY, version))
        header = RequestHeader(
            request_api_key=request.API_KEY,
            request_api_version=version,
            correlation_id=self._last_id,
            client_id=self._client_id,
        )
        is_flexible = version >= APIS[request.API_KEY].flexible_from
        frame = b"".join([*header.encode(1 + is_flexible), *request.encode(version)])
        return _SIZE.pack(len(frame)) + frame

    def read(self, data: memoryview) -> list[Answer]:
        """Take received bytes; return the answers that are whole. Raises `BadAnswerError`."""
        self._unread += data
        found = []
        while len(self._unread) >= _HEAD.size:
            size, correlation_id = _HEAD.unpack_from(self._unread)
            if not _HEAD.size - _SIZE.size <= size <= ANSWER_BYTES_MAX:
                raise BadAnswerError(f"an answer of {size} bytes")
            end = _SIZE.size + size
            if len(self._unread) < end:
                break
            body = bytes(self._unread[_HEAD.size : end])
            del self._unread[:end]
            found.append(self._answer(correlation_id, body))
        return found

    def _answer(self, correlation_id: int, body: bytes) -> Answer:
        expected = self._unanswered[0].correlation_id if self._unanswered else None
        if correlation_id != expected:
            raise BadAnswerError(f"request {correlation_id} is answered, {expected} is next")
        asked = self._unanswered.popleft()
        has_tags = asked.version >= APIS[asked.key].flexible_from and asked.key != API_VERSIONS
        if has_tags and body[:1] != b"\0":
            raise BadAnswerError(f"answer {correlation_id} has tagged fields in its header")
        try:
            message = response_class(asked.key).decode(body[has_tags:], asked.version)
        except KafkaMessageError as error:
            raise BadAnswerError(str(error)) from error
        return Answer(asked, message)
