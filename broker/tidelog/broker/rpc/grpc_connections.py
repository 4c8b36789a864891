"""The process's own connections by their peers' names: what each has taken, and its end.

gRPC's server has no call to end a connection, nor to end a call whose response the peer does not
take. The kernel has: a socket that is shut down breaks its connection, and gRPC frees its calls.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

_DESCRIPTORS = Path("/proc/self/fd")
_BYTES_ACKED = struct.Struct("=Q")
_BYTES_ACKED_AT = 120
"""`tcpi_bytes_acked` in the kernel's `tcp_info`, since Linux 4.1."""


class Connection:
    """One TCP connection of this process; `close` gives back the descriptor, not the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def taken_bytes(self) -> int:
        """Bytes that the peer's kernel has acknowledged since the connection began."""
        info = self._socket.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_ACKED_AT + _BYTES_ACKED.size
        )
        return int(_BYTES_ACKED.unpack_from(info, _BYTES_ACKED_AT)[0])

    def hang_up(self) -> None:
        """Break it, for whoever else uses it in this process, too."""
        with suppress(OSError):  # it broke by itself
            self._socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def connections_of(peers: Collection[str]) -> Iterator[Mapping[str, Connection]]:
    """Those of these peers that are there, by gRPC's names for them (`ipv4:127.0.0.1:5000`).

    Looks at every descriptor of the process: not for each call.
    """
    wanted = {_place(peer): peer for peer in peers}
    with ExitStack() as stack:
        found: dict[str, Connection] = {}
        for descriptor in _DESCRIPTORS.iterdir():
            with suppress(OSError):  # closed meanwhile, no socket, or one that is not connected
                if not str(descriptor.readlink()).startswith("socket:"):
                    continue
                sock = socket.fromfd(int(descriptor.name), socket.AF_INET6, socket.SOCK_STREAM)
                stack.enter_context(sock)
                name = sock.getpeername()
                peer = wanted.get((name[0].removeprefix("::ffff:"), name[1])) if name else None
                if peer is not None:
                    found[peer] = Connection(sock)
        yield found


def _place(peer: str) -> tuple[str, int]:
    """Address and port; no place at all for what is no name of TCP's."""
    _, _, name = unquote(peer).partition(":")
    host, _, port = name.rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else -1
