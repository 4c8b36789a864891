"""The edge of every service: bytes become requests here, and whatever goes wrong a typed answer.

A request that cannot be read, or that names too much, is refused with INVALID_ARGUMENT or
RESOURCE_EXHAUSTED before a handler sees it, and without a line in the log: anybody may send any
number of them. Nor is there one for a caller that has gone before its answer. What a handler did
not expect is logged, and its outcome told as unknown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import grpc
import grpc.aio
import structlog
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError

from tidelog.broker.rpc.grpc_log import is_caller_gone
from tidelog.broker.rpc.request_elements import ELEMENTS_MAX, SMALL_BYTES, has_too_many
from tidelog.log.errors import InvariantError, KafkaError, StorageError, TidelogError
from tidelog.v1 import common_pb2

Serve = Callable[[Any, Any], Any]
"""A request, or an iterator of them, and the call's context; what it gives is awaited, or many."""
Context = grpc.aio.ServicerContext[Any, Any]

log = structlog.get_logger(__name__)


class Edge:
    """Of one server. `on_fatal` is told of a broken invariant."""

    def __init__(self, on_fatal: Callable[[BaseException], None]) -> None:
        self._on_fatal = on_fatal

    def handler(self, method: MethodDescriptor, serve: Serve) -> grpc.RpcMethodHandler[Any, Any]:
        """What gRPC calls for the method."""
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[method.client_streaming, method.server_streaming]
        response_type = message_factory.GetMessageClass(method.output_type)
        return make(
            self._behaviour(serve),
            request_deserializer=_reader(method),
            response_serializer=response_type.SerializeToString,
        )

    def _behaviour(self, serve: Serve) -> Callable[[Any, Context], Any]:
        async def behaviour(request: Any, context: Context) -> Any:
            try:
                if isinstance(request, TidelogError):
                    raise request
                asked = _readable(request) if hasattr(request, "__aiter__") else request
                return await _answered(serve(asked, context), context)
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

    async def _abort(self, context: Context, error: TidelogError) -> None:
        if isinstance(error, InvariantError):
            self._on_fatal(error)
        await context.abort(_status(error), error.message)


def _reader(method: MethodDescriptor) -> Callable[[bytes], Any]:
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

    return request_or_error


async def _readable(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        if isinstance(request, TidelogError):
            raise request
        yield request


async def _answered(serving: Any, context: Context) -> Any:
    """The one answer; None where they are many, which are written here."""
    if not hasattr(serving, "__aiter__"):
        return await serving
    # Closed here, so that what the handler cleans up is cleaned up when the call ends.
    async with aclosing(serving) as responses:
        async for response in responses:
            await context.write(response)
    return None


class _TooManyError(KafkaError):
    """A request of too many elements."""


def _status(error: TidelogError) -> grpc.StatusCode:
    if isinstance(error, _TooManyError):
        return grpc.StatusCode.RESOURCE_EXHAUSTED
    if isinstance(error, (InvariantError, StorageError)):
        return grpc.StatusCode.INTERNAL
    return grpc.StatusCode.UNAVAILABLE if error.is_retriable else grpc.StatusCode.INVALID_ARGUMENT
