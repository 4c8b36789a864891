"""Broker sessions, and the brokers that could lead: the state a controller holds beside the image.

Each controller measures sessions on its own monotonic clock and begins them afresh when it becomes
the active one. A slow broker is told from a silent one (decision 0075):

    silent for                                    then
    a session but `DOUBTED_BEFORE_MS`             it is in doubt, and is dialled once
    in doubt, and its process answered the dial   a session from that answer, until it is heard of
    a session                                     it is fenced

Time in which the controller's own process stood still counts for nobody.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.metadata.election import candidates
from tidelog.metadata.image import MetadataImage

DOUBTED_BEFORE_MS = 1_000
"""Time that is left of a session when its broker is dialled; half of a session at most."""


class Sessions:
    """The time at which this controller last heard of each broker."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._doubted_ms = max(timeout_ms - DOUBTED_BEFORE_MS, timeout_ms // 2)
        self._started_ms = 0
        self._heard_ms: dict[int, int] = {}
        self._answered_ms: dict[int, int | None] = {}
        """Brokers in doubt, and when their process answered a dial."""

    def restart(self, now_ms: int) -> None:
        """Give every broker a full session from now: a new active controller has heard of none."""
        self._started_ms = now_ms
        self._heard_ms.clear()
        self._answered_ms.clear()

    def touch(self, broker_id: int, now_ms: int) -> None:
        """Note that the registered broker was heard of."""
        self._heard_ms[broker_id] = now_ms
        self._answered_ms.pop(broker_id, None)

    def find_doubtful(self, image: MetadataImage, now_ms: int) -> list[int]:
        """Unfenced brokers that are in doubt from now on: each is to be dialled."""
        found = [
            one
            for one in image.live_brokers()
            if one not in self._answered_ms and now_ms - self._last_ms(one) >= self._doubted_ms
        ]
        self._answered_ms.update(dict.fromkeys(found))
        return found

    def note_answered(self, broker_id: int, now_ms: int) -> None:
        """Note that the process of a broker in doubt answered a dial: it is slow, not silent.

        Once in each silence: a broker whose heartbeats never come is fenced all the same.
        """
        if self._answered_ms.get(broker_id, now_ms) is None:
            self._answered_ms[broker_id] = now_ms

    def forgive(self, stood_still_ms: int, now_ms: int) -> None:
        """Leave out time in which this process could not hear of anyone."""
        self._started_ms = min(self._started_ms + stood_still_ms, now_ms)
        for broker_id, heard_ms in self._heard_ms.items():
            self._heard_ms[broker_id] = min(heard_ms + stood_still_ms, now_ms)
        for broker_id, answered_ms in self._answered_ms.items():
            if answered_ms is not None:
                self._answered_ms[broker_id] = min(answered_ms + stood_still_ms, now_ms)

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
            last_ms = self._last_ms(broker_id)
            answered_ms = self._answered_ms.get(broker_id) or last_ms
            if now_ms - max(last_ms, answered_ms) >= self._timeout_ms:
                silent.append((last_ms, broker_id))
        return [broker_id for _, broker_id in sorted(silent)]

    def _last_ms(self, broker_id: int) -> int:
        return self._heard_ms.get(broker_id, self._started_ms)


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
