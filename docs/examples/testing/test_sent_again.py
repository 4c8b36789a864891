# pyright: strict
"""A usual bug: a record is sent again after an unknown outcome, by a new producer.

An idempotent producer stores a record once, however often it has to send it. That holds for its own
attempts: a program that loses patience, makes a new producer and sends the record again has sent
two records. The first one may have been stored, only its acknowledgement got lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence

from order_service import TOPIC, Order
from tidelog.client import Producer, errors
from tidelog.testing import Simulation, simulate, simulated

ORDERS = [Order(number, f"customer-{number % 3}", pieces=1) for number in range(30)]
PATIENCE_MS = 800
Placing = Callable[[Sequence[str], Sequence[Order]], Coroutine[None, None, None]]


async def sends_again(bootstrap: Sequence[str], orders: Sequence[Order]) -> None:
    """The bug: the new producer does not know what the old one has sent."""
    waiting = list(orders)
    while waiting:
        async with Producer[bytes, bytes](
            bootstrap, request_timeout_ms=PATIENCE_MS, delivery_timeout_ms=PATIENCE_MS
        ) as producer:
            try:
                while waiting:
                    await producer.send(TOPIC, waiting[0].to_bytes())
                    waiting.pop(0)
                    await asyncio.sleep(0.05)
            except errors.DeliveryTimeoutError:
                pass  # it hangs, a new connection will help


async def leaves_it_to_the_producer(bootstrap: Sequence[str], orders: Sequence[Order]) -> None:
    """Mended: the producer sends again, for two minutes by default, and stores nothing twice.

    What it cannot deliver even so is an error that has to be looked into: `is_outcome_unknown`.
    """
    async with Producer[bytes, bytes](bootstrap, request_timeout_ms=PATIENCE_MS) as producer:
        for order in orders:
            await producer.send(TOPIC, order.to_bytes())
            await asyncio.sleep(0.05)


async def place_all(sim: Simulation, placing: Placing) -> None:
    """Place orders while faults strike, then count each of them in the topic."""
    await sim.create_topic(TOPIC, partitions=2)
    await placing(sim.bootstrap, ORDERS)
    await sim.settle()
    stored = Counter(Order.from_bytes(one.value).number for one in await sim.read_all(TOPIC))
    twice = [number for number, count in stored.items() if count > 1]
    assert not twice, f"stored twice: orders {twice}"
    assert len(stored) == len(ORDERS)
    sim.check()


async def stores_twice(sim: Simulation) -> None:
    """Run the bug."""
    await place_all(sim, sends_again)


def test_the_bug_is_found() -> None:
    """The simulation finds it, and says which fault it takes: an answer that got lost."""
    report = simulate(stores_twice, seeds=50)
    (failure,) = report.failed
    assert "stored twice" in str(failure.error)
    assert failure.needed, "without a fault each outcome is known"


@simulated(seeds=50)
async def test_mended(sim: Simulation) -> None:
    """Each order is stored once."""
    await place_all(sim, leaves_it_to_the_producer)
