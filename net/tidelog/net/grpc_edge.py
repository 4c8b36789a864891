"""The edge of every service: bytes become requests here, and whatever goes wrong a typed answer.

A request that cannot be read, or that names too much, is refused with INVALID_ARGUMENT or
RESOURCE_EXHAUSTED before a handler sees it, and without a line in the log: anybody may send any
number of them. Nor is there one for a caller that has gone before its answer. What a handler did
not expect is logged, and its outcome told as unknown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, NamedTuple

import grpc
import grpc.aio
import structlog
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError

from tidelog.core.errors import InvariantError, KafkaError, StorageError, TidelogError
from tidelog.net.call import Call
from tidelog.net.grpc_log import is_caller_gone
from tidelog.net.request_elements import ELEMENTS_MAX, SMALL_BYTES, has_too_many
from tidelog.net.unfinished_requests import UnfinishedRequests
from tidelog.net.unread_responses import UnreadResponses
from tidelog.v1 import common_pb2

Serve = Callable[[Any, Any], Any]
"""A request, or an iterator of them, and the call's context; what it gives is awaited, or many."""
Context = grpc.aio.ServicerContext[Any, Any]
COUNTED_BYTES_MIN = 4 << 10
"""Of a response: smaller ones cost no more than the call itself."""

_BETWEEN_NODES = ("Controller", "RaftPeer")

log = structlog.get_logger(__name__)


class Edge:
    """Of one server. `on_fatal` is told of a broken invariant."""

    def __init__(
        self,
        on_fatal: Callable[[BaseException], None],
        unread: UnreadResponses,
        unfinished: UnfinishedRequests,
    ) -> None:
        self._on_fatal = on_fatal
        self._unread = unread
        self._unfinished = unfinished

    def handler(
        self, method: MethodDescriptor, serve: Serve, *, counts_itself: bool = False
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """What gRPC calls for the method; `counts_itself`: its responses are counted already."""
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[method.client_streaming, method.server_streaming]
        is_between_nodes = method.containing_service.name in _BETWEEN_NODES

        async def answered(asked: Any, context: Context) -> Any:
            return await _answered(serve(asked, context), context)

        async def counted(asked: Any, context: Context) -> Any:
            self._admit(context, is_between_nodes=is_between_nodes)
            return await self._counted(serve(asked, context), context)

        return make(
            self._behaviour(answered if counts_itself else counted),
            request_deserializer=_reader(method),
            response_serializer=_serialized,
        )

    def _behaviour(self, answer: Serve) -> Callable[[Any, Context], Any]:
        async def behaviour(request: Any, context: Context) -> Any:
            try:
                if not hasattr(request, "__aiter__"):
                    return await answer(self._received(request, context.peer()), context)
                return await answer(self._readable(request, context.peer()), context)
            except TidelogError as error:
                await self._abort(context, error)
            except NotImplementedError:
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this server does not do that")
            except grpc.aio.AbortError:
                raise
            except Exception as error:  # the RPC edge: the process lives on
                if is_caller_gone(error):
                    raise
                log.exception("request failed", error=repr(error))
                what = f"outcome unknown, the server's log says more: {error!r}"
                await context.abort(grpc.StatusCode.INTERNAL, what)

        return behaviour

    def _admit(self, context: Context, *, is_between_nodes: bool) -> None:
        """Refuse who must read first; nodes, which stop without answers, only for their own."""
        if not self._unread.size_bytes:
            return
        peer = context.peer()
        if self._unread.is_over(peer) or not (is_between_nodes or self._unread.has_room(peer)):
            raise _TooMuchUnreadError(peer)

    async def _counted(self, serving: Any, context: Context) -> Any:
        """As `_answered`, with each large response counted as unread until it is taken."""
        if not hasattr(serving, "__aiter__"):
            response = await serving
            if response is None:  # the handler wrote what there was
                return None
            data = response.SerializeToString()
            if len(data) >= COUNTED_BYTES_MIN:
                held = self._unread.hold(context.peer(), len(data))
                when_ended(context, held.release)
            return data
        async with aclosing(serving) as responses:
            async for response in responses:
                data = response.SerializeToString()
                if len(data) < COUNTED_BYTES_MIN:
                    await context.write(data)
                    continue
                held = self._unread.hold(context.peer(), len(data))
                try:
                    await context.write(data)
                finally:
                    held.release()
        return None

    def _received(self, received: _Received, peer: str) -> Any:
        """The request, which is counted as come; raises what is wrong with it."""
        self._unfinished.finished(peer, received.size_bytes)
        if isinstance(received.request, TidelogError):
            raise received.request
        return received.request

    async def _readable(self, requests: AsyncIterator[_Received], peer: str) -> AsyncIterator[Any]:
        async for received in requests:
            yield self._received(received, peer)

    async def _abort(self, context: Context, error: TidelogError) -> None:
        if isinstance(error, InvariantError):
            self._on_fatal(error)
        await context.abort(_status(error), error.message)


class _Received(NamedTuple):
    """A message, whole."""

    request: Any  # of the method's type, or a TidelogError in its place
    size_bytes: int


def _reader(method: MethodDescriptor) -> Callable[[bytes], _Received]:
    """Never raises: gRPC would log it and answer UNKNOWN. An error takes the request's place."""
    read = message_factory.GetMessageClass(method.input_type).FromString

    def request_or_error(data: bytes) -> Any:
        if len(data) > SMALL_BYTES and has_too_many(data, method.input_type):
            return _TooManyError(
                common_pb2.INVALID_REQUEST,
                f"the request names more than {ELEMENTS_MAX} things: ask in several requests",
            )
        try:
            return read(data)
        except DecodeError as error:
            what = f"the bytes are no {method.input_type.name}: {error}"
            return KafkaError(common_pb2.INVALID_REQUEST, what)

    return lambda data: _Received(request_or_error(data), len(data))


async def _answered(serving: Any, context: Context) -> Any:
    """The one answer; None where they are many, which are written here."""
    if not hasattr(serving, "__aiter__"):
        return await serving
    # Closed here, so that what the handler cleans up is cleaned up when the call ends.
    async with aclosing(serving) as responses:
        async for response in responses:
            await context.write(response)
    return None


def call_of(context: Context) -> Call:
    """The call, for a handler that counts its responses itself."""
    return Call(context.peer(), lambda then: when_ended(context, then))


def when_ended(context: Context, then: Callable[[], None]) -> None:
    """Have something done when the call is over: a single response is taken then, or never is."""

    def ended(_context: Context) -> None:
        then()

    context.add_done_callback(ended)  # type: ignore[arg-type]  # the stubs want their own class


def _serialized(response: Any) -> bytes:
    """A response's bytes; those that are counted are serialized before."""
    return response if isinstance(response, bytes) else response.SerializeToString()


class _TooManyError(KafkaError):
    """A request of too many elements."""


class _TooMuchUnreadError(KafkaError):
    """A caller that has not read what it asked for before."""

    def __init__(self, peer: str) -> None:
        super().__init__(
            common_pb2.THROTTLING_QUOTA_EXCEEDED,
            f"{peer} has not read the responses it asked for: read them, then ask again",
        )


def _status(error: TidelogError) -> grpc.StatusCode:
    if isinstance(error, (_TooManyError, _TooMuchUnreadError)):
        return grpc.StatusCode.RESOURCE_EXHAUSTED
    if isinstance(error, (InvariantError, StorageError)):
        return grpc.StatusCode.INTERNAL
    return grpc.StatusCode.UNAVAILABLE if error.is_retriable else grpc.StatusCode.INVALID_ARGUMENT
