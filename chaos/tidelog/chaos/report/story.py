"""A run's record, read: who was what from when to when, what fell, what stood still. Pure.

Everything the figures and the page have in common is worked out here, once for a record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Generic, TypeVar

from tidelog.chaos.report.record import Band, LoadPoint, PartitionPoint, ReplicaPoint, RunRecord

_SILENCE_S = 3.0
"""A replica not sampled for so long is not drawn as if it had been."""
_PREPARATION_S = 2.0
_STANDSTILL_S = 1.0
"""A high watermark that stands still for less is not worth a word."""
LONG_S = 300.0
_MARGIN_SHARE = 0.12
_WINDOW_SHARE = 0.7
"""If what happened fills more of the run than this, the run is shown as a whole."""

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Spell(Generic[State]):
    """A time in which something did not change."""

    began_s: float
    ended_s: float
    state: State


@dataclass(frozen=True, slots=True)
class Role:
    """The role a replica believed to have, and how it ended."""

    name: str
    """leader, follower, none or down."""
    leader_epoch: int
    is_deposed: bool
    """It leads by an epoch that was over by then."""


@dataclass(frozen=True, slots=True)
class Fall:
    """A log that became shorter."""

    at_s: float
    node_id: int
    before: int
    after: int


@dataclass(frozen=True)
class Story:
    """A record, with the facts derived from it."""

    record: RunRecord

    @cached_property
    def partitions(self) -> list[PartitionPoint]:
        """In order of time."""
        return sorted(self.record.partitions, key=lambda point: point.at_s)

    @cached_property
    def replicas(self) -> dict[int, list[ReplicaPoint]]:
        """By node, every broker's, in order of time."""
        found: dict[int, list[ReplicaPoint]] = {node: [] for node in self.record.broker_ids}
        for point in sorted(self.record.replicas, key=lambda point: point.at_s):
            found.setdefault(point.node_id, []).append(point)
        return found

    @cached_property
    def bands(self) -> list[Band]:
        """In order of time."""
        return sorted(self.record.bands, key=lambda band: band.began_s)

    @cached_property
    def load(self) -> list[LoadPoint]:
        """In order of time."""
        return sorted(self.record.load, key=lambda point: point.at_s)

    @cached_property
    def began_s(self) -> float:
        """Time of the first event; of the preparation only its end counts."""
        first = [points[0].at_s for points in self.replicas.values() if points]
        return max(-_PREPARATION_S, min([0.0, *first]))

    @cached_property
    def ended_s(self) -> float:
        """The last thing that is known, and later than the first."""
        record = self.record
        last = [points[-1].at_s for points in self.replicas.values() if points]
        last += [point.at_s + record.interval_s for point in self.load[-1:]]
        last += [band.ended_s or band.began_s for band in self.bands]
        return max([record.load_s, self.began_s + 1.0, *last])

    def end_of(self, band: Band) -> float:
        """When it was taken back; the end, if never."""
        return self.ended_s if band.ended_s is None else band.ended_s

    def epoch_at(self, at_s: float) -> int:
        """The leader epoch by the committed metadata; -1 before it is known."""
        number = bisect_right(self.partitions, at_s, key=lambda point: point.at_s)
        return self.partitions[number - 1].leader_epoch if number else -1

    def roles(self, node_id: int) -> list[Spell[Role]]:
        """Roles the replica believed to have, without gaps from its first sample on."""
        points = self.replicas.get(node_id, [])
        return spells(points, self._role, end_s=points[-1].at_s) if points else []

    def _role(self, point: ReplicaPoint) -> Role:
        if not point.is_up:
            return Role("down", -1, is_deposed=False)
        deposed = point.role == "leader" and point.leader_epoch < self.epoch_at(point.at_s)
        return Role(point.role, point.leader_epoch, is_deposed=deposed)

    def of_partition(self, state: Callable[[PartitionPoint], State]) -> list[Spell[State]]:
        """Something of the committed metadata, to the end."""
        return spells(self.partitions, state, end_s=self.ended_s)

    def stretches(self, node_id: int) -> list[list[ReplicaPoint]]:
        """The replica's samples, cut where it was down, silent, or its log not open.

        A replica that starts again knows no high watermark for a moment, or an old one. What was
        committed stays so: its high watermark is the highest it knew that is still in its log.
        """
        runs: list[list[ReplicaPoint]] = []
        last_s: float | None = None
        known = 0
        for point in self.replicas.get(node_id, []):
            if not _has_log(point):
                last_s = None
                continue
            if last_s is None or point.at_s - last_s > _SILENCE_S:
                runs.append([])
            known = max(point.high_watermark, min(known, point.log_end_offset))
            runs[-1].append(_with_watermark(point, known))
            last_s = point.at_s
        return runs

    @cached_property
    def falls(self) -> list[Fall]:
        """Every time a log end offset fell, also while nobody looked."""
        return sorted(
            (
                Fall(after.at_s, node_id, before.log_end_offset, after.log_end_offset)
                for node_id in self.replicas
                for before, after in pairwise(self._logs(node_id))
                if after.log_end_offset < before.log_end_offset
            ),
            key=lambda fall: fall.at_s,
        )

    def _logs(self, node_id: int) -> list[ReplicaPoint]:
        return list(filter(_has_log, self.replicas[node_id]))

    @cached_property
    def standstills(self) -> list[Spell[int]]:
        """When the highest high watermark stood still though a log soon grew, the longest first."""
        found = [
            Spell(a_s, b_s, mark)
            for (a_s, mark), (b_s, _) in pairwise(self._watermarks)
            if b_s - a_s > _STANDSTILL_S
        ]
        grown = filter(self._log_grew, found)
        return sorted(grown, key=lambda spell: spell.began_s - spell.ended_s)

    @cached_property
    def _watermarks(self) -> list[tuple[float, int]]:
        """When any high watermark rose above all before it, and to what."""
        highest, risen = -1, []
        for point in sorted(self.record.replicas, key=lambda point: point.at_s):
            if _has_log(point) and point.high_watermark > highest:
                highest = point.high_watermark
                risen.append((point.at_s, highest))
        return risen

    def committed_at(self, at_s: float) -> int:
        """The highest high watermark that any replica had by then; 0 before it is known."""
        number = bisect_right(self._watermarks, at_s, key=lambda risen: risen[0])
        return self._watermarks[number - 1][1] if number else 0

    def _log_grew(self, spell: Spell[int]) -> bool:
        return any(
            point.log_end_offset > spell.state and _has_log(point)
            for points in self.replicas.values()
            for point in _between(points, spell.began_s, (spell.began_s + spell.ended_s) / 2)
        )

    @cached_property
    def window(self) -> tuple[float, float]:
        """From when to when things happen, with a margin; the whole run, if that is not less.

        Of a run that is long and full of faults: what is around the first anomaly.
        """
        moments = self._moments()
        if not self.bands or not moments:
            return self._all
        margin = max(1.0, (max(moments) - min(moments)) * _MARGIN_SHARE)
        found = self._cut(min(moments) - margin, max(moments) + margin)
        wrong = [one.at_s for one in self.record.anomalies if one.at_s is not None]
        if self._is_short(found):
            return found
        return self._cut(min(wrong) - 20, min(wrong) + 10) if wrong and self.is_long else self._all

    @property
    def is_long(self) -> bool:
        """Longer than offsets can be told apart in, unless their growth is taken off."""
        return self.ended_s - self.began_s > LONG_S

    @property
    def _all(self) -> tuple[float, float]:
        return self.began_s, self.ended_s

    def _is_short(self, window: tuple[float, float]) -> bool:
        return window[1] - window[0] < _WINDOW_SHARE * (self.ended_s - self.began_s)

    def _cut(self, low: float, high: float) -> tuple[float, float]:
        return max(self.began_s, low), min(self.ended_s, high)

    def _moments(self) -> list[float]:
        """When something happened."""
        return [
            *(at_s for band in self.bands for at_s in (band.began_s, self.end_of(band))),
            *(point.at_s for point in self.partitions if point.at_s > 0),
            *(fall.at_s for fall in self.falls),
            *(one.at_s for one in self.record.anomalies if one.at_s is not None),
        ]

    @property
    def is_zoomed(self) -> bool:
        """The window is only a part of the run."""
        return self.window != self._all


Point = TypeVar("Point", ReplicaPoint, PartitionPoint)


def spells(
    points: Sequence[Point], state: Callable[[Point], State], *, end_s: float
) -> list[Spell[State]]:
    """Equal neighbours become one; each lasts until the next begins."""
    starts: list[tuple[float, State]] = []
    for point in points:
        present = state(point)
        if not starts or starts[-1][1] != present:
            starts.append((point.at_s, present))
    ends = [at_s for at_s, _ in starts[1:]] + [end_s]
    return [
        Spell(at_s, max(at_s, end), one) for (at_s, one), end in zip(starts, ends, strict=False)
    ]


def _has_log(point: ReplicaPoint) -> bool:
    return point.is_up and point.log_end_offset >= 0


def _with_watermark(point: ReplicaPoint, known: int) -> ReplicaPoint:
    return point if known == point.high_watermark else replace(point, high_watermark=known)


def _between(points: Sequence[ReplicaPoint], low: float, high: float) -> Iterable[ReplicaPoint]:
    first = bisect_right(points, low, key=lambda point: point.at_s)
    return points[first : bisect_right(points, high, key=lambda point: point.at_s)]
