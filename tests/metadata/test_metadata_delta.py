"""Replay: whole or not at all, and never against what must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.metadata.broker_endpoints import registered_at

from tidelog.core.errors import InvariantError
from tidelog.metadata.delta import UNCOMMITTED_EPOCH, replay, speculate
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.records import fencing, partition_change
from tidelog.v1.metadata_records_pb2 import (
    CommandRecord,
    ConfigRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from tests.metadata.conftest import World


def _topic(name: str) -> MetadataRecord:
    return MetadataRecord(topic=TopicRecord(name=name, topic_id=name.encode() * 16))


def _batch(image: MetadataImage, *records: MetadataRecord, epoch: int = 1) -> MetadataBatch:
    return MetadataBatch(controller_epoch=epoch, base_offset=image.offset, records=records)


def test_a_batch_moves_the_offset_to_its_index() -> None:
    after = replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, _topic("a"), epoch=4), offset=7)
    assert (after.offset, after.controller_epoch) == (7, 4)
    assert list(after.topics) == ["a"]
    assert not EMPTY_IMAGE.topics, "the image before is as it was"


def test_a_batch_decided_on_an_older_image_is_void() -> None:
    stale = _batch(EMPTY_IMAGE, _topic("b"))
    image = replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, _topic("a")), offset=1)
    assert replay(image, stale, offset=2) is image
    assert replay(image, _batch(image, _topic("b")), offset=3).offset == 3


def test_the_same_batch_twice_applies_once() -> None:
    batch = _batch(EMPTY_IMAGE, _topic("a"))
    image = replay(EMPTY_IMAGE, batch, offset=1)
    assert replay(image, batch, offset=1) is image


def test_a_batch_of_an_earlier_controller_epoch_is_void() -> None:
    image = replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, _topic("z")), offset=1)
    image = replay(image, _batch(image, _topic("a"), epoch=3), offset=2)
    assert replay(image, _batch(image, _topic("b"), epoch=2), offset=3) is image


def test_speculation_keeps_the_offset_and_gives_no_broker_epoch() -> None:
    record = MetadataRecord(
        register_broker=RegisterBrokerRecord(
            broker_id=1, incarnation_id=b"i" * 16, endpoints=registered_at("host:1"), rack="r"
        )
    )
    ahead = speculate(EMPTY_IMAGE, [record])
    assert ahead.offset == 0
    assert ahead.brokers[1].broker_epoch == UNCOMMITTED_EPOCH
    committed = replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, record), offset=5).brokers[1]
    assert (committed.broker_epoch, committed.address, committed.rack) == (5, "host:1", "r")


def test_configs_are_set_and_reset_for_topics_and_the_cluster() -> None:
    def config(kind: ConfigRecord.ResourceType, value: str | None) -> MetadataRecord:
        return MetadataRecord(
            config=ConfigRecord(resource_type=kind, resource_name="a", key="k", value=value)
        )

    both = (ConfigRecord.TOPIC, ConfigRecord.CLUSTER)
    records = [_topic("a"), *(config(kind, "1") for kind in both)]
    image = replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, *records), offset=1)
    assert image.topics["a"].configs == image.cluster_configs == {"k": "1"}
    reset = replay(image, _batch(image, *(config(kind, None) for kind in both)), offset=2)
    assert reset.topics["a"].configs == reset.cluster_configs == {}
    assert image.cluster_configs == {"k": "1"}


@pytest.mark.parametrize(
    ("isr", "leader_id", "leader_epoch", "partition_epoch"),
    [
        ((2, 3), 1, 0, 1),  # leader outside the ISR
        ((), None, 1, 1),  # nobody left who has all records
        ((1, 9), 1, 0, 1),  # a member that is no replica
        ((1, 1), 1, 0, 1),
        ((1, 2, 3), 2, 0, 1),  # another leader in the same leader epoch
        ((1, 2), 1, 2, 1),  # a leader epoch left out
        ((1, 2), 1, 0, 0),
        ((1, 2), 1, 0, 2),
    ],
)
def test_no_batch_breaks_leader_isr_and_epochs(
    world: World,
    isr: tuple[int, ...],
    leader_id: int | None,
    leader_epoch: int,
    partition_epoch: int,
) -> None:
    world.start(1, 2, 3)
    added = PartitionRecord(
        topic_id=b"t" * 16, partition=0, replicas=[1, 2, 3], isr=[1, 2, 3], leader_id=1
    )
    world.commit([_topic("t"), MetadataRecord(partition=added)])
    change = PartitionChangeRecord(
        topic_id=b"t" * 16,
        partition=0,
        isr=isr,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
    )
    with pytest.raises(InvariantError):
        speculate(world.image, [MetadataRecord(partition_change=change)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"isr": (1, 2), "elr": (2,)},  # in both
        {"isr": (1,), "elr": (9,)},  # no replica
        {"isr": (1,), "elr": (2, 2)},
        {"isr": (1,), "elr": (2,), "damaged": (2,)},
        {"isr": (1, 2), "damaged": (2,)},  # in sync with damage, and does not lead
        {"isr": (1, 2), "last_known_leader_id": 2},  # though somebody leads
        {"isr": (), "leader_id": None, "leader_epoch": 1},  # nobody complete, nobody to ask
    ],
)
def test_no_batch_breaks_what_eligible_and_damaged_replicas_are(
    world: World, wrong: dict[str, object]
) -> None:
    world.start(1, 2, 3)
    added = PartitionRecord(
        topic_id=b"t" * 16, partition=0, replicas=[1, 2, 3], isr=[1, 2, 3], leader_id=1
    )
    world.commit([_topic("t"), MetadataRecord(partition=added)])
    fields = {"topic_id": b"t" * 16, "leader_id": 1, "leader_epoch": 0, "partition_epoch": 1}
    change = PartitionChangeRecord(**{**fields, **wrong})  # type: ignore[arg-type]  # of all types
    with pytest.raises(InvariantError):
        speculate(world.image, [MetadataRecord(partition_change=change)])


def test_a_broker_that_is_fenced_stays_in_isrs_until_another_batch_and_becomes_no_leader(
    world: World,
) -> None:
    world.start(1, 2, 3)
    world.create("t")
    partition = world.partition("t")
    other = next(one for one in partition.isr if one != partition.leader_id)
    fenced = speculate(world.image, [fencing(world.image.brokers[other], fenced=True)])
    assert fenced.partition("t", 0) == partition
    topic_id = world.image.topics["t"].topic_id
    led = partition_change(topic_id, partition, isr=partition.isr, leader_id=other)
    with pytest.raises(
        InvariantError, match="no fenced broker comes into an ISR or becomes leader"
    ):
        speculate(fenced, [led])


def test_the_last_member_that_earlier_versions_left_in_an_isr_leads_when_it_is_back(
    world: World,
) -> None:
    world.start(1, 2)
    world.create("t", replication_factor=1)
    (owner,) = world.partition("t").replicas
    earlier = PartitionChangeRecord(
        topic_id=world.image.topics["t"].topic_id,
        partition=0,
        isr=[owner],
        leader_epoch=1,
        partition_epoch=1,
    )
    fenced = fencing(world.image.brokers[owner], fenced=True)
    batch = _batch(world.image, fenced, MetadataRecord(partition_change=earlier))
    world.image = replay(world.image, batch, offset=world.image.offset + 2)
    assert not world.register(owner, incarnation=2).error.code
    assert world.partition("t").elr == (owner,)
    world.beat(owner)
    assert world.partition("t").leader_id == owner


def test_no_batch_registers_a_broker_again_and_leaves_it_in_an_isr(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    again = RegisterBrokerRecord(broker_id=2, incarnation_id=b"n" * 16)
    with pytest.raises(InvariantError, match="an incarnation that registers is in no ISR"):
        speculate(world.image, [MetadataRecord(register_broker=again)])


def test_no_batch_takes_a_fenced_broker_into_an_isr(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    world.pass_session_but(1, 3)
    partition = world.partition("t")
    joining = partition_change(
        world.image.topics["t"].topic_id,
        partition,
        isr=partition.replicas,
        leader_id=partition.leader_id,
    )
    with pytest.raises(InvariantError):
        speculate(world.image, [joining])


def test_a_record_of_an_unknown_kind_stops_the_node() -> None:
    with pytest.raises(InvariantError):
        replay(EMPTY_IMAGE, _batch(EMPTY_IMAGE, MetadataRecord()), offset=1)


def _command(number: int, *, message: str = "") -> MetadataRecord:
    record = CommandRecord(command_id=number.to_bytes(16, "big"))
    record.create_topics.error.message = message
    return MetadataRecord(command=record)


def test_the_newest_commands_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.metadata.images.commands.COMMANDS_MAX", 3)
    image = speculate(EMPTY_IMAGE, map(_command, range(5)))
    assert [int.from_bytes(one, "big") for one in image.commands] == [2, 3, 4]
    assert image.commands_bytes == sum(one.ByteSize() for one in image.commands.values())


def test_commands_are_remembered_within_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.metadata.images.commands.COMMANDS_BYTES_MAX", 300)
    image = speculate(EMPTY_IMAGE, [_command(n, message="m" * 100) for n in range(5)])
    assert [int.from_bytes(one, "big") for one in image.commands] == [3, 4]
    larger = speculate(image, [_command(9, message="m" * 400)])
    assert not larger.commands, "one that no window holds is not remembered"
    assert larger.commands_bytes == 0


def test_no_batch_follows_a_command_twice() -> None:
    image = speculate(EMPTY_IMAGE, [_command(1)])
    with pytest.raises(InvariantError):
        speculate(image, [_command(1)])


@pytest.mark.parametrize("kind", [one.name for one in MetadataRecord.DESCRIPTOR.fields])
def test_every_kind_of_record_has_an_aspect_that_replays_it(kind: str) -> None:
    record = MetadataRecord()
    getattr(record, kind).SetInParent()
    try:
        speculate(EMPTY_IMAGE, [record])
    except InvariantError as error:
        found = str(error)  # an empty record may be wrong in itself
    else:
        found = ""
    assert "this version knows" not in found


def test_a_record_of_no_kind_stops_the_node() -> None:
    with pytest.raises(InvariantError, match="a kind of record this version knows"):
        speculate(EMPTY_IMAGE, [MetadataRecord()])
