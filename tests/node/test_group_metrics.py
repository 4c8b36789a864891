"""Metrics of groups on real nodes: members, states, committed offsets, and the lag behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families
from tests.client.real_cluster import ADDRESSES, GROUPS, RealCluster, encoded, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.core.metric_family import MetricFamily, Sample
from tidelog.node.metrics import HEAD_LINES, SAMPLES_PER_SLICE, exposition_slices

pytestmark = pytest.mark.asyncio
REFRESH_S = GROUPS.group_lag_refresh_ms / 1000 + 0.5
LABELS = ("consumergroup", "topic", "partition", "type", "state")
Series = Mapping[tuple[str, ...], float]


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[GroupCalls]:
    """A cluster with the topic orders: four partitions of five records, of all three brokers."""
    cluster = await started(groups=GroupConfig(offsets_topic_num_partitions=1))
    topic = await cluster.create("orders", partitions=4)
    for partition in topic.partitions:
        await partition.append(encoded([b"x"] * 5))
    yield GroupCalls(cluster)


async def scraped(calls: GroupCalls, name: str, *, node_id: int | None = None) -> Series:
    """Values of a metric at a broker, by default the coordinator, by its labels' values."""
    node = calls.cluster.machines[node_id or await calls.coordinator()].node
    text = b"".join([one async for one in exposition_slices(node.families())]).decode()
    return {
        tuple(sample.labels[one] for one in LABELS if one in sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"tidelog_consumergroup_{name}"
    }


async def lags(calls: GroupCalls) -> dict[int, float]:
    return {int(number): lag for (_, _, number), lag in (await scraped(calls, "lag")).items()}


async def test_members_states_and_rebalances_are_those_of_now(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    await member.until_owned(4)
    await calls.until_stable(1)
    await GroupCalls(calls.cluster, "alone").commit({("orders", 0): 1})
    assert await scraped(calls, "members") == {("g",): 1, ("alone",): 0}
    assert await scraped(calls, "state") == {
        ("g", "consumer", "Stable"): 1,
        ("alone", "classic", "Empty"): 1,
    }
    assert await scraped(calls, "rebalances") == {("g",): 1, ("alone",): 0}
    await member.ask(epoch=-1)
    assert await scraped(calls, "rebalances") == {("g",): 2, ("alone",): 0}
    assert (await scraped(calls, "state"))["g", "consumer", "Empty"] == 1
    for node_id in ADDRESSES:  # nobody else coordinates them
        if node_id != await calls.coordinator():
            assert await scraped(calls, "members", node_id=node_id) == {}


async def test_rebalances_are_counted_on_when_the_coordinator_moves(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.ask()
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    await calls.describe()
    assert await scraped(calls, "rebalances") == {("g",): 1}


async def test_lag_of_partitions_of_all_brokers(calls: GroupCalls) -> None:
    await calls.commit({("orders", number): number for number in range(3)})
    assert await lags(calls) == {}
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {0: 5, 1: 4, 2: 3}
    await calls.commit({("orders", 3): 5, ("orders", 0): 5})
    await calls.cluster.topics["orders"].partitions[0].append(encoded([b"x"] * 2))
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {0: 2, 1: 4, 2: 3, 3: 0}
    assert await scraped(calls, "current_offset") == {
        ("g", "orders", str(number)): offset for number, offset in enumerate((5, 1, 2, 5))
    }


async def test_without_its_leader_a_partition_has_an_offset_and_no_lag(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    other = next(one for one in ADDRESSES if one != leader)
    await calls.cluster.create("single", partitions=3, replicas=1)
    await calls.commit({("single", number): 0 for number in range(3)})
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {0: 0, 1: 0, 2: 0}
    calls.cluster.kill(other)  # partition n is led by n + 1
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {number: 0 for number in range(3) if number + 1 != other}
    assert len(await scraped(calls, "current_offset")) == 3
    node = calls.cluster.machines[leader].node
    assert node.stats()["group_lag_unknown_partitions"] == 1
    await calls.cluster.start(other)
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {0: 0, 1: 0, 2: 0}


async def test_a_coordinator_that_moved_has_no_series_left(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 1})
    await asyncio.sleep(REFRESH_S)
    before = await calls.coordinator()
    other = next(one for one in ADDRESSES if one != before)
    await calls.cluster.move(OFFSETS_TOPIC, 0, leader_id=other)
    for name in ("lag", "current_offset", "members", "state"):
        assert await scraped(calls, name, node_id=before) == {}
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {0: 4}


async def test_offsets_of_deleted_topics_have_no_series(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 1})
    await asyncio.sleep(REFRESH_S)
    await calls.cluster.delete("orders")
    await asyncio.sleep(REFRESH_S)
    assert await lags(calls) == {}


async def test_names_that_need_it_are_escaped(calls: GroupCalls) -> None:
    name = 'a "quoted"\\ \n group\tü'
    strange = GroupCalls(calls.cluster, name)
    await strange.commit({("orders", 0): 1})
    await asyncio.sleep(REFRESH_S)
    assert await scraped(strange, "lag") == {(name, "orders", "0"): 4}


async def test_a_cluster_without_groups_looks_nothing_up() -> None:
    cluster: RealCluster = await started()
    assert "group-lag" not in {task.get_name() for task in asyncio.all_tasks()}
    await GroupCalls(cluster).describe()
    assert "group-lag" in {task.get_name() for task in asyncio.all_tasks()}


async def test_many_values_are_written_in_slices_under_one_head() -> None:
    samples = (Sample((str(number),), number) for number in range(1_000))
    families = [
        MetricFamily("many", "values", ("number",), samples),
        MetricFamily("none", "no values", ("number",), ()),
    ]
    slices = [one async for one in exposition_slices(families)]
    assert len(slices) == 1_000 / SAMPLES_PER_SLICE
    lines = b"".join(slices).decode().splitlines()
    assert len([one for one in lines if one.startswith("#")]) == HEAD_LINES
    (family,) = text_string_to_metric_families("\n".join(lines) + "\n")
    assert [one.value for one in family.samples] == list(range(1_000))
