"""Bytes that the members of groups hold in memory: of a partition, and of a node by address. Pure.

Members of both protocols count with all that their requests gave: each protocol of a classic
member, though its group's record has the voted one alone. A broker's partitions share one pool, of
which an address has at most half of the room that others leave.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter

from tidelog.core.errors import GroupMaxSizeReachedError
from tidelog.net.byte_pool import BytePool

MEMBER_COST_BYTES = 1 << 10
"""Memory that a member takes beside the texts and bytes of its requests."""
GROWTH_BYTES_FREE = 16 << 10
"""Bytes by which a member that is there may grow when there is no room.

A coordinator that has loaded a member knows one of its protocols; it gets the others when the
member joins again.
"""
_UNBOUNDED = 1 << 62


class MemberBytes:
    """The bytes of one partition's members; `pool` is that of the node."""

    def __init__(self, pool: BytePool | None = None) -> None:
        self.classic_total = 0
        """Those of members of classic groups."""
        self._pool = pool or BytePool(_UNBOUNDED)
        self._by_host: Counter[str] = Counter()
        self._is_closed = False

    def change(self, host: str, size_bytes: int) -> None:
        """Count so many bytes more, or fewer, of members of an address."""
        self._by_host[host] += size_bytes
        if not self._is_closed:
            self._pool.change(host, size_bytes)

    def change_classic(self, host: str, size_bytes: int) -> None:
        """Count the same of members of classic groups."""
        self.classic_total += size_bytes
        self.change(host, size_bytes)

    def check_room(self, group_id: str, host: str, growth_bytes: int) -> None:
        """Raise `GroupMaxSizeReachedError` for members of an address that hold too much."""
        if growth_bytes > self._pool.half(host):
            raise GroupMaxSizeReachedError(
                f"group {group_id!r}: the members of the groups of this broker hold "
                f"{self._pool.held_bytes} bytes, those from {host} "
                f"{self._pool.by_address[host]}: group.members.max.bytes allows "
                f"{self._pool.bytes_max}, and an address half of what others leave; "
                "subscribe to fewer topics, or by a pattern"
            )

    def close(self) -> None:
        """Give everything back: another coordinator has the partition."""
        if self._is_closed:
            return
        self._is_closed = True
        for host, size_bytes in self._by_host.items():
            if size_bytes:
                self._pool.change(host, -size_bytes)


class NodeMembers:
    """The bytes of members of all partitions that a broker coordinates."""

    def __init__(self, bytes_max: int) -> None:
        self._pool = BytePool(bytes_max)
        self._by_partition: dict[int, MemberBytes] = {}

    @property
    def held_bytes(self) -> int:
        """Bytes of all members."""
        return self._pool.held_bytes

    def begin(self, partition: int) -> MemberBytes:
        """Count a partition's members from none; what was counted of it before is given back."""
        self.end(partition)
        found = self._by_partition[partition] = MemberBytes(self._pool)
        return found

    def end(self, partition: int) -> None:
        """Count nothing of a partition any longer."""
        if partition in self._by_partition:
            self._by_partition.pop(partition).close()
