# pyright: strict
"""Simulate the order service without pytest: the same promise, seed after seed.

    python docs/examples/testing/simulate_orders.py [seeds]

Prints a report, with the faults and the timeline of a seed that failed, and exits with 1 then.
"""

from __future__ import annotations

import sys

from order_service import TOPIC, Order, OrderTable, Shop, store_orders
from tidelog.testing import Simulation, simulate

ORDERS = 10


async def store_all(sim: Simulation) -> None:
    """Place orders while faults strike; when all is mended, they are all in the table."""
    await sim.create_topic(TOPIC, partitions=2)
    table = OrderTable()
    sim.process("worker", lambda: store_orders(sim.bootstrap, table))
    async with Shop(sim.bootstrap) as shop:
        for number in range(ORDERS):
            await shop.place(Order(number, "ada", pieces=1))
    await sim.settle()
    await sim.until(lambda: len(table.rows) == ORDERS)
    sim.check()


if __name__ == "__main__":
    report = simulate(store_all, seeds=int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    print(report)
    sys.exit(bool(report.failed))
