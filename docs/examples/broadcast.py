# pyright: strict
"""Broadcast: each service has a group of its own and gets every record of a topic.

    python docs/examples/broadcast.py [127.0.0.1:9192]

Each group has its own committed offsets, so a service that was down goes on where it was, whatever
the others have read meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer

SERVICES = ("billing", "mail", "search")
EVENTS = 10


async def follow(bootstrap: str, topic: str, service: str, count: int) -> list[str]:
    """Read `count` events as a service; what was read is committed at the end."""
    read: list[str] = []
    async with Consumer(
        bootstrap, group_id=f"{topic}-{service}", auto_offset_reset="earliest"
    ) as consumer:
        await consumer.subscribe([topic])
        while len(read) < count:
            left = count - len(read)
            records = await consumer.getmany(timeout_ms=1_000, max_records=left)
            read += [(record.value or b"").decode() for record in records]
    return read


async def main(bootstrap: str) -> None:
    """Publish events, have every service get them, one of them in two goes; clear up."""
    topic = f"events-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        await admin.create_topic(topic, partitions=1)
        async with Producer(bootstrap) as producer:
            await producer.send_many(topic, [b"event %d" % number for number in range(EVENTS)])
        first = await follow(bootstrap, topic, "mail", 3)
        print(f"mail read {len(first)}, and was down for a while")
        billing, mail, search = await asyncio.gather(
            follow(bootstrap, topic, "billing", EVENTS),
            follow(bootstrap, topic, "mail", EVENTS - len(first)),
            follow(bootstrap, topic, "search", EVENTS),
        )
        assert billing == search == [*first, *mail]
        print(f"each of {len(SERVICES)} services got all {EVENTS} events")
        await admin.delete_groups([f"{topic}-{service}" for service in SERVICES])
        await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
