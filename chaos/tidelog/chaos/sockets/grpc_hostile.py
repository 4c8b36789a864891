"""Sends malformed requests to nodes and looks at how each was answered.

Bytes go out as they are: no serializer looks at them. A call that is not answered in time, or whose
answer is no typed error, is a finding, named by its place: its seed and place make it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from tidelog.chaos.workloads.grpc_rpcs import BROKERS_ONLY, CONTROLLERS_ONLY, Rpc, rpcs
from tidelog.chaos.workloads.malformed import Malformed, MalformedRequests
from tidelog.chaos.workloads.oversized import Oversized
from tidelog.chaos.workloads.tally import Tally
from tidelog.v1 import common_pb2

ANSWER_TIMEOUT_S = 20.0
"""For a call, and on a stream for each further answer."""
FIRST_ANSWER_S = 1.0
"""Time to wait for the first answer of a stream that may be silent."""
_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
)
# What a server that is well says of a request that is not.
_TYPED = frozenset(
    {
        grpc.StatusCode.OK,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
_UNKNOWN_ON_THE_WIRE = common_pb2.Error(code=common_pb2.UNKNOWN_SERVER_ERROR).SerializeToString()
"""The field `code`: most answers lack it, and need no parsing."""
_SHED = (grpc.StatusCode.CANCELLED, "CANCELLED")
"""The answer of gRPC's own server to a call that waited behind too many."""
_LOST = (grpc.StatusCode.INTERNAL, "Internal error from Core")
"""The error of gRPC's own client for a stream that ended while it wrote."""
CONTROLLER = "tidelog.v1.Controller"
_TALK = ("Traceback", "Exception", 'File "', "Unexpected <class")


class HostileCaller:
    """Calls `brokers` and `controllers`, each the RPCs it serves. `close` it."""

    def __init__(
        self, source: MalformedRequests, *, brokers: Sequence[str], controllers: Sequence[str]
    ) -> None:
        self.tally = Tally()
        self._source = source
        self._brokers = brokers
        self._controllers = controllers
        self._all = sorted({*brokers, *controllers})
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._calls: dict[tuple[str, str], Any] = {}  # of four types, by the RPC's streams

    async def run(self, *, first: int, requests: int, at_once: int) -> int:
        """Make calls from place `first` on, so many at a time; the next place.

        No more begin when so many requests were sent in all.
        """
        places = count(first)

        async def work() -> None:
            while self.tally.requests < requests:
                await self.call(next(places))

        await asyncio.gather(*(work() for _ in range(at_once)))
        return next(places)

    async def call(self, place: int) -> None:
        """Make one, see how it is answered."""
        malformed = self._source.call(place)
        rpc = malformed.rpc
        self.tally.calls += 1
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S) as patience:
                answers, status, details = await self._collect_answers(malformed, patience)
                if (status, details) == _LOST and len(answers) + 1 < len(malformed.messages):
                    # gRPC's client loses the status of a stream that ended while it still wrote.
                    refused = replace(malformed, messages=malformed.messages[: len(answers) + 1])
                    answers, status, details = await self._collect_answers(refused, patience)
        except TimeoutError:
            self.tally.requests += len(malformed.messages)
            self.tally.find(f"{place} {rpc.path}: not answered in {ANSWER_TIMEOUT_S:.0f} s")
            return
        taken = min(len(malformed.messages), len(answers) + 1)
        self.tally.requests += taken
        self.tally.by_rpc[rpc.path] += taken
        self.tally.by_status[status.name] += 1
        if (status, details) == _SHED:
            self.tally.shed += 1
        elif status not in _TYPED or any(talk in details for talk in _TALK):
            self.tally.find(f"{place} {rpc.path}: {status.name} {details[:200]}")
        if rpc.service == CONTROLLER and "cluster_id" in rpc.request.DESCRIPTOR.fields_by_name:
            self.tally.decided += sum(_is_beyond_cluster(rpc, answer) for answer in answers)
        for answer in answers:
            if unknown := _unknown_errors(rpc, answer):
                self.tally.find(f"{place} {rpc.path}: {unknown}")

    async def ask_too_much(self, address: str, one: Oversized) -> None:
        """Ask a node, see whether it says what it must."""
        rpc = next(rpc for rpc in rpcs() if rpc.path == one.path)
        self.tally.calls += 1
        self.tally.requests += 1
        said = ""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                answer = await self._callable(address, rpc)(one.make())
            codes = {error.code for error in _errors(rpc.response.FromString(answer))}
            said = ", ".join(sorted(common_pb2.ErrorCode.Name(code) for code in codes))
        except grpc.aio.AioRpcError as error:
            said = error.code().name
        except TimeoutError:
            said = "nothing"
        self.tally.by_status[said] += 1
        if said not in (one.answer, one.elsewhere):
            self.tally.find(f"{one.what}: {address} said {said}, not {one.answer}")

    async def close(self) -> None:
        """Close all connections."""
        for channel in self._channels.values():
            await channel.close()

    async def _collect_answers(
        self, malformed: Malformed, patience: asyncio.Timeout
    ) -> tuple[list[bytes], grpc.StatusCode, str]:
        rpc = malformed.rpc
        answers: list[bytes] = []
        try:
            call = self._begin(malformed)
            if not rpc.is_response_stream:
                answers.append(await call)
            elif rpc.is_request_stream:
                async for answer in call:
                    answers.append(answer)
                    patience.reschedule(asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S)
            else:
                await self._first(call, answers)
            return answers, grpc.StatusCode.OK, ""
        except grpc.aio.AioRpcError as error:
            return answers, error.code(), error.details() or ""

    async def _first(self, call: Any, answers: list[bytes]) -> None:  # a call of a type of gRPC's
        try:
            async with asyncio.timeout(FIRST_ANSWER_S):
                answer = await call.read()
            if answer is not grpc.aio.EOF:
                answers.append(answer)
        except TimeoutError:
            pass
        finally:
            call.cancel()

    def _begin(self, malformed: Malformed) -> Any:  # as above
        rpc = malformed.rpc
        call = self._callable(self._address(malformed), rpc)
        if rpc.is_request_stream:
            return call(_each(malformed.messages))
        return call(malformed.messages[0])

    def _address(self, malformed: Malformed) -> str:
        service = malformed.rpc.service
        nodes = self._all
        if service in BROKERS_ONLY:
            nodes = list(self._brokers)
        elif service in CONTROLLERS_ONLY:
            nodes = list(self._controllers)
        return nodes[malformed.place // 7 % len(nodes)]

    def _callable(self, address: str, rpc: Rpc) -> Any:  # as above
        call = self._calls.get((address, rpc.path))
        if call is None:
            channel = self._channels.get(address)
            if channel is None:
                channel = self._channels[address] = grpc.aio.insecure_channel(address, _OPTIONS)
            kinds: Mapping[tuple[bool, bool], Any] = {
                (False, False): channel.unary_unary,
                (False, True): channel.unary_stream,
                (True, False): channel.stream_unary,
                (True, True): channel.stream_stream,
            }
            call = kinds[rpc.is_request_stream, rpc.is_response_stream](rpc.path)
            self._calls[address, rpc.path] = call
        return call


async def _each(messages: Sequence[bytes]) -> AsyncIterator[bytes]:
    for message in messages:
        yield message


def _is_beyond_cluster(rpc: Rpc, answer: bytes) -> bool:
    codes = {error.code for error in _errors(rpc.response.FromString(answer))}
    return common_pb2.INCONSISTENT_CLUSTER_ID not in codes


def _unknown_errors(rpc: Rpc, answer: bytes) -> str:
    """The errors in an answer that say that the server does not know itself."""
    if _UNKNOWN_ON_THE_WIRE not in answer:
        return ""
    return "; ".join(
        error.message
        for error in _errors(rpc.response.FromString(answer))
        if error.code == common_pb2.UNKNOWN_SERVER_ERROR
    )


def _errors(message: Message) -> Iterable[common_pb2.Error]:
    if isinstance(message, common_pb2.Error):
        yield message
        return
    for one, value in message.ListFields():
        if one.message_type is None or one.message_type.GetOptions().map_entry:
            continue
        for inner in value if one.is_repeated else (value,):
            yield from _errors(inner)
