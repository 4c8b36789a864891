"""The drawer of faults: kinds that go together, moments, durations, victims."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

import pytest
from tests.virtual_time import RunVirtually

from tidelog.chaos.faults.drawer import (
    CONTROLLER_SHARE,
    LEADER_SHARE,
    Kind,
    Plan,
    Sometimes,
    Span,
    draw_victim,
    possible,
    strike_repeatedly,
    weighted,
)
from tidelog.core.chance import SeededRandom

SEEDS = 500
GAP = Span(0.5, 2.0)


def kind(
    name: str, *excludes: str, group: str = "", may_repeat: bool = False, weight: int = 1
) -> Kind[None]:
    return Kind(
        name,
        None,
        group=group,
        excludes=frozenset(excludes),
        may_repeat=may_repeat,
        weight=weight,
    )


class Drawn:
    """Chance that begins with a known draw."""

    def __init__(self, first: float) -> None:
        self._first: float | None = first
        self._rest = SeededRandom(1)

    def random(self) -> float:
        first, self._first = self._first, None
        return self._rest.random() if first is None else first

    def randrange(self, start: int, stop: int) -> int:
        return self._rest.randrange(start, stop)

    def randbytes(self, length: int) -> bytes:
        return self._rest.randbytes(length)


def test_what_excludes_each_other_is_never_drawn_together_whichever_comes_first() -> None:
    table = [
        kind("kill", may_repeat=True),
        kind("pause", "toxic", may_repeat=True),
        kind("latency", group="toxic"),
        kind("split", "cut", group="cut"),
        kind("ring", "cut", group="cut"),
    ]
    plan = Plan(kinds_min=2, kinds_max=4, gap=GAP)
    sizes: Counter[int] = Counter()
    repeats: Counter[str] = Counter()
    for seed in range(SEEDS):
        names = [one.name for one in plan.draw_kinds(SeededRandom(seed), table)]
        sizes[len(names)] += 1
        repeats.update(name for name in {*names} if names.count(name) > 1)
        assert not {"pause", "latency"} <= {*names}
        assert not {"split", "ring"} <= {*names}
    assert {*sizes} == {2, 3, 4}
    assert {*repeats} == {"kill", "pause"}


def test_a_swarm_draws_each_kind_once_and_at_most_all() -> None:
    table = [kind(name) for name in "abc"]
    few, all_of_them = Plan(1, 9, GAP), Plan(3, None, GAP)
    for seed in range(SEEDS):
        names = [one.name for one in few.draw_kinds(SeededRandom(seed), table)]
        assert len({*names}) == len(names)
        assert len(list(all_of_them.draw_kinds(SeededRandom(seed), table))) == 3


def test_a_heavy_kind_stands_there_as_often_as_it_weighs() -> None:
    table = [kind("a", weight=3), kind("b"), kind("c", weight=2)]

    assert "".join(one.name for one in weighted(table)) == "abcaca"
    assert weighted([]) == []


@pytest.mark.parametrize(
    ("drawn", "leader", "held", "tries_next", "victim"),
    [
        (LEADER_SHARE - 0.01, 1, (), True, 1),
        (LEADER_SHARE + 0.01, 1, (), True, 2),
        (LEADER_SHARE - 0.01, None, (), True, 2),
        (LEADER_SHARE - 0.01, None, (), False, None),
        (LEADER_SHARE - 0.01, 1, (1,), True, 2),
        (LEADER_SHARE - 0.01, 1, (1,), False, None),
        (LEADER_SHARE + 0.01, 1, (2,), True, None),
        (CONTROLLER_SHARE + 0.01, 1, (), True, None),
    ],
)
def test_the_victim_is_the_leader_the_controller_or_anyone(
    drawn: float, leader: int | None, held: tuple[int, ...], *, tries_next: bool, victim: int | None
) -> None:
    found = draw_victim(
        Drawn(drawn),
        [7],
        leader=lambda: leader,
        controller=lambda: 2,
        held=held,
        tries_next=tries_next,
    )

    assert found == (7 if victim is None else victim)


def test_who_is_held_is_no_victim() -> None:
    victims = {
        draw_victim(
            SeededRandom(seed), [1, 2, 3], leader=lambda: 1, controller=lambda: 1, held=(1, 3)
        )
        for seed in range(50)
    }

    assert victims == {2}
    assert (
        draw_victim(SeededRandom(1), [1], leader=lambda: 1, controller=lambda: 1, held=(1,)) is None
    )


def test_times_are_of_their_span() -> None:
    random = SeededRandom(1)
    usual, other = Span(1.0, 2.0), Span(5.0, 6.0)
    times = [Sometimes(0.25, other, usual).draw(random) for _ in range(SEEDS)]

    assert all(1.0 <= time < 2.0 or 5.0 <= time < 6.0 for time in times)
    assert sum(time >= 5.0 for time in times) / SEEDS == pytest.approx(0.25, abs=0.05)


def test_strikes_begin_after_a_gap_each_until_it_is_over(run_virtually: RunVirtually) -> None:
    begun: list[tuple[float, str]] = []

    async def strike() -> None:
        loop = asyncio.get_running_loop()
        start_s = loop.time()

        async def begin(name: str) -> None:
            begun.append((loop.time() - start_s, name))

        await strike_repeatedly(
            SeededRandom(3),
            ["a", "b"],
            begin,
            gap=GAP,
            is_over=lambda: loop.time() - start_s >= 60.0,
        )

    run_virtually(strike())

    times = [0.0, *(time for time, _ in begun)]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(GAP.low <= gap < GAP.high + 1e-6 for gap in gaps)
    assert times[-2] < 60.0 <= times[-1]
    assert {name for _, name in begun} == {"a", "b"}


def test_a_cluster_is_struck_only_by_what_does_something_to_one_of_its_size() -> None:
    kinds = [
        Kind("kill", None),
        Kind("ring", None, nodes_min=3),
        Kind("lonely_leader", None, brokers_min=2),
    ]

    def names(nodes: int, brokers: int) -> list[str]:
        return [one.name for one in possible(kinds, nodes=nodes, brokers=brokers)]

    assert names(1, 1) == ["kill"]
    assert names(3, 1) == ["kill", "ring"]
    assert names(2, 2) == ["kill", "lonely_leader"]
