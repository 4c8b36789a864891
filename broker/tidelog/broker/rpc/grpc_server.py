"""The gRPC listener: any handler object behind its service descriptor, with health and reflection.

Knows how messages travel and nothing of what they mean: method handlers are made from the service
descriptors, so a new RPC needs a handler method of its name in snake case and nothing here.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import grpc
import grpc.aio
import structlog
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tidelog.log.errors import InvariantError, StorageError, TidelogError

# The largest request taken; gRPC checks it before it allocates the message.
RECEIVE_BYTES_MAX = 16 * 1024 * 1024
SERVER_OPTIONS = (
    # Without it two servers share one port and each gets some of the connections.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    # See `tidelog.log.grpc_transport`.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

log = structlog.get_logger(__name__)


class GrpcServer:
    """One listener for all services of a node."""

    def __init__(
        self,
        *,
        address: str,
        services: Mapping[str, object],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._address = address
        self._on_fatal = on_fatal
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        self._health = health.aio.HealthServicer()
        self._services = sorted(services)
        for name in self._services:
            self._server.add_generic_rpc_handlers((self._generic_handler(name, services[name]),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            [*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )

    async def start(self) -> None:
        """Bind and serve. Errors: `PortTakenError`."""
        try:
            port = self._server.add_insecure_port(self._address)
        except RuntimeError:
            port = 0
        if port == 0:
            raise PortTakenError(self._address)
        await self._server.start()

    async def set_healthy(self, *, healthy: bool) -> None:
        """What the standard gRPC health service answers, for the server and each service."""
        serving, not_serving = (
            health_pb2.HealthCheckResponse.SERVING,
            health_pb2.HealthCheckResponse.NOT_SERVING,
        )
        for name in ("", *self._services):
            await self._health.set(name, serving if healthy else not_serving)

    async def stop(self, *, grace_s: float) -> None:
        """Take no more calls; running ones have `grace_s` seconds."""
        await self._server.stop(grace_s)

    def _generic_handler(self, service: str, handler: object) -> grpc.GenericRpcHandler:
        descriptor = descriptor_pool.Default().FindServiceByName(service)
        return grpc.method_handlers_generic_handler(
            service, {method.name: self._method(method, handler) for method in descriptor.methods}
        )

    def _method(self, method: MethodDescriptor, handler: object) -> grpc.RpcMethodHandler[Any, Any]:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower()
        serve = getattr(handler, name)
        request_type = message_factory.GetMessageClass(method.input_type)
        response_type = message_factory.GetMessageClass(method.output_type)
        streams = (method.client_streaming, method.server_streaming)
        make, behaviour = {
            (False, False): (grpc.unary_unary_rpc_method_handler, self._unary(serve)),
            (False, True): (grpc.unary_stream_rpc_method_handler, self._streaming(serve)),
            (True, False): (grpc.stream_unary_rpc_method_handler, self._unary(serve)),
            (True, True): (grpc.stream_stream_rpc_method_handler, self._exchanging(serve)),
        }[streams]
        return make(
            behaviour,
            request_deserializer=request_type.FromString,
            response_serializer=response_type.SerializeToString,
        )

    def _unary(self, serve: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        async def behaviour(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            try:
                return await serve(request)
            except TidelogError as error:
                await self._abort(context, error)
            except Exception as error:  # noqa: BLE001  # the RPC edge: the process lives on
                await self._abort_unexpected(context, error)

        return behaviour

    def _streaming(self, serve: Callable[[Any], AsyncIterator[Any]]) -> Callable[[Any, Any], Any]:
        async def behaviour(
            request: Any, context: grpc.aio.ServicerContext[Any, Any]
        ) -> AsyncIterator[Any]:
            try:
                async for response in serve(request):
                    yield response
            except TidelogError as error:
                await self._abort(context, error)
            except Exception as error:  # noqa: BLE001  # the RPC edge: the process lives on
                await self._abort_unexpected(context, error)

        return behaviour

    def _exchanging(
        self, serve: Callable[[AsyncIterator[Any]], AsyncGenerator[Any, None]]
    ) -> Callable[[Any, Any], Any]:
        async def behaviour(
            requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]
        ) -> None:
            try:
                # Closed here, so that what the handler cleans up is cleaned up when the call ends.
                async with aclosing(serve(requests)) as responses:
                    async for response in responses:
                        await context.write(response)
            except TidelogError as error:
                await self._abort(context, error)
            except Exception as error:  # noqa: BLE001  # the RPC edge: the process lives on
                await self._abort_unexpected(context, error)

        return behaviour

    async def _abort(
        self, context: grpc.aio.ServicerContext[Any, Any], error: TidelogError
    ) -> None:
        if isinstance(error, InvariantError):
            self._on_fatal(error)
        await context.abort(_status(error), error.message)

    async def _abort_unexpected(
        self, context: grpc.aio.ServicerContext[Any, Any], error: Exception
    ) -> None:
        if isinstance(error, grpc.aio.AbortError):
            raise error
        log.error("request failed", error=repr(error), exc_info=error)
        await context.abort(
            grpc.StatusCode.INTERNAL, f"outcome unknown, the server's log says more: {error!r}"
        )


def _status(error: TidelogError) -> grpc.StatusCode:
    if isinstance(error, (InvariantError, StorageError)):
        return grpc.StatusCode.INTERNAL
    return grpc.StatusCode.UNAVAILABLE if error.is_retriable else grpc.StatusCode.INVALID_ARGUMENT


class PortTakenError(TidelogError):
    """The listener's port is taken by another process."""

    def __init__(self, address: str) -> None:
        port = address.rpartition(":")[2]
        super().__init__(
            f"cannot listen on {address}: the port is taken; find its holder with"
            f" `ss -ltnp 'sport = :{port}'`, or choose another with listeners"
        )
