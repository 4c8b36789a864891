"""Closing and cancelling a producer: in time, with nothing left behind and nothing stored twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.fake_cluster import BOOTSTRAP, FakeCluster

from tidelog.client import Producer, errors
from tidelog.v1.methods import Method, Request, Response

TURNS_MAX = 400
"""More turns of the loop than any operation here takes."""


class SilentCluster(FakeCluster):
    """Never answers the methods named in `silent`; `stubborn` ones are not cancelled either."""

    def __init__(self, *silent: str) -> None:
        super().__init__()
        self.silent = silent
        self.is_stubborn = False
        self.released = asyncio.Event()
        self.asked = asyncio.Event()

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        if method.name in self.silent:
            self.asked.set()
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if not self.is_stubborn:
                    raise
                await self.released.wait()
        return await super().call(address, method, request, timeout_ms=timeout_ms)


def producer(cluster: FakeCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def settle(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def other_tasks() -> set[asyncio.Task[Any]]:
    await settle()
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


@pytest.mark.parametrize("silent", ["Produce", "InitProducerId"])
async def test_leaving_ends_in_time_though_no_broker_ever_answers(silent: str) -> None:
    cluster = SilentCluster(silent)
    cluster.create("t")
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
    assert await other_tasks() == set()


async def test_leaving_ends_in_time_while_metadata_is_asked_for() -> None:
    cluster = SilentCluster("Metadata")
    async with asyncio.timeout(10):
        async with producer(cluster, close_timeout_ms=5) as p:
            sending = asyncio.create_task(p.send("t", value=b"a"))
            await cluster.asked.wait()
        with pytest.raises(errors.ClientClosedError):
            await sending
    assert await other_tasks() == set()


async def test_a_call_that_heeds_no_cancellation_does_not_hold_up_close() -> None:
    cluster = SilentCluster("Produce")
    cluster.create("t")
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
    await settle(50)
    assert cluster.requests("Produce"), "the answer came after all"
    assert len(delivered) == 1, "and was told to nobody"
    assert await other_tasks() == set()


async def test_cancelled_close_leaves_neither_task_nor_future_behind() -> None:
    # Turn 0 is before it has begun.
    for turn in range(1, TURNS_MAX):
        cluster = SilentCluster("Produce")
        cluster.create("t")
        p = producer(cluster)
        future = await p.submit("t", value=b"a")
        await cluster.asked.wait()
        closing = asyncio.create_task(p.close(timeout_ms=0))
        is_over = await cancelled_at(closing, turn)
        assert await other_tasks() == set(), f"cancelled at {turn}"
        assert isinstance(future.exception(), errors.ClientClosedError)
        with pytest.raises(errors.ClientClosedError):
            await p.send("t", value=b"b")
        if is_over:
            assert turn > 2
            return
    raise AssertionError(f"not over after {TURNS_MAX} turns")


async def test_a_sender_that_waits_for_room_is_refused_when_the_producer_closes() -> None:
    cluster = FakeCluster()
    cluster.create("t")
    cluster.move("t", 0, leader_id=None)
    async with asyncio.timeout(10):
        limits = {"batch_size": 500, "max_request_size": 900, "buffer_memory": 1000}
        async with producer(cluster, close_timeout_ms=1, **limits) as p:
            first = await p.submit("t", value=b"x" * 700)
            second = asyncio.create_task(p.submit("t", value=b"x" * 700))
            await settle()
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

    cluster = OwnTransport("Produce")
    cluster.create("t")
    monkeypatch.setattr("tidelog.client.ports._grpc_transport", lambda _: cluster)
    p = Producer(BOOTSTRAP)
    await p.submit("t", value=b"a")
    await cluster.asked.wait()
    await cancelled_at(asyncio.create_task(p.close()), 1)
    assert closed == 1


async def test_nothing_is_asked_for_after_close() -> None:
    cluster = SilentCluster()
    cluster.create("t")
    p = producer(cluster)
    await p.send("t", value=b"a")
    await p.close()
    cluster.silent = ("Metadata",)
    p._engine.routing.request_refresh()
    assert await other_tasks() == set()


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
    for turn in range(TURNS_MAX):
        cluster = FakeCluster()
        cluster.create("t")
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
        assert [stored[receipt.offset] for receipt in acknowledged] == [*ours, b"after"]
        assert await other_tasks() == set()
        if is_over:
            assert turn > 0
            return
    raise AssertionError(f"not over after {TURNS_MAX} turns")
