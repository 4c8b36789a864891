"""Requests that are begun and not ended: frames of many calls, as far as the server's windows go.

Pure: bytes in, bytes out. Follows HTTP/2's flow control: what goes beyond a window is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.chaos.workloads.noise import (
    DATA,
    HEADERS,
    PING,
    PREFACE,
    RESET,
    SETTINGS,
    WINDOW,
    call_headers,
    frame,
)

FRAME_HEAD_BYTES = 9
FRAME_BYTES = 16_384
_DEFAULT_WINDOW = 65_535
_INITIAL_WINDOW = b"\x00\x04"
_ACK, _END_HEADERS = 1, 4
_MISSING = 100


class HalfSent:
    """A connection with so many calls of `path`, each with a message of `message_bytes`."""

    def __init__(self, path: str, *, calls: int, message_bytes: int) -> None:
        self.sent_bytes = 0
        self._initial = _DEFAULT_WINDOW
        self._window = _DEFAULT_WINDOW
        self._windows = {1 + 2 * number: _DEFAULT_WINDOW for number in range(calls)}
        self._left = dict.fromkeys(self._windows, message_bytes - _MISSING)
        self._path = path
        self._message_bytes = message_bytes

    @property
    def is_all_sent(self) -> bool:
        """True if each lacks its last bytes only."""
        return not self._left

    def begin(self) -> bytes:
        """The greeting, and the beginning of every call."""
        headers = call_headers(self._path.encode())
        said = PREFACE + frame(SETTINGS)
        for stream in self._windows:
            said += frame(HEADERS, flags=_END_HEADERS, stream=stream, payload=headers)
            prefix = b"\0" + self._message_bytes.to_bytes(4, "big")
            said += self._data(stream, prefix)
        return said

    def more(self) -> Iterator[bytes]:
        """Frames that may be sent now: one for each call that has room."""
        for stream in list(self._left):
            size = min(FRAME_BYTES, self._left[stream], self._windows[stream], self._window)
            if size > 0:
                yield self._data(stream, bytes(size))
                self._left[stream] -= size
                if not self._left[stream]:
                    del self._left[stream]

    def hear(self, head: bytes, payload: bytes) -> bytes:
        """A frame of the server's; what is to be answered."""
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        match kind:
            case _ if kind == SETTINGS and not flags & _ACK:
                self._settle(payload)
                return frame(SETTINGS, flags=_ACK)
            case _ if kind == PING and not flags & _ACK:
                return frame(PING, flags=_ACK, payload=payload)
            case _ if kind == WINDOW and stream == 0:
                self._window += int.from_bytes(payload, "big")
            case _ if kind == WINDOW and stream in self._windows:
                self._windows[stream] += int.from_bytes(payload, "big")
            case _ if kind == RESET:
                self._left.pop(stream, None)
        return b""

    def _settle(self, payload: bytes) -> None:
        for at in range(0, len(payload), 6):
            if payload[at : at + 2] == _INITIAL_WINDOW:
                initial = int.from_bytes(payload[at + 2 : at + 6], "big")
                for stream in self._windows:
                    self._windows[stream] += initial - self._initial
                self._initial = initial

    def _data(self, stream: int, payload: bytes) -> bytes:
        self._windows[stream] -= len(payload)
        self._window -= len(payload)
        self.sent_bytes += len(payload)
        return frame(DATA, stream=stream, payload=payload)
