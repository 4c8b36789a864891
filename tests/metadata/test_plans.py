"""Plans of many partitions: decided slice by slice, each short, and gone on with under one id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tidelog.core.errors import InvariantError
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.metadata.controller import Controller
from tidelog.metadata.decision import Decision
from tidelog.metadata.delta import speculate
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.metadata.snapshot import SnapshotReader, pieces_of
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
    ReplicaAssignment,
)
from tidelog.v1.metadata_records_pb2 import CommandRecord, MetadataRecord

if TYPE_CHECKING:
    from tests.metadata.conftest import SeededRandom, World

ID = b"i" * 16
ROOM = 10


@pytest.fixture
def started(world: World, new_random: type[SeededRandom]) -> World:
    world.start(1, 2, 3)
    world.config = replace(world.config, partitions_per_batch_max=ROOM)
    world.controller = Controller(world.config, new_random(1))
    world.activate()
    return world


def slices(world: World, command: object) -> Iterator[Decision[object]]:
    """Each slice of the command's plan, committed before the next is decided."""
    while True:
        decision = world.controller.handle(command, world.image, world.now_ms)
        world.commit(decision.records)
        yield decision
        if decision.is_last:
            return


def creation(
    *counts: int, command_id: bytes = ID, validate_only: bool = False
) -> CreateTopicsRequest:
    topics = [
        NewTopic(name=f"t{number}", partitions=count, replication_factor=3)
        for number, count in enumerate(counts)
    ]
    return CreateTopicsRequest(topics=topics, command_id=command_id, validate_only=validate_only)


def partitions_in(decision: Decision[object]) -> int:
    return sum(record.HasField("partition") for record in decision.records)


def counts_of(world: World) -> list[int]:
    return [len(topic.partitions) for topic in world.image.topics.values()]


def test_an_internal_topic_is_there_with_all_its_partitions_or_not_at_all(started: World) -> None:
    """Its partition of a group is told by their number."""
    topic = NewTopic(name=OFFSETS_TOPIC, partitions=3 * ROOM, replication_factor=3)
    request = CreateTopicsRequest(topics=[topic], internal_topic=True, command_id=ID)
    (only,) = slices(started, request)
    assert partitions_in(only) == 3 * ROOM
    assert counts_of(started) == [3 * ROOM]


def test_no_batch_of_a_plan_holds_more_partitions_than_the_config_says(started: World) -> None:
    made = list(slices(started, creation(4, 4, 4, 25, 1)))
    assert [partitions_in(one) for one in made] == [10, 10, 10, 8]
    assert [one.is_last for one in made] == [False, False, False, True]
    assert counts_of(started) == [4, 4, 4, 25, 1]


def test_the_answer_to_a_plan_has_the_results_of_all_its_slices(started: World) -> None:
    started.create("t1")
    reply = list(slices(started, creation(8, 4, 8, 25)))[-1].reply
    assert isinstance(reply, CreateTopicsResponse)
    codes = [topic.error.code for topic in reply.topics]
    assert codes == [0, common_pb2.TOPIC_ALREADY_EXISTS, 0, 0]
    for topic in (reply.topics[0], *reply.topics[2:]):
        image = started.image.topics[topic.name]
        assert image.topic_id == topic.topic_id
        assert len(image.partitions) == topic.partitions


def test_the_last_slice_alone_says_that_the_command_was_followed(started: World) -> None:
    for part in slices(started, creation(25)):
        assert started.image.commands[ID].is_unfinished is not part.is_last
        assert bool(started.image.commands[ID].growing_topic_id) is not part.is_last
    before = started.image
    again = next(slices(started, creation(25)))
    assert again.is_last
    assert not again.records
    assert started.image is before


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_the_same_command_goes_on_where_another_controller_left_it(
    started: World, new_random: type[SeededRandom], taken: int
) -> None:
    plan = slices(started, creation(4, 4, 25))
    for _ in range(taken):
        next(plan)
    begun = {name: topic.topic_id for name, topic in started.image.topics.items()}
    started.controller = Controller(started.config, new_random(2))
    started.activate()
    reply = list(slices(started, creation(4, 4, 25)))[-1].reply
    assert isinstance(reply, CreateTopicsResponse)
    assert [topic.error.code for topic in reply.topics] == [0, 0, 0]
    assert counts_of(started) == [4, 4, 25]
    for name, topic_id in begun.items():
        assert started.image.topics[name].topic_id == topic_id, "not created twice"


def test_how_far_a_plan_has_come_is_in_a_snapshot(started: World) -> None:
    next(slices(started, creation(4, 25)))
    reader, restored = SnapshotReader(), None
    for piece in pieces_of(started.image):
        restored = reader.take(piece)
    assert restored == started.image
    list(slices(started, creation(4, 25)))
    assert counts_of(started) == [4, 25]


def test_another_command_between_two_slices_is_decided_and_kept(started: World) -> None:
    plan = slices(started, creation(4, 25))
    next(plan)
    assert not started.create("other").error.code
    list(plan)
    assert counts_of(started) == [4, 25, 1]


def test_a_plan_without_an_id_gets_one_so_that_it_goes_on(started: World) -> None:
    command = creation(25, command_id=b"")
    list(slices(started, command))
    assert counts_of(started) == [25]
    small = creation(0, 1, command_id=b"")
    list(slices(started, small))
    assert isinstance(small, CreateTopicsRequest)
    assert not small.command_id


def test_a_plan_above_the_clusters_limit_is_refused_before_anything_is_decided(
    started: World,
) -> None:
    before = started.image
    (decision,) = slices(started, creation(*[50] * 5))
    assert not decision.records
    assert started.image is before
    assert isinstance(decision.reply, CreateTopicsResponse)
    assert decision.reply.error.code == common_pb2.INVALID_PARTITIONS
    assert "250 partitions" in decision.reply.error.message
    assert "200" in decision.reply.error.message


def test_topics_that_are_there_do_not_count_against_the_limit(started: World) -> None:
    list(slices(started, creation(*[50] * 3)))
    (decision,) = slices(started, creation(*[50] * 4, command_id=b"j" * 16, validate_only=True))
    assert isinstance(decision.reply, CreateTopicsResponse)
    assert not decision.reply.error.code
    codes = [topic.error.code for topic in decision.reply.topics]
    assert codes == [common_pb2.TOPIC_ALREADY_EXISTS] * 3 + [0]


def test_one_topic_that_is_too_large_by_itself_keeps_no_other_back(started: World) -> None:
    reply = list(slices(started, creation(201, 4)))[-1].reply
    assert isinstance(reply, CreateTopicsResponse)
    assert [one.error.code for one in reply.topics] == [common_pb2.INVALID_PARTITIONS, 0]


def test_a_topic_deleted_while_it_grows_stays_deleted(started: World) -> None:
    plan = slices(started, creation(25, 3))
    next(plan)
    started.do(DeleteTopicsRequest(names=["t0"]))
    list(plan)
    assert list(started.image.topics) == ["t1"]


def test_a_topic_made_anew_while_another_grows_is_left_alone(started: World) -> None:
    plan = slices(started, creation(25))
    next(plan)
    started.do(DeleteTopicsRequest(names=["t0"]))
    started.create("t0", partitions=2)
    list(plan)
    assert counts_of(started) == [2]


def test_a_plan_waits_for_a_broker_to_lead_and_goes_on(started: World) -> None:
    plan = slices(started, creation(25))
    next(plan)
    started.pass_session_but()
    refused = next(plan)
    assert refused.is_last
    assert not refused.records
    assert isinstance(refused.reply, CreateTopicsResponse)
    assert refused.reply.error.code == common_pb2.REQUEST_TIMED_OUT
    assert "10 of 25" in refused.reply.error.message
    assert started.image.commands[ID].is_unfinished
    started.beat(1)
    list(slices(started, creation(25)))
    assert counts_of(started) == [25]
    assert not started.image.commands[ID].is_unfinished


def test_named_replicas_are_kept_over_slices(started: World) -> None:
    named = [((number % 3) + 1, ((number + 1) % 3) + 1) for number in range(25)]
    assigned = [ReplicaAssignment(partition=n, broker_ids=one) for n, one in enumerate(named)]
    topic = NewTopic(name="t", assignments=reversed(assigned))
    list(slices(started, CreateTopicsRequest(topics=[topic], command_id=ID)))
    assert [one.replicas for one in started.image.topics["t"].partitions] == named


def test_leaders_of_a_topic_in_slices_are_spread_evenly(started: World) -> None:
    list(slices(started, creation(30)))
    leaders = [one.leader_id for one in started.image.topics["t0"].partitions]
    assert [leaders.count(broker) for broker in (1, 2, 3)] == [10, 10, 10]


def test_partitions_are_added_in_slices_too(started: World) -> None:
    started.create("a", partitions=2)
    started.create("b", partitions=1)
    asked = [
        CreatePartitionsRequest.Topic(name="a", count=30),
        CreatePartitionsRequest.Topic(name="none", count=3),
        CreatePartitionsRequest.Topic(name="b", count=6),
    ]
    made = list(slices(started, CreatePartitionsRequest(topics=asked, command_id=ID)))
    assert [partitions_in(one) for one in made] == [10, 10, 10, 3]
    assert counts_of(started) == [30, 6]
    reply = made[-1].reply
    assert isinstance(reply, CreatePartitionsResponse)
    codes = [one.error.code for one in reply.topics]
    assert codes == [0, common_pb2.UNKNOWN_TOPIC_OR_PARTITION, 0]


def test_added_partitions_above_the_clusters_limit_are_refused_as_a_whole(started: World) -> None:
    started.create("a")
    started.create("b")
    asked = [CreatePartitionsRequest.Topic(name=name, count=150) for name in "ab"]
    (decision,) = slices(started, CreatePartitionsRequest(topics=asked, command_id=ID))
    assert isinstance(decision.reply, CreatePartitionsResponse)
    assert decision.reply.error.code == common_pb2.INVALID_PARTITIONS
    assert counts_of(started) == [1, 1]


def test_topics_are_deleted_in_slices_each_once(started: World) -> None:
    list(slices(started, creation(*[4] * 7)))
    names = [*(f"t{number}" for number in range(7)), "t0", "none"]
    made = list(slices(started, DeleteTopicsRequest(names=names, command_id=b"d" * 16)))
    assert [sum(r.HasField("remove_topic") for r in one.records) for one in made] == [3, 3, 1]
    assert not started.image.topics
    reply = made[-1].reply
    assert isinstance(reply, DeleteTopicsResponse)
    unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert [one.error.code for one in reply.topics] == [*[0] * 7, unknown, unknown]


def test_an_id_of_a_plan_that_names_other_topics_is_refused(started: World) -> None:
    next(slices(started, creation(25)))
    other = CreateTopicsRequest(topics=[NewTopic(name="other", partitions=5)], command_id=ID)
    (refused,) = slices(started, other)
    assert isinstance(refused.reply, CreateTopicsResponse)
    assert refused.reply.error.code == common_pb2.INVALID_REQUEST
    shorter = CreateTopicsRequest(command_id=ID)
    (refused,) = slices(started, shorter)
    assert isinstance(refused.reply, CreateTopicsResponse)
    assert refused.reply.error.code == common_pb2.INVALID_REQUEST


def test_no_batch_goes_on_with_a_plan_that_is_done() -> None:
    def memory(*, is_unfinished: bool) -> MetadataRecord:
        record = CommandRecord(command_id=ID, is_unfinished=is_unfinished)
        record.create_topics.SetInParent()
        return MetadataRecord(command=record)

    begun = speculate(EMPTY_IMAGE, [memory(is_unfinished=True), memory(is_unfinished=False)])
    assert not begun.commands[ID].is_unfinished
    with pytest.raises(InvariantError):
        speculate(begun, [memory(is_unfinished=False)])
