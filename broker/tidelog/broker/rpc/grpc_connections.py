"""The process's own connections by their peers' names: what came and went on each, and its end.

gRPC's server has no call to end a connection, nor to end a call whose response the peer does not
take. The kernel has: a socket that is shut down breaks its connection, and gRPC frees its calls.
"""

from __future__ import annotations

import resource
import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tidelog.broker.unfinished_requests import Traffic

_DESCRIPTORS = Path("/proc/self/fd")
_STATM = Path("/proc/self/statm")
_BYTES = struct.Struct("=QQ")
_BYTES_AT = 120
"""`tcpi_bytes_acked` and `tcpi_bytes_received` in the kernel's `tcp_info`, since Linux 4.1."""


class Connection:
    """One TCP connection of this process; `close` gives back the descriptor, not the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def traffic(self) -> Traffic:
        """What the kernel has counted since the connection began."""
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_AT + _BYTES.size)
        return Traffic(*_BYTES.unpack_from(info, _BYTES_AT))

    def hang_up(self) -> None:
        """Break it, for whoever else uses it in this process, too."""
        with suppress(OSError):  # it broke by itself
            self._socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def connections_of(peers: Collection[str]) -> Iterator[Mapping[str, Connection]]:
    """Those of these peers that are there, by gRPC's names for them (`ipv4:127.0.0.1:5000`).

    Looks at every descriptor of the process: not for each call.
    """
    with ExitStack() as stack:
        yield {peer: Connection(sock) for peer, sock in _connected(stack, None) if peer in peers}


@contextmanager
def connections_at(port: int) -> Iterator[Mapping[str, Connection]]:
    """All that came to this port, by their peers' names; as dear as `connections_of`."""
    with ExitStack() as stack:
        yield {peer: Connection(sock) for peer, sock in _connected(stack, port)}


def resident_bytes() -> int:
    """Memory of this process."""
    return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _connected(stack: ExitStack, port: int | None) -> Iterator[tuple[str, socket.socket]]:
    """Connected sockets, on descriptors of their own until the stack ends."""
    for descriptor in _DESCRIPTORS.iterdir():
        with suppress(OSError):  # closed meanwhile, no socket, or one that is not connected
            if not str(descriptor.readlink()).startswith("socket:"):
                continue
            sock = socket.fromfd(int(descriptor.name), socket.AF_INET6, socket.SOCK_STREAM)
            stack.enter_context(sock)
            name = sock.getpeername()
            if len(name) > 1 and port in (None, sock.getsockname()[1]):
                yield _peer(name[0].removeprefix("::ffff:"), name[1]), sock


def _peer(host: str, port: int) -> str:
    """The name that gRPC has for it."""
    return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"
