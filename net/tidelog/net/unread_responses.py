"""Response bytes that no transport has taken yet: how many there may be, and of whom. Pure.

A caller that stops reading makes the node hold each response it asked for: HTTP/2's windows are the
caller's. So the bytes of all responses that are not taken are counted, for the node and for each
connection. A fetch reads no more than there is room for and waits for room; a connection that has
not read what other calls answered is refused further ones; one that takes nothing for too long is
closed. A connection gets at most half of what is free: however many stop reading, one more finds
room.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

ROOM_BYTES_MIN = 1 << 20
"""Less is no room, unless less was asked for: small responses cost more than one that waits."""
PROGRESS_BYTES_MIN = 64 << 10
"""Taken by a connection within half of the time-out: who takes less has stopped reading."""
_UNBOUNDED = 1 << 62


@dataclass(frozen=True, slots=True)
class UnreadLimits:
    """Sizes in bytes; see `docs/CONFIGURATION.md`."""

    bytes_max: int = 40 << 20
    """Of the node; memory is about twice that, as gRPC copies what it sends."""
    connection_bytes_max: int = 16 << 20
    timeout_ms: int = 30_000

    @property
    def of_others(self) -> UnreadLimits:
        """The same for all calls but fetches: their responses are made before they are counted."""
        return UnreadLimits(self.bytes_max // 4, self.connection_bytes_max // 4, self.timeout_ms)

    def of_replicas(self, replica_bytes_max: int) -> UnreadLimits:
        """The same for followers: a share for each of them, whatever the others do."""
        return UnreadLimits(_UNBOUNDED, replica_bytes_max, self.timeout_ms)


class UnreadResponses:
    """Of one kind of a node's responses; an owner is a connection, or a follower."""

    def __init__(self, limits: UnreadLimits, now_ms: Callable[[], int]) -> None:
        self.size_bytes = 0
        self.waits = 0
        """Fetches that found no room, since the start."""
        self.hang_ups = 0
        """Connections closed because they took nothing, since the start."""
        self._limits = limits
        self._now_ms = now_ms
        self._by_owner: dict[str, int] = {}
        self._left: dict[UnreadResponse, int] = {}  # the oldest first
        self._late: dict[str, UnreadResponse] = {}
        self._waiting: dict[str, deque[UnreadResponse]] = {}
        self._marks: dict[str, _Mark] = {}

    def begin(self, owner: str) -> UnreadResponse:
        """A response that is about to be made. `release` it in any case."""
        return UnreadResponse(self, owner)

    def hold(self, owner: str, size_bytes: int) -> UnreadResponse:
        """A response that is made already. `release` it when it was taken."""
        response = self.begin(owner)
        response.settle(size_bytes)
        response.leave()
        return response

    def room(self, owner: str) -> int:
        """Bytes that may be made for it, 0 or less: none."""
        free = self._limits.bytes_max - self.size_bytes
        return min(self._limits.connection_bytes_max - self._by_owner.get(owner, 0), free // 2)

    def is_over(self, owner: str) -> bool:
        """Whether it holds more than a connection may."""
        return self._by_owner.get(owner, 0) >= self._limits.connection_bytes_max

    def has_room(self, owner: str) -> bool:
        """Whether it may ask for more before it reads; who holds nothing always may."""
        return owner not in self._by_owner or self.room(owner) > 0

    def late_owners(self) -> list[str]:
        """Who may have stopped reading: ask how many bytes each took, and tell `stalled`."""
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

    def stalled(self, taken_bytes: Mapping[str, int]) -> list[str]:
        """Of late owners, by the bytes each has taken so far: those to hang up on."""
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
        """Count so many bytes more, or fewer."""
        self.size_bytes += size_bytes
        held = self._by_owner.get(owner, 0) + size_bytes
        if held:
            self._by_owner[owner] = held
        else:
            self._by_owner.pop(owner, None)

    def note_left(self, response: UnreadResponse) -> None:
        """It is with the transport from now on."""
        self._left[response] = self._now_ms()

    def enqueue(self, response: UnreadResponse) -> None:
        """It waits for room."""
        self.waits += 1
        self._waiting.setdefault(response.owner, deque()).append(response)

    def end(self, response: UnreadResponse) -> None:
        """It is no more."""
        self._left.pop(response, None)
        waiting = self._waiting.get(response.owner)
        if waiting is not None and response in waiting:
            waiting.remove(response)
            if not waiting:
                del self._waiting[response.owner]

    def wake_next(self) -> None:
        """Have the first that waits and may have room look again: it wakes the next in its turn."""
        for owner, waiting in self._waiting.items():
            if self.room(owner) >= waiting[0].needed_bytes:
                waiting.popleft().look_again()
                del self._waiting[owner]
                if waiting:  # behind those of all others
                    self._waiting[owner] = waiting
                return


class _Mark(NamedTuple):
    """How much a connection had taken when its oldest response had lain there for long."""

    response: UnreadResponse
    at_ms: int
    taken_bytes: int


class NodeResponses:
    """All that are counted by connections."""

    def __init__(self, limits: UnreadLimits, now_ms: Callable[[], int]) -> None:
        self.fetches = UnreadResponses(limits, now_ms)
        self.others = UnreadResponses(limits.of_others, now_ms)
        self.timeout_ms = limits.timeout_ms

    def stats(self) -> Mapping[str, float]:
        """Numbers for metrics."""
        both = self.fetches, self.others
        return {
            "unread_response_bytes": sum(one.size_bytes for one in both),
            "unread_response_waits": self.fetches.waits,
            "unread_response_hang_ups": sum(one.hang_ups for one in both),
        }


class UnreadResponse:
    """One response, from before it is made until it is taken."""

    def __init__(self, responses: UnreadResponses, owner: str) -> None:
        self.owner = owner
        self.size_bytes = 0
        self.needed_bytes = 0
        """Room that would end its wait."""
        self._responses = responses
        self._on_room: Callable[[], None] | None = None

    def grow(self, bytes_max: int) -> int:
        """Take room for `bytes_max` in all; returns how large it may be, perhaps no larger."""
        more = bytes_max - self.size_bytes
        room = min(more, self._responses.room(self.owner))
        if room >= min(more, ROOM_BYTES_MIN):
            self._change(max(0, room))
        return self.size_bytes

    def settle(self, size_bytes: int) -> None:
        """Give back the room that is not needed; a single batch may have needed more."""
        self._change(size_bytes - self.size_bytes)
        self._responses.wake_next()

    def leave(self) -> None:
        """It is handed to the transport."""
        self._responses.note_left(self)

    def wait(self, bytes_max: int, on_room: Callable[[], None]) -> None:
        """Call `on_room` once when `grow` to `bytes_max` may give more."""
        self.needed_bytes = min(bytes_max - self.size_bytes, ROOM_BYTES_MIN)
        if self._on_room is None:
            self._responses.enqueue(self)
        self._on_room = on_room

    def look_again(self) -> None:
        """There may be room."""
        on_room, self._on_room = self._on_room, None
        if on_room is not None:
            on_room()

    def release(self) -> None:
        """It was taken, or never will be."""
        self._change(-self.size_bytes)
        self._responses.end(self)
        self._on_room = None
        self._responses.wake_next()

    def _change(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self._responses.change(self.owner, size_bytes)
