"""Prometheus metrics of a node, read from the node at each scrape, so nothing is counted twice.

Those with many labels are written in slices, with the loop's other work in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from itertools import islice

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tidelog.core.metric_family import MetricFamily, Sample

SAMPLES_PER_SLICE = 200
"""Values with labels that are written before other work has the loop."""
HEAD_LINES = 2
"""Lines that say what a metric is, before its values."""
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


async def exposition_slices(families: Iterable[MetricFamily]) -> AsyncIterator[bytes]:
    """Write metrics with labels in Prometheus' text format, a slice at a time."""
    for family in families:
        samples = iter(family.samples)
        has_head = False
        while some := list(islice(samples, SAMPLES_PER_SLICE)):
            written = generate_latest(_OneFamily(family, some))
            yield b"".join(written.splitlines(keepends=True)[HEAD_LINES if has_head else 0 :])
            has_head = True
            await asyncio.sleep(0)


class _OneFamily(CollectorRegistry):
    """Registry of some values of one metric."""

    def __init__(self, family: MetricFamily, samples: Iterable[Sample]) -> None:
        super().__init__(auto_describe=False)
        self._family = GaugeMetricFamily(
            f"tidelog_{family.name}", family.meaning, labels=family.labels
        )
        for labels, value in samples:
            self._family.add_metric(labels, value)

    def collect(self) -> Iterable[Metric]:
        """See `CollectorRegistry.collect`."""
        return (self._family,)
