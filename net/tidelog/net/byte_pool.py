"""A pool of bytes of memory that callers from many addresses share. Pure.

An address gets at most half of the room that other addresses leave: however many of them hold what
they have, another one finds room.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter


class BytePool:
    """Room for `bytes_max` bytes; counts those that are held, and leaves refusals to its user."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0
        self.by_address: Counter[str] = Counter()

    @property
    def is_half_free(self) -> bool:
        """True while less than half of it is held."""
        return 2 * self.held_bytes < self.bytes_max

    @property
    def free_bytes(self) -> int:
        """Bytes that nobody holds; fewer than 0 where more are held than may be."""
        return self.bytes_max - self.held_bytes

    def half(self, address: str) -> int:
        """Return the bytes that an address may add: it has half of the room that others leave."""
        own = self.by_address[address]
        return (self.free_bytes + own) // 2 - own

    def change(self, address: str, size_bytes: int) -> None:
        """Count so many bytes more, or fewer."""
        self.held_bytes += size_bytes
        self.by_address[address] += size_bytes
        if not self.by_address[address]:
            del self.by_address[address]


def address_of(connection: str) -> str:
    """Return the address of a connection's other end: `ipv4:127.0.0.1` of its name with a port."""
    return connection.rpartition(":")[0]
