"""The committed metadata: what followers get, and that it stays small."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import pytest
from tests.metadata.fake_quorum import CONFIG, Nodes, creation, registration, start_broker

from tidelog.core.errors import InvariantError
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.snapshot import SnapshotReader, pieces_of
from tidelog.metadata.state_machine import Followed, MetadataStateMachine
from tidelog.raft.replicated_log import CommittedEntry, ProposalUnknownError
from tidelog.v1.metadata_records_pb2 import (
    MetadataBatch,
    MetadataRecord,
    MetadataSnapshotPiece,
    TopicRecord,
)


def topic_entry(index: int, *, base: int, term: int = 1) -> CommittedEntry:
    """A batch that makes one topic."""
    topic = TopicRecord(name=f"t{index}", topic_id=index.to_bytes(16, "big"))
    batch = MetadataBatch(
        controller_epoch=term, base_offset=base, records=[MetadataRecord(topic=topic)]
    )
    return CommittedEntry(index, term, batch.SerializeToString())


def grown(entries: int, **limits: int) -> MetadataStateMachine:
    """After entries 1, 2, …, each with a topic."""
    committed = MetadataStateMachine(replace(CONFIG, **limits))  # type: ignore[arg-type]  # ints
    for index in range(1, entries + 1):
        committed.apply(topic_entry(index, base=index - 1))
    return committed


def offsets(followed: Followed) -> list[int]:
    assert isinstance(followed, list)
    return [offset for offset, _ in followed]


async def test_followers_get_old_batches_then_new_ones_then_keep_alives(nodes: Nodes) -> None:
    active, other = nodes.quorums
    await active.submit(registration(1))
    await active.submit(registration(2))
    async with aclosing(other.follow(3)) as batches:
        assert offsets(await anext(batches)) == [6]
        assert await anext(batches) == [], "nothing new: a keep-alive"
        await active.submit(registration(3))
        found = await anext(batches)
        assert offsets(found) == [9]
        assert isinstance(found, list)
        assert found[0].batch.records[0].register_broker.broker_id == 3


async def test_one_answer_to_a_follower_is_bounded_in_bytes() -> None:
    async with aclosing(grown(3, follow_bytes_max=1).follow(0)) as batches:
        answers = [offsets(await anext(batches)) for _ in range(3)]
    assert answers == [[1], [2], [3]], "at least one, and no more than fit"


async def test_a_follower_ahead_of_its_source_gets_nothing_twice(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await active.submit(registration(1))
    async with aclosing(active.follow(3, accepts_snapshot=True)) as batches:
        assert await anext(batches) == []
    async with aclosing(active.follow(100, accepts_snapshot=True)) as batches:
        await active.submit(registration(2))
        assert await anext(batches) == []


async def test_what_a_follower_replays_is_the_controllers_image(
    nodes: Nodes, rebuild: Callable[[list[tuple[int, MetadataBatch]]], MetadataImage]
) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    await active.submit(creation("t"))
    async with aclosing(active.follow(0)) as batches:
        found = await anext(batches)
    assert isinstance(found, list)
    assert rebuild([(offset, batch) for offset, batch in found]) == active.image


@pytest.mark.parametrize("from_offset", [0, 1, 6])
async def test_a_follower_that_is_new_or_too_far_behind_gets_a_snapshot_then_batches(
    from_offset: int,
) -> None:
    committed = grown(10, tail_batches_max=3)
    async with aclosing(committed.follow(from_offset, accepts_snapshot=True)) as followed:
        piece = await anext(followed)
        assert isinstance(piece, MetadataSnapshotPiece)
        assert SnapshotReader().take(piece) == committed.image
        assert piece.offset == 10
        committed.apply(topic_entry(12, base=10))
        assert offsets(await anext(followed)) == [12]


async def test_a_new_follower_gets_no_history_though_it_is_held() -> None:
    async with aclosing(grown(10).follow(0, accepts_snapshot=True)) as followed:
        assert isinstance(await anext(followed), MetadataSnapshotPiece)


async def test_a_new_follower_of_a_new_cluster_waits_for_its_first_batch() -> None:
    committed = grown(0)
    async with aclosing(committed.follow(0, accepts_snapshot=True)) as followed:
        assert await anext(followed) == []
        committed.apply(topic_entry(1, base=0))
        piece = await anext(followed)
        assert isinstance(piece, MetadataSnapshotPiece)
        assert SnapshotReader().take(piece) == committed.image


async def test_a_follower_within_the_tail_gets_no_snapshot() -> None:
    async with aclosing(grown(10, tail_batches_max=3).follow(7, accepts_snapshot=True)) as followed:
        assert offsets(await anext(followed)) == [8, 9, 10]


async def test_a_follower_that_takes_no_snapshot_gets_what_is_held() -> None:
    """Brokers from before snapshots: their images take no batch that does not follow theirs."""
    async with aclosing(grown(10, tail_batches_max=3).follow(0)) as followed:
        assert offsets(await anext(followed)) == [8, 9, 10]


async def test_a_follower_overtaken_while_it_waits_gets_a_snapshot() -> None:
    committed = grown(5, tail_batches_max=3, follow_keep_alive_ms=60_000)
    async with aclosing(committed.follow(5, accepts_snapshot=True)) as followed:
        waiting = asyncio.ensure_future(anext(followed))
        await asyncio.sleep(0)
        for index in range(6, 12):
            committed.apply(topic_entry(index, base=index - 1))
        async with asyncio.timeout(5):
            piece = await waiting
        assert isinstance(piece, MetadataSnapshotPiece)
        assert piece.offset == 11


async def test_a_snapshot_under_way_is_of_one_image_though_the_metadata_grows() -> None:
    committed = grown(2_000, tail_batches_max=100)
    before, reader = committed.image, SnapshotReader()
    built = None
    async with aclosing(committed.follow(0, accepts_snapshot=True)) as followed:
        for step in range(100):
            piece = await anext(followed)
            assert isinstance(piece, MetadataSnapshotPiece)
            committed.apply(topic_entry(2_001 + step, base=2_000 + step))
            built = reader.take(piece)
            if built is not None:
                break
        assert step > 1, "more than one piece"
        assert built == before
        assert offsets(await anext(followed)) == list(range(2_001, 2_002 + step))


@pytest.mark.parametrize("limits", [{"tail_batches_max": 5}, {"tail_bytes_max": 200}])
async def test_the_batches_held_are_bounded(limits: dict[str, int]) -> None:
    committed = grown(1_000, **limits)
    async with aclosing(committed.follow(0)) as followed:
        held = offsets(await anext(followed))
    assert held[-1] == 1_000
    assert len(held) <= 6


def test_what_became_of_a_batch_is_told_only_while_it_is_known() -> None:
    committed = grown(10, tail_batches_max=3)
    committed.apply(topic_entry(12, base=3))
    assert committed.has_applied(10)
    assert not committed.has_applied(12), "void"
    with pytest.raises(ProposalUnknownError):
        committed.has_applied(7)


def test_records_are_of_the_image_at_the_call_and_restore_it() -> None:
    committed = grown(3)
    records, image = committed.records(), committed.image
    committed.apply(topic_entry(4, base=3))
    restored = MetadataStateMachine(CONFIG)
    restored.restore(records, index=3, term=1)
    assert restored.image == image
    restored.apply(topic_entry(4, base=3))
    assert restored.image == committed.image


async def test_followers_of_a_restored_image_are_given_a_snapshot() -> None:
    source, committed = grown(9), grown(2, follow_keep_alive_ms=60_000)
    async with aclosing(committed.follow(2, accepts_snapshot=True)) as followed:
        waiting = asyncio.ensure_future(anext(followed))
        await asyncio.sleep(0)
        committed.restore(source.records(), index=11, term=1)
        async with asyncio.timeout(5):
            piece = await waiting
        assert isinstance(piece, MetadataSnapshotPiece)
        assert piece.offset == 9


async def test_no_batch_from_before_a_restored_image_is_held() -> None:
    source, committed = grown(9), grown(2)
    committed.restore(source.records(), index=11, term=1)
    async with aclosing(committed.follow(0)) as followed:
        assert await anext(followed) == []
        committed.apply(topic_entry(12, base=9))
        assert offsets(await anext(followed)) == [12]


@pytest.mark.parametrize(
    ("applied", "index", "term"),
    [(5, 4, 1), (0, 3, 1), (0, 4, 0)],
    ids=["older than the image", "newer than it says", "of a later term than it says"],
)
def test_a_snapshot_that_is_not_of_this_log_stops_the_node(
    applied: int, index: int, term: int
) -> None:
    with pytest.raises(InvariantError):
        grown(applied).restore(grown(4).records(), index=index, term=term)


def test_half_a_snapshot_stops_the_node() -> None:
    pieces = [piece.SerializeToString() for piece in pieces_of(grown(1_000).image)]
    assert len(pieces) > 1
    for wrong in (pieces[:-1], [], [*pieces, pieces[-1]]):
        with pytest.raises(InvariantError):
            MetadataStateMachine(CONFIG).restore(wrong, index=1_000, term=1)
