"""Any sequence of commands keeps I14 and I15; `World` checks them after every batch.

And any image it makes is exactly what its own snapshot makes again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.metadata.brokers import ExpireSessions
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.settling import SettlePartitions
from tidelog.metadata.snapshot import SnapshotReader, pieces_of
from tidelog.v1.admin_pb2 import (
    CLUSTER,
    TOPIC,
    AlterConfigsRequest,
    CreatePartitionsRequest,
    DeleteTopicsRequest,
)
from tidelog.v1.controller_pb2 import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from tests.metadata.conftest import World

_BROKERS = st.integers(1, 4)
_TOPICS = st.sampled_from(["a", "b"])
_LAGS = st.dictionaries(
    st.sampled_from(["min.compaction.lag.ms", "max.compaction.lag.ms"]),
    st.one_of(st.none(), st.sampled_from(["-1", "1", "5", "9"])),
)
_STEPS = st.one_of(
    st.tuples(st.just("register"), _BROKERS, st.integers(1, 3)),
    st.tuples(st.just("beat"), _BROKERS, st.booleans()),
    st.tuples(st.just("beat"), _BROKERS, st.just(False)),
    st.tuples(st.just("pass"), st.sampled_from([1, 2_000, 4_500, 9_000]), st.none()),
    st.tuples(st.just("create"), _TOPICS, st.integers(1, 3)),
    st.tuples(st.just("delete"), _TOPICS, st.none()),
    st.tuples(st.just("grow"), _TOPICS, st.integers(1, 4)),
    st.tuples(st.just("alter"), _TOPICS, st.lists(_BROKERS, max_size=3)),
    st.tuples(st.just("configure"), st.one_of(st.just(""), _TOPICS), _LAGS),
    st.tuples(st.just("again"), st.none(), st.none()),
    st.tuples(st.just("allocate"), _BROKERS, st.none()),
    st.tuples(st.just("activate"), st.none(), st.none()),
    st.tuples(st.just("hold"), st.sampled_from([0, 6_000]), st.none()),
    st.tuples(st.just("settle"), st.none(), st.none()),
)
_ROOMS = st.sampled_from([1, 2, 100])
"""Partitions that a batch has room for: of the first two a fencing takes several."""


def _take(world: World, step: tuple[str, object, object]) -> None:
    match step:
        case ("register", int(broker), int(incarnation)):
            world.register(broker, incarnation=incarnation)
        case ("beat", int(broker), bool(want_shut_down)):
            world.beat(broker, want_shut_down=want_shut_down)
        case ("pass", int(milliseconds), _):
            world.now_ms += milliseconds
            world.do(ExpireSessions())
        case ("again", _, _):
            world.do(world.last_identified)
        case ("allocate", int(broker), _):
            request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=world.epoch(broker))
            world.do(request)
        case ("settle", _, _):
            world.do(SettlePartitions())
        case ("activate", _, _):
            world.activate()
        case ("hold", int(milliseconds), _):
            world.controller.hold(world.now_ms + milliseconds)
        case _:
            _change_topics(world, step)


def _change_topics(world: World, step: tuple[str, object, object]) -> None:
    match step:
        case ("create", str(name), int(factor)):
            world.create(name, partitions=2, replication_factor=factor)
        case ("delete", str(name), _):
            world.do(DeleteTopicsRequest(names=[name]))
        case ("grow", str(name), int(count)):
            asked = CreatePartitionsRequest.Topic(name=name, count=count)
            world.do(CreatePartitionsRequest(topics=[asked]))
        case ("alter", str(name), list(isr)) if name in world.image.topics:
            world.alter(name, isr)
        case ("configure", str(name), dict(lags)):
            resource = AlterConfigsRequest.Resource(
                type=TOPIC if name else CLUSTER,
                name=name,
                changes=[AlterConfigsRequest.Change(key=key, value=lags[key]) for key in lags],
            )
            world.do(AlterConfigsRequest(resources=[resource]))


@settings(max_examples=150)
@given(seed=st.integers(0, 1_000), room=_ROOMS, steps=st.lists(_STEPS, max_size=40))
def test_no_sequence_of_commands_breaks_an_invariant(
    new_world: type[World], seed: int, room: int, steps: list[tuple[str, object, object]]
) -> None:
    world = _world_with_room(new_world, seed, room)
    world.start(1, 2, 3)
    world.create("a", partitions=2)
    for step in steps:
        _take(world, step)
    assert world.image.topics_by_id == {t.topic_id: t.name for t in world.image.topics.values()}


@settings(max_examples=50)
@given(seed=st.integers(0, 1_000), room=_ROOMS, steps=st.lists(_STEPS, max_size=40))
def test_when_all_brokers_are_back_every_partition_is_led(
    new_world: type[World], seed: int, room: int, steps: list[tuple[str, object, object]]
) -> None:
    world = _world_with_room(new_world, seed, room)
    world.start(1, 2, 3)
    world.create("a", partitions=2)
    for step in steps:
        _take(world, step)
    world.controller.release()
    world.pass_session_but()
    for broker in (1, 2, 3, 4):
        world.register(broker, incarnation=9)
        world.beat(broker)
    world.settle()
    assert all(partition.leader_id is not None for _, partition in world.image.partitions())
    world.pass_session_but(1)
    world.settle()
    for _, partition in world.image.partitions():
        assert all(map(world.image.is_alive, partition.isr))
        assert partition.leader_id == 1 or 1 not in (*partition.isr, *partition.elr)


def _world_with_room(new_world: type[World], seed: int, room: int) -> World:
    world = new_world(seed)
    world.start_controller(replace(world.config, partitions_per_batch_max=room), seed)
    world.activate()
    return world


def _rebuilt(image: MetadataImage) -> MetadataImage:
    reader, rebuilt = SnapshotReader(), None
    for piece in pieces_of(image):
        rebuilt = reader.take(piece)
    assert rebuilt is not None
    return rebuilt


def _in_order(image: MetadataImage) -> object:
    """All there is, with the order of what equality does not order."""
    orders = (image.brokers, image.topics, image.topics_by_id, image.cluster_configs)
    configs = [list(topic.configs.items()) for topic in image.topics.values()]
    return image, [list(one.items()) for one in orders], configs, list(image.commands)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 1_000),
    steps=st.lists(_STEPS, max_size=30),
    more=st.lists(_STEPS, max_size=10),
)
def test_a_snapshot_makes_the_image_again_and_goes_on_as_it_does(
    new_world: type[World],
    seed: int,
    steps: list[tuple[str, object, object]],
    more: list[tuple[str, object, object]],
) -> None:
    world, other = new_world(seed), new_world(seed)
    for each in (world, other):
        each.start(1, 2, 3)
        each.create("a", partitions=2)
        for step in steps:
            _take(each, step)
    other.image = _rebuilt(other.image)
    assert _in_order(other.image) == _in_order(world.image)
    for step in more:
        _take(world, step)
        _take(other, step)
    assert _in_order(other.image) == _in_order(world.image)
