"""A cluster of processes with listeners of Kafka's protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three nodes, for all tests of a module: each has topics of its own."""
    cluster = LocalCluster(tmp_path_factory.mktemp("kafka") / "data", has_kafka=True)
    try:
        started = cluster.start()
        assert started.returncode == 0, started.stderr
        yield cluster
    finally:
        cluster.stop()
