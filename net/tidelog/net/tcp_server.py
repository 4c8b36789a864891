"""A listener on TCP sockets: accepts connections, and moves bytes between them and receivers.

Receives into the buffers that the receiver gives, and sends several buffers by one `sendmsg`
without joining them: asyncio's transports on Python 3.11 join or copy what they send (decision
0054). Moves bytes and decides nothing; a socket is in the hands of one loop.
"""

from __future__ import annotations

import asyncio
import errno
import socket

from tidelog.core.logs import get_logger
from tidelog.net.byte_streams import Accept, Receiver
from tidelog.net.listeners import Listener, PortTakenError
from tidelog.net.peer_names import peer_name, plain_host

BACKLOG = 4_096
"""Connections that the kernel completes before they are accepted; its own limit may be lower."""
ACCEPTS_PER_TURN = 4
"""Maximum connections accepted before a rest."""
ACCEPT_REST_S = 0.002
"""Rest after so many: the first requests of thousands that connect at once would come at once, too,
and hold up those of everybody else."""
ACCEPT_PAUSE_S = 1.0
"""Pause when the process has no descriptors or memory for another connection."""
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = get_logger(__name__)


class TcpServer:
    """The sockets of one listener; `accept` is asked about each new connection."""

    def __init__(self, listener: Listener, accept: Accept) -> None:
        self._listener = listener
        self._accept = accept
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}

    async def start(self) -> None:
        """Bind and accept. Raises `PortTakenError`, or `OSError` for a foreign address."""
        for sock in await _bound_sockets(self._listener.bind):
            self._sockets.append(sock)
            self._loop.add_reader(sock, self._on_connections, sock)

    def stop(self) -> None:
        """Accept no more; accepted connections stay."""
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        for pause in self._pauses.values():
            pause.cancel()
        self._sockets, self._pauses = [], {}

    def _on_connections(self, sock: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                connected, address = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                log.warning(
                    "no connection can be accepted now",
                    listener=str(self._listener),
                    error=str(error),
                )
                self._pause(sock, ACCEPT_PAUSE_S)
                return
            _TcpStream(connected, address[0], address[1], self._loop).begin(self._accept)
        self._pause(sock, ACCEPT_REST_S)

    def _pause(self, sock: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(sock)
        self._pauses[sock] = self._loop.call_later(seconds, self._resume, sock)

    def _resume(self, sock: socket.socket) -> None:
        del self._pauses[sock]
        self._loop.add_reader(sock, self._on_connections, sock)


class _TcpStream:
    """See `ByteStream`."""

    __slots__ = (
        *("host", "peer"),
        *("_is_in_write", "_is_reading", "_is_writing", "_loop", "_receiver", "_socket"),
    )

    def __init__(
        self, sock: socket.socket, host: str, port: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.host = plain_host(host)
        self.peer = peer_name(host, port)
        self._socket: socket.socket | None = sock
        self._loop = loop
        self._receiver: Receiver | None = None
        self._is_reading = self._is_writing = self._is_in_write = False

    def begin(self, accept: Accept) -> None:
        """Ask `accept` about the connection, and begin to read, or close it."""
        sock = self._socket
        assert sock is not None  # it is new
        sock.setblocking(False)
        self._receiver = accept(self)
        if self._receiver is None:
            self.close()
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.set_reading(is_reading=True)

    def set_reading(self, *, is_reading: bool) -> None:
        """See `ByteStream.set_reading`."""
        if self._socket is None or is_reading == self._is_reading:
            return
        self._is_reading = is_reading
        if is_reading:
            self._loop.add_reader(self._socket, self._read)
        else:
            self._loop.remove_reader(self._socket)

    def flush(self) -> None:
        """See `ByteStream.flush`."""
        if not (self._is_writing or self._is_in_write):
            self._write()

    def close(self) -> None:
        """See `ByteStream.close`."""
        sock, self._socket, self._receiver = self._socket, None, None
        if sock is not None:
            self._loop.remove_reader(sock)
            self._loop.remove_writer(sock)
            sock.close()

    def _read(self) -> None:
        """Receive once: what comes until the next turn of the loop comes by one call as well."""
        if self._socket is None or self._receiver is None:
            return
        try:
            count = self._socket.recv_into(self._receiver.space())
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count = 0
        if count == 0:
            self._end()
        else:
            self._receiver.received(count)

    def _write(self) -> None:
        self._is_in_write = True  # `sent` may have the receiver flush
        try:
            while self._send_some():
                pass
        finally:
            self._is_in_write = False

    def _send_some(self) -> bool:
        """Send what the kernel takes; False: it takes no more, or there is no more."""
        if self._socket is None or self._receiver is None:
            return False
        buffers = self._receiver.outgoing()
        if not buffers:
            self._set_writing(is_writing=False)
            return False
        try:
            count = self._socket.sendmsg(buffers)
        except (BlockingIOError, InterruptedError):
            self._set_writing(is_writing=True)
            return False
        except OSError:
            self._end()
            return False
        self._receiver.sent(count)
        return True

    def _set_writing(self, *, is_writing: bool) -> None:
        if self._socket is None or is_writing == self._is_writing:
            return
        self._is_writing = is_writing
        if is_writing:
            self._loop.add_writer(self._socket, self._write)
        else:
            self._loop.remove_writer(self._socket)

    def _end(self) -> None:
        receiver = self._receiver
        self.close()
        if receiver is not None:
            receiver.ended()


async def _bound_sockets(address: str) -> list[socket.socket]:
    """Return a listening socket for each address of the host.

    Errors: `PortTakenError`; `OSError` for an address that is not of this machine.
    """
    host, _, port = address.rpartition(":")
    found = await asyncio.get_running_loop().getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, where in dict.fromkeys((one[0], one[4]) for one in found):
            sockets.append(_listening(family, where))
    except OSError as error:
        for sock in sockets:
            sock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTakenError(address) from error
    return sockets


def _listening(family: int, where: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        # Connections in TIME_WAIT do not keep a node from its port.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # As gRPC: [::] is every interface of both, and any other address itself alone.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, where[0] != "::")
        sock.bind(where)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock
