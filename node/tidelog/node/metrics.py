"""Prometheus metrics of a node, read from the node at each scrape, so nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class NodeCollector(Collector):
    """Collector of gauges: `read` returns name -> value; each becomes `tidelog_<name>`."""

    def __init__(self, read: Callable[[], Mapping[str, float]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Read the metrics; called by the registry for every scrape."""
        for name, value in self._read().items():
            yield GaugeMetricFamily(f"tidelog_{name}", name.replace("_", " "), value=value)


def registry_for(read: Callable[[], Mapping[str, float]]) -> CollectorRegistry:
    """Build a separate registry, without module-global state."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(NodeCollector(read))
    return registry
