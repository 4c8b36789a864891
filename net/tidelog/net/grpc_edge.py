"""The edge of every service: converts bytes to requests, and errors to typed answers.

A request that cannot be parsed, or that has too many elements, is refused with INVALID_ARGUMENT or
RESOURCE_EXHAUSTED before a handler sees it, and without a log line: anybody may send any number of
them. Nor is there a log line for a caller that has left before its answer. Unexpected errors of a
handler are logged, and answered as outcome unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from functools import partial
from typing import Any

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.message import DecodeError

from tidelog.core.errors import (
    ClusterAuthorizationFailedError,
    InvalidRequestError,
    InvariantError,
    StorageError,
    ThrottlingQuotaExceededError,
    TidelogError,
)
from tidelog.core.logs import get_logger
from tidelog.core.turns import Caller, SharedTurns, answer_turn, turn, work_for
from tidelog.net import answer_budget
from tidelog.net.byte_pool import address_of
from tidelog.net.call import Call
from tidelog.net.client_ids import client_id_of
from tidelog.net.grpc_log import is_caller_gone
from tidelog.net.handlers import Serve
from tidelog.net.internal_calls import check_method, check_request
from tidelog.net.listeners import Listener
from tidelog.net.request_elements import ELEMENTS_MAX, SMALL_BYTES, count_elements
from tidelog.net.unfinished_requests import UnfinishedRequests
from tidelog.net.unread_responses import NodeResponses, UnreadResponse

Answer = Callable[[Any, Any], Any]
"""Function of request (or iterator of them) and context that returns an awaitable or iterator."""
Context = grpc.aio.ServicerContext[Any, Any]
COUNTED_BYTES_MIN = 4 << 10
"""Minimum size of counted responses: smaller ones cost no more than the call itself."""

BETWEEN_NODES = ("Controller", "RaftPeer")
"""Services whose callers are nodes, as internal listeners alone know them."""

WIDE_ELEMENTS_MIN = 1_024
"""Elements from which on a request needs room for them."""

log = get_logger(__name__)


class Edge:
    """Edge of one listener. `on_fatal` is called for a broken invariant."""

    def __init__(
        self,
        listener: Listener,
        on_fatal: Callable[[BaseException], None],
        unread: NodeResponses,
        unfinished: UnfinishedRequests,
        turns: SharedTurns,
    ) -> None:
        self._listener = listener
        self._turns = turns
        self._on_fatal = on_fatal
        self._unread = unread.others
        self._answers = unread.answers
        self._unfinished = unfinished

    def handler(
        self, method: MethodDescriptor, serve: Serve, *, counts_itself: bool = False
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Build gRPC's handler for a method; `counts_itself`: it counts its responses itself."""

        def answer(asked: Any, context: Context) -> Any:
            check_method(method.containing_service.full_name, method.name, self._listener)
            return serve(asked, self._call_of(context))

        return self.library_handler(method, answer, counts_itself=counts_itself)

    def library_handler(
        self, method: MethodDescriptor, answer: Answer, *, counts_itself: bool = False
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Build the same for a method of a gRPC library, which takes gRPC's context."""
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[method.client_streaming, method.server_streaming]
        is_between_nodes = method.containing_service.name in BETWEEN_NODES

        async def answered(asked: Any, context: Context) -> Any:
            return await _answer(answer(asked, context), context)

        async def counted(asked: Any, context: Context) -> Any:
            is_from_node = is_between_nodes or getattr(asked, "from_broker", False)
            self._admit(context, is_from_node=is_from_node)
            serving = answer(asked, context)
            return await self._count_unread(serving, context, is_from_node=is_from_node)

        return make(
            self._behaviour(
                answered if counts_itself else counted,
                method.input_type,
                is_between_nodes=is_between_nodes,
                # Bytes of records have their bound where they are appended.
                counts_bytes=not is_between_nodes and method.name != "Produce",
            ),
            request_deserializer=None,  # read by the behaviour, in turns
            response_serializer=_serialize,
        )

    def _behaviour(
        self, answer: Answer, kind: Descriptor, *, is_between_nodes: bool, counts_bytes: bool
    ) -> Callable[[Any, Context], Any]:
        """Build what gRPC calls; `counts_bytes`: requests at work need room of the budget."""

        async def behaviour(request: Any, context: Context) -> Any:
            peer = context.peer()
            address = peer.rpartition(":")[0]
            work_for(Caller(self._turns, address))
            try:
                if hasattr(request, "__aiter__"):
                    return await answer(self._readable(request, kind, peer), context)
                elements = await self._count_elements(request, kind, peer)
                async with AsyncExitStack() as room:
                    if elements >= WIDE_ELEMENTS_MIN and not is_between_nodes:
                        await room.enter_async_context(self._turns.room.hold(address, elements))
                    asked = self._parse(request, kind)
                    if counts_bytes and len(request) >= COUNTED_BYTES_MIN:
                        room.enter_context(self._at_work(asked, len(request), peer))
                    return await answer(asked, context)
            except TidelogError as error:
                await _refuse(context, _status(error), error.message)
            except NotImplementedError:
                await _refuse(
                    context,
                    grpc.StatusCode.UNIMPLEMENTED,
                    "this server does not implement the method",
                )
            except grpc.aio.AbortError:
                raise
            except InvariantError as error:
                self._on_fatal(error)
                await _refuse(context, grpc.StatusCode.INTERNAL, str(error))
            except Exception as error:  # the RPC edge: the process keeps running
                if is_caller_gone(error):
                    raise
                log.exception("request failed", error=repr(error))
                what = f"outcome unknown, see the server's log: {error!r}"
                await _refuse(context, grpc.StatusCode.INTERNAL, what)

        return behaviour

    def _admit(self, context: Context, *, is_from_node: bool) -> None:
        """Refuse callers that must read first; other nodes only for their own unread bytes."""
        if not self._unread.size_bytes:
            return
        peer = context.peer()
        if self._unread.is_over(peer) or not (is_from_node or self._unread.has_room(peer)):
            raise _TooMuchUnreadError(peer)

    async def _count_unread(self, serving: Any, context: Context, *, is_from_node: bool) -> Any:
        """As `_answer`, with each large response counted as unread until it is received."""
        peer = context.peer()
        if not hasattr(serving, "__aiter__"):
            response = await serving
            if response is None:  # the handler wrote its responses itself
                return None
            await answer_turn()
            data = response.SerializeToString()
            if len(data) >= COUNTED_BYTES_MIN:
                when_ended(context, self._hold(peer, len(data), is_from_node=is_from_node))
            return data
        async with aclosing(serving) as responses:
            async for response in responses:
                data = response.SerializeToString()
                if len(data) < COUNTED_BYTES_MIN:
                    await context.write(data)
                    continue
                release = self._hold(peer, len(data), is_from_node=is_from_node)
                try:
                    await context.write(data)
                finally:
                    release()
        return None

    @contextmanager
    def _at_work(self, asked: Any, size_bytes: int, peer: str) -> Iterator[None]:
        """Count a request while it is at work. Raises `_TooMuchAtWorkError` before it is."""
        held = self._answers.begin(address_of(peer), size_bytes)
        if not (getattr(asked, "from_broker", False) or held.try_now()):
            raise _TooMuchAtWorkError(peer)
        try:
            yield
        finally:
            held.release()

    def _hold(self, peer: str, size_bytes: int, *, is_from_node: bool) -> Callable[[], None]:
        """Count a response; return what ends that.

        Raises `_TooMuchUnreadError` where there is no room for it: it is dropped, and the outcome
        of its call is unknown to the caller, as if it were lost on the way. Answers to nodes have
        no bound but their connection's.
        """
        answer: answer_budget.Answer | None = None
        if not is_from_node:
            answer = self._answers.begin(address_of(peer), size_bytes)
            if not answer.try_now():
                raise _TooMuchUnreadError(peer)
        held: UnreadResponse = self._unread.hold(peer, size_bytes)

        def release() -> None:
            held.release()
            if answer is not None:
                answer.release()

        return release

    async def _count_elements(self, data: bytes, kind: Descriptor, peer: str) -> int:
        """Count a received request, and its elements unless it is small.

        Raises `InvalidRequestError` where they are too many.
        """
        self._unfinished.note_finished(peer, len(data))
        if len(data) <= SMALL_BYTES:
            return 0
        elements = await _count_elements(data, kind)
        if elements > ELEMENTS_MAX:
            raise _TooManyError(
                f"the request has more than {ELEMENTS_MAX} elements: split it into several",
            )
        return elements

    def _parse(self, data: bytes, kind: Descriptor) -> Any:
        """Read a request. Raises `InvalidRequestError`."""
        try:
            request = message_factory.GetMessageClass(kind).FromString(data)
        except DecodeError as error:
            raise InvalidRequestError(f"the bytes are not a {kind.name}: {error}") from None
        check_request(request, self._listener)
        return request

    async def _readable(
        self, requests: AsyncIterator[bytes], kind: Descriptor, peer: str
    ) -> AsyncIterator[Any]:
        async for data in requests:
            await self._count_elements(data, kind, peer)
            yield self._parse(data, kind)

    def _call_of(self, context: Context) -> Call:
        left_s: float | None = context.time_remaining()  # the stubs know no None
        return Call(
            context.peer(),
            lambda then: when_ended(context, then),
            self._listener,
            client_id=client_id_of(context.invocation_metadata() or ()),
            deadline_s=None if left_s is None else asyncio.get_running_loop().time() + left_s,
        )


async def _count_elements(data: bytes, kind: Descriptor) -> int:
    looking = count_elements(data, kind)
    while True:
        try:
            next(looking)
        except StopIteration as end:
            return int(end.value)
        await turn()


async def _answer(serving: Any, context: Context) -> Any:
    """Await the one answer, or write all answers here and return None."""
    if not hasattr(serving, "__aiter__"):
        return await serving
    # Closed here, so that the handler's clean-up runs when the call ends.
    async with aclosing(serving) as responses:
        async for response in responses:
            await context.write(response)
    return None


async def _refuse(context: Context, code: grpc.StatusCode, details: str) -> None:
    """End the call with this status, and no response.

    gRPC keeps the error that `abort` raises with the call, and the error's traceback keeps the
    frames that hold the call and its request, which may be megabytes: a reference cycle, which
    lasts until a full collection. It is broken when the call has ended.
    """
    try:
        await context.abort(code, details)
    except grpc.aio.AbortError as error:
        when_ended(context, partial(_drop_traceback, error))
        raise


def _drop_traceback(error: BaseException) -> None:
    error.__traceback__ = error.__context__ = None


def when_ended(context: Context, then: Callable[[], None]) -> None:
    """Run `then` when the call is over: its single response was received then, or never will be."""

    def ended(_context: Context) -> None:
        then()

    context.add_done_callback(ended)  # type: ignore[arg-type]  # the stubs want their own class


def _serialize(response: Any) -> bytes:
    """Bytes of a response; counted ones are serialized already."""
    return response if isinstance(response, bytes) else response.SerializeToString()


class _TooManyError(InvalidRequestError):
    """A request with too many elements."""


class _TooMuchAtWorkError(ThrottlingQuotaExceededError):
    """A caller for whose request there is no room beside those at work."""

    def __init__(self, peer: str) -> None:
        super().__init__(
            f"requests that are at work or unread hold the room that {peer} may have "
            "(unread.max.answer.bytes): wait for the answers, then ask again",
        )


class _TooMuchUnreadError(ThrottlingQuotaExceededError):
    """A caller with too many unread responses."""

    def __init__(self, peer: str) -> None:
        super().__init__(
            f"{peer} has not read the responses it asked for: read them, then ask again",
        )


def _status(error: TidelogError) -> grpc.StatusCode:
    if isinstance(error, (_TooManyError, _TooMuchAtWorkError, _TooMuchUnreadError)):
        return grpc.StatusCode.RESOURCE_EXHAUSTED
    if isinstance(error, ClusterAuthorizationFailedError):
        return grpc.StatusCode.PERMISSION_DENIED
    if isinstance(error, StorageError):
        return grpc.StatusCode.INTERNAL
    return grpc.StatusCode.UNAVAILABLE if error.is_retriable else grpc.StatusCode.INVALID_ARGUMENT
