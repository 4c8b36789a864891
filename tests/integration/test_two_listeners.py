"""Three processes with a port for clients and a port for each other: a cluster as any other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tidelog.client import Admin, Consumer, Producer
from tidelog.core.errors import CallUnauthorizedError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.quiet_ports import quiet_ports
from tidelog.v1.controller_pb2 import AlterPartitionRequest
from tidelog.v1.data_pb2 import FetchRequest, MetadataRequest
from tidelog.v1.methods import ALTER_PARTITION, FETCH, METADATA

pytestmark = [pytest.mark.process]
NODES = (1, 2, 3)
RECORDS = 100
READY_S_MAX = 60.0
STOP_S_MAX = 30
TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class Addresses:
    """By node id."""

    client: dict[int, str]
    internal: dict[int, str]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Addresses]:
    """Running nodes; each must end with exit code 0."""
    ports = [f"127.0.0.1:{port}" for port in quiet_ports(2 * len(NODES))]
    clients = dict(zip(NODES, ports[:3], strict=True))
    addresses = Addresses(clients, dict(zip(NODES, ports[3:], strict=True)))
    processes = [start(node_id, addresses, tmp_path) for node_id in NODES]
    yield addresses
    for process in processes:
        process.terminate()
    assert [process.wait(timeout=STOP_S_MAX) for process in processes] == [0, 0, 0]


def start(node_id: int, addresses: Addresses, folder: Path) -> subprocess.Popen[bytes]:
    listeners = {"OUTSIDE": addresses.client[node_id], "INSIDE": addresses.internal[node_id]}
    config = {
        "node.id": node_id,
        "cluster.id": "two",
        "listeners": [f"{name}://{address}" for name, address in listeners.items()],
        "inter.broker.listener.name": "INSIDE",
        "log.dirs": str(folder / f"node-{node_id}"),
        "controller.quorum.voters": [f"{voter}@{addresses.internal[voter]}" for voter in NODES],
    }
    path = folder / f"node-{node_id}.toml"
    path.write_text(
        "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in config.items())
    )
    command = [sys.executable, "-m", "tidelog.node", "--config", str(path)]
    with (folder / f"node-{node_id}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


async def test_clients_write_and_read_outside_while_nodes_talk_inside(cluster: Addresses) -> None:
    outside = list(cluster.client.values())
    async with Admin(outside) as admin:
        await until_live(admin)
        await admin.create_topic(
            "t", partitions=3, replication_factor=3, configs={"min.insync.replicas": "3"}
        )
        described = await admin.describe_cluster()
    assert {one.broker_id: one.address for one in described.brokers} == cluster.client
    assert described.controllers == cluster.client
    values = [b"%d" % number for number in range(RECORDS)]
    # Each of the three replicas has every record before it is acknowledged.
    async with Producer(outside, acks="all") as producer:
        for number, value in enumerate(values):
            await producer.send("t", value=value, partition=number % 3)
    consumer = Consumer(outside, auto_offset_reset="earliest")
    consumer.assign([("t", partition) for partition in range(3)])
    found: list[bytes] = []
    async with consumer:
        while len(found) < RECORDS:
            found.append((await anext(aiter(consumer))).value or b"")
    assert sorted(found) == sorted(values)


async def test_the_clients_port_takes_nobody_for_a_node(cluster: Addresses) -> None:
    async with Admin(list(cluster.client.values())) as admin:
        await until_live(admin)
    transport = GrpcTransport()
    for node_id in NODES:
        outside, inside = cluster.client[node_id], cluster.internal[node_id]
        with pytest.raises(CallUnauthorizedError):
            await transport.call(
                outside, ALTER_PARTITION, AlterPartitionRequest(), timeout_ms=TIMEOUT_MS
            )
        fetch = FetchRequest(replica_id=1, cluster_id="two")
        with pytest.raises(CallUnauthorizedError):
            await transport.call(outside, FETCH, fetch, timeout_ms=TIMEOUT_MS)
        answer = await transport.call(inside, METADATA, MetadataRequest(), timeout_ms=TIMEOUT_MS)
        assert {one.node_id: one.address for one in answer.brokers} == cluster.internal
    await transport.close()


async def until_live(admin: Admin) -> None:
    deadline_s = time.monotonic() + READY_S_MAX
    while time.monotonic() < deadline_s:
        try:
            brokers = (await admin.describe_cluster()).brokers
        except Exception:  # noqa: BLE001  # whatever a node that starts answers
            continue
        if len([one for one in brokers if not one.is_fenced]) == len(NODES):
            return
    raise AssertionError("not live in time")
