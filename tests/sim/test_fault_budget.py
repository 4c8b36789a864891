"""The fault budget: what may be taken of whom, when, and when it is whole again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.budget import Budget
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.metadata.image import (
    EMPTY_IMAGE,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tidelog.simulation.cluster import budget_view
from tidelog.simulation.cluster.budget_view import SimBudgetView
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
    """`BudgetView` of three brokers that hold one partition; `epochs`: of running processes."""

    plan: TopicPlan
    image: MetadataImage
    epochs: dict[int, int | None]
    bytes_of: dict[int, bytes] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.budget = Budget(self)

    @property
    def has_controller(self) -> bool:
        return self.image.offset != 0

    def promises(self, _topic: str) -> TopicPlan:
        return self.plan

    def runs_as(self, node_id: int, broker_epoch: int) -> bool:
        return self.epochs[node_id] == broker_epoch

    def is_wrong(self, flip: Flip) -> bool:
        return self.bytes_of.get(flip.node_id, b"") == bytes([flip.wrong])

    def count_event(self, what: str) -> None:
        self.counted[what] += 1

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
    brokers = {one: BrokerImage(one, b"", one, (), "", is_fenced=False) for one in (1, 2, 3, 4)}
    return MetadataImage(
        offset=5,
        brokers=brokers if before is None else before.brokers,
        topics={"t": TopicImage("t", b"id", (state,), {})},
        topics_by_id={b"id": "t"},
    )


def stage_of(**changes: Any) -> Stage:
    return Stage(replace(PLAN, **changes), image_of((1, 2, 3)), {1: 1, 2: 2, 3: 3, 4: 4})


def test_one_replica_of_two_that_must_acknowledge_may_lose_power() -> None:
    stage = stage_of()
    assert stage.budget.may_lose_power(1)
    stage.cut(1)
    assert stage.budget.may_lose_power(1), "again: it is the same one"
    assert not stage.budget.may_lose_power(2)


def test_nothing_is_taken_of_a_node_on_which_a_fault_stays_and_others_must_do_without_it() -> None:
    stage = stage_of()
    stage.budget.note_exempt(3)
    assert not stage.budget.may_lose_power(3)
    assert not stage.budget.may_damage(3, "t", 0)
    assert not stage.budget.may_lose_power(1)
    assert not stage.budget.may_damage(1, "t", 0)
    assert stage_of(min_insync_replicas=3).budget.may_lose_power(1)
    assert not list(stage.budget.outstanding()), "nobody waits for it"


def test_it_is_whole_when_its_present_process_is_in_sync() -> None:
    stage = stage_of()
    stage.cut(1)
    assert not stage.budget.may_lose_power(2), "it is in the ISR, as its dead process was"
    stage.restart(1)
    assert not stage.budget.may_lose_power(2)
    assert list(stage.budget.outstanding())
    stage.in_sync(1, 2, 3)
    assert not list(stage.budget.outstanding())
    assert stage.budget.may_lose_power(2)


def test_a_registration_of_the_process_before_heals_nothing() -> None:
    stage = stage_of()
    stage.cut(1)
    late = replace(stage.image.brokers[1], broker_epoch=7)
    stage.image = replace(stage.image, brokers={**stage.image.brokers, 1: late})
    stage.epochs[1] = 8
    assert not stage.budget.may_lose_power(2)
    stage.epochs[1] = 7
    assert stage.budget.may_lose_power(2)


def test_a_cut_heals_with_a_newer_registration_alone() -> None:
    stage = stage_of()
    stage.budget.note_cut(1)  # its process is not seen to have ended
    assert not stage.budget.may_lose_power(2)


def test_with_one_replica_enough_nobody_loses_power() -> None:
    stage = stage_of(min_insync_replicas=1)
    assert not stage.budget.may_lose_power(1)
    assert not stage.budget.may_damage(1, "t", 0)


@pytest.mark.parametrize("changes", [{"is_flushed": True}, {"is_lossy": True}])
def test_flushed_or_lossy_everyone_may_lose_power(changes: dict[str, bool]) -> None:
    stage = stage_of(**changes)
    for one in (1, 2, 3):
        assert stage.budget.may_lose_power(one)
        stage.cut(one)


def test_a_planned_cut_counts_until_it_is_cancelled() -> None:
    stage = stage_of()
    stage.budget.plan_cut(1)
    assert not stage.budget.may_lose_power(2)
    stage.budget.cancel_cut(1)
    assert stage.budget.may_lose_power(2)


def test_a_planned_cut_that_came_is_over() -> None:
    stage = stage_of()
    stage.budget.plan_cut(1)
    stage.cut(1)
    stage.restart(1)
    stage.in_sync(1, 2, 3)
    assert stage.budget.may_lose_power(2)
    assert stage.counted == {"lossy_crashes": 1}


def test_a_cut_of_what_is_flushed_impairs_nobody() -> None:
    stage = stage_of(is_flushed=True)
    stage.cut(1)
    assert stage.budget.may_damage(2, "t", 0)


def test_nodes_without_replicas_of_it_have_none_to_damage() -> None:
    stage = stage_of()
    stage.cut(4)
    assert not list(stage.budget.outstanding())
    assert stage.budget.may_lose_power(1)
    stage.cut(1)
    assert stage.budget.may_lose_power(4)
    assert not stage.budget.may_damage(4, "t", 0)
    assert not stage.budget.may_damage(1, "t", 1)


def test_damage_counts_though_all_is_flushed_until_the_byte_is_right_and_in_sync() -> None:
    stage = stage_of(is_flushed=True)
    assert stage.budget.may_damage(1, "t", 0)
    stage.bytes_of[1] = b"!"
    stage.budget.note_flip("t", 0, FLIP)
    assert not stage.budget.may_damage(2, "t", 0)
    assert stage.budget.may_lose_power(2), "what was acknowledged is on its disk"
    stage.bytes_of[1] = b"."
    stage.in_sync(2, 3)
    assert not stage.budget.may_damage(2, "t", 0)
    stage.in_sync(1, 2, 3)
    assert stage.budget.may_damage(2, "t", 0)
    assert stage.counted == {"damaged_replicas_healed": 1}


def test_only_a_log_is_read_without_a_start() -> None:
    stage = stage_of()
    stage.bytes_of = {1: b"!", 2: b"!"}
    stage.budget.note_flip("t", 0, replace(FLIP, path="/data/t-0/checkpoint"))
    assert not list(stage.budget.outstanding())
    assert not stage.budget.may_damage(2, "t", 0), "it counts all the same"
    stage.budget.note_flip("t", 0, replace(FLIP, node_id=2))
    assert len(list(stage.budget.outstanding())) == 1


def test_a_cut_heals_although_a_file_that_is_read_at_a_start_only_is_damaged() -> None:
    stage = stage_of()
    stage.bytes_of = {1: b"!"}
    stage.cut(1)
    stage.restart(1)
    stage.budget.note_flip("t", 0, replace(FLIP, path="/data/t-0/partition.metadata"))
    assert list(stage.budget.outstanding())
    stage.in_sync(1, 2, 3)
    assert not list(stage.budget.outstanding())
    assert not stage.budget.may_lose_power(2), "the damage counts all the same"


def test_damage_and_a_power_cut_share_one_budget() -> None:
    stage = stage_of()
    stage.bytes_of[1] = b"!"
    stage.budget.note_flip("t", 0, FLIP)
    assert not stage.budget.may_lose_power(2)


def test_after_a_failed_sync_a_machine_keeps_its_power() -> None:
    stage = stage_of(is_flushed=True)
    stage.budget.note_failed_sync(1, "t", 0)
    assert not stage.budget.may_lose_power(1)
    assert stage.budget.may_lose_power(2)


def test_a_failed_sync_counts_until_it_is_in_sync_again() -> None:
    stage = stage_of()
    stage.budget.note_failed_sync(1, "t", 0)
    stage.in_sync(2, 3)
    assert not stage.budget.may_damage(2, "t", 0)
    stage.in_sync(1, 2, 3)
    assert stage.budget.may_damage(2, "t", 0)
    assert not stage.budget.may_lose_power(1)


def test_while_no_controller_runs_nothing_is_taken() -> None:
    stage = stage_of()
    stage.image = EMPTY_IMAGE
    assert not stage.budget.may_lose_power(1)
    assert not stage.budget.may_damage(1, "t", 0)


def test_what_a_deleted_topic_held_is_nobodys_loss() -> None:
    stage = stage_of()
    stage.cut(1)
    stage.image = replace(stage.image, topics={}, topics_by_id={})
    assert not list(stage.budget.outstanding())


def test_a_topic_created_again_lost_nothing() -> None:
    stage = stage_of()
    stage.cut(1)
    topic = replace(stage.image.topics["t"], topic_id=b"new")
    before, stage.image = (
        stage.image,
        replace(stage.image, topics={"t": topic}, topics_by_id={b"new": "t"}),
    )
    stage.cut(1)
    assert not stage.budget.may_lose_power(2), "the new one did"
    stage.image = before
    assert stage.budget.may_lose_power(2)


def test_an_image_older_than_the_damage_does_not_say_that_its_topic_is_gone() -> None:
    stage = stage_of()
    known = stage.image
    stage.cut(1)
    stage.image = replace(known, offset=4, topics={}, topics_by_id={})
    stage.budget.look()
    stage.image = known
    assert not stage.budget.may_lose_power(2)


def test_the_simulated_cluster_is_seen_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cluster:
        def __init__(self) -> None:
            self.machines = {1: "the machine"}

        def disk(self, node_id: int) -> Any:
            assert node_id == FLIP.node_id
            return self

        def look(self, path: str, byte: int, size: int) -> bytes:
            assert size == 1
            return {7: b"!", 8: b"."}[byte] if path == FLIP.path else b""

    images, counted = [image_of((1, 2, 3))], Counter[str]()
    config: ClusterSimulationConfig = replace(draw_config(SeededRandom(1)), topics=(PLAN,))
    monkeypatch.setattr(budget_view, "newest_image", lambda _: images[-1])
    monkeypatch.setattr(budget_view, "broker_epoch", {"the machine": 1}.get)
    view = SimBudgetView(cast("Any", Cluster()), config, lambda what: counted.update([what]))

    assert view.promises("t") is PLAN
    assert view.has_controller
    assert view.image is images[0]
    assert (view.runs_as(1, 1), view.runs_as(1, 2)) == (True, False)
    assert (view.is_wrong(FLIP), view.is_wrong(replace(FLIP, byte=8))) == (True, False)
    view.count_event("it")
    assert counted == {"it": 1}
    images.append(EMPTY_IMAGE)
    assert not view.has_controller
