"""Plan of a storm, drawn from a seed before it begins. Pure.

    round   one to three strikes, each beginning within the first second and lasting seconds
    quiet   then nothing, for a quarter of the time all in all

Within a round no two strikes take records, and no two disturb links in the same way: they would
take back each other's toxics. Whom they strike is drawn when they do (`storm_victims`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.chaos.faults.fault import require
from tidelog.core.chance import SeededRandom

PROCESSES = ("kill", "terminate", "pause")
CUTS = ("isolate_leader", "asymmetric_partition", "ring_partition", "majority_split")
LOSSY = ("empty_disk", "torn_tail", "bit_flip")
TOXICS = ("latency", "bandwidth", "slicer", "reset_peer", "limit_data", "slow_close", "link_down")
DISK_FULL = "disk_full"
MENU = (*PROCESSES, *CUTS, *LOSSY)
"""Kinds that every cluster supports."""
KINDS = (*MENU, *TOXICS, DISK_FULL)

AT_ONCE_MAX = 3
BEGIN_S_MAX = 1.0
LAST_S_MIN, LAST_S_MAX = 0.5, 5.0
QUIET_SHARE_MIN, QUIET_SHARE_MAX = 1 / 6, 1 / 2
"""Share of the storm before it: a third on average, so a quarter of the whole."""
SEEDS = 1 << 32


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
    left = list(kinds)
    for _ in range(random.randrange(1, AT_ONCE_MAX + 1)):
        if not left:
            return
        kind = left[random.randrange(0, len(left))]
        left = [one for one in left if not _excludes(kind, one)]
        yield Strike(
            kind,
            after_s=random.uniform(0, BEGIN_S_MAX),
            last_s=random.uniform(LAST_S_MIN, LAST_S_MAX),
            seed=random.randrange(0, SEEDS),
        )


def _excludes(kind: str, other: str) -> bool:
    if "pause" in (kind, other) and {kind, other} & {*TOXICS}:
        return True  # A proxy that waits for a stopped receiver cannot let go of a toxic.
    if kind in PROCESSES:
        return False
    together = next((group for group in (CUTS, LOSSY) if kind in group), (kind,))
    return other in together
