"""Verdicts of dials about brokers, and the wait until a broker may be dialled again.

A process that ended answers nothing, and its kernel refuses for it: that is proof. So is another
incarnation at its address. Silence proves nothing; the session decides. Fencing a live broker is
never unsafe, since epochs void what it does, but costs availability: so a broker that is fenced
again and again, or reported in vain, is dialled ever more rarely. It then has its session.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.net.transport import Dialled, DialOutcome

# A broker that caused no dial for this many times its wait begins with the first wait again.
_FORGIVEN_AFTER_WAITS = 8


class Verdict(Enum):
    """The verdict on one incarnation of a broker."""

    ALIVE = "it answers"
    DEAD_REFUSED = "its address refuses connections"
    DEAD_REPLACED = "another incarnation answers at its address"
    UNKNOWN = "its address is silent"

    @property
    def is_dead(self) -> bool:
        """True when the incarnation is certainly gone, or as good as gone."""
        return self in (Verdict.DEAD_REFUSED, Verdict.DEAD_REPLACED)


def verdict_on(broker: BrokerImage, dialled: Dialled) -> Verdict:
    """Judge a broker by a dial of its address that began while it was registered so."""
    match dialled.outcome:
        case DialOutcome.REFUSED:
            return Verdict.DEAD_REFUSED
        case DialOutcome.ANSWERED if dialled.incarnation_id == broker.incarnation_id:
            return Verdict.ALIVE
        case DialOutcome.ANSWERED:
            return Verdict.DEAD_REPLACED
        case DialOutcome.SILENT:
            return Verdict.UNKNOWN


def live_incarnation(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerImage | None:
    """Return the broker if it is the incarnation that a report names and is not fenced."""
    return image.brokers[broker_id] if image.has_live(broker_id, broker_epoch) else None


@dataclass(frozen=True, slots=True)
class _Wait:
    """A wait that doubles: something happened `times` times in a row, last at `last_ms`."""

    first_ms: int
    max_ms: int
    times: int = 0
    last_ms: int = 0

    @property
    def wait_ms(self) -> int:
        return min(self.first_ms << min(self.times - 1, 30), self.max_ms) if self.times else 0

    def again(self, now_ms: int) -> _Wait:
        is_forgiven = now_ms - self.last_ms >= _FORGIVEN_AFTER_WAITS * self.wait_ms
        times = 1 if is_forgiven else self.times + 1
        return _Wait(self.first_ms, self.max_ms, times=times, last_ms=now_ms)


class Damping:
    """The next dial of each broker. Grows with the number of brokers that were ever dialled."""

    def __init__(
        self, *, vain_ms: int, vain_ms_max: int, fenced_ms: int, fenced_ms_max: int
    ) -> None:
        self._vain = _Wait(vain_ms, vain_ms_max)
        self._fenced = _Wait(fenced_ms, fenced_ms_max)
        self._waits: dict[tuple[int, bool], _Wait] = {}

    def wait_ms(self, broker_id: int, now_ms: int) -> int:
        """Milliseconds until the broker may be dialled."""
        found = (self._waits.get((broker_id, is_fenced)) for is_fenced in (False, True))
        due_ms = max((one.last_ms + one.wait_ms for one in found if one is not None), default=0)
        return max(0, due_ms - now_ms)

    def note(self, broker_id: int, now_ms: int, *, is_fenced: bool) -> None:
        """Note a dial after which the broker was fenced, or not."""
        key = (broker_id, is_fenced)
        fresh = self._fenced if is_fenced else self._vain
        self._waits[key] = self._waits.get(key, fresh).again(now_ms)
