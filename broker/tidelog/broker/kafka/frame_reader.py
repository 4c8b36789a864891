"""Bytes of a connection to frames: `int32 size`, then as many bytes. Pure.

The reader says where the next bytes go. Heads of frames, and small frames, go through a scratch
buffer that all connections share; when READ_BYTES of a larger frame have come, the rest is received
into a buffer of its exact size. So a size is checked, and room for it reserved, before anything is
allocated, and who only says a size occupies nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.kafka.request_header import size_refusal

READ_BYTES = 4 << 10
"""Maximum bytes of a connection in memory beside its frames."""
_SIZE = Struct(">i")


class FrameReader:
    """The reader of one connection; `on_room` is called when a wait for room has ended."""

    def __init__(
        self,
        *,
        frame_bytes_max: int,
        budget: RequestBudget,
        scratch: memoryview,
        on_room: Callable[[], None],
    ) -> None:
        self.received_bytes = 0
        self.is_waiting_for_room = False
        self._frame_bytes_max = frame_bytes_max
        self._budget = budget
        self._scratch = scratch
        self._on_room = on_room
        self._head = b""
        """Received and not part of a taken frame or of `_frame`, from `_at` on."""
        self._at = 0
        self._is_first = True
        self._granted_bytes = -1
        self._frame: memoryview | None = None
        self._filled = 0

    @property
    def is_filling(self) -> bool:
        """True while a frame that has its buffer is not whole."""
        return self._frame is not None and self._filled < len(self._frame)

    def space(self) -> memoryview:
        """Return where the next bytes go; not empty when `next_frame` has returned None."""
        if self._frame is not None:
            return self._frame[self._filled :]
        return self._scratch[: READ_BYTES - len(self._head) + self._at]

    def fill(self, count: int) -> None:
        """Take `count` bytes that were put into `space`."""
        self.received_bytes += count
        if self._frame is not None:
            self._filled += count
            return
        self._head = self._head[self._at :] + bytes(self._scratch[:count])
        self._at = 0

    def next_frame(self) -> memoryview | None:
        """Return the next frame that is whole, with its room reserved.

        None: more bytes are needed, or room (`is_waiting_for_room`). Errors: `RefusedFrameError`.
        """
        if self._frame is not None:
            if self.is_filling:
                return None
            frame, self._frame = self._frame, None
            return frame
        left = len(self._head) - self._at
        if left < _SIZE.size:
            return None
        size = self._checked_size()
        is_whole = left >= _SIZE.size + size
        if not (is_whole or left == READ_BYTES) or not self._reserve(size):
            return None
        begin = self._at + _SIZE.size
        if is_whole:
            self._at = begin + size
            return memoryview(self._head)[begin : self._at]
        self._begin_frame(size, self._head[begin:])
        return None

    def grant(self, size_bytes: int) -> None:
        """See `Waiter`."""
        self._granted_bytes = size_bytes
        self.is_waiting_for_room = False
        self._on_room()

    def close(self) -> None:
        """Give back what is reserved for frames that were not taken."""
        self._budget.leave(self)
        self.is_waiting_for_room = False
        held, self._granted_bytes = self._granted_bytes, -1
        if self._frame is not None:
            held, self._frame = len(self._frame), None
        self._head, self._at = b"", 0
        if held >= 0:
            self._budget.give_back(held)

    def _checked_size(self) -> int:
        size: int = _SIZE.unpack_from(self._head, self._at)[0]
        if not 0 <= size <= self._frame_bytes_max:
            first = self._head[self._at : self._at + _SIZE.size] if self._is_first else b""
            raise size_refusal(first, size, self._frame_bytes_max)
        self._is_first = False
        return size

    def _reserve(self, size: int) -> bool:
        if self.is_waiting_for_room:
            return False
        if self._granted_bytes >= 0:
            self._granted_bytes = -1
            return True
        self.is_waiting_for_room = not self._budget.take(size, self)
        return not self.is_waiting_for_room

    def _begin_frame(self, size: int, received: bytes) -> None:
        frame = bytearray(size)
        frame[: len(received)] = received
        self._frame, self._filled = memoryview(frame), len(received)
        self._head, self._at = b"", 0
