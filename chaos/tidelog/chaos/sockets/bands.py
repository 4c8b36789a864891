"""When each fault struck and was over: the bands of a run's report. Pure."""

from __future__ import annotations

from dataclasses import replace

from tidelog.chaos.report.record import Band


class Bands:
    """In the order they began; times are the caller's."""

    def __init__(self) -> None:
        self._bands: list[Band] = []

    def open(self, kind: str, what: str, nodes: tuple[int, ...], *, at_s: float) -> None:
        """A fault strikes."""
        self._bands.append(Band(kind, what, nodes, at_s, None))

    def close(self, kind: str, what: str, *, at_s: float) -> None:
        """The one that struck last in these words is over; nothing if none does."""
        for number, band in reversed(list(enumerate(self._bands))):
            if (band.kind, band.what, band.ended_s) == (kind, what, None):
                self._bands[number] = replace(band, ended_s=at_s)
                return

    def close_all(self, *, at_s: float) -> None:
        """Everything is taken back."""
        self._bands = [replace(one, ended_s=one.ended_s or at_s) for one in self._bands]

    def since(self, began_s: float) -> list[Band]:
        """Every band, with times counted from then."""
        return [
            replace(
                one,
                began_s=one.began_s - began_s,
                ended_s=None if one.ended_s is None else one.ended_s - began_s,
            )
            for one in self._bands
        ]
