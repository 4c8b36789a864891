# pyright: strict
"""Services decoupled by a topic: an order, and the three services that it concerns.

    python docs/examples/order_events.py [127.0.0.1:9192]

The shop writes an order once and calls nobody. Stock, notices and points read it, each at its own
pace: points is down for a while, which nobody else notices, and catches up when it is back. The
effect of an order is in a service's own database, so the service keeps its offset there, too, in
the transaction of the effect: after a crash at any moment the effect is there once. Where the
effect is records of the log, `read_process_write.py` does the same with a group's offsets.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer, TopicPartition


class Order(NamedTuple):
    """An order of a customer."""

    customer: str
    article: str
    pieces: int
    cents: int


Effect = Callable[[sqlite3.Connection, Order], object]


def take_from_stock(database: sqlite3.Connection, order: Order) -> None:
    """Stock: fewer pieces of the article."""
    add(database, order.article, -order.pieces)


def send_notice(database: sqlite3.Connection, order: Order) -> None:
    """Notices: a letter more to the customer."""
    add(database, order.customer, 1)


def give_points(database: sqlite3.Connection, order: Order) -> None:
    """Points: one for each euro."""
    add(database, order.customer, order.cents // 100)


def add(database: sqlite3.Connection, name: str, number: int) -> None:
    """Add to a count, which begins at 0."""
    database.execute(
        "INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + ?",
        (name, number, number),
    )


class Service:
    """A service with a database file of its own."""

    def __init__(self, path: Path, effect: Effect) -> None:
        self.path, self.effect = path, effect
        with closing(self.database()) as database, database:
            database.execute("CREATE TABLE counts (name TEXT PRIMARY KEY, number INTEGER)")
            database.execute("CREATE TABLE offsets (shard INTEGER PRIMARY KEY, next INTEGER)")

    def database(self) -> sqlite3.Connection:
        """Open the database."""
        return sqlite3.connect(self.path)

    async def run(self, bootstrap: str, topic: str) -> int:
        """Read on from the stored offsets to the topic's end; return the number of orders."""
        count = 0
        with closing(self.database()) as database:
            async with Consumer(bootstrap) as consumer:
                partitions = await consumer.partitions_for(topic)
                consumer.assign([TopicPartition(topic, number) for number in partitions])
                for partition, offset in database.execute("SELECT shard, next FROM offsets"):
                    consumer.seek((topic, partition), offset)
                while any((await consumer.lag()).values()):
                    for record in await consumer.getmany(timeout_ms=1_000):
                        with database:  # one transaction: the effect, and where to go on
                            self.effect(database, Order(*json.loads(record.value or b"[]")))
                            database.execute(
                                "REPLACE INTO offsets VALUES (?, ?)",
                                (record.partition, record.offset + 1),
                            )
                        count += 1
        return count

    def counts(self) -> dict[str, int]:
        """The effects so far."""
        with closing(self.database()) as database:
            return dict(database.execute("SELECT name, number FROM counts ORDER BY name"))


async def place(bootstrap: str, topic: str, orders: list[Order]) -> None:
    """Write orders; those of one customer keep their order, as they share a key."""
    async with Producer(bootstrap) as producer:
        for order in orders:
            await producer.send(topic, json.dumps(order).encode(), order.customer.encode())


async def sell(bootstrap: str, topic: str, folder: Path) -> None:
    """Two days of orders; on the first, points is down."""
    stock = Service(folder / "stock.db", take_from_stock)
    notices = Service(folder / "notices.db", send_notice)
    points = Service(folder / "points.db", give_points)
    await place(bootstrap, topic, [Order("ada", "lamp", 1, 4_900), Order("bob", "oar", 2, 3_000)])
    await asyncio.gather(*(one.run(bootstrap, topic) for one in (stock, notices)))
    print(f"points is down: stock {stock.counts()}, notices {notices.counts()}")
    assert points.counts() == {}

    await place(bootstrap, topic, [Order("ada", "oar", 1, 1_500)])
    done = await asyncio.gather(*(one.run(bootstrap, topic) for one in (stock, notices, points)))
    print(f"points is back: it had {done[2]} orders to read, the others {done[0]}")
    print(f"points {points.counts()}")
    assert done == [1, 1, 3]
    assert stock.counts() == {"lamp": -1, "oar": -3}
    assert notices.counts() == {"ada": 2, "bob": 1}
    assert points.counts() == {"ada": 64, "bob": 30}


async def main(bootstrap: str) -> None:
    """Make the topic, sell, and delete it again."""
    topic = f"orders-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        await admin.create_topic(topic, partitions=3)
        try:
            with TemporaryDirectory() as folder:
                await sell(bootstrap, topic, Path(folder))
        finally:
            await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
