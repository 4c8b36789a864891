"""Bytes of requests in memory over all connections, and who waits for room. Pure.

    bytes_max = an eighth for small requests alone  +  one frame, for the eldest  +  shared by all

A small request is reserved whole, and never waits for a large one. A large frame is reserved in
pieces, as its bytes come: a peer that announces a frame and sends nothing holds one piece, a large
one only while half of the room is free. An address has at most half of the room that other
addresses leave, so that a newcomer finds some, however many others do not go on.

Frames that are not whole could all wait for each other. So the eldest frame of an address may
exceed the address's half while nothing large of it is at work, and the eldest frame of all has the
room of one frame beside. One of them always goes on; the server ends those that are too slow.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.net.byte_pool import BytePool

REQUEST_COST_BYTES = 512
"""Memory that a request takes beside its bytes: a million empty ones are counted, too."""
SMALL_BYTES = 4 << 10
"""Maximum bytes of a small request, which never waits for a large one."""
SMALL_PARTS = 8
"""Parts of all room, of which small requests have one for themselves."""
CONNECTION_PARTS = 4
"""Parts of the shared room; a connection whose requests hold one of them begins no other."""
PIECE_BYTES_MIN = 64 << 10
"""Minimum bytes of a piece: less would cost a turn for little."""
PIECE_BYTES_MAX = 1 << 20
"""Maximum bytes that are reserved before they have come, but for a frame's last few.

As many as that while half of the room is free: a frame of one piece is not copied, and copies into
fresh memory cost ten times as much as receiving it.
"""


class RequestBudget:
    """Room for the requests of a node; `frame_bytes_max` is the size of the largest one.

    Holds at most `bytes_max`; where these are less than two frames, three eighths and one frame.
    """

    def __init__(self, bytes_max: int, frame_bytes_max: int = 0) -> None:
        self.waits = 0
        """Number of times that a request found no room, since the start."""
        small_max = bytes_max // SMALL_PARTS
        self._eldest_bytes = frame_bytes_max + REQUEST_COST_BYTES if frame_bytes_max else 0
        self._small = BytePool(small_max)
        self._shared = BytePool(max(bytes_max - small_max - self._eldest_bytes, bytes_max // 4))
        self._addresses: dict[str, _Address] = {}
        self._filling: dict[RequestRoom, None] = {}
        """Large frames that are not whole, the eldest first."""
        self._waiting: dict[_Address, None] = {}
        """Addresses of which somebody waits, in the order in which they are looked at."""

    @property
    def bytes_max(self) -> int:
        """Bytes that it holds at most."""
        return self._small.bytes_max + self._shared.bytes_max + self._eldest_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes that are reserved."""
        return self._small.held_bytes + self._shared.held_bytes

    @property
    def is_short(self) -> bool:
        """True while anybody waits for room."""
        return bool(self._waiting)

    @property
    def connection_bytes_max(self) -> int:
        """Bytes of a connection's unanswered requests from which on it begins no other."""
        return self._shared.bytes_max // CONNECTION_PARTS

    def begin(self, address: str, size_bytes: int, on_room: Callable[[], None]) -> RequestRoom:
        """Begin the reservation for a request of an address; nothing is reserved yet.

        `on_room` is called when a wait has ended, from within another's `release`.
        """
        of = self._addresses.setdefault(address, _Address(address))
        return RequestRoom(self, of, size_bytes, on_room)

    # For reservations

    def ask(self, room: RequestRoom) -> bool:
        """Reserve the next piece; False: it waits."""
        queue = room.of.queue(is_small=room.is_small)
        if not room.is_small and room not in self._filling:
            self._filling[room] = room.of.filling[room] = None
        if (not queue or room is room.of.eldest) and self._give(room):
            return True
        self.waits += 1
        queue[room] = None
        self._waiting.setdefault(room.of)
        return False

    def note_whole(self, room: RequestRoom) -> None:
        """Note that a large frame is whole."""
        if room in self._filling:
            del self._filling[room], room.of.filling[room]
            room.of.whole_bytes += room.held_bytes
            self._wake()

    def end(self, room: RequestRoom) -> None:
        """End a reservation, and give the room to those who wait for it."""
        of = room.of
        if room in self._filling:
            del self._filling[room], of.filling[room]
        elif not room.is_small:
            of.whole_bytes -= room.held_bytes
        of.queue(is_small=room.is_small).pop(room, None)
        if room.pool is not None:
            room.pool.change(of.name, -room.held_bytes)
        if not (of.small or of.large):
            self._waiting.pop(of, None)
            if not (
                of.filling or self._small.by_address[of.name] or self._shared.by_address[of.name]
            ):
                self._addresses.pop(of.name, None)
        self._wake()

    def _wake(self) -> None:
        """Give room to those who wait, address by address, each in the order of asking."""
        for of in list(self._waiting):
            if (eldest := of.eldest) in of.large and self._give(eldest):
                del of.large[eldest]
                eldest.on_room()
            for queue in (of.small, of.large):
                while queue and self._give(first := next(iter(queue))):
                    del queue[first]
                    first.on_room()
            if not (of.small or of.large):
                del self._waiting[of]

    def _give(self, room: RequestRoom) -> bool:
        wanted = room.wanted_bytes(has_plenty=self._shared.is_half_free)
        least = wanted if room.is_small else min(wanted, PIECE_BYTES_MIN)
        for pool in (self._small, self._shared) if room.is_small else (self._shared,):
            granted = min(wanted, self._free(room, pool)) if pool.held_bytes else wanted
            if granted >= least:
                room.take(pool, granted)
                return True
        return False

    def _free(self, room: RequestRoom, pool: BytePool) -> int:
        if not (room.is_small or room.of.whole_bytes):
            free = pool.free_bytes
            if room is next(iter(self._filling)):
                return free + self._eldest_bytes
            if room is room.of.eldest:
                return free
        return pool.half(room.of.name)


class RequestRoom:
    """The reservation of one request."""

    __slots__ = (
        *("_budget", "granted_bytes", "held_bytes", "is_small"),
        *("of", "on_room", "pool", "size_bytes"),
    )

    def __init__(
        self, budget: RequestBudget, of: _Address, size_bytes: int, on_room: Callable[[], None]
    ) -> None:
        self.of = of
        self.size_bytes = size_bytes
        self.is_small = size_bytes <= SMALL_BYTES
        self.granted_bytes = 0
        """Bytes of the request that have their room."""
        self.held_bytes = 0
        """The same with its cost."""
        self.pool: BytePool | None = None
        self.on_room = on_room
        """Called when a wait has ended."""
        self._budget = budget

    def wanted_bytes(self, *, has_plenty: bool) -> int:
        """Bytes to reserve next: all of a small request, as many again as came of a large one."""
        if self.is_small:
            return self.size_bytes + REQUEST_COST_BYTES
        piece = min(max(self.granted_bytes, PIECE_BYTES_MIN), PIECE_BYTES_MAX)
        if has_plenty:
            piece = PIECE_BYTES_MAX
        left = self.size_bytes - self.granted_bytes
        cost = 0 if self.held_bytes else REQUEST_COST_BYTES
        return cost + (left if left < piece + PIECE_BYTES_MIN else piece)

    def ask(self) -> bool:
        """Reserve more; False: it waits, and `on_room` is called when it has more."""
        return self._budget.ask(self)

    def note_whole(self) -> None:
        """Note that all bytes have come."""
        self._budget.note_whole(self)

    def release(self) -> None:
        """Give everything back, and wait no more."""
        self._budget.end(self)

    def take(self, pool: BytePool, size_bytes: int) -> None:
        """Take what is granted, the first time with the request's cost."""
        cost = 0 if self.held_bytes else REQUEST_COST_BYTES
        self.pool = pool
        self.granted_bytes += size_bytes - cost
        self.held_bytes += size_bytes
        pool.change(self.of.name, size_bytes)


class _Address:
    """The reservations of one address."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.whole_bytes = 0
        """Bytes of large requests that are whole."""
        self.filling: dict[RequestRoom, None] = {}
        self.small: dict[RequestRoom, None] = {}
        self.large: dict[RequestRoom, None] = {}
        """Those that wait for room, in the order of asking."""

    @property
    def eldest(self) -> RequestRoom | None:
        """Its eldest large frame that is not whole: others of its own wait for it."""
        return next(iter(self.filling), None)

    def queue(self, *, is_small: bool) -> dict[RequestRoom, None]:
        """Those of one kind that wait."""
        return self.small if is_small else self.large
