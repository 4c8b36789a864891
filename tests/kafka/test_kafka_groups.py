"""Groups of Kafka's own clients, unmodified, against nodes in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

import pytest
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
from tests.kafka.program_members import FranzMember, JavaMember, OldJavaMember

pytestmark = pytest.mark.process

kafka: Any = import_module("kafka")  # to type checkers the folders of this name are it

PARTITIONS = 4
PER_PARTITION = 10
Kind = type[Member]
WAYS = [
    *((ConfluentMember, one) for one in ("range", "roundrobin", "cooperative-sticky", "consumer")),
    *((PythonMember, one) for one in ("range", "roundrobin", "sticky", "cooperative-sticky")),
    *((AioMember, one) for one in ("range", "roundrobin", "sticky")),
    *((FranzMember, one) for one in ("range", "cooperative-sticky", "consumer")),
    *((JavaMember, one) for one in ("range", "cooperative-sticky", "consumer")),
    *((OldJavaMember, one) for one in ("range", "cooperative-sticky", "consumer")),
]


def of_ways(one: object) -> str | None:
    return one if isinstance(one, str) else getattr(one, "__name__", None)


def made(brokers: LocalCluster, topic: str) -> None:
    told = brokers.run("topics", "create", topic, "--partitions", f"{PARTITIONS}")
    assert told.returncode == 0, told.stderr


def written(brokers: LocalCluster, topic: str, word: str) -> set[bytes]:
    producer = kafka.KafkaProducer(bootstrap_servers=brokers.kafka_bootstrap, acks="all")
    values = {f"{word}-{number}".encode() for number in range(PARTITIONS * PER_PARTITION)}
    sent = [
        producer.send(topic, value, partition=number % PARTITIONS)
        for number, value in enumerate(sorted(values))
    ]
    for one in sent:
        one.get(30)
    producer.close()
    return values


@contextmanager
def running(*joinings: tuple[Kind, Joining]) -> Iterator[list[Member]]:
    """Run members, and end those that the test has not ended."""
    with ExitStack() as stack:
        members = []
        for kind, joining in joinings:
            member = kind(joining)
            members.append(member)
            stack.callback(member.close)
        yield members


def read(*members: Member) -> list[bytes]:
    return sorted(value for member in members for value in member.values)


def described(brokers: LocalCluster, group_id: str) -> Any:
    told = brokers.run("groups", "describe", group_id, "--json")
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.mark.turns(2)
@pytest.mark.parametrize(("kind", "strategy"), WAYS, ids=of_ways)
def test_two_members_share_a_topic_and_the_one_that_stays_goes_on_where_the_other_was(
    brokers: LocalCluster, kind: Kind, strategy: str
) -> None:
    topic = group_id = f"of-{kind.__name__}-{strategy}"
    made(brokers, topic)
    first = written(brokers, topic, "first")
    joining = Joining(brokers.kafka_bootstrap, group_id, topic, strategy)
    with running((kind, joining), (kind, joining)) as (one, other):
        until_shared([one, other], topic, PARTITIONS)
        assert {len(one.owned), len(other.owned)} == {2}
        until(lambda: len(read(one, other)) >= len(first), "the first values", [one, other])
        assert read(one, other) == sorted(first), "each once"
        other.close()
        until_shared([one], topic, PARTITIONS)
        second = written(brokers, topic, "second")
        until(lambda: len(read(one, other)) >= len(first | second), "the others", [one])
        assert read(one, other) == sorted(first | second)
    third = written(brokers, topic, "third")
    with running((kind, joining)) as (later,):
        until(lambda: len(read(later)) >= len(third), "the last values", [later])
        assert read(later) == sorted(third), "from the committed offsets on"


def test_three_clients_are_one_group(brokers: LocalCluster) -> None:
    topic = group_id = "three-clients"
    made(brokers, topic)
    values = written(brokers, topic, "of-all")
    joining = Joining(brokers.kafka_bootstrap, group_id, topic)
    kinds: list[Kind] = [ConfluentMember, PythonMember, AioMember]
    with running(*((kind, joining) for kind in kinds)) as members:
        until_shared(members, topic, PARTITIONS)
        until(lambda: len(read(*members)) >= len(values), "all values", members)
        group = described(brokers, group_id)
        assert (group["type"], group["state"]) == ("classic", "Stable")
        clients = {one["client_id"].split("-")[0] for one in group["members"]}
        assert clients == {"rdkafka", "kafka", "aiokafka"}
        assert {one["host"] for one in group["members"]} == {"127.0.0.1"}
    assert set(read(*members)) == values
    group = described(brokers, group_id)
    assert group["state"] == "Empty"


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        (ConfluentMember, "range"),
        (ConfluentMember, "consumer"),
        (PythonMember, "range"),
        (AioMember, "range"),
        (FranzMember, "cooperative-sticky"),
        (JavaMember, "cooperative-sticky"),
        (JavaMember, "consumer"),
        (OldJavaMember, "range"),
    ],
    ids=of_ways,
)
def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    brokers: LocalCluster, kind: Kind, strategy: str
) -> None:
    topic = group_id = f"static-{kind.__name__}-{strategy}"
    made(brokers, topic)

    def joining(instance_id: str) -> Joining:
        return Joining(brokers.kafka_bootstrap, group_id, topic, strategy, instance_id)

    with running((kind, joining("one")), (kind, joining("two"))) as (one, two):
        until_shared([one, two], topic, PARTITIONS)
        owned, epoch = two.owned, described(brokers, group_id)["epoch"]
        two.close()
        with running((kind, joining("two"))) as (again,):
            until_shared([one, again], topic, PARTITIONS)
            assert again.owned == owned
            assert described(brokers, group_id)["epoch"] == epoch
