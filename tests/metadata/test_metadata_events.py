"""What batches of metadata tell, with the controller's cause: the same on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidelog.core.journal import Event, Kind
from tidelog.metadata.delta import replay
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.records import CAUSE_CHARACTERS_MAX, fencing, partition_change
from tidelog.node.journal.metadata_events import batch_events
from tidelog.v1.admin_pb2 import UNCLEAN
from tidelog.v1.controller_pb2 import EVERYTHING, UNFLUSHED, ReportReplicaStateRequest
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.metadata.conftest import World


@pytest.fixture
def reported(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The events of all that is committed in the world."""
    events: list[Event] = []
    commit = world.commit

    def report(records: Sequence[MetadataRecord]) -> None:
        before = world.image
        commit(records)
        if world.image is not before:
            batch = MetadataBatch(controller_id=9, controller_epoch=1, records=records)
            events.extend(batch_events(before, batch, offset=world.image.offset))

    monkeypatch.setattr(world, "commit", report)
    return events


@pytest.fixture
def replicas(world: World, reported: list[Event]) -> list[int]:
    world.start(1, 2, 3)
    world.create("t", configs={"min.insync.replicas": "2"})
    reported.clear()
    return list(world.partition("t").replicas)


def of(reported: list[Event], *kinds: Kind) -> list[tuple[str, str, str]]:
    return [(one.before, one.after, one.cause) for one in reported if one.kind in kinds]


def listed(*members: int) -> str:
    return ",".join(map(str, members)) or "none"


def test_a_start_of_a_cluster_is_told(world: World, reported: list[Event]) -> None:
    world.start(1)
    world.create("t", replication_factor=1)
    kinds = [one.kind for one in reported]
    assert kinds == [Kind.CONTROLLER, Kind.REGISTRATION, Kind.FENCING, Kind.TOPIC]
    assert reported[0].controller_epoch == 1
    assert reported[1].broker_epoch == reported[2].broker_epoch == world.epoch(1)
    assert (reported[2].before, reported[2].after) == ("fenced", "unfenced")
    assert reported[3].topic == "t"
    assert all(one.cause and one.metadata_offset for one in reported)


def test_a_silent_leader(world: World, reported: list[Event], replicas: list[int]) -> None:
    first, second, third = replicas
    world.pass_session_but(second, third)
    cause = "silent for 9000 ms"
    assert of(reported, Kind.FENCING) == [("unfenced", "fenced", cause)]
    full = f"broker {first} fenced: {cause}"
    assert of(reported, Kind.LEADER) == [(f"{first}", f"{second}", full)]
    assert of(reported, Kind.ISR) == [(listed(*replicas), listed(second, third), full)]
    led = next(one for one in reported if one.kind == Kind.LEADER)
    after = world.partition("t")
    assert (led.leader_epoch, led.partition_epoch) == (after.leader_epoch, after.partition_epoch)
    assert (led.topic, led.partition, led.metadata_offset) == ("t", 0, world.image.offset)


def test_a_controlled_shutdown(world: World, reported: list[Event], replicas: list[int]) -> None:
    world.beat(replicas[0], want_shut_down=True)
    (event,) = of(reported, Kind.LEADER)
    assert event[2] == f"broker {replicas[0]} fenced: controlled shutdown"


@pytest.mark.parametrize(
    ("loss", "words"), [(UNFLUSHED, "unflushed records may be lost"), (EVERYTHING, "an empty disk")]
)
def test_a_start_says_what_it_lost(
    world: World, reported: list[Event], replicas: list[int], loss: int, words: str
) -> None:
    world.pass_session_but(*replicas[1:])
    reported.clear()
    world.register(replicas[0], incarnation=2, start_loss=loss)  # type: ignore[arg-type]
    ((_, after, cause),) = of(reported, Kind.REGISTRATION)
    assert after == f"epoch {world.epoch(replicas[0])}"
    assert words in cause


def test_a_leader_says_why_it_shrinks_its_isr(
    world: World, reported: list[Event], replicas: list[int]
) -> None:
    first, second, third = replicas
    world.alter("t", [first], cause=f"replica {second} not caught up for 10000 ms")
    ((_, after, cause),) = of(reported, Kind.ISR)
    assert (after, cause) == (
        listed(first),
        f"leader {first}: replica {second} not caught up for 10000 ms",
    )
    assert of(reported, Kind.ELR) == [("none", listed(second, third), cause)]


def test_damage_and_failed_disks(world: World, reported: list[Event], replicas: list[int]) -> None:
    first, second, _third = replicas
    world.report_damage(first, "t", cause="CRC at byte 4711")
    cause = f"broker {first} found its log damaged: CRC at byte 4711"
    assert of(reported, Kind.DAMAGED) == [("none", f"{first}", cause)]
    assert of(reported, Kind.LEADER) == [(f"{first}", f"{second}", cause)]
    reported.clear()
    world.report_damage(second, "t", condition=ReportReplicaStateRequest.OFFLINE, cause="EIO")
    assert of(reported, Kind.OFFLINE) == [
        ("none", f"{second}", f"broker {second} cannot use its disk: EIO")
    ]


def test_preferred_unclean_and_last_known_leaders(
    world: World, reported: list[Event], replicas: list[int]
) -> None:
    first, second, third = replicas
    world.pass_session_but(second, third)
    world.register(first, incarnation=2)
    world.beat(first)
    world.alter("t", replicas)
    reported.clear()
    world.elect("t")
    assert of(reported, Kind.LEADER)[0][2] == "the preferred leader was asked for"
    for one in (second, third, first):
        world.report_damage(one, "t")
    reported.clear()
    world.elect("t", kind=UNCLEAN)
    ((_, _, cause),) = of(reported, Kind.LEADER)
    assert cause.startswith("an unclean election was asked for")
    assert "no eligible replica" in cause


def test_the_last_known_leader_is_told_as_that(world: World, reported: list[Event]) -> None:
    world.start(1)
    world.create("t", replication_factor=1)
    world.pass_session_but()
    world.register(1, incarnation=2, start_loss=EVERYTHING)
    reported.clear()
    world.beat(1)
    ((before, after, cause),) = of(reported, Kind.LEADER)
    assert (before, after) == ("none", "1")
    assert cause == "broker 1 is back; no eligible replica: the last known leader leads"


def test_two_changes_of_a_partition_in_one_batch_are_told_one_after_the_other(
    world: World, replicas: list[int]
) -> None:
    first, second, _ = replicas
    topic, before = world.image.topics["t"], world.image
    one = partition_change(
        topic.topic_id, world.partition("t"), isr=(first, second), leader_id=first, cause="a"
    )
    batch = MetadataBatch(controller_epoch=1, base_offset=before.offset, records=[one])
    middle = replay(before, batch, offset=before.offset + 1)
    state = middle.topics["t"].partitions[0]
    two = partition_change(topic.topic_id, state, isr=(second,), leader_id=second, cause="b")
    both = MetadataBatch(controller_epoch=1, base_offset=before.offset, records=[one, two])
    events = list(batch_events(before, both, offset=before.offset + 1))
    assert of(events, Kind.ISR, Kind.LEADER) == [
        (listed(*replicas), listed(first, second), "a"),
        (f"{first}", f"{second}", "b"),
        (listed(first, second), f"{second}", "b"),
    ]


def test_causes_are_bounded_and_no_part_of_the_image(world: World, replicas: list[int]) -> None:
    long = "x" * 10_000
    record = fencing(world.image.brokers[1], fenced=True, cause=long)
    assert len(record.broker_fencing.cause) == CAUSE_CHARACTERS_MAX
    world.alter("t", replicas[:2], cause=long)
    change = partition_change(
        b"", world.partition("t"), isr=tuple(replicas), leader_id=replicas[0], cause=long
    )
    assert len(change.partition_change.cause) == CAUSE_CHARACTERS_MAX
    assert "xxx" not in repr(world.image)


def test_nodes_that_know_nothing_of_what_was_before_tell_what_they_can() -> None:
    unknown = MetadataRecord()
    unknown.partition_change.topic_id = b"nobody knows it "
    unknown.remove_topic.topic_id = b"nobody knows it "
    batch = MetadataBatch(controller_epoch=1, records=[unknown])
    assert len(list(batch_events(MetadataImage(), batch, offset=1))) == 2
