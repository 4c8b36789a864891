# pyright: strict
"""A cluster in your test: three real brokers in the test's own process, from pip, without a JVM.

    with LocalCluster() as cluster:                     # or `async with`
        cluster.create_topic("orders", partitions=3)
        service = OrderService(cluster.bootstrap)

    @simulated(seeds=50)                                # your test, in a simulated cluster
    async def test_no_order_is_lost(sim): ...

With pytest the fixtures `tidelog_cluster`, `tidelog_topic`, `tidelog_fresh_cluster` and
`tidelog_processes` are there without an import: see docs/TESTING.md.

    local_cluster   `LocalCluster`, and what a test does to it
    plans           the configuration of its nodes
    hosted_node     a node in this process; `hosted_disk` closes what a killed one left open
    process_node    a node in a process of its own
    node_lines      a node's log
    sim             a test of yours on virtual time, under faults, seed after seed
    plugin          pytest's fixtures and hooks; imports nothing of nodes before one is used
    plugin_simulated  options of simulated tests

Imports: everything but `cli` and `spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.node.local_cluster.errors import LocalClusterError
    from tidelog.testing.local_cluster import LocalCluster
    from tidelog.testing.sim.decorator import SimulatedTestWarning, simulate, simulated
    from tidelog.testing.sim.errors import (
        BrokenPromiseError,
        NotDeterministicError,
        NotSettledError,
        OutsideSimulationError,
        SimulatedTestError,
    )
    from tidelog.testing.sim.processes import SimulatedProcess
    from tidelog.testing.sim.runs import SeedFailure, SimulationReport
    from tidelog.testing.sim.seed_run import LimitReachedError
    from tidelog.testing.sim.simulation import Simulation

__all__ = [
    "BrokenPromiseError",
    "LimitReachedError",
    "LocalCluster",
    "LocalClusterError",
    "NotDeterministicError",
    "NotSettledError",
    "OutsideSimulationError",
    "SeedFailure",
    "SimulatedProcess",
    "SimulatedTestError",
    "SimulatedTestWarning",
    "Simulation",
    "SimulationReport",
    "simulate",
    "simulated",
]

_MODULES = {
    "LocalCluster": "tidelog.testing.local_cluster",
    "LocalClusterError": "tidelog.node.local_cluster.errors",
    **dict.fromkeys(
        ("SimulatedTestWarning", "simulate", "simulated"), "tidelog.testing.sim.decorator"
    ),
    **dict.fromkeys(
        (
            *("BrokenPromiseError", "NotDeterministicError", "NotSettledError"),
            *("OutsideSimulationError", "SimulatedTestError"),
        ),
        "tidelog.testing.sim.errors",
    ),
    "SimulatedProcess": "tidelog.testing.sim.processes",
    **dict.fromkeys(("SeedFailure", "SimulationReport"), "tidelog.testing.sim.runs"),
    "LimitReachedError": "tidelog.testing.sim.seed_run",
    "Simulation": "tidelog.testing.sim.simulation",
}


def __getattr__(name: str) -> Any:  # a public name, imported when it is used first
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error}: nodes need more than a client, pip install 'tidelog[testing]'",
            name=error.name,
        ) from None
