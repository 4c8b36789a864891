"""Bytes of answers that exist, or are being made, over all connections of a node's listeners. Pure.

A peer that does not read makes the node keep each answer that it asked for. So an answer has its
room before it is made: by its size at most, which is settled when it is there, until the last byte
was sent. Without room it is not made, and its request waits. Records that a fetch answers are
counted apart (`unread_responses`).

An address has at most half of the room that others leave, but for a first large answer. An eighth
of all room is for small answers alone, which so never wait for large ones. An answer larger than
all room has it when there is no other. A waiting answer stays in line until it goes on by itself:
none behind it overtakes it.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.net.byte_pool import BytePool

ANSWER_COST_BYTES = 256
"""Memory that an answer takes beside its bytes."""
SMALL_BYTES = 4 << 10
"""Maximum bytes of a small answer."""
SMALL_PARTS = 8
"""Parts of all room, of which small answers have one for themselves."""


class AnswerBudget:
    """Room for answers of `bytes_max` bytes, or for a single larger one."""

    def __init__(self, bytes_max: int) -> None:
        self.waits = 0
        """Number of answers that found no room, since the start."""
        self._small = BytePool(bytes_max // SMALL_PARTS)
        self._shared = BytePool(bytes_max - self._small.bytes_max)
        self._waiting: dict[str, _Waiting] = {}
        """Those that wait, by address."""

    @property
    def held_bytes(self) -> int:
        """Bytes that are reserved or held."""
        return self._small.held_bytes + self._shared.held_bytes

    @property
    def is_short(self) -> bool:
        """True while anybody waits for room."""
        return bool(self._waiting)

    def begin(self, address: str, size_bytes: int, *, is_small: bool = False) -> Answer:
        """Begin an answer that has at most so many bytes; nothing is reserved yet.

        `is_small` counts it among the small ones whatever its size: all of a kind keep their order.
        """
        is_small = is_small or size_bytes <= SMALL_BYTES
        return Answer(self, address, size_bytes + ANSWER_COST_BYTES, is_small=is_small)

    # For answers

    def ask(self, answer: Answer) -> bool:
        """Reserve the room of an answer; False: it waits."""
        waiting = self._waiting.get(answer.address)
        if (waiting is None or not waiting.queue(answer)) and self._give(answer):
            return True
        self.waits += 1
        self._waiting.setdefault(answer.address, _Waiting()).queue(answer)[answer] = None
        return False

    def leave(self, answer: Answer) -> None:
        """Wait no longer: it goes on, or is given up."""
        waiting = self._waiting.get(answer.address)
        if waiting is None:
            return
        waiting.queue(answer).pop(answer, None)
        if not (waiting.small or waiting.large):
            del self._waiting[answer.address]

    def wake(self) -> None:
        """Give room to those who wait: there may be some."""
        for waiting in self._waiting.values():
            for queue in (waiting.small, waiting.large):
                for answer in queue:
                    if not (answer.has_room or self._give(answer)):
                        break

    def _give(self, answer: Answer) -> bool:
        for pool in (self._small, self._shared) if answer.is_small else (self._shared,):
            is_first = pool is self._shared and not pool.by_address[answer.address]
            room = pool.free_bytes if is_first else pool.half(answer.address)
            if answer.size_bytes <= room or (pool is self._shared and not pool.held_bytes):
                answer.take(pool)
                return True
        return False


class Answer:
    """The room of one answer."""

    __slots__ = ("_budget", "_on_room", "_pool", "address", "is_small", "size_bytes")

    def __init__(
        self, budget: AnswerBudget, address: str, size_bytes: int, *, is_small: bool
    ) -> None:
        self.address = address
        self.size_bytes = size_bytes
        """Bytes with the answer's cost."""
        self.is_small = is_small
        self._budget = budget
        self._pool: BytePool | None = None
        self._on_room: Callable[[], None] | None = None

    @property
    def has_room(self) -> bool:
        """True while its room is reserved."""
        return self._pool is not None

    def ask(self, on_room: Callable[[], None]) -> bool:
        """Reserve its room; False: it waits, and `on_room` is called when it has some.

        Then `go_on`, or `release`.
        """
        if self._budget.ask(self):
            return True
        self._on_room = on_room
        return False

    def try_now(self) -> bool:
        """Reserve its room, or do not wait."""
        if self._budget.ask(self):
            return True
        self._budget.leave(self)
        return False

    def go_on(self) -> None:
        """Leave the line: the room that was waited for is there."""
        self._budget.leave(self)

    def settle(self, size_bytes: int) -> None:
        """Note the size that it has."""
        change = size_bytes + ANSWER_COST_BYTES - self.size_bytes
        self.size_bytes += change
        if self._pool is not None:
            self._pool.change(self.address, change)
        if change < 0:
            self._budget.wake()

    def release(self) -> None:
        """End it: it was sent, or never will be. Further calls change nothing."""
        pool, self._pool, self._on_room = self._pool, None, None
        self._budget.leave(self)
        if pool is not None:
            pool.change(self.address, -self.size_bytes)
            self._budget.wake()

    def take(self, pool: BytePool) -> None:
        """Take the room that is granted, and tell the one who waits."""
        self._pool = pool
        pool.change(self.address, self.size_bytes)
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()


class _Waiting:
    """The answers of an address that wait, in the order of asking."""

    def __init__(self) -> None:
        self.small: dict[Answer, None] = {}
        self.large: dict[Answer, None] = {}

    def queue(self, answer: Answer) -> dict[Answer, None]:
        """Find those of its kind."""
        return self.small if answer.is_small else self.large
