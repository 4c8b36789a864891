"""The broker's image moves only by replayed batches, from whichever controller still talks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.metadata.broker_endpoints import registered_at

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.epoch import ControllerEpoch
from tidelog.broker.controller_link.metadata_follower import SOURCE_LAG_MS_MAX, MetadataFollower
from tidelog.core.errors import InvariantError, UnreachableError
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.snapshot import pieces_of
from tidelog.metadata.state_machine import OnBatch
from tidelog.v1.controller_pb2 import FollowMetadataRequest, FollowMetadataResponse
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, RegisterBrokerRecord


def entry(offset: int, *, base: int, broker_id: int) -> FollowMetadataResponse.Entry:
    record = RegisterBrokerRecord(
        broker_id=broker_id, incarnation_id=b"i" * 16, endpoints=registered_at(f"h:{broker_id}")
    )
    batch = MetadataBatch(
        controller_epoch=1, base_offset=base, records=[MetadataRecord(register_broker=record)]
    )
    return FollowMetadataResponse.Entry(offset=offset, batch=batch)


class ManualClock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.now_ms = 0

    def monotonic_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def wall_ms(self) -> int:
        return self.now_ms


class StreamingPeers:
    """One queue of responses an address; no queue: nobody answers there."""

    def __init__(self, queues: dict[str, asyncio.Queue[FollowMetadataResponse]]) -> None:
        self.queues = queues
        self.asked: list[tuple[str, int]] = []

    async def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("not to be called")

    async def stream(
        self, address: str, method: Any, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        del method
        assert request.accepts_snapshot
        self.asked.append((address, request.from_offset))
        if address not in self.queues:
            raise UnreachableError(f"nobody at {address}")
        while True:
            yield await self.queues[address].get()


def follow(
    peers: StreamingPeers,
    addresses: list[str],
    clock: ManualClock,
    *,
    epoch: ControllerEpoch | None = None,
    on_fatal: Callable[[BaseException], None] = lambda _: None,
    on_batch: OnBatch | None = None,
) -> tuple[MetadataFollower, list[MetadataImage]]:
    images: list[MetadataImage] = []
    source = ControllerChannel(
        peers=peers,  # type: ignore[arg-type]
        addresses=addresses,
        clock=clock,
        epoch=epoch or ControllerEpoch(),
    )
    follower = MetadataFollower(
        broker_id=1,
        peers=peers,  # type: ignore[arg-type]
        source=source,
        clock=clock,
        listener=images.append,
        on_fatal=on_fatal,
        on_batch=on_batch,
    )
    return follower, images


async def test_each_batch_makes_an_image_and_void_batches_make_none() -> None:
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    reported: list[tuple[int, int]] = []
    follower, images = follow(
        StreamingPeers({"a:1": queue}),
        ["a:1"],
        ManualClock(),
        on_batch=lambda before, _, offset: reported.append((before.offset, offset)),
    )
    await follower.start()
    queue.put_nowait(FollowMetadataResponse(entries=[entry(3, base=0, broker_id=1)]))
    queue.put_nowait(FollowMetadataResponse(entries=[entry(4, base=1, broker_id=2)]))  # void
    queue.put_nowait(FollowMetadataResponse())  # keep-alive
    queue.put_nowait(FollowMetadataResponse(entries=[entry(6, base=3, broker_id=3)]))
    assert await follower.wait_until(lambda image: image.offset >= 6, timeout_ms=5000)
    assert [image.offset for image in images] == [3, 6]
    assert reported == [(0, 3), (3, 6)]
    assert sorted(follower.image.brokers) == [1, 3]
    await follower.stop()


async def test_a_batch_that_no_controller_may_decide_ends_the_node() -> None:
    """Asking another source would only hide that this broker's metadata cannot be trusted."""
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    fatal: list[BaseException] = []
    ended = asyncio.Event()

    def on_fatal(error: BaseException) -> None:
        fatal.append(error)
        ended.set()

    peers = StreamingPeers({"a:1": queue})
    follower, images = follow(peers, ["a:1"], ManualClock(), on_fatal=on_fatal)
    await follower.start()
    impossible = entry(3, base=0, broker_id=1)
    impossible.batch.records.add().broker_fencing.broker_id = 9
    queue.put_nowait(FollowMetadataResponse(entries=[impossible]))
    async with asyncio.timeout(5):
        await ended.wait()
    assert isinstance(fatal[0], InvariantError)
    assert images == []
    assert len(peers.asked) == 1
    await follower.stop()


async def test_a_dead_source_is_left_and_the_next_asked_from_where_the_image_is() -> None:
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    peers = StreamingPeers({"b:2": queue})
    follower, _ = follow(peers, ["a:1", "b:2"], ManualClock())
    await follower.start()
    queue.put_nowait(FollowMetadataResponse(entries=[entry(2, base=0, broker_id=1)]))
    assert await follower.wait_until(lambda image: image.offset == 2, timeout_ms=5000)
    assert peers.asked == [("a:1", 0), ("b:2", 0)]
    await follower.stop()


async def test_a_source_that_stays_behind_the_active_controller_is_left() -> None:
    clock = ManualClock()
    fresh: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    peers = StreamingPeers({"a:1": asyncio.Queue(), "b:2": fresh})
    follower, _ = follow(peers, ["a:1", "b:2"], clock)
    await follower.start()
    fresh.put_nowait(FollowMetadataResponse(entries=[entry(2, base=0, broker_id=1)]))
    follower.note_committed_offset(2)
    clock.now_ms += SOURCE_LAG_MS_MAX + 1
    follower.note_committed_offset(2)
    assert await follower.wait_until(lambda image: image.offset == 2, timeout_ms=5000)
    await follower.stop()


async def test_waiting_for_an_image_that_never_comes_ends_at_the_deadline() -> None:
    follower, _ = follow(StreamingPeers({}), ["a:1"], ManualClock())
    assert not await follower.wait_until(lambda image: image.offset > 0, timeout_ms=1)


def snapshot(offset: int, *, broker_ids: int, epoch: int = 1) -> list[FollowMetadataResponse]:
    """An image with so many brokers, in several answers."""
    batch = MetadataBatch(controller_epoch=epoch)
    for broker_id in range(broker_ids):
        batch.records.extend(entry(1, base=0, broker_id=broker_id).batch.records)
    pieces = list(pieces_of(replay(EMPTY_IMAGE, batch, offset=offset)))
    return [FollowMetadataResponse(snapshot=piece, controller_epoch=epoch) for piece in pieces]


async def taken(queue: asyncio.Queue[FollowMetadataResponse]) -> None:
    """Returns when the follower has what was in it."""
    async with asyncio.timeout(5):
        while not queue.empty():  # noqa: ASYNC110  # a queue tells nobody that it is empty
            await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_snapshot_shows_when_it_is_whole_and_batches_go_on_from_it() -> None:
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    follower, images = follow(StreamingPeers({"a:1": queue}), ["a:1"], ManualClock())
    await follower.start()
    pieces = snapshot(90, broker_ids=2_000)
    assert len(pieces) > 2
    for piece in pieces[:-1]:
        queue.put_nowait(piece)
    await taken(queue)
    assert follower.image is EMPTY_IMAGE
    queue.put_nowait(pieces[-1])
    queue.put_nowait(FollowMetadataResponse(entries=[entry(93, base=90, broker_id=5_000)]))
    assert await follower.wait_until(lambda image: image.offset == 93, timeout_ms=5000)
    assert [(image.offset, len(image.brokers)) for image in images] == [(90, 2_000), (93, 2_001)]
    await follower.stop()


async def test_half_a_snapshot_of_a_lost_source_is_forgotten() -> None:
    queues: dict[str, asyncio.Queue[FollowMetadataResponse]] = {
        "a:1": asyncio.Queue(),
        "b:2": asyncio.Queue(),
    }
    peers = StreamingPeers(queues)
    follower, images = follow(peers, ["a:1", "b:2"], ManualClock())
    await follower.start()
    one, other = snapshot(90, broker_ids=1_000), snapshot(120, broker_ids=900)
    queues["a:1"].put_nowait(one[0])
    queues["a:1"].put_nowait(other[1])  # does not continue: this source is left
    for piece in other:
        queues["b:2"].put_nowait(piece)
    assert await follower.wait_until(lambda image: image.offset == 120, timeout_ms=5000)
    assert [len(image.brokers) for image in images] == [900]
    assert peers.asked == [("a:1", 0), ("b:2", 0)]
    await follower.stop()


async def test_the_image_never_goes_back_to_an_older_snapshot() -> None:
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    follower, images = follow(StreamingPeers({"a:1": queue}), ["a:1"], ManualClock())
    await follower.start()
    queue.put_nowait(FollowMetadataResponse(entries=[entry(6, base=0, broker_id=1)]))
    for piece in [*snapshot(5, broker_ids=2), *snapshot(6, broker_ids=2)]:
        queue.put_nowait(piece)
        await taken(queue)
    queue.put_nowait(FollowMetadataResponse(entries=[entry(8, base=6, broker_id=7)]))
    assert await follower.wait_until(lambda image: image.offset == 8, timeout_ms=5000)
    assert [image.offset for image in images] == [6, 8]
    assert sorted(follower.image.brokers) == [1, 7]
    await follower.stop()


async def test_a_source_of_a_lower_controller_epoch_is_refused_and_another_asked() -> None:
    """Also while it is silent but for keep-alives; the epoch is known from whoever decided last."""
    queues: dict[str, asyncio.Queue[FollowMetadataResponse]] = {
        "a:1": asyncio.Queue(),
        "b:2": asyncio.Queue(),
    }
    epoch = ControllerEpoch()
    peers = StreamingPeers(queues)
    follower, images = follow(peers, ["a:1", "b:2"], ManualClock(), epoch=epoch)
    epoch.learn(7)
    await follower.start()
    (stale,) = snapshot(5, broker_ids=2, epoch=6)
    queues["a:1"].put_nowait(stale)
    fresh = FollowMetadataResponse(entries=[entry(3, base=0, broker_id=1)], controller_epoch=7)
    queues["b:2"].put_nowait(fresh)
    assert await follower.wait_until(lambda image: image.offset > 0, timeout_ms=5000)
    assert [image.offset for image in images] == [3], "history of older epochs is no refusal"
    assert [address for address, _ in peers.asked] == ["a:1", "b:2"]
    await follower.stop()


async def test_the_epoch_of_committed_metadata_is_learned_but_not_a_voters_own_term() -> None:
    """A voter that was cut off may be in any term; nobody decided anything in it."""
    queue: asyncio.Queue[FollowMetadataResponse] = asyncio.Queue()
    epoch = ControllerEpoch()
    follower, _ = follow(StreamingPeers({"a:1": queue}), ["a:1"], ManualClock(), epoch=epoch)
    await follower.start()
    (whole,) = snapshot(5, broker_ids=2, epoch=6)
    whole.controller_epoch = 90
    queue.put_nowait(whole)
    assert await follower.wait_until(lambda image: image.offset == 5, timeout_ms=5000)
    assert epoch.highest == 6
    await follower.stop()
