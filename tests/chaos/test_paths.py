"""Whom paths are about."""

from __future__ import annotations

from tidelog.chaos.story.paths import between, struck


def test_a_cut_is_about_who_is_at_an_end_of_every_path() -> None:
    assert struck(between([5], [1, 2, 3, 4, 6])) == [5]
    assert struck(between([5, "clients"], [1, 2])) == []
    assert struck(between([5], ["clients"])) == [5]
    assert struck([(4, 5)]) == [4, 5]
    assert struck([(4, 5), (5, 6), (6, 4)]) == []
    assert struck([]) == []
