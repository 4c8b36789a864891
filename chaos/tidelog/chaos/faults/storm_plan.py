"""Plan of a storm, drawn from a seed before it begins. Pure.

    round   one to three strikes, each beginning within the first second and lasting seconds
    quiet   then nothing, for a quarter of the time all in all

Within a round no two strikes take records, and no two disturb links in the same way: they would
take back each other's toxics. Whom they strike is drawn when they do (`storm_kinds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.chaos.faults.drawer import Plan, Span
from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.storm_kinds import KINDS, ROWS, SEEDS
from tidelog.core.chance import SeededRandom

AT_ONCE_MAX = 3
PLAN = Plan(kinds_min=1, kinds_max=AT_ONCE_MAX, gap=Span(0.0, 1.0))
"""A round: each strike begins within its first second."""
LASTS_S = Span(0.5, 5.0)
QUIET_SHARE_MIN, QUIET_SHARE_MAX = 1 / 6, 1 / 2
"""Share of the storm before it: a third on average, so a quarter of the whole."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault of a round; `seed` decides its victim and its details."""

    kind: str
    after_s: float
    last_s: float
    seed: int

    @property
    def end_s(self) -> float:
        """When it is healed, from the round's beginning."""
        return self.after_s + self.last_s


@dataclass(frozen=True, slots=True)
class Round:
    """Strikes, then quiet."""

    strikes: tuple[Strike, ...]
    quiet_s: float

    @property
    def storm_s(self) -> float:
        """Until the last strike is healed."""
        return max(strike.end_s for strike in self.strikes)


def draw(seed: int, *, for_s: float, kinds: Sequence[str]) -> tuple[Round, ...]:
    """Rounds that last `for_s` together, give or take the last one. `FaultError`: no such kind."""
    unknown = sorted({*kinds} - {*KINDS})
    require(kinds and not unknown, f"{unknown or 'nothing'} in the storm; there are {KINDS}")
    require(for_s > 0, f"a storm of {for_s} s")
    return tuple(_rounds(SeededRandom(seed), for_s, kinds))


def _rounds(random: SeededRandom, for_s: float, kinds: Sequence[str]) -> Iterator[Round]:
    passed_s = 0.0
    while passed_s < for_s:
        strikes = tuple(_strikes(random, kinds))
        storm_s = max(strike.end_s for strike in strikes)
        quiet_s = storm_s * random.uniform(QUIET_SHARE_MIN, QUIET_SHARE_MAX)
        passed_s += storm_s + quiet_s
        yield Round(strikes, quiet_s)


def _strikes(random: SeededRandom, kinds: Sequence[str]) -> Iterator[Strike]:
    rows = [ROWS[name] for name in kinds]
    for kind in PLAN.draw_kinds(random, rows):
        yield Strike(
            kind.name,
            after_s=PLAN.gap.draw(random),
            last_s=LASTS_S.draw(random),
            seed=random.randrange(0, SEEDS),
        )
