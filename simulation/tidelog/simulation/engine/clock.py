"""A node's clock in the simulation, decided by the virtual time.

Owns the mapping between virtual time and a node's own, which may be offset and run fast or slow.
"""

from __future__ import annotations

from collections.abc import Callable

WALL_EPOCH_S = 1_700_000_000


class SimClock:
    """The `Clock` port over virtual time: `local = base + (virtual - base_virtual) * rate`.

    It outlives its node's crashes, as a machine's clock outlives a process. `offset_s` is that of
    the clock that only rises, which means nothing to other machines; `wall_skew_s` is what the
    wall clock is wrong by.
    """

    def __init__(
        self,
        now_s: Callable[[], float],
        *,
        offset_s: float = 0.0,
        wall_skew_s: float = 0.0,
        rate: float = 1.0,
    ) -> None:
        self._now_s = now_s
        self._base_virtual_s = now_s()
        self._base_local_s = self._base_virtual_s + offset_s
        self._rate = rate
        self._wall_epoch_s = WALL_EPOCH_S + wall_skew_s - offset_s

    def monotonic_s(self) -> float:
        """The node's own time, in seconds."""
        return self._base_local_s + (self._now_s() - self._base_virtual_s) * self._rate

    def monotonic_ms(self) -> int:
        """The node's own time, in milliseconds."""
        return int(self.monotonic_s() * 1000)

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch, as this node believes."""
        return int((self._wall_epoch_s + self.monotonic_s()) * 1000)

    def to_virtual_s(self, local_s: float) -> float:
        """The virtual time at which this clock shows `local_s`, if its rate stays as it is."""
        return self._base_virtual_s + (local_s - self._base_local_s) / self._rate

    def leap_wall(self, seconds: float) -> None:
        """Set the wall clock ahead, as a correction does; durations do not notice."""
        self._wall_epoch_s += seconds

    def set_rate(self, rate: float) -> None:
        """Local seconds per virtual second from now on; the clock does not jump."""
        self._base_local_s = self.monotonic_s()
        self._base_virtual_s = self._now_s()
        self._rate = rate
