"""Offsets by time and records deleted by order, on real processes, across their restart."""

from __future__ import annotations

import pytest
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Consumer, Producer, TopicPartition, errors, require_all
from tidelog.client.offsets import At

pytestmark = pytest.mark.process

TP = TopicPartition("deleted", 0)
DAY_MS = 24 * 3600 * 1000


async def first_offset(cluster: LocalCluster) -> int:
    async with Consumer(cluster.bootstrap) as consumer:
        consumer.assign([TP])
        return (await consumer.getmany(timeout_ms=30_000, max_records=1))[0].offset


async def test_records_are_found_by_time_and_stay_deleted(running_cluster: LocalCluster) -> None:
    async with Admin(running_cluster.bootstrap) as admin:
        await admin.create_topic(
            "deleted", partitions=1, replication_factor=3, configs={"retention.ms": "-1"}
        )
        async with Producer(running_cluster.bootstrap) as producer:
            for day in (1, 3, 2):
                for _ in range(10):
                    await producer.send("deleted", value=b"v", timestamp_ms=day * DAY_MS)
        times: list[tuple[At, int]] = [(0, 0), (DAY_MS + 1, 10), (4 * DAY_MS, -1)]
        for at, offset in [*times, ("max_timestamp", 10)]:
            assert require_all(await admin.list_offsets([TP], at=at))[TP].offset == offset
        assert await admin.delete_records({TP: 12}) == {TP: 12}
        found = require_all(await admin.list_offsets([TP], at=0))
        assert (found[TP].offset, found[TP].timestamp_ms) == (12, 3 * DAY_MS)
        refused = (await admin.delete_records({TP: 31}))[TP]
        assert isinstance(refused, errors.OffsetOutOfRangeError)
    assert await first_offset(running_cluster) == 12
    for node_id in (1, 2, 3):
        running_cluster.kill(node_id)
    assert running_cluster.start().returncode == 0
    assert await first_offset(running_cluster) == 12
    refused_by_hand = running_cluster.run("topics", "delete-records", "deleted", "--before", "99")
    assert (refused_by_hand.returncode, refused_by_hand.stdout) == (1, "")
    assert "deleted-0: offset 99 is outside the log" in refused_by_hand.stderr
    done = running_cluster.run("topics", "delete-records", "deleted", "--before", "-1")
    assert (done.returncode, done.stdout) == (0, "deleted-0 begins at offset 30\n"), done.stderr
