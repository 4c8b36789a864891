"""Probe of an address by a new connection: is a process there, and which one.

First a bare TCP connection, since gRPC does not tell a refused connection from a silent peer: a
live process sends its HTTP/2 settings at once, while a paused or partitioned one sends nothing.
Only then a call, on a channel of its own without earlier failures. Never raises; decides nothing.
"""

from __future__ import annotations

import asyncio
import socket

import grpc
import grpc.aio

from tidelog.net.grpc_channels import new_channel
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.v1.admin_pb2 import NodeStatusRequest
from tidelog.v1.methods import NODE_STATUS

REFUSED = Dialled(DialOutcome.REFUSED)
SILENT = Dialled(DialOutcome.SILENT)
_NO_SUCH_HOST = (socket.EAI_NONAME, socket.EAI_NODATA)
# RFC 9113: the client's connection preface, with an empty SETTINGS frame.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


async def dial(address: str, *, timeout_ms: int) -> Dialled:
    """Probe the process that listens at `host:port`. See `tidelog.net.transport.Dialled`."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            if not await _shakes_hands(address):
                return REFUSED
            return await _ask(address, timeout_ms=timeout_ms)
    except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
        return REFUSED
    except (OSError, TimeoutError, ValueError, grpc.aio.AioRpcError):
        return SILENT


async def refusal(address: str, *, timeout_ms: int) -> str | None:
    """Return why nobody can listen at `host:port`; None: somebody may, though silent.

    gRPC tells neither a refusal nor an unknown host from an address that does not answer.
    """
    host, port = _host_and_port(address)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return "the connection was refused"
    except socket.gaierror as error:
        return "no such host" if error.errno in _NO_SUCH_HOST else None
    except (OSError, TimeoutError, ValueError):
        return None
    writer.transport.abort()
    return None


async def _shakes_hands(address: str) -> bool:
    """Send the HTTP/2 preface; False: closed without an answer. Raises connection errors."""
    reader, writer = await asyncio.open_connection(*_host_and_port(address))
    try:
        writer.write(_PREFACE)
        return bool(await reader.read(1))
    finally:
        writer.transport.abort()


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


async def _ask(address: str, *, timeout_ms: int) -> Dialled:
    async with new_channel(address) as channel:
        call = channel.unary_unary(
            NODE_STATUS.path,
            request_serializer=NodeStatusRequest.SerializeToString,
            response_deserializer=NODE_STATUS.response_type.FromString,
        )
        status = await call(NodeStatusRequest(), timeout=timeout_ms / 1000)
    return Dialled(DialOutcome.ANSWERED, status.incarnation_id)
