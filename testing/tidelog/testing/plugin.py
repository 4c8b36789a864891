"""Pytest's fixtures of clusters. Imports nothing of Tidelog before a test uses one."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidelog.testing.local_cluster import LocalCluster

NAME_CHARACTERS_MAX = 200
LOG_LINES = 40
_clusters: list[LocalCluster] = []
"""Those that run, for the tests that use them."""
IS_NEW_ENOUGH = getattr(pytest, "version_tuple", (0,)) >= (8,)
"""False with a pytest whose run the hooks below would break; then the fixtures say so."""


def _running(*, processes: bool = False) -> Iterator[LocalCluster]:
    from tidelog.testing import LocalCluster

    if not IS_NEW_ENOUGH:
        pytest.fail(f"Tidelog's fixtures need pytest 8 or newer, and this is {pytest.__version__}")

    with LocalCluster(processes=processes) as cluster:
        _clusters.append(cluster)
        try:
            yield cluster
        finally:
            _clusters.remove(cluster)


@pytest.fixture(scope="session")
def tidelog_cluster() -> Iterator[LocalCluster]:
    """Three brokers in this process, started at the first use and shared by the session."""
    yield from _running()


@pytest.fixture
def tidelog_fresh_cluster() -> Iterator[LocalCluster]:
    """Three brokers in this process, of this test alone."""
    yield from _running()


@pytest.fixture
def tidelog_processes() -> Iterator[LocalCluster]:
    """Three brokers, each a process of its own, of this test alone: kill -9, SIGSTOP."""
    yield from _running(processes=True)


@pytest.fixture
def tidelog_topic(request: pytest.FixtureRequest, tidelog_cluster: LocalCluster) -> str:
    """Return the name of a new topic of `tidelog_cluster`, of this test alone."""
    from uuid import uuid4

    plain = re.sub(r"[^a-zA-Z0-9._-]", "-", request.node.name)[:NAME_CHARACTERS_MAX]
    name = f"{plain}-{uuid4().hex[:8]}"
    tidelog_cluster.create_topic(name)
    return name


if IS_NEW_ENOUGH:
    _used = pytest.StashKey[list["LocalCluster"]]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test whose cluster lost a node by itself."""
        used = [one for one in _clusters if one in getattr(item, "funcargs", {}).values()]
        item.stash[_used] = used
        yield
        for cluster in used:
            cluster.check()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the ends of the nodes' logs with a test that failed."""
        report = yield
        if report.failed and call.when == "call":
            for cluster in item.stash.get(_used, []):
                for node_id in cluster.node_ids:
                    lines = cluster.logs(node_id).splitlines()[-LOG_LINES:]
                    report.sections.append((f"log of tidelog node {node_id}", "\n".join(lines)))
        return report
