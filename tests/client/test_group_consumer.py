"""Consumers of a group, on real nodes: who reads what, what is committed, who takes over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.group_consumers import (
    ALL,
    Heard,
    SleptClock,
    consumer,
    kill,
    not_led_by,
    orders_cluster,
    places,
    read,
    read_on,
)
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, RealCluster, encoded, started
from tests.client.topic_changes import add_partitions
from tests.node.group_calls import GroupCalls

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.client import TopicPartition
from tidelog.client.consuming.group_reader import LOOK_UP_MS
from tidelog.client.errors import CommitFailedError, UnreleasedInstanceIdError
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    yield await orders_cluster()


# Reading


async def test_one_consumer_reads_everything_and_leaves_it_committed(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        assert places(await read(reader, 20)) == ALL
        assert {one.partition for one in reader.assignment()} == {0, 1, 2, 3}
        assert reader.group_metadata().epoch > 0
    assert await GroupCalls(cluster).committed() == {("orders", one): 5 for one in range(4)}
    assert len((await GroupCalls(cluster).describe()).members) == 0


async def test_the_next_one_goes_on_where_the_last_one_was(cluster: RealCluster) -> None:
    async with consumer(cluster, max_poll_records=3) as first:
        await first.subscribe(["orders"])
        seen = places(await read(first, 7))
    async with consumer(cluster) as second:
        await second.subscribe(["orders"])
        rest = places(await read(second, 20 - len(seen)))
    assert seen | rest == ALL
    assert not seen & rest


async def test_an_iteration_has_one_record_in_hand(cluster: RealCluster) -> None:
    async with consumer(cluster, auto_commit_interval_ms=100) as reader:
        await reader.subscribe(["orders"])
        seen = 0
        async for _ in reader:
            seen += 1
            if seen == 7:
                await asyncio.sleep(1)
                assert sum((await GroupCalls(cluster).committed()).values()) == 6
                break
    assert sum((await GroupCalls(cluster).committed()).values()) == 7


async def test_what_is_in_hand_is_not_committed_when_the_application_fails(
    cluster: RealCluster,
) -> None:
    async def fail() -> None:
        async with consumer(cluster, max_poll_records=3) as reader:
            await reader.subscribe(["orders"])
            await read(reader, 3)
            await reader.getmany(timeout_ms=1_000)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert sum((await GroupCalls(cluster).committed()).values()) == 3


async def test_whole_batches_are_committed_when_more_is_asked_for(cluster: RealCluster) -> None:
    async with consumer(cluster, auto_commit_interval_ms=100) as reader:
        await reader.subscribe(["orders"])
        batches = await reader.getbatches(timeout_ms=10_000, max_records=2)
        await asyncio.sleep(0.5)
        assert sum((await GroupCalls(cluster).committed()).values()) == 0
        await reader.getbatches(timeout_ms=10_000, max_records=2)
        await asyncio.sleep(0.5)
        assert sum((await GroupCalls(cluster).committed()).values()) == len(batches)


async def test_a_new_group_begins_where_its_reset_says(cluster: RealCluster) -> None:
    async with consumer(cluster, auto_offset_reset="latest") as reader:
        await reader.subscribe(["orders"])
        assert await reader.getmany(timeout_ms=2_000) == []
        await cluster.topics["orders"].partitions[1].append(encoded([b"new"]))
        assert places(await read(reader, 1)) == {(1, 5)}


# Members come and go


async def test_two_share_and_one_takes_over(cluster: RealCluster) -> None:
    heard, other_heard = Heard(), Heard()
    first, second = consumer(cluster), consumer(cluster)
    await first.subscribe(["orders"], listener=heard)
    seen = places(await read(first, 20))
    await second.subscribe(["orders"], listener=other_heard)
    drain = asyncio.create_task(read_on(first))
    await until(lambda: len(second.assignment()) == 2)
    await until(lambda: len(first.assignment()) == 2)
    assert not first.assignment() & second.assignment()
    assert [what for what, _ in heard.calls] == ["assigned", "revoked"]
    assert heard.calls[1][1] == {one.partition for one in second.assignment()}
    assert await second.getmany(timeout_ms=500) == []  # all is committed
    drain.cancel()
    await first.close()
    assert heard.calls[-1][0] == "revoked"
    await until(lambda: len(second.assignment()) == 4)
    await second.close()
    assert seen == ALL
    assert {what for what, _ in other_heard.calls} == {"assigned", "revoked"}


async def test_partitions_go_when_the_application_is_done_with_them(cluster: RealCluster) -> None:
    first = consumer(cluster, max_poll_records=20)
    await first.subscribe(["orders"])
    taken = await read(first, 20)
    assert len(taken) == 20
    second = consumer(cluster)
    await second.subscribe(["orders"])
    await asyncio.sleep(3)
    assert second.assignment() == set()  # what was handed out may still be worked on
    drain = asyncio.create_task(read_on(first))
    await until(lambda: len(second.assignment()) == 2)
    drain.cancel()
    await first.close()
    await second.close()


async def test_what_goes_is_not_handed_out_any_more(cluster: RealCluster) -> None:
    first = consumer(cluster, max_poll_records=1)
    await first.subscribe(["orders"])
    await read(first, 1)
    second = consumer(cluster)
    await second.subscribe(["orders"])
    await asyncio.sleep(3)
    late = await first.getmany(timeout_ms=1_000, max_records=20)
    drain = asyncio.create_task(read_on(first))
    await until(lambda: len(second.assignment()) == 2)
    drain.cancel()
    assert not {one.partition for one in late} & {one.partition for one in second.assignment()}
    await first.close()
    await second.close()


async def test_one_that_was_not_answered_for_a_session_owns_nothing() -> None:
    cluster = await started(
        groups=GroupConfig(offsets_topic_num_partitions=1, group_consumer_session_timeout_ms=2_000)
    )
    await cluster.create("orders", partitions=4)
    heard = Heard()
    reader = consumer(cluster, group_instance_id="desk")
    await reader.subscribe(["orders"], listener=heard)
    await until(lambda: len(reader.assignment()) == 4)
    cluster.cut_off.update(ADDRESSES.values())
    for stream in cluster.group_streams:
        stream.close()
    await asyncio.sleep(1.5)
    assert len(reader.assignment()) == 4  # a static member has its whole session
    await asyncio.sleep(1)
    assert reader.assignment() == set()
    assert [what for what, _ in heard.calls] == ["assigned", "lost"]
    await reader.close(timeout_ms=100)


@pytest.mark.parametrize("style", ["getmany", "getbatches", "iteration"])
async def test_one_that_slept_through_its_session_hands_out_nothing_more(
    cluster: RealCluster, style: str
) -> None:
    """Though its timers, which come late as well, have not said so yet."""
    heard, clock = Heard(), SleptClock()
    reader = consumer(cluster, max_poll_records=1, clock=clock)
    await reader.subscribe(["orders"], listener=heard)
    records = aiter(reader)
    await anext(records)
    await asyncio.sleep(1)  # the others are there
    clock.slept_ms = 50_000
    if style == "getmany":
        assert await reader.getmany() == []
    elif style == "getbatches":
        assert await reader.getbatches() == []
    else:
        await anext(records)
        assert [what for what, _ in heard.calls] == ["assigned", "lost", "assigned"]
    await until(lambda: [what for what, _ in heard.calls] == ["assigned", "lost", "assigned"])
    await reader.close(timeout_ms=100)


async def test_one_that_dies_is_replaced_and_nothing_is_missed(cluster: RealCluster) -> None:
    first, second = consumer(cluster, max_poll_records=2), consumer(cluster)
    await first.subscribe(["orders"])
    seen = places(await read(first, 5))
    await second.subscribe(["orders"])
    await first.getmany(timeout_ms=1_000)
    kill(first)
    rest: set[tuple[int, int]] = set()
    async with asyncio.timeout(30):
        while seen | rest != ALL:
            rest |= places(await second.getmany(timeout_ms=500))
    await second.close()


async def test_readers_go_on_when_the_coordinator_is_killed(cluster: RealCluster) -> None:
    heard = Heard()
    async with consumer(cluster, auto_commit_interval_ms=100) as reader:
        await reader.subscribe(["orders"], listener=heard)
        await read(reader, 20)
        await reader.commit()
        victim = await GroupCalls(cluster).coordinator()
        cluster.kill(victim)
        await cluster.failed_over()
        await cluster.topics["orders"].partitions[1].append(encoded([b"new"]))
        assert places(await read(reader, 1)) == {(1, 5)}
        await reader.commit()
        assert (await GroupCalls(cluster).committed())["orders", 1] == 6
        assert [what for what, _ in heard.calls] == ["assigned"]


async def test_a_reader_that_is_cut_off_hands_out_nothing_and_goes_on(cluster: RealCluster) -> None:
    heard = Heard()
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"], listener=heard)
        await read(reader, 20)
        await reader.commit()
        coordinator = ADDRESSES[await GroupCalls(cluster).coordinator()]
        cluster.cut_off.add(coordinator)
        for stream in cluster.group_streams:
            stream.close()
        await asyncio.sleep(1.5)
        led = {one.partition for one in not_led_by(cluster, coordinator)}
        for number in led:
            await cluster.topics["orders"].partitions[number].append(encoded([b"new"]))
        assert await reader.getmany(timeout_ms=1_000) == []
        cluster.cut_off.clear()
        assert places(await read(reader, len(led))) == {(number, 5) for number in led}
    assert [what for what, _ in heard.calls][:3] == ["assigned", "lost", "assigned"]


async def test_one_that_asks_for_nothing_leaves_and_comes_back(cluster: RealCluster) -> None:
    heard = Heard()
    async with consumer(cluster, max_poll_interval_ms=2_000, max_poll_records=2) as reader:
        await reader.subscribe(["orders"], listener=heard)
        await read(reader, 2)
        reader.extend_poll(2_000)
        await asyncio.sleep(3)
        assert len((await GroupCalls(cluster).describe()).members) == 1
        await asyncio.sleep(3)
        assert len((await GroupCalls(cluster).describe()).members) == 0
        with pytest.raises(CommitFailedError):
            await reader.commit({("orders", 0): 1})
        await read(reader, 1)
        assert len((await GroupCalls(cluster).describe()).members) == 1
    assert [what for what, _ in heard.calls] == ["assigned", "lost", "assigned", "revoked"]


async def test_unsubscribe_leaves_and_subscribe_joins_again(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.unsubscribe()
        assert reader.assignment() == set()
        assert len((await GroupCalls(cluster).describe()).members) == 0
        await reader.subscribe(["orders"])
        await cluster.topics["orders"].partitions[2].append(encoded([b"new"]))
        assert places(await read(reader, 1)) == {(2, 5)}


async def test_a_static_member_comes_back_without_a_rebalance(cluster: RealCluster) -> None:
    first = consumer(cluster, group_instance_id="desk")
    await first.subscribe(["orders"])
    await read(first, 20)
    await first.close()
    epoch = (await GroupCalls(cluster).describe()).epoch
    async with consumer(cluster, group_instance_id="desk") as again:
        await again.subscribe(["orders"])
        await until(lambda: len(again.assignment()) == 4)
        assert (await GroupCalls(cluster).describe()).epoch == epoch


async def test_a_second_live_holder_of_an_instance_id_is_refused_once_the_first_is_heard(
    cluster: RealCluster,
) -> None:
    async with (
        consumer(cluster, group_instance_id="desk") as first,
        consumer(cluster, group_instance_id="desk") as second,
    ):
        await first.subscribe(["orders"])
        await read(first, 20)
        began_s = asyncio.get_running_loop().time()
        await second.subscribe(["orders"])
        with pytest.raises(UnreleasedInstanceIdError, match="'desk' belongs to member"):
            await second.getmany(timeout_ms=60_000)
        waited_s = asyncio.get_running_loop().time() - began_s
        assert waited_s < 10, "a heartbeat's interval and a pause, not two sessions"
        assert len(first.assignment()) == 4


async def test_the_instance_id_of_a_member_that_was_killed_is_waited_for() -> None:
    cluster = await started(
        groups=GroupConfig(offsets_topic_num_partitions=1, group_consumer_session_timeout_ms=2_000)
    )
    await cluster.create("orders", partitions=4)
    killed = consumer(cluster, group_instance_id="desk")
    await killed.subscribe(["orders"])
    await until(lambda: len(killed.assignment()) == 4)
    kill(killed)
    async with consumer(cluster, group_instance_id="desk") as again:
        await again.subscribe(["orders"])
        await until(lambda: len(again.assignment()) == 4)


async def test_a_topic_made_again_is_read_from_its_start(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.commit()
        await cluster.delete("orders")
        topic = await cluster.create("orders", partitions=1)
        await topic.partitions[0].append(encoded([b"x"]))
        assert places(await read(reader, 1)) == {(0, 0)}


async def test_a_topic_made_again_is_read_by_one_that_knew_the_old_one(
    cluster: RealCluster,
) -> None:
    """The coordinator's assignment is newer than the metadata of one that did not read it."""
    await cluster.create("other", partitions=1)
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.subscribe(["other"])
        while reader.assignment() != {TopicPartition("other", 0)}:
            await reader.getmany(timeout_ms=100)
        await cluster.delete("orders")
        topic = await cluster.create("orders", partitions=1)
        await topic.partitions[0].append(encoded([b"x"]))
        async with consumer(cluster) as another:
            await another.subscribe(["orders"])
            assert places(await read(another, 1)) == {(0, 0)}
        await topic.partitions[0].append(encoded([b"y"]))
        await reader.subscribe(["orders"])
        assert places(await read(reader, 1)) == {(0, 1)}


async def test_no_other_incarnation_than_the_assigned_one_is_read(cluster: RealCluster) -> None:
    """Not that of a broker that lags, and leads the deleted topic for all that it knows."""
    await cluster.create("other", partitions=1)
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.subscribe(["other"])
        while reader.assignment() != {TopicPartition("other", 0)}:
            await reader.getmany(timeout_ms=100)
        await cluster.move("orders", 0, leader_id=2)
        routing: Any = reader._routing
        await routing._try_refresh()
        routing._preferred = ADDRESSES[2]
        cluster.lag(2)
        await cluster.delete("orders")
        topic = await cluster.create("orders", partitions=1, replicas=1)
        await topic.partitions[0].append(encoded([b"new"]))
        await reader.subscribe(["orders"])
        assert [one.value for one in await read(reader, 1)] == [b"new"]


async def test_partitions_that_are_added_are_read_without_an_error(cluster: RealCluster) -> None:
    """The coordinator's assignment is newer than the member's metadata."""
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await add_partitions(cluster, "orders", 1, 2)
        for number in (4, 5):
            await cluster.topics["orders"].partitions[number].append(encoded([b"new"]))
        assert places(await read(reader, 2)) == {(4, 0), (5, 0)}


async def test_partitions_that_come_while_the_coordinator_is_down_are_read_later(
    cluster: RealCluster,
) -> None:
    coordinator = ADDRESSES[await GroupCalls(cluster).coordinator()]
    held = cluster.held[coordinator, "OffsetFetch"] = asyncio.Event()
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await asyncio.sleep(2 * LOOK_UP_MS / 1000)
        assert reader.assignment() == set()
        held.set()
        assert places(await read(reader, 20)) == ALL


async def test_a_coordinator_that_says_nothing_is_given_up_and_found_again(
    cluster: RealCluster,
) -> None:
    heard = Heard()
    async with consumer(cluster, request_timeout_ms=2_000) as reader:
        await reader.subscribe(["orders"], listener=heard)
        await read(reader, 20)
        before = len(cluster.group_streams)
        machine = cluster.machines[await GroupCalls(cluster).coordinator()]
        groups: Any = machine.node._broker.groups  # type: ignore[union-attr]  # a broker's
        hosted = list(groups.runtime.active())
        for one in hosted:
            one.high_watermark, one.end_offset = -1, one.end_offset + 1  # nothing is committed
        await asyncio.sleep(9)
        assert len(cluster.group_streams) > before
        for one in hosted:
            one.end_offset -= 1
            one.note_high_watermark(one.end_offset)
        await cluster.topics["orders"].partitions[1].append(encoded([b"new"]))
        assert places(await read(reader, 1)) == {(1, 5)}
        assert [what for what, _ in heard.calls] == ["assigned"]


async def test_a_join_that_is_not_answered_is_not_repeated_all_the_time(
    cluster: RealCluster,
) -> None:
    calls = GroupCalls(cluster)
    await calls.describe()
    machine = cluster.machines[await calls.coordinator()]
    groups: Any = machine.node._broker.groups  # type: ignore[union-attr]  # a broker's
    hosted = list(groups.runtime.active())
    for one in hosted:
        one.high_watermark, one.end_offset = -1, one.end_offset + 1  # nothing is committed
        one.note_high_watermark = lambda _: None
    reader = consumer(cluster, request_timeout_ms=2_000)
    await reader.subscribe(["orders"])
    await asyncio.sleep(20)
    assert len(cluster.group_streams) < 20
    await reader.close(timeout_ms=100)


async def test_a_leader_that_ended_before_the_commit_is_not_read(cluster: RealCluster) -> None:
    """Its log ends before the committed offset, which would be out of range there (KIP-320)."""
    async with consumer(cluster, auto_offset_reset="earliest") as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.commit({("orders", 0): 5})
    asked: list[int] = []

    def note(method: str, answer: Any) -> None:
        if method == "OffsetFetch":  # committed when a leader of epoch 3 had been read
            answer.topics[0].partitions[0].leader_epoch = 3
        if method == "Fetch":
            asked.extend(
                one.error.code
                for one in answer.partitions
                if one.topic == "orders" and one.partition == 0
            )

    cluster.spoil = note
    async with consumer(cluster, auto_offset_reset="earliest") as reader:
        await reader.subscribe(["orders"])
        await reader.getmany(timeout_ms=300)
        assert await reader.position(("orders", 0)) == 5
    assert common_pb2.UNKNOWN_LEADER_EPOCH in asked
