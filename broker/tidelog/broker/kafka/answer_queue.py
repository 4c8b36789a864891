"""Answers of a connection as buffers, in order, and which of them were sent. Pure.

An answer is `int32 size`, `int32 correlation id`, tagged fields where its header has them, and the
buffers of a handler, which are never joined or copied.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from struct import Struct

Buffer = bytes | bytearray | memoryview
OUTGOING_MAX = 64
"""Maximum buffers of one write; the kernel takes at most 1,024."""
_HEAD = Struct(">ii")
_HEAD_WITH_TAGS = Struct(">iiB")


class AnswerQueue:
    """Answers that are not sent yet."""

    def __init__(self) -> None:
        self.unsent_bytes = 0
        self._buffers: deque[memoryview] = deque()
        self._added = 0
        self._is_closed = False
        self._ends: deque[tuple[int, Callable[[], None]]] = deque()
        """Ends of answers, in bytes since the connection began, and what to call then."""

    @property
    def sent_bytes(self) -> int:
        """Bytes that were passed on since the connection began."""
        return self._added - self.unsent_bytes

    def add(
        self,
        correlation_id: int,
        buffers: Sequence[Buffer],
        *,
        answer_header: int,
        on_sent: Callable[[], None],
    ) -> int:
        """Add an answer; return its size on the wire. `on_sent` is called in any case."""
        if self._is_closed:
            on_sent()
            return 0
        body = [memoryview(one).cast("B") for one in buffers if len(one)]
        head = _HEAD_WITH_TAGS if answer_header else _HEAD
        size = head.size + sum(map(len, body))
        fields = (size - 4, correlation_id, 0) if answer_header else (size - 4, correlation_id)
        self._buffers.append(memoryview(head.pack(*fields)))
        self._buffers.extend(body)
        self._added += size
        self.unsent_bytes += size
        self._ends.append((self._added, on_sent))
        return size

    def outgoing(self) -> list[memoryview]:
        """Return the next buffers to send, not necessarily all."""
        return list(islice(self._buffers, OUTGOING_MAX))

    def note_sent(self, count: int) -> None:
        """Note that so many bytes of `outgoing` were passed on."""
        self.unsent_bytes -= count
        while count > 0:
            first = self._buffers.popleft()
            if len(first) > count:
                self._buffers.appendleft(first[count:])
            count -= len(first)
        while self._ends and self._ends[0][0] <= self._added - self.unsent_bytes:
            self._ends.popleft()[1]()

    def close(self) -> None:
        """Drop what is not sent, and what is added later: the connection has ended."""
        self._is_closed = True
        self._buffers.clear()
        self.unsent_bytes = 0
        while self._ends:
            self._ends.popleft()[1]()
