"""Which partition a record goes to. Pure.

With a key: Kafka's murmur2, so that the same key lies in the same partition whichever client wrote
it. Without: stick to one partition until a batch's worth of bytes went there, then to another
(KIP-480, KIP-794).
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.log.env import Random

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
KEY_CACHE_SIZE = 65_536


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 of `data`, as a signed number."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        k = int.from_bytes(data[position : position + 4], "little") * _M & _MASK
        h = (h * _M & _MASK) ^ ((k ^ k >> 24) * _M & _MASK)
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


class KeyPartitioner:
    """`toPositive(murmur2(key)) % partitions`; remembers the hashes of the keys seen last."""

    def __init__(self) -> None:
        self._hashes: dict[bytes, int] = {}

    def partition(self, key: bytes, partitions: int) -> int:
        """The partition of `key` among `partitions` (all of them, with or without a leader)."""
        positive = self._hashes.get(key)
        if positive is None:
            if len(self._hashes) >= KEY_CACHE_SIZE:
                self._hashes.clear()
            positive = self._hashes[key] = murmur2(key) & 0x7FFFFFFF
        return positive % partitions


class StickyPartitioner:
    """One topic's partition for records without a key."""

    def __init__(self, random: Random, *, switch_bytes: int) -> None:
        self._random = random
        self._switch_bytes = switch_bytes
        self._available: Sequence[int] = ()
        self._current = -1
        self._bytes_left = 0

    def partition(self, available: Sequence[int]) -> int:
        """The partition to use now, out of `available` (not empty: those with a leader, or all)."""
        has_changed = available is not self._available
        if self._bytes_left <= 0 or (has_changed and self._current not in available):
            others = [p for p in available if p != self._current] or available
            self._current = others[self._random.randrange(0, len(others))]
            self._bytes_left = self._switch_bytes
        self._available = available
        return self._current

    def used(self, size_bytes: int) -> None:
        """`size_bytes` of records went to the partition `partition` answered."""
        self._bytes_left -= size_bytes
