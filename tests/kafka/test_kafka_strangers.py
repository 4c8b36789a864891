"""Malformed frames at the ports of Kafka's protocol change nothing, and stop nothing.

A few thousand, or TIDELOG_MALFORMED_FRAMES; `make prove` sends a million, in scenario F55, too.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.integration.local_cluster import LocalCluster

from tidelog.chaos.sockets.kafka_strangers import KafkaStrangers
from tidelog.client import Admin, Consumer, Producer, TopicPartition

pytestmark = pytest.mark.process

TOPIC = "strangers"
RECORDS = 20
WARM_UP, FRAMES = 500, int(os.environ.get("TIDELOG_MALFORMED_FRAMES", "3000"))
GROWTH_BYTES_MAX = 64 << 20


def test_malformed_frames_change_nothing(brokers: LocalCluster) -> None:
    asyncio.run(send_malformed(brokers))


async def send_malformed(brokers: LocalCluster) -> None:
    strangers = KafkaStrangers(brokers.kafka_bootstrap.split(","), TOPIC)
    async with Admin(brokers.bootstrap) as admin, Producer(brokers.bootstrap) as producer:
        await admin.create_topic(TOPIC, partitions=1, replication_factor=3)
        await producer.send_many(TOPIC, [b"v"] * RECORDS, partition=0)
        warm_up, place = await strangers.send_malformed(seed=1, first=0, frames=WARM_UP)
        before, pids = await state(brokers, admin), brokers.pids()
        rss = {one: rss_bytes(one) for one in pids.values() if one is not None}

        tally, _ = await strangers.send_malformed(seed=1, first=place, frames=FRAMES)

        assert not warm_up.findings + tally.findings
        assert tally.requests >= FRAMES
        assert tally.by_status["answered"] > FRAMES / 20
        assert tally.by_status["hung up"] > FRAMES / 20
        assert brokers.pids() == pids
        assert len(rss) == 3
        growth = {pid: rss_bytes(pid) - bytes_before for pid, bytes_before in rss.items()}
        assert max(growth.values()) < GROWTH_BYTES_MAX, growth
        assert await state(brokers, admin) == before
        assert before[1] == RECORDS
        assert (await producer.send(TOPIC, value=b"v", partition=0)).offset == RECORDS


async def state(brokers: LocalCluster, admin: Admin) -> tuple[list[str], int, bytes]:
    """Topics, the log end, and the topic's id."""
    topics = await admin.list_topics(list_internal=True)
    async with Consumer(brokers.bootstrap) as consumer:
        ends = await consumer.end_offsets([TopicPartition(TOPIC, 0)])
    found = await admin.describe_topic(TOPIC)
    return topics, ends[TopicPartition(TOPIC, 0)], found.topic_id


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (line,) = (one for one in status if one.startswith("VmRSS:"))
    return int(line.split()[1]) << 10
