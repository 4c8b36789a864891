"""What a soak of a group counts as missing, repeated, silent."""

from __future__ import annotations

from tests.benchmarks.groups_soak_ledger import (
    Interval,
    Read,
    Silences,
    missing,
    repeats,
    silences,
    verdict,
)

READS = [
    Read(1.0, 0, 7, 0),
    Read(1.2, 0, 7, 1),
    Read(2.0, 0, 7, 2),  # after 0.8 s, by the same
    Read(5.0, 1, 7, 2),  # taken over after 3 s, and read again
    Read(1.0, 2, 8, 0),
    Read(1.1, 2, 8, 1),
]


def test_what_was_acknowledged_and_never_read_is_missing() -> None:
    assert missing({7: [0, 1, 2], 8: [0, 1]}, READS) == 0
    assert missing({7: [0, 1, 2, 3], 8: [0], 9: [0, 1]}, READS) == 3
    assert missing({7: [0]}, []) == 1


def test_what_was_read_twice_is_a_repeat() -> None:
    assert repeats(READS) == 1
    assert repeats([]) == 0


def test_a_silence_is_of_the_member_that_nobody_struck() -> None:
    found = silences(READS, {}, [])
    assert (round(found.untouched_s, 3), found.node_down_s, found.any_s) == (0.8, 0.0, 3.0)
    struck = silences(READS, {0: [Interval(1.5, 1.6)]}, [])
    assert round(struck.untouched_s, 3) == 0.2
    another = silences(READS, {1: [Interval(1.5, 1.6)]}, [])
    assert round(another.untouched_s, 3) == 0.8


def test_a_silence_beside_a_node_that_is_down_counts_for_itself() -> None:
    found = silences(READS, {}, [Interval(1.9, 9.0)])
    assert (round(found.untouched_s, 3), round(found.node_down_s, 3)) == (0.2, 0.8)


def test_intervals_that_only_touch_do_not_overlap() -> None:
    assert not Interval(1.0, 2.0).overlaps(2.0, 3.0)
    assert not Interval(1.0, 2.0).overlaps(0.0, 1.0)
    assert Interval(1.0, 2.0).overlaps(1.5, 1.6)
    assert Interval(1.0, 2.0).overlaps(0.0, 3.0)


def test_violations_are_of_what_must_never_be() -> None:
    quiet = Silences(0.2, 0.0, 3.0)
    good = verdict({7: [0, 1, 2]}, READS, quiet, is_balanced=True)
    assert (good["violations"], good["acknowledged"], good["repeats"]) == (0, 3, 1)
    assert verdict({7: [3]}, READS, quiet, is_balanced=True)["violations"] == 1
    assert verdict({}, READS, quiet, is_balanced=True)["violations"] == 1
    assert verdict({7: [0]}, READS, quiet, is_balanced=False)["violations"] == 1
