"""Limits of response bytes that callers have not received yet. Pure.

A caller that stops reading makes the node hold each response it requested: the caller controls the
HTTP/2 windows. So the bytes of all unread responses are counted, for the node and for each
connection. A fetch reads only as much as there is room for, and waits for room; a connection with
unread answers of other calls is refused further ones; a connection that receives nothing for too
long is closed. A connection gets at most half of the free room: regardless of how many stop
reading, another one finds room.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, whole_number
from tidelog.net.answer_budget import AnswerBudget

ROOM_BYTES_MIN = 1 << 20
"""Minimum useful room, unless less was requested: small responses cost more than a wait."""
PROGRESS_BYTES_MIN = 64 << 10
"""Minimum bytes to receive within half of the timeout: a slower caller has stopped reading."""
_UNBOUNDED = 1 << 62


@dataclass(frozen=True, slots=True)
class UnreadLimits:
    """Limits in bytes; see `docs/CONFIGURATION.md`."""

    bytes_max: int = declare(
        40 << 20,
        whole_number(4 << 20),
        "Maximum bytes of responses that callers have not received; fetches beyond it wait, at "
        "most for their own time. Memory is about twice that. Each follower has its own share.",
        key="unread.max.response.bytes",
    )
    connection_bytes_max: int = declare(
        16 << 20,
        whole_number(1 << 20),
        "The same for one connection, which gets at most half of what is left of the node's.",
        key="connection.unread.max.response.bytes",
    )
    timeout_ms: int = declare(
        30_000,
        whole_number(100, DAY_MS),
        "Time after which a connection is closed that leaves a response unread for half of it and "
        "takes less than 64 KiB in the other half.",
        key="unread.response.timeout.ms",
    )
    answer_bytes_max: int = declare(
        24 << 20,
        whole_number(1 << 20),
        "Maximum bytes of all other answers that callers have not received, or that are being "
        "made, by all listeners, and of gRPC's requests at work but produce. Without room gRPC's "
        "are refused, and requests of Kafka's protocol wait. An address gets at most half of what "
        "others leave.",
        key="unread.max.answer.bytes",
    )

    @property
    def of_others(self) -> UnreadLimits:
        """Limits for all calls except fetches: their responses exist before they are counted."""
        return UnreadLimits(self.bytes_max // 4, self.connection_bytes_max // 4, self.timeout_ms)

    def of_replicas(self, replica_bytes_max: int) -> UnreadLimits:
        """Limits for followers: each one's share does not depend on others."""
        return UnreadLimits(_UNBOUNDED, replica_bytes_max, self.timeout_ms)


class UnreadResponses:
    """Unread responses of one kind in a node; an owner is a connection, or a follower."""

    def __init__(self, limits: UnreadLimits, now_ms: Callable[[], int]) -> None:
        self.size_bytes = 0
        self.waits = 0
        """Number of fetches that found no room, since the start."""
        self.hang_ups = 0
        """Number of connections closed because they received nothing, since the start."""
        self._limits = limits
        self._now_ms = now_ms
        self._by_owner: dict[str, int] = {}
        self._left: dict[UnreadResponse, int] = {}  # the oldest first
        self._late: dict[str, UnreadResponse] = {}
        self._waiting: dict[str, deque[UnreadResponse]] = {}
        self._marks: dict[str, _Mark] = {}

    def begin(self, owner: str) -> UnreadResponse:
        """Begin a response before it is built. `release` it in any case."""
        return UnreadResponse(self, owner)

    def hold(self, owner: str, size_bytes: int) -> UnreadResponse:
        """Count a response that is built already. `release` it when it was received."""
        response = self.begin(owner)
        response.settle(size_bytes)
        response.leave()
        return response

    def room(self, owner: str) -> int:
        """Bytes that may be added for the owner; 0 or less: none."""
        free = self._limits.bytes_max - self.size_bytes
        return min(self._limits.connection_bytes_max - self._by_owner.get(owner, 0), free // 2)

    def is_over(self, owner: str) -> bool:
        """True when the owner has reached a connection's limit."""
        return self._by_owner.get(owner, 0) >= self._limits.connection_bytes_max

    def has_room(self, owner: str) -> bool:
        """True when the owner may send another request now; always if nothing is unread."""
        return owner not in self._by_owner or self.room(owner) > 0

    def late_owners(self) -> list[str]:
        """Owners that may have stopped reading: pass the bytes each received to `stalled`."""
        now_ms, half_ms = self._now_ms(), self._limits.timeout_ms // 2
        oldest: dict[str, UnreadResponse] = {}
        for response, left_ms in self._left.items():
            if now_ms - left_ms < half_ms:
                break
            oldest.setdefault(response.owner, response)
        self._marks = {
            owner: mark for owner, mark in self._marks.items() if oldest.get(owner) is mark.response
        }
        self._late = oldest
        return list(oldest)

    def find_stalled(self, taken_bytes: Mapping[str, int]) -> list[str]:
        """Late owners whose connections to close, given the bytes each has received so far."""
        now_ms, half_ms = self._now_ms(), self._limits.timeout_ms // 2
        stalled = []
        for owner, taken in taken_bytes.items():
            now = _Mark(self._late[owner], now_ms, taken)
            mark = self._marks.setdefault(owner, now)
            if now_ms - mark.at_ms < half_ms:
                continue
            if taken - mark.taken_bytes < PROGRESS_BYTES_MIN:
                self.hang_ups += 1
                stalled.append(owner)
            self._marks[owner] = now
        return stalled

    # For `UnreadResponse`

    def change(self, owner: str, size_bytes: int) -> None:
        """Count that many bytes more, or fewer."""
        self.size_bytes += size_bytes
        held = self._by_owner.get(owner, 0) + size_bytes
        if held:
            self._by_owner[owner] = held
        else:
            self._by_owner.pop(owner, None)

    def note_left(self, response: UnreadResponse) -> None:
        """Note that the response was passed to the transport."""
        self._left[response] = self._now_ms()

    def enqueue(self, response: UnreadResponse) -> None:
        """Add a response that waits for room."""
        self.waits += 1
        self._waiting.setdefault(response.owner, deque()).append(response)

    def end(self, response: UnreadResponse) -> None:
        """Remove a response."""
        self._left.pop(response, None)
        waiting = self._waiting.get(response.owner)
        if waiting is not None and response in waiting:
            waiting.remove(response)
            if not waiting:
                del self._waiting[response.owner]

    def wake_next(self) -> None:
        """Wake the first waiting response that may have room; it wakes the next in its turn."""
        for owner, waiting in self._waiting.items():
            if self.room(owner) >= waiting[0].needed_bytes:
                waiting.popleft().look_again()
                del self._waiting[owner]
                if waiting:  # after those of all other owners
                    self._waiting[owner] = waiting
                return


class _Mark(NamedTuple):
    """Bytes a connection had received when its oldest response had been unread for long."""

    response: UnreadResponse
    at_ms: int
    taken_bytes: int


class NodeResponses:
    """Unread responses counted by connection."""

    def __init__(self, limits: UnreadLimits, now_ms: Callable[[], int]) -> None:
        self.fetches = UnreadResponses(limits, now_ms)
        self.others = UnreadResponses(limits.of_others, now_ms)
        self.answers = AnswerBudget(limits.answer_bytes_max)
        self.timeout_ms = limits.timeout_ms

    def stats(self) -> Mapping[str, float]:
        """Metrics."""
        both = self.fetches, self.others
        return {
            "unread_response_bytes": sum(one.size_bytes for one in both),
            "unread_response_waits": self.fetches.waits,
            "unread_answer_bytes": self.answers.held_bytes,
            "unread_answer_waits": self.answers.waits,
            "unread_response_hang_ups": sum(one.hang_ups for one in both),
        }


class UnreadResponse:
    """A response, from before it is built until it is received."""

    def __init__(self, responses: UnreadResponses, owner: str) -> None:
        self.owner = owner
        self.size_bytes = 0
        self.needed_bytes = 0
        """Room that would end its wait."""
        self._responses = responses
        self._on_room: Callable[[], None] | None = None

    def grow(self, bytes_max: int) -> int:
        """Reserve room for `bytes_max` in all; return its allowed size, possibly unchanged."""
        more = bytes_max - self.size_bytes
        room = min(more, self._responses.room(self.owner))
        if room >= min(more, ROOM_BYTES_MIN):
            self._change(max(0, room))
        return self.size_bytes

    def settle(self, size_bytes: int) -> None:
        """Release the unused room; a single batch may have exceeded it."""
        self._change(size_bytes - self.size_bytes)
        self._responses.wake_next()

    def leave(self) -> None:
        """Note that it is passed to the transport."""
        self._responses.note_left(self)

    def wait(self, bytes_max: int, on_room: Callable[[], None]) -> None:
        """Call `on_room` once when `grow` to `bytes_max` may succeed."""
        self.needed_bytes = min(bytes_max - self.size_bytes, ROOM_BYTES_MIN)
        if self._on_room is None:
            self._responses.enqueue(self)
        self._on_room = on_room

    def look_again(self) -> None:
        """Call the registered `on_room`: there may be room."""
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()

    def release(self) -> None:
        """Release the response: it was received, or never will be."""
        self._change(-self.size_bytes)
        self._responses.end(self)
        self._on_room = None
        self._responses.wake_next()

    def _change(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self._responses.change(self.owner, size_bytes)
