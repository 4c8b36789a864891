"""Bytes of a connection to frames: `int32 size`, then as many bytes. Pure.

The reader says where the next bytes go. Heads of frames, and small frames, go through a scratch
buffer that all connections share; when READ_BYTES of a larger frame have come, the rest is received
into pieces that grow with what has come, and that are joined when the frame is whole. So a size is
checked before anything is allocated, room is reserved as bytes come, and a peer that only says a
size occupies nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from tidelog.broker.kafka.request_budget import SMALL_BYTES, RequestBudget, RequestRoom
from tidelog.broker.kafka.request_header import size_refusal

READ_BYTES = SMALL_BYTES
"""Maximum bytes of a connection in memory beside its frames."""
_SIZE = Struct(">i")


class Frame(NamedTuple):
    """A whole frame without its size."""

    data: memoryview
    room: RequestRoom
    """Its reservation; the taker of the frame releases it."""


class FrameReader:
    """The reader of one connection; `on_room` is called when a wait for room has ended."""

    def __init__(
        self,
        *,
        frame_bytes_max: int,
        budget: RequestBudget,
        scratch: memoryview,
        on_room: Callable[[], None],
        address: str = "",
    ) -> None:
        self.received_bytes = 0
        self.is_waiting_for_room = False
        self._frame_bytes_max = frame_bytes_max
        self._budget = budget
        self._scratch = scratch
        self._on_room = on_room
        self._address = address
        self._head = b""
        """Received and not part of a taken frame or of `_pieces`, from `_at` on."""
        self._at = 0
        self._is_first = True
        self._room: RequestRoom | None = None
        """Reservation of the frame that is being received."""
        self._pieces: list[bytearray] = []
        """Pieces of a large frame, each but the last one full."""
        self._space = memoryview(b"")
        """The rest of the last piece."""
        self._missing = 0
        """Bytes of a large frame that have not come."""

    @property
    def is_filling(self) -> bool:
        """True while a large frame that was begun is not whole."""
        return self._missing > 0

    @property
    def frame_bytes(self) -> int:
        """Size of the frame that is being received, 0: of none."""
        return 0 if self._room is None else self._room.size_bytes

    @property
    def needs_bytes(self) -> bool:
        """True while a large frame has room for its next bytes."""
        return len(self._space) > 0

    def space(self) -> memoryview:
        """Return where the next bytes go; not empty when `next_frame` has returned None."""
        if self._pieces:
            return self._space
        return self._scratch[: READ_BYTES - len(self._head) + self._at]

    def fill(self, count: int) -> None:
        """Take `count` bytes that were put into `space`."""
        self.received_bytes += count
        if self._pieces:
            self._space = self._space[count:]
            self._missing -= count
            if not self._space and self._missing:
                self._extend()
            return
        self._head = self._head[self._at :] + bytes(self._scratch[:count])
        self._at = 0

    def next_frame(self) -> Frame | None:
        """Return the next frame that is whole, with its room reserved.

        None: more bytes are needed, or room (`is_waiting_for_room`). Errors: `RefusedFrameError`.
        """
        if self._pieces:
            return None if self._missing else self._take_pieces()
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
            return Frame(memoryview(self._head)[begin : self._at], self._taken_room())
        self._begin_pieces(size, self._head[begin:])
        return None

    def close(self) -> None:
        """Give back what is reserved for frames that were not taken."""
        room, self._room = self._room, None
        self.is_waiting_for_room = False
        self._pieces, self._space, self._missing = [], memoryview(b""), 0
        self._head, self._at = b"", 0
        if room is not None:
            room.release()

    def _checked_size(self) -> int:
        size: int = _SIZE.unpack_from(self._head, self._at)[0]
        if not 0 <= size <= self._frame_bytes_max:
            first = self._head[self._at : self._at + _SIZE.size] if self._is_first else b""
            raise size_refusal(first, size, self._frame_bytes_max)
        self._is_first = False
        return size

    def _reserve(self, size: int) -> bool:
        """Reserve what a small frame takes, or the first piece of a large one."""
        if self.is_waiting_for_room:
            return False
        if self._room is None:
            self._room = self._budget.begin(self._address, size, self._note_room)
            self.is_waiting_for_room = not self._room.ask()
        return not self.is_waiting_for_room

    def _note_room(self) -> None:
        self.is_waiting_for_room = False
        if self._pieces:
            self._add_piece()
        self._on_room()

    def _begin_pieces(self, size: int, received: bytes) -> None:
        self._head, self._at, self._missing = b"", 0, size
        self._add_piece()
        self._space[: len(received)] = received
        self._space = self._space[len(received) :]
        self._missing -= len(received)

    def _extend(self) -> None:
        assert self._room is not None  # it has pieces
        if self._room.ask():
            self._add_piece()
        else:
            self.is_waiting_for_room = True

    def _add_piece(self) -> None:
        assert self._room is not None  # it was granted
        piece = bytearray(self._room.granted_bytes - sum(map(len, self._pieces)))
        self._pieces.append(piece)
        self._space = memoryview(piece)

    def _take_pieces(self) -> Frame:
        pieces, self._pieces = self._pieces, []
        room = self._taken_room()
        room.note_whole()
        # A frame of one piece is not copied.
        return Frame(memoryview(pieces[0] if len(pieces) == 1 else b"".join(pieces)), room)

    def _taken_room(self) -> RequestRoom:
        room, self._room = self._room, None
        assert room is not None  # a frame has its room before it is taken
        return room
