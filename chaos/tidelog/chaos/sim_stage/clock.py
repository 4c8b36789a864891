"""A node's clock and randomness in the simulation, both decided by the seed and the virtual time.

Owns the mapping between virtual time and a node's own, which may be offset and run fast or slow.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

WALL_EPOCH_S = 1_700_000_000
_MASK = (1 << 64) - 1


class SimClock:
    """The `Clock` port over virtual time: `local = base + (virtual - base_virtual) * rate`.

    It outlives its node's crashes, as a machine's clock outlives a process.
    """

    def __init__(
        self, now_s: Callable[[], float], *, offset_s: float = 0.0, rate: float = 1.0
    ) -> None:
        self._now_s = now_s
        self._base_virtual_s = now_s()
        self._base_local_s = self._base_virtual_s + offset_s
        self._rate = rate

    def monotonic_s(self) -> float:
        """The node's own time, in seconds."""
        return self._base_local_s + (self._now_s() - self._base_virtual_s) * self._rate

    def monotonic_ms(self) -> int:
        """The node's own time, in milliseconds."""
        return int(self.monotonic_s() * 1000)

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch, as this node believes."""
        return int((WALL_EPOCH_S + self.monotonic_s()) * 1000)

    def to_virtual_s(self, local_s: float) -> float:
        """The virtual time at which this clock shows `local_s`, if its rate stays as it is."""
        return self._base_virtual_s + (local_s - self._base_local_s) / self._rate

    def set_rate(self, rate: float) -> None:
        """Local seconds per virtual second from now on; the clock does not jump."""
        self._base_local_s = self.monotonic_s()
        self._base_virtual_s = self._now_s()
        self._rate = rate


class SimRandom:
    """The `Random` port out of one seed (splitmix64): the same on every machine and Python."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def fork(self, name: str) -> SimRandom:
        """A stream of its own, so that what one part draws does not move another's numbers."""
        digest = blake2b(f"{self._state}/{name}".encode(), digest_size=8).digest()
        return SimRandom(int.from_bytes(digest, "little"))

    def random(self) -> float:
        """A float in [0, 1)."""
        return (self._next() >> 11) * 2.0**-53

    def randrange(self, start: int, stop: int) -> int:
        """An integer in [start, stop)."""
        return start + self._next() % (stop - start)

    def uniform(self, low: float, high: float) -> float:
        """A float in [low, high)."""
        return low + (high - low) * self.random()

    def randbytes(self, length: int) -> bytes:
        """`length` random bytes."""
        words = (self._next().to_bytes(8, "little") for _ in range(-(-length // 8)))
        return b"".join(words)[:length]

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)
