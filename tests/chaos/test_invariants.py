"""The invariants that both stages share: each speaks of the first wrong value alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.sim.test_invariant_book import a_batch

from tidelog.chaos.invariants.batches import BatchOrder
from tidelog.chaos.invariants.replicas import (
    Broken,
    EpochLeaders,
    Offsets,
    disordered_epochs,
    fallen_high_watermark,
    fallen_leader_epoch,
    incomplete_candidate,
    incomplete_leader,
    rise_without_enough,
    shortened_leader,
    uncovered_isr,
    watermark_beyond_counted_end,
    watermark_beyond_end,
)
from tidelog.chaos.invariants.sizes import Limits, Sizes, oversized


def kinds(broken: Broken) -> list[str]:
    """The invariants that do not hold."""
    return [invariant for invariant, _ in broken]


BEFORE = Offsets(end=10, high_watermark=8)

HOLDS: list[Callable[[], Broken]] = [
    lambda: incomplete_leader("t-0", end=10, committed=10, by="u"),
    lambda: incomplete_candidate("t-0", end=10, committed=10, by="u"),
    lambda: uncovered_isr("t-0", isr=(1, 2), maximal=(1, 2, 3)),
    lambda: shortened_leader("t-0", BEFORE, Offsets(10, 8)),
    lambda: disordered_epochs("t-0", ((4, 0), (6, 5), (7, 10)), end=10),
    lambda: disordered_epochs("t-0", (), end=0),
    lambda: watermark_beyond_end("t-0", Offsets(10, 10)),
    lambda: watermark_beyond_counted_end("t-0", end=10, high_watermark=10, by="u"),
    lambda: fallen_high_watermark("t-0", BEFORE, Offsets(9, 8)),
    lambda: rise_without_enough("t-0", BEFORE, Offsets(10, 9), in_sync=2, least=2),
    lambda: rise_without_enough("t-0", BEFORE, Offsets(12, 8), in_sync=1, least=2),
    lambda: fallen_leader_epoch("t-0", 5, 5),
    lambda: oversized("node 1", Limits(), Limits()),
]
BREAKS: list[tuple[str, Callable[[], Broken]]] = [
    ("I2", lambda: incomplete_leader("t-0", end=9, committed=10, by="u")),
    ("I3", lambda: incomplete_candidate("t-0", end=9, committed=10, by="u")),
    ("I5", lambda: uncovered_isr("t-0", isr=(1, 2), maximal=(1, 3))),
    ("I8", lambda: shortened_leader("t-0", BEFORE, Offsets(9, 8))),
    ("I9", lambda: disordered_epochs("t-0", ((4, 0), (4, 5)), end=10)),
    ("I9", lambda: disordered_epochs("t-0", ((4, 5), (5, 5)), end=10)),
    ("I9", lambda: disordered_epochs("t-0", ((4, 0), (5, 11)), end=10)),
    ("I11", lambda: watermark_beyond_end("t-0", Offsets(10, 11))),
    ("I11", lambda: watermark_beyond_counted_end("t-0", end=9, high_watermark=10, by="u")),
    ("I11", lambda: fallen_high_watermark("t-0", BEFORE, Offsets(10, 7))),
    ("I12", lambda: rise_without_enough("t-0", BEFORE, Offsets(10, 9), in_sync=1, least=2)),
    ("I15", lambda: fallen_leader_epoch("t-0", 5, 4)),
]


@pytest.mark.parametrize("check", HOLDS)
def test_what_holds_is_not_reported(check: Callable[[], Broken]) -> None:
    assert kinds(check()) == []


@pytest.mark.parametrize(("invariant", "check"), BREAKS)
def test_what_is_broken_is_reported(invariant: str, check: Callable[[], Broken]) -> None:
    assert kinds(check()) == [invariant]


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(Limits().produce_in_flight_bytes + 1, 0, 0),
        Sizes(0, Limits().waiting_fetches + 1, 0),
        Sizes(0, 0, Limits().tasks + 1),
        Sizes(0, 0, 0, rss_bytes=Limits().rss_bytes + 1),
        Sizes(0, 0, 0, open_files=Limits().open_files + 1),
    ],
)
def test_each_size_has_its_own_limit(sizes: Sizes) -> None:
    assert kinds(oversized("node 1", sizes, Limits())) == ["I30"]


def test_batches_follow_each_other_without_a_gap_and_in_newer_epochs() -> None:
    order = BatchOrder()

    assert kinds(order.follow("t-0", a_batch(4))) == []
    assert kinds(order.follow("t-0", a_batch(6, partition_leader_epoch=4))) == []
    assert kinds(order.follow("t-0", a_batch(9, partition_leader_epoch=4))) == ["I8"]
    assert kinds(order.follow("t-0", a_batch(11, partition_leader_epoch=3))) == ["I9"]
    assert kinds(order.follow("t-0", a_batch(12, partition_leader_epoch=2))) == ["I8", "I9"]


def test_one_node_leads_in_an_epoch() -> None:
    leaders = EpochLeaders()

    assert kinds(leaders.note("t-0", "t-0", 5, 1)) == []
    assert kinds(leaders.note("t-0", "t-0", 6, 2)) == []
    assert kinds(leaders.note("t-0", "t-0", 5, 2)) == ["I10"]
