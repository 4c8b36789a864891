"""Broker sessions, and the brokers that could lead: the state a controller holds beside the image.

Each controller measures sessions on its own monotonic clock and begins them afresh when it becomes
the active one. Decides nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.metadata.election import candidates
from tidelog.metadata.image import MetadataImage


class Sessions:
    """The time at which this controller last heard of each broker."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._started_ms = 0
        self._heard_ms: dict[int, int] = {}

    def restart(self, now_ms: int) -> None:
        """Give every broker a full session from now: a new active controller has heard of none."""
        self._started_ms = now_ms
        self._heard_ms.clear()

    def touch(self, broker_id: int, now_ms: int) -> None:
        """Note that the registered broker was heard of."""
        self._heard_ms[broker_id] = now_ms

    @property
    def heard(self) -> int:
        """Number of brokers that were heard of since this controller became the active one."""
        return len(self._heard_ms)

    def has_heard(self, broker_id: int) -> bool:
        """True when the broker was heard of since this controller became the active one."""
        return broker_id in self._heard_ms

    def was_heard(self, broker_id: int, now_ms: int) -> bool:
        """True when the broker itself was heard of, by this controller, within a session."""
        heard_ms = self._heard_ms.get(broker_id)
        return heard_ms is not None and now_ms - heard_ms < self._timeout_ms

    def find_expired(self, image: MetadataImage, now_ms: int) -> list[int]:
        """Unfenced brokers whose session is over, the longest silent first."""
        silent = []
        for broker_id in image.live_brokers():
            last_ms = self._heard_ms.get(broker_id, self._started_ms)
            if now_ms - last_ms >= self._timeout_ms:
                silent.append((last_ms, broker_id))
        return [broker_id for _, broker_id in sorted(silent)]


class Vacancies:
    """The brokers that could lead partitions without a leader, looked up once for each image."""

    def __init__(self) -> None:
        self._image: MetadataImage | None = None
        self._candidates: frozenset[int] = frozenset()

    def candidates(self, image: MetadataImage) -> frozenset[int]:
        """See `election.candidates`."""
        if image is not self._image:
            self._image, self._candidates = image, candidates(image)
        return self._candidates
