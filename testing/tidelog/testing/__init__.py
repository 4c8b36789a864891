"""A cluster in your test: three real brokers in the test's own process, from pip, without a JVM.

    with LocalCluster() as cluster:                     # or `async with`
        cluster.create_topic("orders", partitions=3)
        service = OrderService(cluster.bootstrap)

With pytest the fixtures `tidelog_cluster`, `tidelog_topic`, `tidelog_fresh_cluster` and
`tidelog_processes` are there without an import: see docs/TESTING.md.

    local_cluster   `LocalCluster`, and what a test does to it
    plans           the configuration of its nodes
    hosted_node     a node in this process; `hosted_disk` closes what a killed one left open
    process_node    a node in a process of its own
    node_lines      a node's log
    plugin          pytest's fixtures; imports nothing of Tidelog before one is used

Imports: everything but `cli` and `spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.node.local_cluster.errors import LocalClusterError
    from tidelog.testing.local_cluster import LocalCluster

__all__ = ["LocalCluster", "LocalClusterError"]

_MODULES = {
    "LocalCluster": "tidelog.testing.local_cluster",
    "LocalClusterError": "tidelog.node.local_cluster.errors",
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
