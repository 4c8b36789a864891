"""What storms draw: clusters of any size, topics that lose records, whole records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.chaos.workloads.plans import COMPACTED, EXPIRING, WIDE, TopicPlan
from tidelog.chaos.workloads.record_parts import Carried, PartsDrawer
from tidelog.core.chance import SeededRandom
from tidelog.core.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC
from tidelog.history.history import Parts
from tidelog.log.config import log_config
from tidelog.simulation.cluster import simulation_config
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.cluster.simulation_config import (
    ClusterSimulationConfig,
    draw_config,
    with_broad_topic,
)
from tidelog.simulation.groups.seed_run import run_seed as run_groups
from tidelog.simulation.groups.simulation_config import draw_config as draw_groups
from tidelog.simulation.raft.seed_run import run_seed as run_raft
from tidelog.simulation.suites.findings import SeedResult
from tidelog.simulation.transactions.simulation_config import draw_transactions

NOW_MS = 1_700_000_000_000
DEAD_AMID_STORMS = [
    (run_raft, 4600003, "dead_voters"),
    (run_raft, 4600008, "dead_link"),
    (run_groups, 4600003, "dead_brokers"),
    (run_seed, 4600012, "dead_link"),
]


def drawn(count: int, *, is_storm: bool = True) -> list[ClusterSimulationConfig]:
    return [draw_config(SeededRandom(seed), is_storm=is_storm) for seed in range(count)]


def test_clusters_of_every_size_are_drawn_apart_and_on_the_same_nodes() -> None:
    configs = drawn(400)

    sizes = {(len(one.controller_ids), len(one.broker_ids)) for one in configs}
    assert sizes == {(controllers, brokers) for controllers in (1, 3, 5) for brokers in range(1, 6)}
    for one in configs:
        assert one.node_ids == tuple(range(1, len(one.node_ids) + 1))
    together = {len({*one.controller_ids} & {*one.broker_ids}) for one in configs}
    assert together == set(range(6))


def test_a_story_has_three_controllers_and_three_brokers_at_least() -> None:
    for one in drawn(100, is_storm=False):
        assert len(one.controller_ids) == 3
        assert len(one.broker_ids) >= 3


def test_topics_that_lose_records_have_configs_of_their_keeping() -> None:
    plans: Counter[str] = Counter()
    for config in drawn(60):
        for plan in config.topics:
            plans[plan.name] += 1
            _check_configs(plan)
        assert config.keeping.keys() == {EXPIRING, COMPACTED} & {one.name for one in config.topics}
    assert plans[EXPIRING] > 5
    assert plans[COMPACTED] > 5


def _check_configs(plan: TopicPlan) -> None:
    config = log_config(plan.configs())
    keeping = plan.keeping
    assert config.is_compacted == plan.is_compacted == (plan.name == COMPACTED)
    if keeping is not None and not keeping.is_compacted:
        assert config.retention_ms == (-1 if keeping.retention_ms is None else keeping.retention_ms)
        size = -1 if keeping.retention_bytes is None else keeping.retention_bytes
        assert config.retention_bytes == size


def parts(count: int, **options: Any) -> list[Parts]:
    drawer = PartsDrawer(SeededRandom(1), lambda: NOW_MS, codec="zstd", **options)
    return [drawer.draw(b"%d" % number) for number in range(count)]


def test_records_have_all_kinds_of_parts() -> None:
    found = parts(2_000, carried=Carried(may_omit_timestamp=True))

    times = [one.timestamp_ms or 0 for one in found]
    assert {None, b"", b"k0", b"k7"} <= {one.key for one in found}
    assert {0, 1, 2} == {len(one.headers) for one in found}
    assert -1 in times
    assert any(time > NOW_MS for time in times)
    assert any(0 < time < NOW_MS - 24 * 3_600_000 for time in times)
    assert not any(one.is_null for one in found)


def test_records_of_compacted_topics_have_keys_and_tombstones_have_names() -> None:
    found = parts(300, is_compacted=True)

    assert None not in {one.key for one in found}
    tombstones = [(number, one) for number, one in enumerate(found) if one.is_null]
    assert tombstones
    for number, one in tombstones:
        assert one.headers == (("name", b"%d" % number),)


@pytest.mark.turns(4)
@pytest.mark.sim
def test_what_is_left_comes_to_rest_when_a_broker_is_dead_to_the_end() -> None:
    result = run_seed(1)

    assert result.faults["dead_brokers"] == 1
    assert result.violation is None


@pytest.mark.turns(4)
@pytest.mark.sim
@pytest.mark.parametrize(("suite", "seed", "dead"), DEAD_AMID_STORMS)
def test_a_storm_goes_on_beside_what_is_dead_and_the_rest_comes_to_rest(
    suite: Callable[[int], SeedResult], seed: int, dead: str
) -> None:
    result = suite(seed)

    assert result.faults[dead] == result.faults["storm_beside_the_dead"] == 1
    assert result.violation is None


@pytest.mark.parametrize("suite", ["groups", "transactions"])
def test_coordinators_have_clusters_of_any_size_with_defaults_at_their_worst(suite: str) -> None:
    sizes: Counter[tuple[int, int]] = Counter()
    worst = 0
    for seed in range(200):
        random = SeededRandom(seed)
        cluster = _cluster_of(suite, random, is_storm=True)
        sizes[len(cluster.controller_ids), len(cluster.broker_ids)] += 1
        worst += bool(cluster.cluster_defaults)
        factor = min(3, len(cluster.broker_ids))
        assert cluster.groups.offsets_topic_replication_factor == factor
        assert cluster.plan(OFFSETS_TOPIC).min_insync_replicas == (2 if factor > 2 else 1)
        if cluster.cluster_defaults:
            assert all(one.stated for one in cluster.topics if one.name not in INTERNAL_TOPICS)
    assert {brokers for _, brokers in sizes} == {1, 2, 3, 4, 5}
    assert {controllers for controllers, _ in sizes} == {1, 3, 5}
    assert 20 < worst < 100


@pytest.mark.parametrize("suite", ["groups", "transactions"])
def test_a_control_of_coordinators_has_the_usual_cluster(suite: str) -> None:
    for seed in range(50):
        cluster = _cluster_of(suite, SeededRandom(seed), is_storm=False)
        assert len(cluster.broker_ids) >= 3
        assert not cluster.cluster_defaults


def _cluster_of(suite: str, random: SeededRandom, *, is_storm: bool) -> ClusterSimulationConfig:
    if suite == "groups":
        return draw_groups(0, random, is_storm=is_storm).cluster
    return draw_transactions(random, is_storm=is_storm).cluster


def test_some_clusters_have_racks_of_which_one_may_be_lost() -> None:
    racked = [one for one in drawn(100) if one.racks]

    assert 5 < len(racked) < 50
    for one in racked:
        assert {*one.racks} == {*one.broker_ids}
        assert 1 < len({*one.racks.values()}) < len(one.broker_ids)
    assert not any(one.racks for one in drawn(30, is_storm=False))


def test_few_storms_have_a_topic_of_many_partitions() -> None:
    plain = next(one for one in drawn(50) if len(one.broker_ids) > 3 and not one.racks)
    configs = [with_broad_topic(SeededRandom(seed), plain) for seed in range(10_000)]

    broad = [one.plan(WIDE).partitions for one in configs if one.is_broad]
    assert 100 < len(broad) < 1_000
    assert min(broad) < 60
    assert max(broad) > 2_000
    assert sum(broad) < 40 * len(configs), "most storms have few"
    assert not plain.is_broad
    assert any(one.is_broad and one.racks for one in configs)


@pytest.mark.turns(8)
@pytest.mark.sim
def test_a_storm_of_many_partitions_loses_a_rack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_config, "BREADTHS", ((1.0, (150, 151)),))
    monkeypatch.setattr(simulation_config, "BROAD_RACKS_PROBABILITY", 1.0)
    result = run_seed(3)

    assert {"rack_killed", "rack_paused", "rack_cut_off"} & {*result.faults}
    assert result.violation is None
