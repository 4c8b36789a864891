# pyright: strict
"""Point to point: workers of one group share the jobs of a topic, each job goes to one of them.

    python docs/examples/point_to_point.py [127.0.0.1:9192]

A job is committed when it is done. A worker that dies leaves its jobs to the others, who may do the
last ones again: work must stand being done twice.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer

JOBS, PARTITIONS, WORKERS = 60, 6, 3


async def work(bootstrap: str, topic: str, name: str, done: dict[bytes, str]) -> None:
    """Do jobs until all are done, by this worker or others."""
    async with Consumer(
        bootstrap,
        group_id=f"{topic}-workers",
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        await consumer.subscribe([topic])
        while len(done) < JOBS:
            for job in await consumer.getmany(timeout_ms=200, max_records=1):
                await asyncio.sleep(0.01)  # the work itself
                done[job.value or b""] = name
                await consumer.commit()


async def main(bootstrap: str) -> None:
    """Hand out jobs, have workers do them, say who did what, and clear up."""
    topic = f"jobs-{uuid4().hex[:8]}"
    done: dict[bytes, str] = {}
    async with Admin(bootstrap) as admin:
        await admin.create_topic(topic, partitions=PARTITIONS)
        async with Producer(bootstrap) as producer:
            for number in range(JOBS):
                await producer.send(topic, b"job %d" % number, partition=number % PARTITIONS)
        names = [f"worker-{number}" for number in range(WORKERS)]
        async with asyncio.TaskGroup() as workers:
            for name in names:
                workers.create_task(work(bootstrap, topic, name, done))
        print(f"{len(done)} jobs, each done by one of {len(names)} workers")
        for name in names:
            print(f"{name} did {sum(one == name for one in done.values())}")
        await admin.delete_groups([f"{topic}-workers"])
        await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
