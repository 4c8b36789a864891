"""Snapshots in pieces: bounded, made when asked for, refused unless whole and of one image."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from tests.metadata.broker_endpoints import reached_at

from tidelog.core.errors import CorruptMessageError, InvariantError
from tidelog.metadata import snapshot
from tidelog.metadata.image import (
    EMPTY_IMAGE,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.snapshot import PIECE_BYTES, SnapshotReader, pieces_of
from tidelog.v1.admin_pb2 import CreateTopicsResponse
from tidelog.v1.metadata_records_pb2 import CommandRecord, MetadataRecord, MetadataSnapshotPiece

if TYPE_CHECKING:
    from tests.metadata.conftest import World

# No field has its default: one that the records cannot say would be missed.
FULL = MetadataImage(
    offset=90,
    controller_epoch=7,
    brokers={
        2: BrokerImage(2, b"j" * 16, 60, reached_at("h:2"), "r2", is_fenced=True),
        1: BrokerImage(1, b"i" * 16, 50, reached_at("h:1"), "r1", is_fenced=False),
    },
    topics={
        "t": TopicImage(
            "t",
            b"t" * 16,
            (
                PartitionImage(0, (1, 2), (1,), 1, 8, 9),
                PartitionImage(1, (1, 2, 3, 4), (1,), None, 3, 4, (2, 3), 2, (4,), (3,)),
            ),
            {"retention.ms": "5"},
        ),
        "a": TopicImage("a", b"a" * 16, (), {}),
    },
    topics_by_id={b"t" * 16: "t", b"a" * 16: "a"},
    cluster_configs={"retention.ms": "9", "cleanup.policy": "delete"},
    commands={b"c" * 16: CommandRecord(command_id=b"c" * 16)},
    commands_bytes=18,
    next_producer_id=3_000,
)


def _read(pieces: list[MetadataSnapshotPiece]) -> MetadataImage | None:
    reader, image = SnapshotReader(), None
    for piece in pieces:
        image = reader.take(piece)
    return image


@pytest.mark.parametrize("image", [FULL, EMPTY_IMAGE])
def test_every_field_survives(image: MetadataImage) -> None:
    (piece,) = pieces_of(image)
    again = _read([piece])
    assert again == image
    assert again is not None
    for name in ("brokers", "topics", "topics_by_id", "cluster_configs", "commands"):
        assert list(getattr(again, name)) == list(getattr(image, name)), "in the same order"


def test_the_example_leaves_no_field_out() -> None:
    topic = FULL.topics["t"]
    samples = (FULL, FULL.brokers[1], topic, topic.partitions[1])
    unset = {
        (type(sample).__name__, field.name)
        for sample in samples
        for field in fields(sample)
        if not getattr(sample, field.name)
    }
    assert unset == {("BrokerImage", "is_fenced"), ("PartitionImage", "leader_id")}, (
        "these are set elsewhere in it"
    )


@pytest.fixture
def large(world: World) -> MetadataImage:
    """An image of several pieces."""
    world.start(1, 2, 3)
    for number in range(20):
        world.create(f"a-topic-with-a-name-{number}", partitions=10)
    for broker in (1, 2, 3):
        world.pass_session_but(broker)
    answered = (
        CommandRecord(
            command_id=number.to_bytes(16, "big"),
            create_topics=CreateTopicsResponse(controller_epoch=number),
        )
        for number in range(400)
    )
    world.commit([MetadataRecord(command=one) for one in answered])
    return world.image


def test_pieces_are_bounded_and_numbered_and_the_last_is_marked(large: MetadataImage) -> None:
    pieces = list(pieces_of(large))
    assert len(pieces) > 1
    assert [piece.number for piece in pieces] == list(range(len(pieces)))
    assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert all(piece.ByteSize() < PIECE_BYTES * 1.3 for piece in pieces)
    assert _read(pieces) == large


def test_nothing_shows_before_the_last_piece(large: MetadataImage) -> None:
    pieces = list(pieces_of(large))
    reader = SnapshotReader()
    assert [reader.take(piece) for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert reader.take(pieces[-1]) == large
    again = [reader.take(piece) for piece in pieces]  # it kept nothing of the first ones
    assert again == [None] * (len(pieces) - 1) + [large]


def test_a_piece_that_does_not_continue_is_refused(large: MetadataImage) -> None:
    first, second, *_ = pieces_of(large)
    for other in ("offset", "controller_epoch", "number"):
        wrong = MetadataSnapshotPiece()
        wrong.CopyFrom(second)
        setattr(wrong, other, getattr(wrong, other) + 1)
        with pytest.raises(CorruptMessageError):
            _read([first, wrong])
    for pieces in ([second], [first, first]):
        with pytest.raises(CorruptMessageError):
            _read(pieces)


def test_a_snapshot_without_end_is_refused(
    large: MetadataImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "RECORDS_MAX", 300)
    with pytest.raises(CorruptMessageError):
        _read(list(pieces_of(large)))


def test_records_that_make_no_image_are_a_broken_invariant() -> None:
    (piece,) = pieces_of(FULL)
    piece.records[1].broker_fencing.broker_epoch += 1
    with pytest.raises(InvariantError):
        _read([piece])
