# pyright: strict
"""Pytest's fixtures of clusters, and hooks of simulated tests.

Imports nothing of Tidelog's nodes before a test uses one.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from tidelog.testing import plugin_simulated

if TYPE_CHECKING:
    from tidelog.testing.local_cluster import LocalCluster

NAME_CHARACTERS_MAX = 200
LOG_LINES_MAX = 40
_clusters: list[LocalCluster] = []
"""Those that run, for the tests that use them."""
IS_NEW_ENOUGH = int(pytest.__version__.partition(".")[0]) >= 8
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


_running_test: list[plugin_simulated.SimulatedRun] = []
"""The simulated test that runs, if one does."""


def current_run() -> plugin_simulated.SimulatedRun | None:
    """Return the simulated test that runs, for `simulated`; fail it with an old pytest."""
    if not IS_NEW_ENOUGH:
        pytest.fail(f"simulated tests need pytest 8 or newer, and this is {pytest.__version__}")
    return _running_test[-1] if _running_test else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of simulated tests."""
    plugin_simulated.add_options(parser)


if IS_NEW_ENOUGH:
    _used = pytest.StashKey[list["LocalCluster"]]()
    _simulated = pytest.StashKey[plugin_simulated.SimulatedRun]()

    def pytest_configure(config: pytest.Config) -> None:
        """Draw the base of fresh seeds."""
        config.pluginmanager.register(_Results(config), "tidelog-results")
        plugin_simulated.set_base(config)

    def pytest_report_header(config: pytest.Config) -> str | None:
        """Say which seeds are fresh, so that a run can be had again."""
        base = getattr(config.option, "tidelog_base", None)
        return None if base is None else f"tidelog: fresh seeds from {base} on"

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
        """Make an item of each seed of a simulated test that wants it."""
        test = plugin_simulated.simulated_test(metafunc.function)
        if test is not None and test.has_items:
            seeds = plugin_simulated.item_seeds(metafunc, test.seeds)
            ids = [plugin_simulated.seed_id(seed) for seed in seeds]
            metafunc.parametrize(plugin_simulated.SEED, seeds, ids=ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(item: pytest.Item) -> None:
        """Refuse what no simulated test can have."""
        if _is_simulated(item):
            plugin_simulated.refuse_async_fixtures(item)

    def _is_simulated(item: pytest.Item) -> TypeGuard[pytest.Function]:
        function: object = getattr(item, "function", None)
        return plugin_simulated.simulated_test(function) is not None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test whose cluster lost a node by itself; give a simulated one its seeds."""
        used = [one for one in _clusters if one in getattr(item, "funcargs", {}).values()]
        item.stash[_used] = used
        if not _is_simulated(item):
            yield
        else:
            run = item.stash[_simulated] = plugin_simulated.SimulatedRun(item)
            _running_test.append(run)
            try:
                yield
            finally:
                _running_test.pop()
        for cluster in used:
            cluster.check()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the ends of the nodes' logs with a test that failed, or what its seed did."""
        report = yield
        if call.when != "call":
            return report
        run = item.stash.get(_simulated, None)
        if run is not None:
            report.tidelog_result = run.result  # type: ignore[attr-defined]  # xdist sends it on
            if run.failure is not None and report.failed:
                report.sections.append((plugin_simulated.SECTION, run.lines()))
        if report.failed:
            for cluster in item.stash.get(_used, None) or ():
                for node_id in cluster.node_ids:
                    lines = cluster.logs(node_id).splitlines()[-LOG_LINES_MAX:]
                    report.sections.append((f"log of tidelog node {node_id}", "\n".join(lines)))
        return report

    class _Results:
        """Results of simulated tests, of all workers."""

        def __init__(self, config: pytest.Config) -> None:
            self._config = config
            self._results: list[dict[str, Any]] = []

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            """Take the result of a test."""
            result = getattr(report, "tidelog_result", None)
            if result is not None:
                self._results.append(result)

        def pytest_sessionfinish(self) -> None:
            """Write the file; workers of pytest-xdist leave it to their controller."""
            path = self._config.option.tidelog_json
            if path and not hasattr(self._config, "workerinput"):
                plugin_simulated.write_results(path, self._results)
