"""What many tests share: a cluster of real processes, and Spark's tests skipping without Java."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.integration.local_cluster import LocalCluster
from tests.plain_logs import configure_logs

pytest_plugins = ("tests.change_seeds", "tests.processor_budget", "tests.virtual_loop")

# How long an example takes is the machine's business.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

configure_logs()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip by name what needs Java where there is none."""
    java_home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (java_home and Path(java_home, "bin/java").exists()):
        return
    skip = pytest.mark.skip(reason="needs Java 17 or newer: apt-get install default-jre-headless")
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Leave all that the tests' collection made out of garbage collections.

    A long simulated run ends with a full one: a second where 8,000 tests were collected.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def heard() -> Iterator[None]:
    """SIGINT raises, here and in programs started from here.

    A shell has what it starts in the background ignore it, and whatever that starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster that nobody started yet; whatever runs of it at the end is stopped."""
    cluster = LocalCluster(tmp_path / "data")
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def running_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three nodes that run, shared by all tests of a process: each has topics of its own.

    What a test stops it starts again, and what it changes for all topics it takes back.
    """
    cluster = LocalCluster(tmp_path_factory.mktemp("cluster") / "data")
    try:
        started = cluster.start()
        assert started.returncode == 0, started.stderr
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three nodes with listeners of Kafka's protocol, for all tests of a module.

    Their classic groups do not wait three seconds for further members, as by default.
    """
    cluster = LocalCluster(
        tmp_path_factory.mktemp("kafka") / "data",
        has_kafka=True,
        variables={"TIDELOG_GROUP_INITIAL_REBALANCE_DELAY_MS": "200"},
    )
    try:
        started = cluster.start()
        assert started.returncode == 0, started.stderr
        yield cluster
    finally:
        cluster.stop()
