"""Groups of Kafka's own clients whose coordinator is killed: all go on where they were."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from importlib import import_module
from itertools import count
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from tests.integration.local_cluster import LocalCluster
from tests.kafka.group_members import (
    AioMember,
    ConfluentMember,
    Joining,
    Member,
    PythonMember,
    until,
    until_shared,
)

pytestmark = pytest.mark.process

kafka: Any = import_module("kafka")  # to type checkers the folders of this name are it

TOPIC, PARTITIONS, KILLED = "failed-over", 2, 1
KINDS: list[tuple[type[Member], str]] = [
    (ConfluentMember, "range"),
    (ConfluentMember, "consumer"),
    (PythonMember, "range"),
    (AioMember, "range"),
]


async def coordinated_by(node_id: int, bootstrap: str, wanted: int) -> list[str]:
    """Find names of groups that a node coordinates."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    found: list[str] = []
    try:
        for number in count():
            name = f"group-{number}"
            if await admin.find_coordinator(name) == node_id:
                found.append(name)
            if len(found) == wanted:
                return found
    finally:
        await admin.close()
    raise AssertionError("count ends")


def written(bootstrap: str, word: str) -> set[bytes]:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", retries=50)
    values = {f"{word}-{number}".encode() for number in range(20)}
    sent = [producer.send(TOPIC, one, partition=n % 2) for n, one in enumerate(sorted(values))]
    for one in sent:
        one.get(60)
    producer.close()
    return values


def until_read(member: Member, values: set[bytes], members: list[Member]) -> None:
    until(lambda: set(member.values) >= values, f"{member.joining}", members)


def test_members_go_on_from_their_committed_offsets(brokers: LocalCluster) -> None:
    bootstrap = brokers.kafka_bootstrap
    told = brokers.run("topics", "create", TOPIC, "--partitions", f"{PARTITIONS}")
    assert told.returncode == 0, told.stderr
    groups = asyncio.run(coordinated_by(KILLED, bootstrap, len(KINDS)))
    first = written(bootstrap, "first")
    with ExitStack() as stack:
        members: list[Member] = []
        for (kind, strategy), group_id in zip(KINDS, groups, strict=True):
            member = kind(Joining(bootstrap, group_id, TOPIC, strategy))
            stack.callback(member.close)
            members.append(member)
        for one in members:
            until_shared([one], TOPIC, PARTITIONS)
            until_read(one, first, members)
        brokers.kill(KILLED)
        second = written(bootstrap, "second")
        for one in members:
            until_read(one, second, members)
            assert len(one.values) == len(first | second), "what was committed came once"
