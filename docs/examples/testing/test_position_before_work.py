# pyright: strict
"""A usual bug: the position is committed before the record is processed.

Where records are read in lots, it seems tidy to commit each lot as it arrives. A worker that is
killed in between takes the rest of its lot with it: the next one begins after it. Tests with a
broker pass for years, as nobody kills a worker within these milliseconds; the simulation does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress

from order_service import GROUP, TOPIC, Order, OrderTable, Shop
from tidelog.client import Consumer, errors
from tidelog.testing import Simulation, simulate, simulated

RUSH = 20
ORDERS = [Order(number, f"customer-{number % 3}", pieces=1) for number in range(3 * RUSH)]
LAST = [Order(1_000 + number, f"customer-{number}", pieces=1) for number in range(3)]
Worker = Callable[[Sequence[str], OrderTable], Coroutine[None, None, None]]


async def commits_too_early(bootstrap: Sequence[str], table: OrderTable) -> None:
    """The bug: what is committed is not done yet."""
    async with Consumer(bootstrap, group_id=GROUP, enable_auto_commit=False) as consumer:
        await consumer.subscribe([TOPIC])
        while True:
            records = await consumer.getmany(timeout_ms=1_000)
            try:
                await consumer.commit()
            except errors.CommitFailedError:
                continue  # another has these partitions now, and reads these orders itself
            for record in records:
                await table.insert(Order.from_bytes(record.value))


async def commits_what_is_done(bootstrap: Sequence[str], table: OrderTable) -> None:
    """Mended: first the work, then the position; work that is done twice has no effect."""
    async with Consumer(bootstrap, group_id=GROUP, enable_auto_commit=False) as consumer:
        await consumer.subscribe([TOPIC])
        while True:
            for record in await consumer.getmany(timeout_ms=1_000):
                await table.insert(Order.from_bytes(record.value))
            # where it fails, another has these partitions now, and inserts these orders again
            with suppress(errors.CommitFailedError):
                await consumer.commit()


async def store_all(sim: Simulation, worker: Worker) -> None:
    """Place orders while faults strike, then look for each of them in the table."""
    await sim.create_topic(TOPIC, partitions=2)
    table = OrderTable(insert_s=0.03)
    for name in ("worker-1", "worker-2"):
        sim.process(name, lambda: worker(sim.bootstrap, table))
    async with Shop(sim.bootstrap) as shop:
        for rush in range(0, len(ORDERS), RUSH):
            await asyncio.gather(*map(shop.place, ORDERS[rush : rush + RUSH]))
            await asyncio.sleep(0.3)
    await sim.settle()
    # a worker that has stored a customer's last order has been handed all that came before it
    async with Shop(sim.bootstrap) as shop:
        for order in LAST:
            await shop.place(order)
    await sim.until(lambda: all(order.number in table.rows for order in LAST), within_s=120)
    lost = [order.number for order in ORDERS if order.number not in table.rows]
    assert not lost, f"in no table: orders {lost}"
    sim.check()


async def loses_orders(sim: Simulation) -> None:
    """Run the bug."""
    await store_all(sim, commits_too_early)


def test_the_bug_is_found() -> None:
    """The simulation finds it, and says which fault it takes: a worker is killed."""
    report = simulate(loses_orders, seeds=50)
    (failure,) = report.failed
    assert "in no table" in str(failure.error)
    assert any("worker" in fault for fault in failure.needed or ())


@simulated(seeds=50)
async def test_mended(sim: Simulation) -> None:
    """No order is lost."""
    await store_all(sim, commits_what_is_done)
