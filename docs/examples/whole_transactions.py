# pyright: strict
"""Transactions: a producer's and a table's, and an administrator's tools for them.

    python docs/examples/whole_transactions.py [127.0.0.1:9192]

docs/TRANSACTIONS.md says what is exactly once, and when.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

from tidelog.client import (
    AbortedTransaction,
    Admin,
    GroupMetadata,
    HangingTransaction,
    Producer,
    TransactionDescription,
    TransactionListing,
    TransactionMember,
    errors,
    require_all,
)


async def write(bootstrap: str, topic: str, name: str) -> None:
    """Commit, abort, and commit offsets of a group with the records."""
    async with Producer(
        bootstrap, transactional_id=name, transaction_timeout_ms=30_000
    ) as producer:
        async with producer.transaction():
            await producer.send(topic, b"together", partition=0)
            await producer.send(topic, b"or not at all", partition=1)
        await producer.begin_transaction()
        await producer.send(topic, b"never seen by readers of committed records")
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction(
            offsets={(topic, 0): 1}, group_metadata=GroupMetadata(f"{name}-group", "", -1, None)
        )
        try:
            await producer.commit_transaction()
        except errors.TransactionAbortedError as error:
            print(f"over, begin another: {error}")


async def write_by_two(bootstrap: str, topic: str, name: str) -> None:
    """Let two producers of one job write, and a third party commit what both wrote, together."""
    members: list[TransactionMember] = []
    for number in (0, 1):
        async with Producer(bootstrap, transactional_id=f"{name}/{number}") as producer:
            await producer.begin_transaction()
            await producer.send(topic, b"of one job", partition=number)
            if (member := await producer.hand_over_transaction()) is not None:
                members.append(member)
    async with Admin(bootstrap) as admin:
        await admin.end_transactions(name, members, timeout_ms=30_000)


async def look(bootstrap: str, topic: str, name: str) -> None:
    """List, describe and abort; look for what hangs."""
    async with (
        Admin(bootstrap) as admin,
        Producer(bootstrap, transactional_id=f"{name}-open") as producer,
    ):
        await producer.begin_transaction()
        await producer.send(topic, b"open")
        listed: list[TransactionListing] = await admin.list_transactions(states=["Ongoing"])
        assert f"{name}-open" in [one.transactional_id for one in listed]
        described = require_all(await admin.describe_transactions([f"{name}-open"]))
        one: TransactionDescription = described[f"{name}-open"]
        print(f"{one.transactional_id} is {one.state} in {len(one.partitions)} partitions")
        aborted: AbortedTransaction = await admin.abort_transaction(one.transactional_id)
        print(f"aborted that of producer {aborted.producer_id}")
        hanging: list[HangingTransaction] = await admin.find_hanging_transactions(
            max_age_ms=900_000, topics=[topic]
        )
        for found in hanging:
            await admin.abort_hanging_transaction(
                (found.topic, found.partition), start_offset=found.start_offset
            )


async def main(bootstrap: str) -> None:
    """Make a topic, write to it, look at it, delete it."""
    name = f"transactions-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        await admin.create_topic(name, partitions=2, replication_factor=3)
        await write(bootstrap, name, name)
        await write_by_two(bootstrap, name, name)
        await look(bootstrap, name, name)
        await admin.delete_topic(name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
