"""A compacted topic as a map: the last value of a key, on real brokers."""

from __future__ import annotations

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, RealCluster, start_all, started

from tidelog.spark import compacted_topic
from tidelog.spark.compacted_topic import CONFIGS, CompactedTopic
from tidelog.v1 import common_pb2
from tidelog.v1.methods import Method, Request, Response


def topic(cluster: RealCluster) -> CompactedTopic:
    return CompactedTopic("__map", BOOTSTRAP, transport=cluster)


async def test_the_last_value_of_a_key_is_found_among_others() -> None:
    cluster = await started()
    for key, value in [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"ab", b"4")]:
        await topic(cluster).put(key, value)
    assert await topic(cluster).last(b"a") == b"3"
    assert await topic(cluster).last(b"b") == b"2"
    assert await topic(cluster).last(b"c") is None


async def test_there_is_nothing_in_a_topic_that_is_not_there() -> None:
    cluster = await started()
    assert await topic(cluster).last(b"a") is None
    assert cluster.topics == {}, "reading makes no topic"


async def test_the_first_value_makes_the_topic_compacted_and_replicated() -> None:
    cluster = await started()
    await topic(cluster).put(b"a", b"1")
    await topic(cluster).put(b"a", b"2")
    (request,) = cluster.requests("CreateTopics")
    (asked,) = request.topics
    assert (asked.name, asked.partitions, asked.replication_factor) == ("__map", 1, 3)
    assert dict(asked.configs) == CONFIGS
    assert {produce.acks for produce in cluster.requests("Produce")} == {-1}


async def test_a_small_cluster_keeps_as_many_copies_as_it_can() -> None:
    cluster = await started()
    cluster.kill(3)
    await cluster.fenced(3)
    await topic(cluster).put(b"a", b"1")
    (request,) = cluster.requests("CreateTopics")
    assert request.topics[0].replication_factor == 2


async def test_a_large_cluster_keeps_no_more_copies_than_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compacted_topic, "REPLICAS_MAX", 2)
    cluster = await started()
    await topic(cluster).put(b"a", b"1")
    (request,) = cluster.requests("CreateTopics")
    assert request.topics[0].replication_factor == 2


class Overtaken(RealCluster):
    """Creates the topic before whoever asked for the brokers does."""

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        response = await super().call(address, method, request, timeout_ms=timeout_ms)
        if method.name == "DescribeCluster" and "__map" not in self.topics:
            await self.create("__map")
        return response


async def test_another_may_make_the_topic_at_the_same_time() -> None:
    cluster = await start_all(Overtaken())
    await topic(cluster).put(b"a", b"1")
    assert len(cluster.requests("CreateTopics")) == 1
    assert await topic(cluster).last(b"a") == b"1"


async def test_a_value_is_found_though_its_leader_changed() -> None:
    cluster = await started()
    await topic(cluster).put(b"a", b"1")
    cluster.mishaps.append(Mishap("ListOffsets", code=common_pb2.NOT_LEADER_OR_FOLLOWER))
    cluster.mishaps.append(Mishap("Fetch", code=common_pb2.NOT_LEADER_OR_FOLLOWER))
    assert await topic(cluster).last(b"a") == b"1"
