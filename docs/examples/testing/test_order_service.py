# pyright: strict
"""Tests of the order service, one of each kind that `tidelog.testing` has.

    pytest docs/examples/testing/test_order_service.py

With real brokers: does it work at all, and when a broker is killed. In a simulated cluster: does
it keep its promise, whatever happens and whenever. `tidelog.testing` replaces nothing of the
service in either: it gets a bootstrap address, and makes its clients.
"""

from __future__ import annotations

import asyncio

from order_service import TOPIC, Order, OrderTable, Shop, store_orders
from tidelog.testing import LocalCluster, Simulation, simulated

ORDERS = [Order(number, f"customer-{number % 3}", pieces=1) for number in range(30)]
ROWS = {order.number: order for order in ORDERS}

# With real brokers, in this process


def test_orders_are_stored(tidelog_cluster: LocalCluster, tidelog_topic: str) -> None:
    """A cluster for all tests, a topic for each."""
    table = asyncio.run(run_service(tidelog_cluster, tidelog_topic))
    assert table.rows == ROWS


def test_orders_outlive_a_broker(tidelog_fresh_cluster: LocalCluster) -> None:
    """A cluster of the test's own, to break it."""
    cluster = tidelog_fresh_cluster
    cluster.create_topic(TOPIC, partitions=1)
    table = asyncio.run(run_service(cluster, TOPIC, kills=cluster.leader(TOPIC, 0)))
    assert table.rows == ROWS


async def run_service(cluster: LocalCluster, topic: str, *, kills: int | None = None) -> OrderTable:
    """Place all orders and wait until a worker has stored them; half-way a broker is killed."""
    table = OrderTable()
    worker = asyncio.create_task(store_orders(cluster.bootstrap, table, topic=topic, group=topic))
    async with Shop(cluster.bootstrap, topic=topic) as shop:
        for order in ORDERS:
            if kills is not None and order.number == len(ORDERS) // 2:
                await asyncio.to_thread(cluster.kill, kills)
            await shop.place(order)
    async with asyncio.timeout(60):
        while len(table.rows) < len(ORDERS):  # noqa: ASYNC110  # a table has no event
            await asyncio.sleep(0.05)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    return table


# In a simulated cluster, under a storm of faults that differs from seed to seed


@simulated(seeds=50, faults="standard")
async def test_each_order_is_stored(sim: Simulation) -> None:
    """Nodes and workers are killed, paused, cut off, …: all that was placed is stored."""
    await place_and_store(sim)


@simulated(seeds=50, faults="harsh")
async def test_each_order_is_stored_in_harsh_weather(sim: Simulation) -> None:
    """Power cuts, and disks that are full or slow, as well."""
    await place_and_store(sim)


async def place_and_store(sim: Simulation) -> None:
    """Place all orders while faults strike; when all is mended, they are all in the table."""
    await sim.create_topic(TOPIC, partitions=3)
    table = OrderTable()  # outside of the processes: what they have inserted outlives them
    for name in ("worker-1", "worker-2"):
        sim.process(name, lambda: store_orders(sim.bootstrap, table))
    async with Shop(sim.bootstrap) as shop:
        for order in ORDERS:
            await shop.place(order)
            await asyncio.sleep(sim.random.uniform(0, 0.1))
    await sim.settle()
    await sim.until(lambda: table.rows == ROWS)
    assert sim.check()["acknowledged"] == len(ORDERS)


# In a simulated cluster, with faults of the test's own


@simulated(seeds=10, faults="none")
async def test_a_worker_that_is_cut_off_leaves_its_orders_to_the_other(sim: Simulation) -> None:
    """Each seed has another order of events: the faults come at other moments of the work."""
    await sim.create_topic(TOPIC, partitions=3)
    table = OrderTable()
    one = sim.process("worker-1", lambda: store_orders(sim.bootstrap, table))
    sim.process("worker-2", lambda: store_orders(sim.bootstrap, table))
    async with Shop(sim.bootstrap) as shop:
        await shop.place(ORDERS[0])
        await sim.until(lambda: table.rows)
        sim.isolate(one)
        for order in ORDERS[1:15]:
            await shop.place(order)
        sim.heal()
        leader = sim.leader(TOPIC, 0)
        sim.kill(leader)
        for order in ORDERS[15:20]:
            await shop.place(order)
        sim.start(leader)
        follower = next(node for node in sim.node_ids if node != leader)
        sim.cut(follower, [node for node in sim.node_ids if node != follower])
        for order in ORDERS[20:]:
            await shop.place(order)
    assert await one.stop()  # in order, as a deployment does
    one.start()
    await sim.settle()
    await sim.until(lambda: table.rows == ROWS)
    sim.check()
