"""From a request's bytes to its handler, and from the response to bytes, by the table of APIs.

Bytes that are not the message which their header announces close the connection, as in Kafka.
A request with more elements than its API takes is answered INVALID_REQUEST.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.kafka.request_header import ApiForm
from tidelog.broker.kafka.server import KafkaApis
from tidelog.broker.partition.append_order import AppendOrder
from tidelog.core.turns import PER_TURN, Caller, SharedTurns, answer_turn, listed, turn, work_for
from tidelog.kafka.apis import API_VERSIONS, APIS, request_class, response_class
from tidelog.kafka.errors import MalformedMessageError, TooManyElementsError
from tidelog.kafka.message import Message
from tidelog.net.answer_budget import Answer, AnswerBudget
from tidelog.net.byte_streams import Buffer
from tidelog.net.call import Call
from tidelog.net.unread_responses import UnreadLimits
from tidelog.node.kafka_apis.answer_sizes import TIMES_OF_REQUEST, made_bytes
from tidelog.node.kafka_apis.api_versions import unsupported_version
from tidelog.node.kafka_apis.response_errors import error_codes
from tidelog.node.kafka_apis.served import ApiCall, ServedApi
from tidelog.v1 import common_pb2

NARROW_ELEMENTS_MAX = 4 * PER_TURN
"""Elements up to which a request is read at once, in its first step."""

FETCH = 1
"""Key of the API whose records are counted apart."""
NoteErrors = Callable[[int, Iterable[int]], None]


def _ignore(_api_key: int, _codes: Iterable[int]) -> None:
    """Note nothing."""


def _of_request(_api_key: int, _message: Message, size_bytes: int) -> int:
    return TIMES_OF_REQUEST * size_bytes


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """Room for answers, and their sizes at most, told from api key, message and its bytes."""

    budget: AnswerBudget
    size_of: Callable[[int, Message, int], int] = _of_request


def dispatch(
    rows: Iterable[ServedApi],
    note_errors: NoteErrors = _ignore,
    answers: AnswerRules | None = None,
    turns: SharedTurns | None = None,
) -> KafkaApis:
    """Return what the listeners of a node with these APIs call.

    `note_errors` hears the api key and the error codes of each response. `turns` are those of all
    the node's clients.
    """
    served = {row.key: row for row in rows}
    rules = answers or AnswerRules(AnswerBudget(UnreadLimits().answer_bytes_max))
    return KafkaApis(
        forms=_Forms(served),
        handler=_Dispatch(served, note_errors, rules, turns or SharedTurns()),
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
    """See `tidelog.broker.kafka.peer.Handler`.

    A wide request, of more than `NARROW_ELEMENTS_MAX` elements, is read in a turn of its own. On a
    connection whose requests are pipelined it is carried out alone: those behind it wait for its
    answer, as at Kafka, since it may yield to them before it has appended everything.
    """

    def __init__(
        self,
        served: dict[int, ServedApi],
        note_errors: NoteErrors,
        answers: AnswerRules,
        turns: SharedTurns,
    ) -> None:
        self._served = served
        self._note_errors = note_errors
        self._answers = answers
        self._turns = turns
        self._lines = AppendOrder()
        """Pipelined requests behind a wide one, by connection."""

    async def __call__(self, request: Request, call: Call) -> Sequence[Buffer] | None:
        header = request.header
        row, version = self._served[header.api_key], header.api_version
        if not row.serves(version):
            return unsupported_version(self._served.values()).encode(0)
        work_for(Caller(self._turns, _address(call)))
        message = _decode_narrow(request)
        if not row.is_pipelined:
            return await self._answer(row, request, message, call)
        line = call.connection_number
        if message is not None and self._lines.is_free(line):
            return await self._answer(row, request, message, call)
        place = self._lines.enter(line)
        try:
            await place.turn()
            return await self._answer(row, request, message, call)
        finally:
            place.leave()

    async def _answer(
        self, row: ServedApi, request: Request, message: Message | None, call: Call
    ) -> Sequence[Buffer] | None:
        """Have a request handled; a wide one, which is no message yet, is read when it has room."""
        if message is not None:
            return await self._handle(row, request, message, call)
        address = _address(call)
        async with self._turns.room.hold(address, row.elements_max) as held:
            await turn()
            try:
                message, elements = _decode(request, row.elements_max)
            except TooManyElementsError as error:
                return self._refuse(row, request.header.api_version, error)
            held.shrink(elements)
            return await self._handle(row, request, message, call)

    async def _handle(
        self, row: ServedApi, request: Request, message: Message, call: Call
    ) -> Sequence[Buffer] | None:
        version = request.header.api_version
        if row.is_abandoned:  # it waits, and its answer refers to what the node has anyway
            response = await row.handler(message, ApiCall(call, version))
            if response is None:
                return None
            answer = await self._room(call, made_bytes(row.key, response))
        else:
            size_bytes = self._answers.size_of(row.key, message, request.size)
            answer = await self._room(call, size_bytes, in_order=row.is_pipelined)
            response = await row.handler(message, ApiCall(call, version))
            if response is None:
                return None
        await answer_turn()
        self._note_errors(row.key, await listed(error_codes(response)))
        await answer_turn()
        buffers = response.encode(version)
        if row.key != FETCH:
            answer.settle(sum(map(len, buffers)))
        return buffers

    async def _room(self, call: Call, size_bytes: int, *, in_order: bool = False) -> Answer:
        """Wait for the room of an answer; it is released when the answer was sent."""
        answer = self._answers.budget.begin(_address(call), size_bytes, is_small=in_order)
        call.when_taken(answer.release)
        room = asyncio.Event()
        if not answer.ask(room.set):
            await room.wait()
            answer.go_on()
        return answer

    def _refuse(
        self, row: ServedApi, version: int, error: TooManyElementsError
    ) -> Sequence[Buffer]:
        """Answer INVALID_REQUEST; where the response has no place for it, close the connection."""
        kind = response_class(row.key)
        if "error_code" in kind.__struct_fields__:
            refusal = kind(error_code=common_pb2.INVALID_REQUEST)
            answer = refusal.encode(version)
            if answer != kind().encode(version):
                self._note_errors(row.key, error_codes(refusal))
                return answer
        raise ConnectionClosedError(str(error)) from error


def _address(call: Call) -> str:
    return call.connection.rpartition(":")[0]


def _decode_narrow(request: Request) -> Message | None:
    """Read the message; None if it is a wide one."""
    try:
        return _decode(request, NARROW_ELEMENTS_MAX)[0]
    except TooManyElementsError:
        return None


def _decode(request: Request, elements_max: int) -> tuple[Message, int]:
    """Read the message, and count its elements; bytes behind it are passed over, as some send such.

    Raises `TooManyElementsError`.
    """
    header = request.header
    kind = request_class(header.api_key)
    try:
        return kind.decode_counted(request.body, header.api_version, elements_max=elements_max)
    except TooManyElementsError:
        raise
    except MalformedMessageError as error:
        raise ConnectionClosedError(str(error)) from error
