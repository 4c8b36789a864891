"""The storm: what a seed draws, what is never drawn together, and that no storm takes too much."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.chaos.fault_cluster_port import FOLDER, TOPIC, FakeSocketPort
from tests.log.partition_logs import batch
from tests.virtual_time import RunVirtually

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.budget import Budget, Claims, Replica
from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.faults.nodes import EmptyDisk
from tidelog.chaos.faults.port_budget import budget_of
from tidelog.chaos.faults.storm import Storm
from tidelog.chaos.faults.storm_kinds import CUT, KINDS, LOSSY, MENU, TOXICS, names_of
from tidelog.chaos.faults.storm_plan import AT_ONCE_MAX, draw
from tidelog.chaos.story.scenario_run import ScenarioRun

SEEDS = 10_000
FOR_S = 30.0
STORMS = 400
LOG_PATH = f"{FOLDER}/00000000000000000000.log"


def _cluster() -> FakeSocketPort:
    cluster = FakeSocketPort()
    for node_id in cluster.broker_ids:
        for name in (LOG_PATH, f"{FOLDER}/0.index", f"{FOLDER}/checkpoint"):
            cluster.stored[node_id, name] = batch(b"first") + batch(b"second", base_offset=1)
        cluster.stored[node_id, f"{FOLDER}/partition.metadata"] = b"topic"
    return cluster


def test_the_same_seed_draws_the_same_storm() -> None:
    drawn = [draw(seed, for_s=FOR_S, kinds=KINDS) for seed in range(50)]

    assert drawn == [draw(seed, for_s=FOR_S, kinds=KINDS) for seed in range(50)]
    assert len(set(drawn)) == 50


def test_no_storm_takes_twice_at_once_or_disturbs_a_link_twice() -> None:
    storm_s = quiet_s = 0.0
    drawn: Counter[str] = Counter()
    at_once: set[int] = set()
    for seed in range(SEEDS):
        for each in draw(seed, for_s=FOR_S, kinds=KINDS):
            kinds = [strike.kind for strike in each.strikes]
            drawn.update(kinds)
            at_once.add(len(kinds))
            assert sum(kind in names_of(LOSSY) for kind in kinds) <= 1
            assert sum(kind in names_of(CUT) for kind in kinds) <= 1
            assert all(kinds.count(kind) <= 1 for kind in TOXICS)
            assert not ("pause" in kinds and {*kinds} & {*TOXICS})
            storm_s += each.storm_s
            quiet_s += each.quiet_s
    assert at_once == set(range(1, AT_ONCE_MAX + 1))
    assert {*drawn} == {*KINDS}
    assert quiet_s / (storm_s + quiet_s) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("kinds", [(), ("earthquake",)])
def test_a_storm_of_nothing_known_is_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(FaultError, match="in the storm"):
        draw(1, for_s=FOR_S, kinds=kinds)


class _Watched(FakeSocketPort):
    """Knows who is damaged; such a one comes into the ISR some faults after its start."""

    def __init__(self, seed: int, *, min_insync_replicas: int) -> None:
        super().__init__(seed=seed)
        self.stored = _cluster().stored
        self.impaired_max = min_insync_replicas - 1
        self.damaged: set[int] = set()
        self.damages = 0

    async def wipe(self, node_id: int) -> None:
        await super().wipe(node_id)
        self._damage(node_id)

    async def truncate(self, node_id: int, path: str, length: int) -> None:
        await super().truncate(node_id, path, length)
        self._damage(node_id)

    async def flip(self, node_id: int, path: str, byte: int, bit: int) -> None:
        await super().flip(node_id, path, byte, bit)
        if not path.endswith(".index"):
            self._damage(node_id)

    def _damage(self, node_id: int) -> None:
        self.damages += 1
        self.damaged.add(node_id)
        assert len(self.damaged) <= self.impaired_max, f"too much: {self.damaged}"

    async def start(self, node_id: int) -> None:
        await super().start(node_id)
        if node_id in self.damaged:
            self.become(isr=tuple(one for one in self.state.isr if one != node_id))

    def count(self, kind: str, what: str = "", *node_ids: int) -> None:
        super().count(kind, what, *node_ids)
        if self.random.random() < 0.5:
            self._catch_up()

    def _catch_up(self) -> None:
        intact = _cluster().stored
        for node_id in self.damaged - self.down:
            self.stored |= {key: value for key, value in intact.items() if key[0] == node_id}
            self.become(isr=(*{*self.state.isr, node_id},))
            self.damaged.discard(node_id)


@pytest.mark.parametrize("min_insync_replicas", [1, 2, 3])
def test_no_storm_takes_more_than_min_insync_replicas_tolerate(
    min_insync_replicas: int, run_virtually: RunVirtually
) -> None:
    damages = 0
    for seed in range(STORMS):
        cluster = _Watched(seed, min_insync_replicas=min_insync_replicas)
        kinds = (*names_of(LOSSY), *MENU)
        storm = Storm(seed, 20.0, min_insync_replicas=min_insync_replicas, kinds=kinds)

        run_virtually(storm.inject(ScenarioRun(cluster)))

        damages += cluster.damages
        assert cluster.is_whole()
    assert (damages > 0) == (min_insync_replicas > 1)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_left_of_a_storm(seed: int, run_virtually: RunVirtually) -> None:
    cluster = _cluster()
    storm = Storm(seed, 60.0)

    run_virtually(storm.inject(ScenarioRun(cluster)))

    assert len(storm.struck) > 5
    assert cluster.is_whole()


def test_the_same_seed_strikes_the_same(run_virtually: RunVirtually) -> None:
    clusters = [_cluster(), _cluster()]
    for cluster in clusters:
        run_virtually(Storm(7, 120.0).inject(ScenarioRun(cluster)))

    assert clusters[0].reported == clusters[1].reported


def _budget(min_insync_replicas: int = 2) -> tuple[FakeSocketPort, Budget]:
    cluster = _cluster()
    return cluster, budget_of(cluster, min_insync_replicas=min_insync_replicas)


def _replica(node_id: int) -> Replica:
    return Replica(node_id, TOPIC, 0)


def test_damage_that_is_being_done_leaves_no_room_though_all_are_in_sync() -> None:
    _, budget = _budget()

    assert budget.take(_replica(4))
    assert not budget.take(_replica(4))
    assert not budget.take(_replica(5))


def test_damage_heals_with_a_newer_registration_in_the_isr(run_virtually: RunVirtually) -> None:
    (cluster, budget), fault = _budget(), EmptyDisk(4)
    assert budget.take(_replica(4))
    budget.close(_replica(4), needs_start=True)
    assert not budget.take(_replica(5)), "4 is in the ISR, as far as controllers know"

    run_virtually(fault.inject(ScenarioRun(cluster)))
    assert not budget.may_damage(5, TOPIC, 0)
    run_virtually(fault.heal(ScenarioRun(cluster)))

    assert budget.take(_replica(5))


def test_a_start_during_the_fault_is_newer_than_the_damage(run_virtually: RunVirtually) -> None:
    cluster, budget = _budget()
    assert budget.take(_replica(4))
    run_virtually(cluster.kill(4))
    run_virtually(cluster.start(4))
    assert not budget.take(_replica(5)), "the fault is still at work"
    budget.close(_replica(4), needs_start=True)

    assert budget.take(_replica(5))


def test_a_flip_counts_until_the_byte_is_right_again(run_virtually: RunVirtually) -> None:
    cluster, budget = _budget()
    assert budget.take(_replica(4))
    good = cluster.content(4, LOG_PATH)
    run_virtually(cluster.flip(4, LOG_PATH, 30, 1))
    flip = Flip(4, LOG_PATH, 30, cluster.content(4, LOG_PATH)[30])
    budget.close(_replica(4), flip, needs_start=False)

    assert not budget.take(_replica(5))
    cluster.stored[4, LOG_PATH] = good
    assert budget.take(_replica(5))


@pytest.mark.parametrize(
    ("min_insync_replicas", "isr", "is_taken"),
    [
        (1, (4, 5, 6), False),
        (2, (4, 5), False),
        (2, (5, 6), False),
        (2, (4, 5, 6), True),
        (3, (4, 5), False),
    ],
)
def test_nobody_is_damaged_who_may_be_the_last_to_know(
    min_insync_replicas: int, isr: tuple[int, ...], *, is_taken: bool
) -> None:
    cluster, budget = _budget(min_insync_replicas)
    cluster.become(isr=isr)

    assert budget.take(_replica(4)) == is_taken


def test_of_three_that_must_acknowledge_two_may_be_damaged_but_none_twice() -> None:
    _, budget = _budget(min_insync_replicas=3)

    assert [budget.take(_replica(one)) for one in (4, 4, 5, 6)] == [True, False, True, False]


def test_without_a_controller_nobody_knows_who_is_in_sync(run_virtually: RunVirtually) -> None:
    cluster, budget = _budget()
    known, cluster.controller_id = cluster.controller_id, None
    assert not budget.take(_replica(4))

    cluster.controller_id = known
    assert budget.take(_replica(4))
    budget.close(_replica(4), needs_start=False)
    cluster.controller_id = None
    budget.look()
    cluster.controller_id = known
    run_virtually(cluster.kill(4))
    assert not budget.may_damage(5, TOPIC, 0), "nothing healed while nobody could say so"


def test_a_storm_knows_how_many_must_acknowledge(run_virtually: RunVirtually) -> None:
    with pytest.raises(FaultError, match=r"min\.insync\.replicas is no 0"):
        run_virtually(Storm(1, 5.0, min_insync_replicas=0).inject(ScenarioRun(_cluster())))


def test_a_claimed_node_is_free_again_however_its_fault_ends() -> None:
    claims = Claims()

    def fail() -> None:
        with claims.holding(4), claims.holding(None):
            assert (claims.is_free(4), claims.is_free(5)) == (False, True)
            with pytest.raises(FaultError, match="another fault has node 4"):
                claims.holding(4).__enter__()
            assert not claims.is_free(4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert claims.is_free(4)
