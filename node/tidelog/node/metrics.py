"""Prometheus metrics of a node, read from the node at each scrape, so nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Numbers = Mapping[str, float]
Clients = Mapping[str, Numbers]


class NodeCollector(Collector):
    """Collector of gauges: `read` returns name -> value; each becomes `tidelog_<name>`.

    `read_clients` returns name -> client id -> value; each becomes `tidelog_client_<name>`.
    """

    def __init__(self, read: Callable[[], Numbers], read_clients: Callable[[], Clients]) -> None:
        self._read = read
        self._read_clients = read_clients

    def collect(self) -> Iterable[Metric]:
        """Read the metrics; called by the registry for every scrape."""
        for name, value in self._read().items():
            yield GaugeMetricFamily(f"tidelog_{name}", name.replace("_", " "), value=value)
        for name, values in self._read_clients().items():
            what = f"{name.replace('_', ' ')} of the client"
            family = GaugeMetricFamily(f"tidelog_client_{name}", what, labels=("client_id",))
            for client_id, value in values.items():
                family.add_metric((client_id,), value)
            yield family


def registry_for(
    read: Callable[[], Numbers], read_clients: Callable[[], Clients] = dict
) -> CollectorRegistry:
    """Build a separate registry, without module-global state; see `NodeCollector`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(NodeCollector(read, read_clients))
    return registry
