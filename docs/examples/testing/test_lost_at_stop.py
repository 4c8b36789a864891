# pyright: strict
"""A usual bug: at cancellation a record is lost that was taken from a queue.

A shop accepts orders into a queue, and a task sends them in lots. A deployment stops the shop in
order (SIGTERM, and so a cancellation): what the task has taken from the queue, and what still lies
there, is gone, although it was accepted. It takes no fault at all, only the right moment.

That a kill loses what lies in memory is agreed here, so the faults are named, without
"process_kill".
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence

from order_service import TOPIC, Order
from tidelog.client import Producer
from tidelog.testing import Simulation, simulate, simulated

FAULTS = ("kill", "pause", "partition", "clog", "leader_move", "process_pause")
LOT, LOT_S = 10, 0.05
Queue = asyncio.Queue[Order]
Sending = Callable[[Producer[bytes, bytes], Queue], Coroutine[None, None, None]]


async def next_lot(queue: Queue, lot: list[Order]) -> None:
    """Add what comes within a moment to the lot, at least one order."""
    lot.append(await queue.get())
    try:
        async with asyncio.timeout(LOT_S):
            while len(lot) < LOT:
                lot.append(await queue.get())
    except TimeoutError:
        pass


async def send_lot(producer: Producer[bytes, bytes], lot: Sequence[Order]) -> None:
    """Send orders, and wait until they are acknowledged."""
    sent = await producer.send_many(TOPIC, [order.to_bytes() for order in lot])
    assert not sent.failed


async def forgets_at_stop(producer: Producer[bytes, bytes], queue: Queue) -> None:
    """The bug: cancelled in `next_lot`, it forgets the lot; and nobody empties the queue."""
    while True:
        lot: list[Order] = []
        await next_lot(queue, lot)
        await send_lot(producer, lot)


async def empties_at_stop(producer: Producer[bytes, bytes], queue: Queue) -> None:
    """Mended: what is in hand, and what lies in the queue, is sent before it ends."""
    lot: list[Order] = []
    sending: asyncio.Task[None] | None = None
    try:
        while True:
            await next_lot(queue, lot)
            sending = asyncio.create_task(send_lot(producer, lot))
            await asyncio.shield(sending)  # cancelled here, the lot is on its way all the same
            lot, sending = [], None
    finally:
        if sending is not None:
            await sending
            lot = []
        while not queue.empty():
            lot.append(queue.get_nowait())
        if lot:
            await send_lot(producer, lot)


async def shop(
    bootstrap: Sequence[str], sending: Sending, accepted: list[int], chance: random.Random
) -> None:
    """Accept orders, until it is stopped; `accepted` is what customers have been assured of."""
    queue = Queue()
    async with Producer[bytes, bytes](bootstrap) as producer:
        sender = asyncio.create_task(sending(producer, queue))
        try:
            while True:
                order = Order(len(accepted), "ada", pieces=1)
                queue.put_nowait(order)
                accepted.append(order.number)
                await asyncio.sleep(chance.uniform(0, 0.04))
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)


async def stop_the_shop(sim: Simulation, sending: Sending) -> None:
    """Stop the shop at some moment; what it has accepted is in the topic."""
    await sim.create_topic(TOPIC)
    accepted: list[int] = []
    process = sim.process("shop", lambda: shop(sim.bootstrap, sending, accepted, sim.random))
    await asyncio.sleep(sim.random.uniform(0.5, 3.0))
    assert await process.stop()
    await sim.settle()
    stored = {Order.from_bytes(one.value).number for one in await sim.read_all(TOPIC)}
    lost = [number for number in accepted if number not in stored]
    assert not lost, f"accepted and not stored: orders {lost}"
    sim.check()


async def loses_what_it_holds(sim: Simulation) -> None:
    """Run the bug."""
    await stop_the_shop(sim, forgets_at_stop)


def test_the_bug_is_found() -> None:
    """The simulation finds it; the stop alone is enough, and most seeds need no fault."""
    report = simulate(loses_what_it_holds, seeds=50, faults=FAULTS)
    (failure,) = report.failed
    assert "accepted and not stored" in str(failure.error)


@simulated(seeds=50, faults=FAULTS)
async def test_mended(sim: Simulation) -> None:
    """Each order that was accepted is stored."""
    await stop_the_shop(sim, empties_at_stop)
