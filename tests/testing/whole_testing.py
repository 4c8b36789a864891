# pyright: strict
"""The whole of `tidelog.testing` in one file of a user's tests: every fixture, method and option.

`test_whole_testing.py` runs it, and holds that nothing is missing; `make check` types it strictly.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.client import Producer as AsyncProducer
from tidelog.client.sync import Consumer, Producer
from tidelog.testing import LocalCluster, LocalClusterError


def test_of_the_shared_cluster(tidelog_cluster: LocalCluster, tidelog_topic: str) -> None:
    with Producer[bytes, bytes](tidelog_cluster.bootstrap) as producer:
        producer.send(tidelog_topic, value=b"an order", partition=0)
    with Consumer[bytes, bytes](
        tidelog_cluster.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([(tidelog_topic, 0)])
        (record,) = consumer.getmany(timeout_ms=10_000)
    assert record.value == b"an order"


def test_of_its_own_cluster(tidelog_fresh_cluster: LocalCluster) -> None:
    cluster = tidelog_fresh_cluster
    cluster.create_topic(
        "orders", partitions=1, replication_factor=3, configs={"retention.ms": "86400000"}
    )
    leader = cluster.leader("orders", 0)
    assert leader in cluster.node_ids
    cluster.kill(leader)
    cluster.start(leader)
    cluster.wait_until_in_sync(timeout_s=60.0)
    cluster.stop(leader)
    cluster.check()
    assert cluster.addresses[leader] in cluster.bootstrap
    assert len(cluster.kafka_bootstrap.split(",")) == 3
    assert "event=started" in cluster.logs(leader)


def test_of_processes(tidelog_processes: LocalCluster) -> None:
    cluster = tidelog_processes
    cluster.pause(2)
    cluster.resume(2)
    assert cluster.folder.is_dir()


def test_of_options(tmp_path: Path) -> None:
    with LocalCluster(
        brokers=1,
        controllers=1,
        configs={"num.partitions": 1},
        folder=tmp_path / "data",
        processes=False,
        security=None,
        keep=True,
    ) as cluster:
        cluster.create_topic("t")
    assert cluster.folder == tmp_path / "data"
    cluster = LocalCluster(brokers=1)
    cluster.start_all()
    cluster.close(has_failed=False)
    with pytest.raises(LocalClusterError, match="brokers=0"):
        LocalCluster(brokers=0)


async def test_of_a_coroutine() -> None:
    async with (
        LocalCluster(brokers=1) as cluster,
        AsyncProducer[bytes, bytes](cluster.bootstrap) as producer,
    ):
        assert (await producer.send("t", value=b"x", partition=0)).offset == 0
