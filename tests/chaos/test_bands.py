"""When faults struck and were over."""

from __future__ import annotations

from tidelog.chaos.report.record import Band
from tidelog.chaos.sockets.bands import Bands


def test_a_band_lasts_from_its_begin_to_its_end_counted_from_the_loads_begin() -> None:
    bands = Bands()
    bands.open("kill", "node 4", (4,), at_s=103.0)
    bands.close("kill", "node 4", at_s=105.0)

    assert bands.since(100.0) == [Band("kill", "node 4", (4,), 3.0, 5.0)]


def test_the_same_words_twice_are_two_bands_and_the_later_ends_first() -> None:
    bands = Bands()
    bands.open("cut", "4 ↮ 5", (), at_s=1.0)
    bands.open("cut", "4 ↮ 5", (), at_s=2.0)
    bands.close("cut", "4 ↮ 5", at_s=3.0)

    assert [band.ended_s for band in bands.since(0.0)] == [None, 3.0]


def test_what_never_began_does_not_end() -> None:
    bands = Bands()
    bands.open("kill", "node 4", (4,), at_s=1.0)
    bands.close("kill", "node 5", at_s=2.0)
    bands.close("stop", "node 4", at_s=2.0)

    assert bands.since(0.0)[0].ended_s is None


def test_healing_ends_what_lasts_and_nothing_else() -> None:
    bands = Bands()
    for what, ended_s in (("node 4", 2.0), ("node 5", None)):
        bands.open("kill", what, (), at_s=0.0)
        if ended_s is not None:
            bands.close("kill", what, at_s=ended_s)
    bands.close_all(at_s=9.0)

    assert [band.ended_s for band in bands.since(0.0)] == [2.0, 9.0]
