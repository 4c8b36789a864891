"""`process.roles`: one node that only decides, two that only store."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tidelog.client import Admin, Consumer, Producer
from tidelog.net.quiet_ports import quiet_ports

pytestmark = [pytest.mark.process]
ROLES = {1: ["controller"], 2: ["broker"], 3: ["broker"]}
STOP_TIMEOUT_S = 300


@pytest.fixture
def separate_nodes(tmp_path: Path) -> Iterator[Mapping[int, str]]:
    """Node id -> address of running nodes; each must end with exit code 0."""
    addresses = {
        node_id: f"127.0.0.1:{port}" for node_id, port in zip(ROLES, quiet_ports(3), strict=True)
    }
    processes = []
    for node_id, roles in ROLES.items():
        config = {
            "node.id": node_id,
            "cluster.id": "separate",
            "process.roles": roles,
            "listeners": addresses[node_id],
            "log.dirs": str(tmp_path / f"node-{node_id}"),
        }
        path = tmp_path / f"node-{node_id}.toml"
        lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in config.items()]
        lines.append(f'"controller.quorum.voters" = {{ "1" = "{addresses[1]}" }}')
        path.write_text("\n".join(lines))
        command = [sys.executable, "-m", "tidelog.node", "--config", str(path)]
        with (tmp_path / f"node-{node_id}.log").open("wb") as log:
            processes.append(subprocess.Popen(command, stdout=log, stderr=log))
    yield addresses
    for process in reversed(processes):  # brokers first: they tell the controller
        process.terminate()
        assert process.wait(timeout=STOP_TIMEOUT_S) == 0


async def test_brokers_store_and_the_controller_holds_no_partition(
    separate_nodes: Mapping[int, str], tmp_path: Path
) -> None:
    bootstrap = [separate_nodes[2], separate_nodes[3]]
    async with Admin(bootstrap) as admin:
        await _until_both_brokers_live(admin)
        await admin.create_topic("t", partitions=2, replication_factor=2)
        topic = await admin.describe_topic("t")
        cluster = await admin.describe_cluster()
    assert all(sorted(partition.isr) == [2, 3] for partition in topic.partitions)
    assert cluster.controller_id == 1
    assert list(cluster.controllers) == [1]

    async with Producer(bootstrap) as producer:
        sent = [await producer.send("t", value=b"%d" % n, partition=n % 2) for n in range(20)]
    async with Consumer(bootstrap) as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        values: dict[int, list[bytes | None]] = {0: [], 1: []}
        async for record in consumer:
            values[record.partition].append(record.value)
            if sum(map(len, values.values())) == len(sent):
                break
    assert values == {
        0: [b"%d" % n for n in range(0, 20, 2)],
        1: [b"%d" % n for n in range(1, 20, 2)],
    }
    assert _folders(tmp_path, "node-*/t-*") == ["t-0", "t-0", "t-1", "t-1"]
    assert _folders(tmp_path, "node-1/t-*") == []
    assert _folders(tmp_path, "node-*/__cluster_metadata-0") == ["__cluster_metadata-0"]


def _folders(root: Path, pattern: str) -> list[str]:
    return sorted(path.name for path in root.glob(pattern))


async def _until_both_brokers_live(admin: Admin) -> None:
    deadline_s = time.monotonic() + 120
    while time.monotonic() < deadline_s:
        try:
            cluster = await admin.describe_cluster()
        except Exception:  # noqa: BLE001  # not up yet, in whatever way
            continue
        if sum(not broker.is_fenced for broker in cluster.brokers) == 2:
            return
    raise AssertionError("the brokers did not register")
