# pyright: strict
"""Read, process, write: each payment is booked once, whatever goes wrong in between.

    python docs/examples/read_process_write.py [127.0.0.1:9192]

Bookings and the offsets of the payments that were read are of one transaction: both are there, or
neither. After a transaction that was aborted the consumer goes back to its committed offsets. A
program that was killed goes on there, too, under the same transactional id. docs/TRANSACTIONS.md
says when that is exactly once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer, Record, errors

PAYMENTS = 60
FAILS_EVERY = 4


class OutOfOrderError(Exception):
    """The printer of receipts is out of order: a failure of the program's own."""


def text(_topic: str, value: bytes | None) -> str:
    """Deserialize a value."""
    return (value or b"").decode()


async def book(
    producer: Producer[bytes, bytes], topic: str, records: Sequence[Record[bytes | None, str]]
) -> None:
    """Process: a booking for each payment, in the same partition."""
    for record in records:
        value = f"booked {record.value}".encode()
        await producer.submit(topic, value=value, partition=record.partition)


async def process(bootstrap: str, name: str) -> int:
    """Book all payments; the number of transactions that were aborted."""
    booked = begun = aborted = 0
    async with (
        Producer(bootstrap, transactional_id=f"{name}-1") as producer,
        Consumer(
            bootstrap,
            group_id=name,
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=10,
            value_deserializer=text,
        ) as consumer,
    ):
        await consumer.subscribe([f"{name}-payments"])
        while booked < PAYMENTS:
            records = await consumer.getmany(timeout_ms=1_000)
            if not records:
                continue
            begun += 1
            try:
                async with producer.transaction():
                    await book(producer, f"{name}-bookings", records)
                    if begun % FAILS_EVERY == 0:
                        raise OutOfOrderError
                    await producer.send_offsets_to_transaction(
                        {(one.topic, one.partition): one.offset + 1 for one in records},
                        consumer.group_metadata(),
                    )
            except (OutOfOrderError, errors.TransactionAbortedError, errors.CommitFailedError):
                aborted += 1
                await consumer.seek_to_committed()
            else:
                booked += len(records)
    return aborted


async def read_bookings(bootstrap: str, topic: str) -> list[str]:
    """Read all that was committed."""
    async with Consumer(
        bootstrap, isolation_level="read_committed", value_deserializer=text
    ) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        found: list[str] = []
        while records := await consumer.getmany(timeout_ms=1_000):
            found += [one.value for one in records]
        return found


async def main(bootstrap: str) -> None:
    """Make topics and payments, book them, count, delete."""
    name = f"till-{uuid4().hex[:8]}"
    topics = f"{name}-payments", f"{name}-bookings"
    async with Admin(bootstrap) as admin:
        for topic in topics:
            await admin.create_topic(topic, partitions=2, replication_factor=3)
        async with Producer(bootstrap) as producer:
            for number in range(PAYMENTS):
                await producer.submit(topics[0], value=b"%d" % number, partition=number % 2)
        aborted = await process(bootstrap, name)
        bookings = await read_bookings(bootstrap, topics[1])
        assert sorted(bookings) == sorted(f"booked {number}" for number in range(PAYMENTS))
        print(f"{PAYMENTS} payments, each booked once; transactions aborted: {aborted > 0}")
        await admin.delete_groups([name])
        for topic in topics:
            await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
