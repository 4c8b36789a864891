"""The fault budget: what may be taken of whom, when, and when it is whole again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.metadata.image import (
    EMPTY_IMAGE,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tidelog.simulation.cluster import budget as budgets
from tidelog.simulation.cluster.budget import FaultBudget
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig, draw_config

PLAN = TopicPlan(
    name="t",
    partitions=1,
    min_insync_replicas=2,
    is_flushed=False,
    is_lossy=False,
    segment_bytes=1000,
    index_interval_bytes=0,
)
FLIP = Flip(1, "/data/t-0/x.log", 7, ord("!"))


@dataclass
class Stage:
    """Three brokers that hold one partition; `epochs` are of their running processes."""

    budget: FaultBudget
    image: MetadataImage
    epochs: dict[int, int | None]
    bytes_of: dict[int, bytes] = field(default_factory=dict)
    machines: dict[int, int] = field(default_factory=lambda: {1: 1, 2: 2, 3: 3})

    def disk(self, node_id: int) -> Any:
        """Of which one byte is looked at."""
        stage = self

        class Disk:
            def look(self, *_: object) -> bytes:
                return stage.bytes_of.get(node_id, b"")

        return Disk()

    def in_sync(self, *isr: int) -> None:
        self.image = image_of(isr, self.image)

    def cut(self, node_id: int) -> None:
        """Its power goes, and its process."""
        self.epochs[node_id] = None
        self.budget.note_cut(node_id)

    def restart(self, node_id: int) -> None:
        """Its process is new and registered, and out of the ISR for now."""
        state = self.image.topics["t"].partitions[0]
        self.in_sync(*(one for one in state.isr if one != node_id))
        self.epochs[node_id] = epoch = 10 * node_id
        broker = replace(self.image.brokers[node_id], broker_epoch=epoch)
        self.image = replace(self.image, brokers={**self.image.brokers, node_id: broker})


def image_of(isr: Iterable[int], before: MetadataImage | None = None) -> MetadataImage:
    state = PartitionImage(0, (1, 2, 3), tuple(isr), 1, 0, 0)
    brokers = {one: BrokerImage(one, b"", one, (), "", is_fenced=False) for one in (1, 2, 3)}
    return MetadataImage(
        offset=5,
        brokers=brokers if before is None else before.brokers,
        topics={"t": TopicImage("t", b"id", (state,), {})},
        topics_by_id={b"id": "t"},
    )


def stage_of(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Stage:
    plan = replace(PLAN, **changes)
    config: ClusterSimulationConfig = replace(draw_config(SeededRandom(1)), topics=(plan,))
    stage = Stage(cast("FaultBudget", None), image_of((1, 2, 3)), {1: 1, 2: 2, 3: 3})
    monkeypatch.setattr(budgets, "newest_image", lambda _: stage.image)
    monkeypatch.setattr(budgets, "broker_epoch", lambda machine: stage.epochs[machine])
    stage.budget = FaultBudget(cast("Any", stage), config, Counter())
    return stage


def test_one_replica_of_two_that_must_acknowledge_may_lose_power(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = stage_of(monkeypatch)
    assert stage.budget.may_lose_power(1)
    stage.cut(1)
    assert stage.budget.may_lose_power(1), "again: it is the same one"
    assert not stage.budget.may_lose_power(2)


def test_it_is_whole_when_its_present_process_is_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.cut(1)
    assert not stage.budget.may_lose_power(2), "it is in the ISR, as its dead process was"
    stage.restart(1)
    assert not stage.budget.may_lose_power(2)
    assert list(stage.budget.outstanding())
    stage.in_sync(1, 2, 3)
    assert not list(stage.budget.outstanding())
    assert stage.budget.may_lose_power(2)


def test_a_registration_of_the_process_before_heals_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = stage_of(monkeypatch)
    stage.cut(1)
    stage.epochs[1] = 7  # the image has another one
    assert not stage.budget.may_lose_power(2)


def test_with_one_replica_enough_nobody_loses_power(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch, min_insync_replicas=1)
    assert not stage.budget.may_lose_power(1)
    assert not stage.budget.may_damage(1, "t", 0)


@pytest.mark.parametrize("changes", [{"is_flushed": True}, {"is_lossy": True}])
def test_flushed_or_lossy_everyone_may_lose_power(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, bool]
) -> None:
    stage = stage_of(monkeypatch, **changes)
    for one in (1, 2, 3):
        assert stage.budget.may_lose_power(one)
        stage.cut(one)


def test_a_planned_cut_counts_until_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.budget.plan_cut(1)
    assert not stage.budget.may_lose_power(2)
    stage.budget.cancel_cut(1)
    assert stage.budget.may_lose_power(2)


def test_damage_counts_though_all_is_flushed_until_the_byte_is_right_and_in_sync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = stage_of(monkeypatch, is_flushed=True)
    assert stage.budget.may_damage(1, "t", 0)
    stage.bytes_of[1] = b"!"
    stage.budget.note_flip("t", 0, FLIP)
    assert not stage.budget.may_damage(2, "t", 0)
    assert stage.budget.may_lose_power(2), "what was acknowledged is on its disk"
    stage.bytes_of[1] = b"."
    assert stage.budget.may_damage(2, "t", 0)


def test_only_a_log_is_read_without_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.bytes_of = {1: b"!", 2: b"!"}
    stage.budget.note_flip("t", 0, replace(FLIP, path="/data/t-0/checkpoint"))
    assert not list(stage.budget.outstanding())
    assert not stage.budget.may_damage(2, "t", 0), "it counts all the same"
    stage.budget.note_flip("t", 0, replace(FLIP, node_id=2))
    assert len(list(stage.budget.outstanding())) == 1


def test_damage_and_a_power_cut_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.bytes_of[1] = b"!"
    stage.budget.note_flip("t", 0, FLIP)
    assert not stage.budget.may_lose_power(2)


def test_after_a_failed_sync_a_machine_keeps_its_power(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch, is_flushed=True)
    stage.budget.note_failed_sync(1, "t", 0)
    assert not stage.budget.may_lose_power(1)
    assert stage.budget.may_lose_power(2)


def test_while_no_controller_runs_nothing_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.image = EMPTY_IMAGE
    assert not stage.budget.may_lose_power(1)
    assert not stage.budget.may_damage(1, "t", 0)


def test_what_a_deleted_topic_held_is_nobodys_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(monkeypatch)
    stage.cut(1)
    stage.image = replace(stage.image, topics={}, topics_by_id={})
    assert not list(stage.budget.outstanding())
