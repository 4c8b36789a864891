"""Whole nodes with a listener for clients and one for nodes: each kind of call keeps to its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.sim.sim_story import TOPIC, Story

from tidelog.core.errors import CallUnauthorizedError
from tidelog.net.listeners import CLIENT, Listener
from tidelog.node.config import NodeConfig
from tidelog.raft.config import ENGINES
from tidelog.records.records import Record, encode_batch
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.simulation.engine.peers import SimPeers
from tidelog.v1.controller_pb2 import AlterPartitionRequest, BrokerHeartbeatRequest
from tidelog.v1.data_pb2 import (
    DeleteRecordsRequest,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
)
from tidelog.v1.methods import (
    ALTER_PARTITION,
    BROKER_HEARTBEAT,
    DELETE_RECORDS,
    FETCH,
    FETCH_STREAM,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    PRODUCE_STREAM,
    Method,
    Request,
)

TIMEOUT_MS = 2_000


def two(name: str) -> tuple[Listener, ...]:
    client, internal = f"{name}:9192", f"{name}:9193"
    return (
        Listener("OUTSIDE", bind=client, advertised=client, services=frozenset({CLIENT})),
        Listener("INSIDE", bind=internal, advertised=internal),
    )


def play(story: Callable[[Story], Coroutine[Any, Any, None]], *, engine: str = "tidelog") -> None:
    def configured(config: NodeConfig) -> NodeConfig:
        return replace(config, raft=replace(config.raft, engine=engine))

    cluster = SimCluster(seed=1, config=SimClusterConfig(listeners=two, configure=configured))

    async def run_story() -> None:
        scenario = Story(cluster)
        await scenario.create()
        await story(scenario)
        await scenario.admin.close()

    try:
        cluster.run(run_story())
    finally:
        cluster.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_clients_write_and_read_outside_while_replicas_follow_inside(engine: str) -> None:
    async def story(scenario: Story) -> None:
        await scenario.produce(20)
        assert await scenario.read() == scenario.acked
        await scenario.until(lambda partition: len(partition.isr) == 3)
        first = (await scenario.state()).replicas[0]
        scenario.cluster.kill(first)
        await scenario.until(lambda partition: partition.leader not in (None, first))
        await scenario.produce(20)
        scenario.cluster.start(first)
        await scenario.until(lambda partition: len(partition.isr) == 3)
        assert await scenario.read() == scenario.acked

    play(story, engine=engine)


def test_each_caller_is_told_the_addresses_of_its_listener() -> None:
    async def story(scenario: Story) -> None:
        transport = scenario.cluster.client.transport
        for port in (9192, 9193):
            answer = await transport.call(
                f"node-1:{port}", METADATA, MetadataRequest(), timeout_ms=TIMEOUT_MS
            )
            assert {one.address for one in answer.brokers} == {
                f"node-{node_id}:{port}" for node_id in (1, 2, 3)
            }
        cluster = await scenario.admin.describe_cluster()
        assert all(one.address.endswith(":9192") for one in cluster.brokers)
        assert set(cluster.controllers.values()) == {f"node-{one}:9192" for one in (1, 2, 3)}

    play(story)


def test_a_leader_is_hinted_at_with_its_address_at_the_listener() -> None:
    async def story(scenario: Story) -> None:
        leader = (await scenario.state()).leader
        other = next(node_id for node_id in scenario.cluster.node_ids if node_id != leader)
        transport = scenario.cluster.client.transport
        batch = encode_batch([Record(0, 1, None, b"v")])
        produce = ProduceRequest(acks=-1)
        produce.partitions.add(topic=TOPIC, records=batch)
        fetch = FetchRequest(partitions=[FetchPartition(topic=TOPIC)])
        listing = ListOffsetsRequest()
        listing.partitions.add(topic=TOPIC, spec=ListOffsetsRequest.LATEST)
        deletion = DeleteRecordsRequest()
        deletion.partitions.add(topic=TOPIC, offset=0)
        for port in (9192, 9193):
            at, expected = f"node-{other}:{port}", f"node-{leader}:{port}"
            hints = [
                await one_answer(transport, at, PRODUCE, produce),
                await one_answer(transport, at, FETCH, fetch),
                await one_answer(transport, at, LIST_OFFSETS, listing),
                await one_answer(transport, at, DELETE_RECORDS, deletion),
            ]
            fetches = await transport.open_stream(at, FETCH_STREAM)
            await fetches.send(fetch)
            hints.append((await fetches.receive()).partitions[0])
            fetches.close()
            sends = await transport.open_stream(at, PRODUCE_STREAM)
            await sends.send(produce)
            hints.append((await sends.receive()).answers[0].partitions[0])
            sends.close()
            assert [hint.current_leader.address for hint in hints] == [expected] * len(hints)

    play(story)


async def one_answer(
    transport: SimPeers, address: str, method: Method[Request, Any], request: Request
) -> Any:
    """The answer for the one partition of a request."""
    answer = await transport.call(address, method, request, timeout_ms=TIMEOUT_MS)
    return answer.partitions[0]


def test_a_client_outside_is_neither_broker_nor_replica() -> None:
    async def story(scenario: Story) -> None:
        leader = (await scenario.state()).leader
        transport = scenario.cluster.client.transport
        outside, inside = f"node-{leader}:9192", f"node-{leader}:9193"
        with pytest.raises(CallUnauthorizedError, match="AlterPartition is for the cluster's"):
            await transport.call(
                outside, ALTER_PARTITION, AlterPartitionRequest(), timeout_ms=TIMEOUT_MS
            )
        with pytest.raises(CallUnauthorizedError):
            await transport.call(
                outside, BROKER_HEARTBEAT, BrokerHeartbeatRequest(), timeout_ms=TIMEOUT_MS
            )
        fetch = FetchRequest(replica_id=2, cluster_id="simulated")
        with pytest.raises(CallUnauthorizedError, match="a fetch with a replica_id"):
            await transport.call(outside, FETCH, fetch, timeout_ms=TIMEOUT_MS)
        stream = await transport.open_stream(outside, FETCH_STREAM)
        await stream.send(fetch)
        with pytest.raises(CallUnauthorizedError):
            await stream.receive()
        answer = await transport.call(inside, FETCH, fetch, timeout_ms=TIMEOUT_MS)
        assert answer.cluster_id == "simulated", "the leader took it for a replica"

    play(story)
