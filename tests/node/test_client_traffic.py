"""Brokers count produce and fetch by client id, for so many clients and no more."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from tests.client.consumer_cases import consumer, take
from tests.client.real_cluster import BOOTSTRAP, started

from tidelog.client import Producer
from tidelog.node.handlers.client_traffic import CLIENTS_MAX, ClientTraffic
from tidelog.node.metrics import registry_for


def value_of(registry: CollectorRegistry, name: str, client_id: str) -> float | None:
    return registry.get_sample_value(f"tidelog_client_{name}", {"client_id": client_id})


def test_counters_are_kept_for_the_clients_heard_most_recently() -> None:
    traffic = ClientTraffic(clients_max=2)
    traffic.produced("a", 10)
    traffic.fetched("b", 5)
    traffic.produced("a", 10)
    traffic.fetched("c", 0)
    assert traffic.stats() == {
        "produce_requests": {"a": 2, "c": 0},
        "produce_bytes": {"a": 20, "c": 0},
        "fetch_requests": {"a": 0, "c": 1},
        "fetch_bytes": {"a": 0, "c": 0},
    }


def test_strangers_with_ever_new_names_take_no_more_memory() -> None:
    traffic = ClientTraffic()
    for number in range(3 * CLIENTS_MAX):
        traffic.produced(f"stranger-{number}", 1)
    assert len(traffic.stats()["produce_bytes"]) == CLIENTS_MAX


async def test_metrics_name_the_clients_that_produce_and_fetch_and_no_follower() -> None:
    cluster = await started()
    await cluster.create("t")
    host = cluster.machines[1].host
    host.call = host.call._replace(client_id="orders")
    async with Producer(BOOTSTRAP, transport=cluster) as producer:
        for _ in range(3):
            await producer.send("t", b"x" * 1_000)
    host.call = host.call._replace(client_id="billing")
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        await take(c, 3)
    registry = registry_for(dict, cluster.machines[1].node.client_stats)
    assert value_of(registry, "produce_requests", "orders") == 3
    assert 3_000 < (value_of(registry, "produce_bytes", "orders") or 0) < 4_000
    assert value_of(registry, "fetch_requests", "orders") == 0
    assert value_of(registry, "produce_requests", "billing") == 0
    assert (value_of(registry, "fetch_requests", "billing") or 0) >= 1
    fetched_bytes = sum(map(len, cluster.topics["t"].partitions[0].batches))
    assert value_of(registry, "fetch_bytes", "billing") == fetched_bytes
    # Followers, which fetch the same records, have no name.
    assert value_of(registry, "fetch_requests", "") is None
    assert not cluster.machines[2].node.client_stats()["fetch_requests"]
