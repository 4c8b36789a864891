# pyright: strict
"""Consumer groups in one program: members, commits, and what an admin client sees and changes.

    python docs/examples/whole_group.py [127.0.0.1:9192]

With `whole_client.py` it has every class, method and option of `tidelog.client`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from uuid import uuid4

from tidelog.client import (
    Admin,
    Consumer,
    GroupDescription,
    GroupListing,
    GroupMemberDescription,
    GroupMetadata,
    GroupOffset,
    LogDirDescription,
    OffsetAndMetadata,
    Producer,
    ProducerDescription,
    Rebalance,
    RebalanceListener,
    ReplicaSize,
    TidelogError,
    TopicPartition,
    errors,
    require_all,
)

RECORDS = 100


class Saying(RebalanceListener):
    """A listener of one's own: override what is needed."""

    async def on_partitions_assigned(
        self, consumer: Consumer[bytes | None, bytes | None], partitions: Sequence[TopicPartition]
    ) -> None:
        """Say where reading begins."""
        print(f"assigned {len(partitions)}: {await consumer.committed(partitions)}")

    async def on_partitions_revoked(
        self, consumer: Consumer[bytes | None, bytes | None], partitions: Sequence[TopicPartition]
    ) -> None:
        """Say what goes; it can still be committed."""
        print(f"revoked {len(partitions)}, as {consumer.group_metadata().member_id}")


async def share(bootstrap: str, topic: str) -> None:
    """Members of a group share the partitions; what they are done with is committed."""
    consumer: Consumer[bytes | None, bytes | None] = Consumer(
        bootstrap,
        group_id=topic,
        group_instance_id="gauge-reader-1",
        group_remote_assignor="uniform",
        client_rack="north",
        enable_auto_commit=True,
        auto_commit_interval_ms=1_000,
        max_poll_interval_ms=60_000,
    )
    await consumer.subscribe([topic], listener=Saying())
    read = 0
    while read < RECORDS:
        records = await consumer.getmany(timeout_ms=1_000)
        consumer.extend_poll(10_000)  # the work on these takes longer than usual
        read += len(records)
    partition = TopicPartition(topic, 0)
    consumer.commit_soon(on_done=lambda error: print(f"committed: {error or 'all'}"))
    await consumer.commit({partition: OffsetAndMetadata(3, "by hand")})
    found = (await consumer.committed([partition]))[partition]
    assert found is not None
    assert (found.offset, found.metadata) == (3, "by hand")
    await consumer.seek_to_committed(partition)
    assert await consumer.position(partition) == 3
    member: GroupMetadata = consumer.group_metadata()
    print(f"member {member.member_id} at epoch {member.epoch}")
    assert consumer.membership_error() is None
    await consumer.unsubscribe()  # leaves the group; subscribe joins it again
    await consumer.close(timeout_ms=10_000)


async def look_at_groups(admin: Admin, topic: str) -> None:
    """Groups: listed, described, moved, deleted. This one's static member is away for a while."""
    listings: list[GroupListing] = await admin.list_groups()
    assert topic in {one.group_id for one in listings}
    group: GroupDescription = require_all(await admin.describe_groups([topic]))[topic]
    print(f"{group.group_id}: {group.state}, {[about_member(one) for one in group.members]}")
    rebalances: Sequence[Rebalance] = group.rebalances
    print(f"the last rebalance: {rebalances[-1].cause}")
    offsets: dict[TopicPartition, GroupOffset] = await admin.list_group_offsets(topic)
    print({f"{one.topic}-{one.partition}": found.offset for one, found in offsets.items()})
    await admin.alter_group_offsets(f"{topic}-2", {(topic, 0): 1, (topic, 1): 2})
    await admin.delete_group_offsets(f"{topic}-2", [(topic, 0)])
    refusals = await admin.delete_groups([topic, f"{topic}-2"])
    assert isinstance(refusals[topic], errors.NonEmptyGroupError)  # it has a static member
    assert refusals[f"{topic}-2"] is None


def about_member(member: GroupMemberDescription) -> str:
    """A member in a line."""
    return f"{member.instance_id or member.member_id} has {len(member.assignment)} partitions"


async def look_at_replicas(admin: Admin, topic: str) -> None:
    """Folders of data of the brokers, and producers that a partition's leader remembers."""
    for broker_id, folders in (await admin.describe_log_dirs()).items():
        for folder in [] if isinstance(folders, TidelogError) else folders:
            print(f"broker {broker_id}: {about_folder(folder)}")
    first = TopicPartition(topic, 0)
    producers = (await admin.describe_producers([first]))[first]
    for producer in [] if isinstance(producers, TidelogError) else producers:
        print(about_producer(producer))


def about_folder(folder: LogDirDescription) -> str:
    """A broker's folder of data, and the replicas in it."""
    replicas: Mapping[TopicPartition, ReplicaSize] = folder.replicas
    size_bytes = sum(one.size_bytes for one in replicas.values())
    behind = sum(one.offset_lag > 0 for one in replicas.values())
    room = f"{folder.usable_bytes} of {folder.total_bytes} bytes are free"
    return f"{folder.path} has {size_bytes} bytes, {behind} replicas behind, {folder.error or room}"


def about_producer(one: ProducerDescription) -> str:
    """An idempotent producer that the partition's leader remembers."""
    newest = f"sequence {one.last_sequence} at {one.last_timestamp_ms} ms"
    return f"producer {one.producer_id}, epoch {one.producer_epoch}: {newest}"


async def main(bootstrap: str) -> None:
    """Write a topic, read it in a group, look at the group, delete both."""
    topic = f"gauges-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        await admin.create_topic(topic, partitions=3)
        async with Producer(bootstrap) as producer:
            await producer.send_many(topic, [b"%d" % number for number in range(RECORDS)])
        await share(bootstrap, topic)
        await look_at_groups(admin, topic)
        await look_at_replicas(admin, topic)
        await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
