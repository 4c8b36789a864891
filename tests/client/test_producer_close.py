"""Closing and cancelling a producer: in time, with nothing left behind and nothing stored twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.consumer_cases import turns
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, ClusterT, RealCluster, start_all

from tidelog.client import Producer, errors

TURNS_MAX = 400
"""More turns of the loop than any operation here takes."""


class SilentCluster(RealCluster):
    """Never answers the methods named in `silent`; `stubborn` ones are not cancelled either."""

    def __init__(self, *silent: str) -> None:
        super().__init__()
        self.silent = silent
        self.is_stubborn = False
        self.released = asyncio.Event()
        self.asked = asyncio.Event()

    async def begin(self, address: str, name: str, request: Any) -> Mishap | None:
        """See `Meddler.begin`."""
        if name in self.silent:
            self.asked.set()
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if not self.is_stubborn:
                    raise
                await self.released.wait()
        return await super().begin(address, name, request)


async def with_topic(cluster: ClusterT) -> ClusterT:
    """The cluster with topic t of one replica, which is enough here and costs less."""
    await start_all(cluster)
    await cluster.create("t", replicas=1)
    return cluster


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def tasks_of(cluster: RealCluster) -> set[asyncio.Task[Any]]:
    """Tasks of clients that are still there when all is quiet."""
    await turns(50)
    return cluster.tasks_of_clients()


@pytest.mark.parametrize("silent", ["Produce", "InitProducerId"])
async def test_leaving_ends_in_time_though_no_broker_ever_answers(silent: str) -> None:
    cluster = await with_topic(SilentCluster(silent))
    async with asyncio.timeout(10):
        async with producer(cluster, close_timeout_ms=5) as p:
            future = await p.submit("t", value=b"a")
            bulk = await p.submit_many("t", [b"b", b"c"])
            await cluster.asked.wait()
    assert future.done()
    assert bulk.done()
    error = future.exception()
    assert isinstance(error, errors.ClientClosedError)
    assert error.is_outcome_unknown == (silent == "Produce")
    assert bulk.result().failed == 2
    assert await tasks_of(cluster) == set()


async def test_leaving_ends_in_time_while_metadata_is_asked_for() -> None:
    cluster = await with_topic(SilentCluster("Metadata"))
    async with asyncio.timeout(10):
        async with producer(cluster, close_timeout_ms=5) as p:
            sending = asyncio.create_task(p.send("t", value=b"a"))
            await cluster.asked.wait()
        with pytest.raises(errors.ClientClosedError):
            await sending
    assert await tasks_of(cluster) == set()


@pytest.mark.parametrize("silent", ["Produce", "InitProducerId"])
async def test_a_call_that_heeds_no_cancellation_does_not_hold_up_close(silent: str) -> None:
    cluster = await with_topic(SilentCluster(silent))
    cluster.is_stubborn = True
    p = producer(cluster)
    delivered: list[object] = []
    bulk = await p.submit_many("t", [b"a", b"b"])
    await p.submit("t", value=b"c", on_delivery=lambda *outcome: delivered.append(outcome))
    await cluster.asked.wait()
    async with asyncio.timeout(10):
        await p.close(timeout_ms=1)
    assert bulk.result().failed == 2
    cluster.released.set()
    assert await tasks_of(cluster) == set()
    assert cluster.requests(silent), "the answer came after all"
    assert len(delivered) == 1, "and nobody heard of it"


async def test_cancelled_close_leaves_neither_task_nor_future_behind() -> None:
    cluster = await with_topic(SilentCluster("Produce"))
    # Turn 0 is before it has begun.
    for turn in range(1, TURNS_MAX):
        cluster.asked.clear()
        p = producer(cluster)
        future = await p.submit("t", value=b"a")
        await cluster.asked.wait()
        closing = asyncio.create_task(p.close(timeout_ms=0))
        is_over = await cancelled_at(closing, turn)
        assert await tasks_of(cluster) == set(), f"cancelled at {turn}"
        assert isinstance(future.exception(), errors.ClientClosedError)
        with pytest.raises(errors.ClientClosedError):
            await p.send("t", value=b"b")
        if is_over:
            assert turn > 2
            return
    raise AssertionError(f"not over after {TURNS_MAX} turns")


async def test_a_sender_that_waits_for_room_is_refused_when_the_producer_closes() -> None:
    cluster = await with_topic(RealCluster())
    await cluster.move("t", 0, leader_id=None)
    async with asyncio.timeout(10):
        limits = {"batch_size": 500, "max_request_size": 900, "buffer_memory": 1000}
        async with producer(cluster, close_timeout_ms=1, **limits) as p:
            first = await p.submit("t", value=b"x" * 700)
            second = asyncio.create_task(p.submit("t", value=b"x" * 700))
            await turns(50)
            assert not second.done()
        with pytest.raises(errors.ClientClosedError):
            await second
    assert isinstance(first.exception(), errors.ClientClosedError)


async def test_a_cancelled_close_closes_the_transport_it_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = 0

    class OwnTransport(SilentCluster):
        async def close(self) -> None:
            nonlocal closed
            closed += 1

    cluster = await with_topic(OwnTransport("Produce"))
    monkeypatch.setattr("tidelog.client.ports._grpc_transport", lambda _: cluster)
    p = Producer(BOOTSTRAP)
    await p.submit("t", value=b"a")
    await cluster.asked.wait()
    await cancelled_at(asyncio.create_task(p.close()), 1)
    assert closed == 1


async def test_nothing_is_asked_for_after_close() -> None:
    cluster = await with_topic(SilentCluster())
    p = producer(cluster)
    await p.send("t", value=b"a")
    await p.close()
    cluster.silent = ("Metadata",)
    p._engine.routing.request_refresh()
    assert await tasks_of(cluster) == set()


async def cancelled_at(task: asyncio.Task[Any], turn: int) -> bool:
    """Cancel the task in its `turn`th turn of the loop; whether it was over by then."""
    for _ in range(turn):
        if task.done():
            break
        await asyncio.sleep(0)
    is_over = task.done()
    task.cancel()
    await asyncio.wait([task])
    return is_over


Operation = Callable[[Producer], Coroutine[Any, Any, object]]


async def _submits(p: Producer) -> None:
    for name in (b"x1", b"x2"):
        await p.submit("t", value=name * 40)


async def _sends(p: Producer) -> None:
    for name in (b"x1", b"x2"):
        await p.send("t", value=name * 40)


async def _sends_many(p: Producer) -> None:
    await p.send_many("t", [b"x%d" % n * 40 for n in range(1, 8)])


async def _flushes(p: Producer) -> None:
    await p.submit("t", value=b"x1")
    await p.flush()


@pytest.mark.parametrize("operation", [_submits, _sends, _sends_many, _flushes])
@pytest.mark.parametrize("is_warm", [False, True])
async def test_cancelled_at_any_turn_the_producer_works_on(
    operation: Operation, *, is_warm: bool
) -> None:
    cluster = await with_topic(RealCluster())
    (state,) = cluster.topics["t"].partitions
    for turn in range(TURNS_MAX):
        await state.delete_before(base_offset := state.end_offset)
        limits = {"batch_size": 200, "max_request_size": 300, "buffer_memory": 300}
        async with producer(cluster, **limits) as p:
            acknowledged = []
            if is_warm:
                acknowledged.append(await p.send("t", value=b"first"))
                waiting = await p.submit("t", value=b"before" * 20)
            is_over = await cancelled_at(asyncio.create_task(operation(p)), turn)
            if is_warm:
                acknowledged.append(await waiting)
            acknowledged.append(await p.send("t", value=b"after"))
            outcome = await p.send_many("t", [b"many1", b"many2"])
            await p.flush()
            assert outcome.acknowledged == 2
            assert p._engine.accumulator._used_bytes == 0, f"cancelled at {turn}"
            assert not p._engine.accumulator.incomplete
        stored = [value or b"" for value in cluster.values("t")[0]]
        ours = [b"first", b"before" * 20] if is_warm else []
        assert [v for v in stored if v[:1] != b"x"] == [*ours, b"after", b"many1", b"many2"]
        taken = [v[:2] for v in stored if v[:1] == b"x"]
        assert taken == [b"x%d" % n for n in range(1, len(taken) + 1)]
        assert [stored[receipt.offset - base_offset] for receipt in acknowledged] == [
            *ours,
            b"after",
        ]
        assert await tasks_of(cluster) == set()
        if is_over:
            assert turn > 0
            return
    raise AssertionError(f"not over after {TURNS_MAX} turns")
