"""Each invariant over samples: it speaks when broken, and not of what happened between samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.chaos.cluster_samples import NODES, a_sample, an_image

from tidelog.chaos.invariants.sizes import Limits
from tidelog.chaos.sockets.watch import REPORTS_MAX, Watch
from tidelog.chaos.story.cluster_port import LogLine
from tidelog.chaos.story.samples import NodeSample
from tidelog.metadata.image import MetadataImage

LOSSY = {"unclean.leader.election.enable": "true"}
COMPACTED = {"cleanup.policy": "compact"}


def found(*samples: NodeSample, is_damage_expected: bool = True) -> list[str]:
    """What is reported of these, each in a round of its own."""
    reported: list[str] = []
    watch = Watch(
        report=lambda invariant, _: reported.append(invariant),
        is_damage_expected=is_damage_expected,
    )
    for sample in samples:
        watch.look({sample.node_id: sample})
    return reported


def damaged(sample: NodeSample) -> NodeSample:
    fields = {"directory": "/somewhere/t-0"}
    return replace(sample, lines=(LogLine(sample.node_id, sample.at_s, "log damaged", fields),))


def test_nothing_is_reported_of_a_cluster_at_rest_and_what_was_judged_is_counted() -> None:
    reported: list[str] = []
    watch = Watch(report=lambda invariant, _: reported.append(invariant))
    for round_ in range(3):
        watch.look({node: a_sample(node, round_ + node / 10) for node in NODES} | {4: None})

    assert reported == []
    assert watch.newest == an_image()
    assert watch.compared["samples"] == 9
    assert {one for one, times in watch.compared.items() if times} == {
        *("samples", "I2", "I3", "I5", "I9", "I10"),
    }


# One process, and one sample


@pytest.mark.parametrize(
    ("before", "now", "invariant"),
    [
        ({"broker_epoch": 11}, {"broker_epoch": 10}, "I15"),
        ({"term": 3}, {"term": 2}, "I15"),
        ({"leader_epoch": 5}, {"leader_epoch": 4, "is_leader": False}, "I15"),
        ({"partition_epoch": 8}, {"partition_epoch": 7}, "I15"),
        ({"log_end_offset": 12}, {"log_end_offset": 11}, "I8"),
        ({"high_watermark": 10}, {"high_watermark": 9}, "I11"),
        ({"isr": (1,), "high_watermark": 9}, {"isr": (1,)}, "I12"),
        ({}, {"high_watermark": 11}, "I11"),
        ({}, {"epochs": ((4, 0), (4, 5))}, "I9"),
        ({}, {"epochs": ((4, 5), (5, 5))}, "I9"),
        ({}, {"epochs": ((4, 0), (5, 11))}, "I9"),
        ({"image": an_image(101)}, {"image": an_image(100)}, "I15"),
    ],
)
def test_what_must_not_change_in_a_process_is_reported(
    before: dict[str, Any], now: dict[str, Any], invariant: str
) -> None:
    samples = [a_sample(1, 1.0, **before), a_sample(1, 1.2, **now)]

    assert set(found(*samples)) == {invariant}
    if before and invariant != "I12":
        assert found(replace(samples[1], at_s=0.5), replace(samples[0], at_s=1.2)) == []


@pytest.mark.parametrize(
    ("before", "now"),
    [
        # another process begins with what it finds
        ({"leader_epoch": 5}, {"leader_epoch": -1, "pid": 7, "broker_epoch": -1}),
        ({"high_watermark": 10}, {"high_watermark": 9, "pid": 7, "broker_epoch": 20}),
        # it was no leader for a while, or the partition another one
        ({"log_end_offset": 12, "leader_epoch": 4}, {"log_end_offset": 11}),
        ({"log_end_offset": 12}, {"log_end_offset": 11, "is_leader": False}),
        ({"isr": (1,), "partition_epoch": 7, "high_watermark": 9}, {"isr": (1,)}),
        ({"isr": (1,), "high_watermark": 9}, {"isr": (1,), "min_insync_replicas": 1}),
        ({"topic_id": "another"}, {"high_watermark": 5}),
        # what may not be held to what it held
        ({"may_have_lost": True}, {"high_watermark": 9}),
        ({}, {"high_watermark": 9, "is_sound": False}),
        ({}, {"high_watermark": 9, "is_failed": True}),
        ({"role": "none", "broker_epoch": -1}, {"role": "none"}),
    ],
)
def test_what_may_change_between_two_samples_is_not_reported(
    before: dict[str, Any], now: dict[str, Any]
) -> None:
    assert found(a_sample(1, 1.0, **before), a_sample(1, 1.2, **now)) == []


def test_a_replica_that_is_not_sound_or_not_in_the_image_promises_nothing() -> None:
    assert found(a_sample(1, 1.0, high_watermark=11, is_sound=False)) == []
    unknown = MetadataImage(offset=90)
    before = a_sample(1, 1.0, unknown, isr=(1,), high_watermark=9)
    assert found(before, a_sample(1, 1.2, unknown, isr=(1,))) == []


def test_a_high_watermark_may_fall_where_an_election_may_lose_and_when_damage_heals() -> None:
    before, after = a_sample(1, 1.0), a_sample(1, 1.2, high_watermark=9)

    assert found(before, damaged(after)) == []
    assert found(before, replace(after, image=an_image(101, configs=LOSSY))) == []


def test_fewer_replicas_than_min_insync_replicas_are_enough_when_all_are_in_sync() -> None:
    image = an_image(replicas=(1,), isr=(1,))
    before = a_sample(1, 1.0, image, isr=(1,), maximal_isr=(1,), high_watermark=9)

    assert found(before, a_sample(1, 1.2, image, isr=(1,), maximal_isr=(1,))) == []


# Across nodes


def test_two_leaders_of_one_epoch_are_reported_by_replicas_and_by_images() -> None:
    other = a_sample(2, 1.2, is_leader=True)

    assert found(a_sample(1, 1.0), other) == ["I10"]
    assert found(replace(other, image=an_image())) == ["I10"]
    older = replace(other, replicas=(replace(other.replicas[0], leader_epoch=4),))
    assert found(a_sample(1, 1.0), older) == []


def test_a_partition_that_has_lost_its_leader_has_no_second_one() -> None:
    assert found(a_sample(1, 1.0, an_image(leader_id=None))) == []


def test_a_newer_leader_that_lacks_what_was_committed_is_reported() -> None:
    newer: dict[str, Any] = {
        "is_leader": True,
        "leader_epoch": 6,
        "high_watermark": 9,
        "log_end_offset": 9,
    }
    image = an_image(101, leader_id=2, leader_epoch=6, partition_epoch=9)
    leads = a_sample(2, 1.2, image, broker_epoch=22, **newer)

    assert found(a_sample(1, 1.0), leads) == ["I2"]
    assert found(a_sample(3, 1.0), leads) == ["I2"]


def test_an_older_leader_may_end_below_what_a_newer_one_committed() -> None:
    newer: dict[str, Any] = {"leader_epoch": 6, "high_watermark": 20, "log_end_offset": 20}
    image = an_image(101, leader_id=2, leader_epoch=6, partition_epoch=9, isr=(2, 3))

    assert found(a_sample(2, 1.0, image, is_leader=True, **newer), a_sample(1, 1.2)) == []


def test_whoever_a_leader_counted_on_holds_what_was_committed() -> None:
    short: dict[str, Any] = {"high_watermark": 8, "log_end_offset": 9}

    assert found(a_sample(1, 1.0), a_sample(2, 1.2, **short)) == ["I3"]
    eligible = an_image(isr=(1, 3), elr=(2,))
    assert found(a_sample(1, 1.0, eligible), a_sample(2, 1.2, eligible, **short)) == ["I3"]


@pytest.mark.parametrize(
    ("leader", "member"),
    [
        # it was sampled before the leader was
        ({"at_s": 1.5}, {}),
        # another process, which has to catch up
        ({}, {"broker_epoch": 30, "pid": 7}),
        # out of sync
        ({"image": an_image(isr=(1, 3))}, {"image": an_image(isr=(1, 3))}),
        # the leader has not heard of this state, so that it does not wait for it yet
        ({"partition_epoch": 7}, {}),
        # unclean elections, damage
        ({"image": an_image(configs=LOSSY)}, {"image": an_image(configs=LOSSY)}),
        ({}, {"is_sound": False}),
        ({}, {"may_have_lost": True}),
        # another topic of this name
        ({}, {"topic_id": "another"}),
    ],
)
def test_a_short_log_that_is_explained_is_not_reported(
    leader: dict[str, Any], member: dict[str, Any]
) -> None:
    member = {"at_s": 1.2, "high_watermark": 8, "log_end_offset": 9, **member}
    samples = [a_sample(1, **{"at_s": 1.0, **leader}), a_sample(2, **member)]

    assert found(*samples) == []


def test_a_log_that_was_damaged_is_not_held_to_what_it_held() -> None:
    shorter = a_sample(2, 1.2, high_watermark=8, log_end_offset=9)

    assert found(a_sample(1, 1.0), damaged(shorter), replace(shorter, at_s=1.4)) == []


def test_a_replica_that_was_taken_away_and_given_back_begins_anew() -> None:
    without = an_image(101, replicas=(1, 3), isr=(1, 3), partition_epoch=9)
    again = an_image(102, isr=(1, 3), partition_epoch=10)
    empty = a_sample(2, 1.4, again, high_watermark=0, log_end_offset=0, epochs=())

    assert found(a_sample(1, 1.0), a_sample(3, 1.1, without), empty) == []


def test_an_isr_that_its_leader_does_not_wait_for_is_reported() -> None:
    assert found(a_sample(1, 1.0, maximal_isr=(1, 2))) == ["I5"]
    newer = an_image(101, partition_epoch=9)
    assert found(a_sample(3, 1.0, newer), a_sample(1, 1.2, maximal_isr=(1, 2))) == ["I5"]


def test_an_isr_of_later_or_of_another_epoch_is_not_the_leaders() -> None:
    waits: dict[str, Any] = {"isr": (1, 2), "maximal_isr": (1, 2)}
    known = an_image(isr=(1, 2))
    expanded = an_image(101, partition_epoch=9)
    reported: list[str] = []
    watch = Watch(report=lambda invariant, _: reported.append(invariant))
    late, early = a_sample(3, 1.3, expanded), a_sample(1, 1.2, known, **waits)
    watch.look({3: late, 1: early})
    assert reported == []

    assert found(a_sample(3, 1.0, expanded), a_sample(1, 1.2, leader_epoch=4, **waits)) == []
    assert found(a_sample(1, 1.2, isr=(1, 2), maximal_isr=(1, 2), partition_epoch=9)) == []


def test_an_epoch_that_begins_elsewhere_in_another_log_is_reported() -> None:
    other: dict[str, Any] = {"epochs": ((4, 0), (5, 6))}

    assert found(a_sample(1, 1.0), a_sample(2, 1.2, **other)) == ["I9"]
    assert found(a_sample(1, 1.0), a_sample(2, 1.2, log_start_offset=6, **other)) == []
    assert found(a_sample(1, 1.0), a_sample(2, 1.2, high_watermark=6, **other)) == []
    image = an_image(configs=COMPACTED)
    assert found(a_sample(1, 1.0, image), a_sample(2, 1.2, image, **other)) == []


def test_images_are_lawful_and_the_same_at_one_offset() -> None:
    assert found(a_sample(1, 1.0, an_image(isr=(2, 3)))) == ["I14"]
    assert found(a_sample(1, 1.0), a_sample(2, 1.2, an_image(isr=(1, 2)))) == ["I16"]


# Nodes


def test_two_active_controllers_of_one_term_are_reported() -> None:
    active: dict[str, Any] = {"is_active_controller": True, "raft_leader_id": 2}

    assert found(a_sample(1, 1.0), a_sample(2, 1.2, **active)) == ["I17"]
    assert found(a_sample(1, 1.0), a_sample(2, 1.2, **{**active, "term": 4})) == []
    assert found(a_sample(1, 1.0), a_sample(2, 1.2, **{**active, "raft_leader_id": 1})) == []


def test_a_node_that_started_anew_with_an_older_broker_epoch_is_reported() -> None:
    assert found(a_sample(1, 1.0), a_sample(1, 3.0, pid=7)) == ["I15"]
    unregistered = a_sample(1, 3.0, pid=7, broker_epoch=-1)
    assert found(a_sample(1, 1.0), unregistered) == []
    assert found(a_sample(1, 1.0), unregistered, a_sample(1, 4.0, pid=7, broker_epoch=20)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"rss_bytes": Limits().rss_bytes + 1},
        {"tasks": Limits().tasks + 1},
        {"open_files": Limits().open_files + 1},
        {"stats": {"produce_in_flight_bytes": Limits().produce_in_flight_bytes + 1}},
        {"stats": {"waiting_fetches": Limits().waiting_fetches + 1}},
    ],
)
def test_what_grows_without_bound_is_reported(fields: dict[str, Any]) -> None:
    assert found(a_sample(1, 1.0, **fields)) == ["I30"]


def test_damage_is_reported_where_no_disk_was_touched() -> None:
    sample = a_sample(1, 1.0)
    for one in (damaged(sample), replace(sample, stats={"damaged_partitions": 1.0})):
        assert found(one, is_damage_expected=False) == ["I27"]
        assert found(one) == []
    harmless = replace(sample, lines=(LogLine(1, 1.0, "became leader", {}),))
    assert found(harmless, is_damage_expected=False) == []


# What is told


def test_the_same_is_told_once_and_not_without_end() -> None:
    reported: list[tuple[str, str]] = []
    watch = Watch(report=lambda invariant, what: reported.append((invariant, what)))
    for at in range(2 * REPORTS_MAX):
        watch.look({1: a_sample(1, float(at), tasks=5000 + max(0, at - 5))})

    assert len(reported) == REPORTS_MAX
    assert len(set(reported)) == REPORTS_MAX


def test_an_old_sample_that_comes_late_is_left_out() -> None:
    assert found(a_sample(1, 1.2), a_sample(1, 1.0, high_watermark=9)) == []
