"""TCP connections of this process by peer name: traffic of each, and its forced end.

gRPC's server has no function to close a connection, nor to end a call whose response the peer does
not read. The kernel has: shutting down a socket breaks its connection, and gRPC frees its calls.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import stat
import struct
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from tidelog.net.peer_names import peer_name
from tidelog.net.unfinished_requests import Traffic

_STATUS = Path("/proc/self/status")
_STATM = Path("/proc/self/statm")
SLICE = 512
"""Descriptors checked before yielding to other tasks: about half a millisecond."""
_BYTES = struct.Struct("=QQ")
_BYTES_AT = 120
"""Offset of `tcpi_bytes_acked` and `tcpi_bytes_received` in the kernel's `tcp_info` (4.1)."""


class Connection:
    """A TCP connection of this process; `close` releases the descriptor, not the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def traffic(self) -> Traffic:
        """Bytes counted by the kernel since the connection began."""
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_AT + _BYTES.size)
        return Traffic(*_BYTES.unpack_from(info, _BYTES_AT))

    def hang_up(self) -> None:
        """Break the connection, also for its other users in this process."""
        with suppress(OSError):  # it broke by itself
            self._socket.shutdown(socket.SHUT_RDWR)


@asynccontextmanager
async def connections_of(peers: Collection[str]) -> AsyncIterator[Mapping[str, Connection]]:
    """Existing connections of these peers, by gRPC's names for them (`ipv4:127.0.0.1:5000`).

    Checks every descriptor of the process, in slices between which other tasks run.
    """
    with ExitStack() as stack:
        connected = await _find_connected(stack, lambda peer, _: peer in peers)
        yield {peer: Connection(sock) for peer, sock in connected.items()}


@asynccontextmanager
async def connections_at(ports: Collection[int]) -> AsyncIterator[Mapping[str, Connection]]:
    """Connections to these ports, by peer name; checks descriptors as `connections_of`."""
    with ExitStack() as stack:
        connected = await _find_connected(stack, lambda _, own_port: own_port in ports)
        yield {peer: Connection(sock) for peer, sock in connected.items()}


def descriptors_max() -> int:
    """Size of the process's descriptor table: no descriptor is greater."""
    status = _STATUS.read_text(encoding="ascii")
    return int(status.partition("FDSize:")[2].split(maxsplit=1)[0])


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


async def _find_connected(
    stack: ExitStack, is_asked_for: Callable[[str, int], bool]
) -> dict[str, socket.socket]:
    """Connected sockets by peer name, on duplicated descriptors until the stack ends.

    Tries each possible descriptor number: reading /proc/self/fd costs three times as much, and a
    node has several descriptors for each segment.
    """
    found: dict[str, socket.socket] = {}
    own: set[int] = set()
    for descriptor in range(descriptors_max()):
        if descriptor % SLICE == SLICE - 1:
            await asyncio.sleep(0)
        if descriptor in own or _ends_of(descriptor, is_asked_for) is None:
            continue
        with suppress(OSError):  # closed meanwhile
            sock = stack.enter_context(
                socket.fromfd(descriptor, socket.AF_INET6, socket.SOCK_STREAM)
            )
            own.add(sock.fileno())
            # Looked at again: the number may have been given to another one in between.
            peer = _ends_of(sock.fileno(), is_asked_for)
            if peer is not None:
                found[peer] = sock
    return found


def _ends_of(descriptor: int, is_asked_for: Callable[[str, int], bool]) -> str | None:
    """The peer of a TCP connection that is asked for; None for every other descriptor.

    Duplicates nothing: searches on other threads would look at the duplicates and double them.
    """
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, descriptor)
    except OSError:  # closed
        return None
    try:
        name, own_name = sock.getpeername(), sock.getsockname()
    except OSError:  # not connected
        return None
    finally:
        sock.detach()  # it is somebody else's
    if not isinstance(name, tuple) or len(name) < 2 or not isinstance(name[1], int):
        return None  # of another family: a name, or bytes
    peer = peer_name(name[0], name[1])
    return peer if is_asked_for(peer, own_name[1]) else None
