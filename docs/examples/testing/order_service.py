# pyright: strict
"""An order service, as a team has one: a shop that takes orders, workers that store them.

    python docs/examples/testing/order_service.py [127.0.0.1:9192]

The shop writes each order to a topic. Workers, which are one group, read the topic and insert into
a table, which outlives them all. A worker commits its position when the orders are in the table:
one that dies leaves them to another, who may insert some again, so the table has a primary key.
The service knows nothing of tests; `test_order_service.py` tests it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Self
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer, errors

TOPIC, GROUP = "orders", "warehouse"
INSERT_S = 0.005


class Order(NamedTuple):
    """Order of a customer."""

    number: int
    customer: str
    pieces: int

    def to_bytes(self) -> bytes:
        """Serialize it."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def from_bytes(cls, value: bytes | None) -> Self:
        """Deserialize it."""
        return cls(**json.loads(value or b"{}"))


class OrderTable:
    """A stand-in for a database's table: an insert takes a while, and is there or is not."""

    def __init__(self, *, insert_s: float = INSERT_S) -> None:
        self.rows: dict[int, Order] = {}
        self._insert_s = insert_s

    async def insert(self, order: Order) -> None:
        """Insert a row; no effect if its number is there, as of `ON CONFLICT DO NOTHING`."""
        await asyncio.sleep(self._insert_s)
        self.rows.setdefault(order.number, order)


class Shop:
    """Takes orders. It makes its own producer, as programs do: a test replaces nothing of it."""

    def __init__(self, bootstrap: str | Sequence[str], *, topic: str = TOPIC) -> None:
        self._topic = topic
        self._producer: Producer[bytes, bytes] = Producer(bootstrap, client_id="shop")

    async def __aenter__(self) -> Self:
        await self._producer.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._producer.stop()

    async def place(self, order: Order) -> None:
        """Take an order: when this returns it is not lost any more."""
        key = order.customer.encode()  # the orders of a customer keep their sequence
        await self._producer.send(self._topic, order.to_bytes(), key)


async def store_orders(
    bootstrap: str | Sequence[str], table: OrderTable, *, topic: str = TOPIC, group: str = GROUP
) -> None:
    """Run a worker, until it is cancelled."""
    async with Consumer(bootstrap, group_id=group, enable_auto_commit=False) as consumer:
        await consumer.subscribe([topic])
        while True:
            for record in await consumer.getmany(timeout_ms=1_000, max_records=10):
                await table.insert(Order.from_bytes(record.value))
            # where it fails, its partitions are another's, which inserts these orders again
            with suppress(errors.CommitFailedError):
                await consumer.commit()


async def main(bootstrap: str) -> None:
    """Place ten orders, wait until two workers have stored them, and clear up."""
    name = f"{TOPIC}-{uuid4().hex[:8]}"
    table = OrderTable()
    async with Admin(bootstrap) as admin:
        await admin.create_topic(name, partitions=3)
        workers = [
            asyncio.create_task(store_orders(bootstrap, table, topic=name, group=name))
            for _ in range(2)
        ]
        async with Shop(bootstrap, topic=name) as shop:
            for number in range(10):
                await shop.place(Order(number, f"customer-{number % 3}", pieces=1))
        while len(table.rows) < 10:  # noqa: ASYNC110  # a table has no event
            await asyncio.sleep(0.05)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        print(f"{len(table.rows)} orders, all in the table")
        await admin.delete_groups([name])
        await admin.delete_topic(name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
