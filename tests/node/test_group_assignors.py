"""Assignors of an operator's own on real nodes: they assign, or the group says what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.client.patience import until
from tests.client.real_cluster import RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator.assignors.interface import Assignment, GroupSpec
from tidelog.broker.coordinator.consumer_live_group import ASSIGNMENT_RETRY_MS
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.core.errors import InvalidConfigError
from tidelog.node.config import parse_config
from tidelog.node.groups import group_assignors

pytestmark = pytest.mark.asyncio

HERE = __name__


class AllToLast:
    """Gives everything to the member whose id is the last."""

    name = "all-to-last"

    def assign(self, group: GroupSpec) -> Assignment:
        last = max(one.member_id for one in group.members)
        counts = group.partition_counts.items()
        return {last: frozenset((topic, one) for topic, count in counts for one in range(count))}


class Fickle:
    """Assigns as `AllToLast`, unless there is a member by whose id it does something else."""

    name = "fickle"

    def assign(self, group: GroupSpec) -> Any:
        ids = {one.member_id for one in group.members}
        if "raises" in ids:
            raise ZeroDivisionError("by zero members")
        if "nonsense" in ids:
            return {"stranger": 7}
        if "late" in ids:
            return self._slices()
        return AllToLast().assign(group)

    def _slices(self) -> Iterator[None]:
        yield None
        raise KeyError("too late")


async def cluster_with(*assignors: str) -> RealCluster:
    names = ",".join(assignors)
    config = GroupConfig(offsets_topic_num_partitions=3, group_consumer_assignors=names)
    cluster = await started(groups=config)
    await cluster.create("orders", partitions=4)
    return cluster


async def test_an_own_assignor_assigns_to_those_who_want_it_and_by_default() -> None:
    cluster = await cluster_with("uniform", f"{HERE}:AllToLast")
    calls = GroupCalls(cluster)
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    for one in (first, second):
        one.assignor = "all-to-last"
        await one.connect()
    await second.until_owned(4)
    assert (await calls.until_stable(2)).assignor == "all-to-last"
    other = HandMember(GroupCalls(cluster, "h"), "a", "orders")
    other.assignor = "nosuch"
    assert await other.ask() == "UNSUPPORTED_ASSIGNOR"
    default = await cluster_with(f"{HERE}:AllToLast", "uniform")
    member = HandMember(GroupCalls(default), "a", "orders")
    await member.connect()
    await member.until_owned(4)
    assert (await GroupCalls(default).until_stable(1)).assignor == "all-to-last"


@pytest.mark.parametrize(
    ("member_id", "why"),
    [
        ("raises", "raised ZeroDivisionError('by zero members')"),
        ("nonsense", "assigned to the unknown member 'stranger'"),
        ("late", "raised KeyError('too late')"),
    ],
)
async def test_one_that_fails_is_named_and_the_assignment_of_before_stays(
    member_id: str, why: str
) -> None:
    cluster = await cluster_with(f"{HERE}:Fickle", "uniform")
    calls = GroupCalls(cluster)
    good, bad = HandMember(calls, "a", "orders"), HandMember(calls, member_id, "orders")
    await good.connect()
    await good.until_owned(4)
    await bad.connect()
    await until_failed(calls)
    failed = await calls.describe()
    assert failed.state == "Assigning"
    assert why in failed.assignment_failure
    assert f"{HERE}:Fickle" in failed.assignment_failure
    assert len(good.owned) == 4
    other = HandMember(GroupCalls(cluster, "other"), "x", "orders")  # on the same nodes
    await other.connect()
    await other.until_owned(4)
    assert await bad.ask(epoch=-1) == "NONE"
    healed = await calls.until_stable(1)
    assert healed.assignment_failure == ""
    assert len(good.owned) == 4


async def until_failed(calls: GroupCalls) -> None:
    async with asyncio.timeout(60):
        while not (await calls.describe()).assignment_failure:  # noqa: ASYNC110  # of real nodes
            await asyncio.sleep(0.05)


async def test_one_that_fails_is_tried_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = 0

    def assign(_: Any, group: GroupSpec) -> Assignment:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError("its inventory does not answer")
        return AllToLast().assign(group)

    monkeypatch.setattr(Fickle, "assign", assign)
    calls = GroupCalls(await cluster_with(f"{HERE}:Fickle"))
    member = HandMember(calls, "a", "orders")
    await member.connect()
    began_s = asyncio.get_running_loop().time()
    await until(lambda: len(member.owned) == 4)
    assert tries == 3
    waited_ms = (asyncio.get_running_loop().time() - began_s) * 1_000
    assert 2 * ASSIGNMENT_RETRY_MS - 500 <= waited_ms < 3 * ASSIGNMENT_RETRY_MS


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no.such.module:Class", "ModuleNotFoundError"),
        (f"{HERE}:Missing", "has no attribute 'Missing'"),
        ("unifrom", "known are uniform, range, roundrobin"),
        ("range", "two assignors are named 'range'"),
    ],
)
async def test_one_that_cannot_be_had_keeps_a_node_from_starting(name: str, why: str) -> None:
    config = parse_config(
        "node.id = 1\ncluster.id = 'c'\nlisteners = '127.0.0.1:1'\nlog.dirs = '/x'\n"
        f"controller.quorum.voters = '1@127.0.0.1:1'\ngroup.consumer.assignors = 'range,{name}'"
    )
    with pytest.raises(InvalidConfigError) as refused:
        group_assignors(config)
    assert str(refused.value).startswith("group.consumer.assignors: ")
    assert why in str(refused.value)
    with pytest.raises(InvalidConfigError):
        await cluster_with("range", name)
