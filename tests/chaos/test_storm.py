"""The storm: what a seed draws, what is never drawn together, and that no storm takes too much."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.chaos.fault_cluster_port import FOLDER, FakeSocketPort
from tests.log.partition_logs import batch
from tests.virtual_time import RunVirtually

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.budget import Claims, DamageBudget
from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.faults.nodes import EmptyDisk
from tidelog.chaos.faults.storm import Storm
from tidelog.chaos.faults.storm_plan import (
    AT_ONCE_MAX,
    CUTS,
    KINDS,
    LOSSY,
    MENU,
    TOXICS,
    draw,
)
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
            assert sum(kind in LOSSY for kind in kinds) <= 1
            assert sum(kind in CUTS for kind in kinds) <= 1
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
        kinds = (*LOSSY, *MENU)
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


def test_an_open_wound_leaves_no_room_though_all_are_in_sync() -> None:
    cluster, budget = _cluster(), DamageBudget(min_insync_replicas=2)

    assert budget.take(cluster, 4) is not None
    assert budget.take(cluster, 4) is None
    assert budget.take(cluster, 5) is None


def test_a_wound_heals_with_a_newer_registration_in_the_isr(run_virtually: RunVirtually) -> None:
    cluster, budget, fault = _cluster(), DamageBudget(min_insync_replicas=2), EmptyDisk(4)
    wound = budget.take(cluster, 4)
    assert wound is not None
    budget.close(wound, needs_start=True)
    assert budget.impaired(cluster) == [4]  # in the ISR, as far as controllers know

    run_virtually(fault.inject(ScenarioRun(cluster)))
    assert budget.impaired(cluster) == [4]
    run_virtually(fault.heal(ScenarioRun(cluster)))

    assert budget.impaired(cluster) == []


def test_a_flip_is_a_wound_until_it_is_wrong_no_more(run_virtually: RunVirtually) -> None:
    cluster, budget = _cluster(), DamageBudget(min_insync_replicas=2)
    wound = budget.take(cluster, 4)
    assert wound is not None
    good = cluster.content(4, LOG_PATH)
    run_virtually(cluster.flip(4, LOG_PATH, 30, 1))
    flip = Flip(4, LOG_PATH, 30, cluster.content(4, LOG_PATH)[30])
    budget.close(wound, flip, needs_start=False)

    assert budget.impaired(cluster) == [4]
    cluster.stored[4, LOG_PATH] = good
    assert budget.impaired(cluster) == []


@pytest.mark.parametrize("min_insync_replicas", [1, 2])
def test_nobody_is_damaged_who_may_be_the_last_to_know(min_insync_replicas: int) -> None:
    cluster, budget = _cluster(), DamageBudget(min_insync_replicas=min_insync_replicas)
    cluster.become(isr=(4, 5) if min_insync_replicas == 2 else (4, 5, 6))

    assert budget.take(cluster, 4) is None


def test_without_a_controller_nobody_knows_who_is_in_sync() -> None:
    cluster, budget = _cluster(), DamageBudget(min_insync_replicas=2)
    cluster.controller_id = None

    assert budget.take(cluster, 4) is None


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
