"""The admin client against real brokers: topics, offsets, deletions, and what may be unknown."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.client.loop_peers import LoopPeers
from tests.client.meddler import Mishap
from tests.client.patience import until
from tests.client.real_cluster import (
    ADDRESSES,
    BOOTSTRAP,
    CONTROLLER_ID,
    RealCluster,
    encoded,
    start_all,
    started,
)

from tidelog.client import (
    Admin,
    CreatedTopic,
    ListedOffset,
    NewTopic,
    TopicDescription,
    TopicPartition,
    errors,
    require_all,
)
from tidelog.client.offsets import At
from tidelog.net.transport import Transport
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import CreateTopicsRequest
from tidelog.v1.methods import CREATE_TOPICS

OF_NODE_2 = (ADDRESSES[2], "Metadata")


def admin(cluster: Transport, *, api_timeout_ms: int = 5_000) -> Admin:
    return Admin(BOOTSTRAP, transport=cluster, api_timeout_ms=api_timeout_ms)


async def test_create_returns_when_every_live_broker_names_leaders() -> None:
    cluster = await started()
    cluster.kill(2)
    await cluster.fenced(2)
    async with admin(cluster) as a:
        created = await a.create_topic("t", partitions=2, replication_factor=1)
    assert (created.name, created.partitions) == ("t", 2)
    asked = {address for address, method, _ in cluster.calls if method == "Metadata"}
    assert asked == {ADDRESSES[1], ADDRESSES[3]}


async def test_create_waits_for_a_broker_that_knows_the_topic_of_that_name_before() -> None:
    cluster = await started()
    await cluster.create("t")
    async with admin(cluster) as a:
        cluster.lag(2)
        await a.delete_topic("t")
        creating = asyncio.create_task(a.create_topic("t"))
        await until(lambda: sum(one[:2] == OF_NODE_2 for one in cluster.calls) > 2)
        assert "t" in cluster.topics, "created, but not usable everywhere"
        assert not creating.done()
        cluster.lag(2, is_behind=False)
        await creating


async def test_create_without_a_leader_in_time_says_so() -> None:
    cluster = await started()
    lose_3_once_created(cluster)
    async with admin(cluster, api_timeout_ms=30_000) as a:
        with pytest.raises(errors.KafkaError, match="t-0 has no leader"):
            await a.create_topic("t", assignments=[[3]])


def lose_3_once_created(cluster: RealCluster) -> None:
    """Broker 2 hears of the topics that are created when broker 3 is fenced."""

    async def lose() -> None:
        cluster.kill(3)
        await cluster.fenced(3)
        cluster.lag(2, is_behind=False)

    def begin(method: str) -> None:
        if method == "CreateTopics":
            cluster.beside(lose())

    cluster.lag(2)
    cluster.before_answer = begin


async def test_added_partitions_are_usable_when_the_call_returns() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    cluster.lag(2)
    cluster.mishaps.append(
        Mishap("CreatePartitions", error=errors.CallFailedError("broke"), is_after_work=True)
    )
    async with admin(cluster) as a:
        creating = asyncio.create_task(
            a.create_partitions("t", 4, assignments=[[1, 2, 3], [2, 3, 1]])
        )
        await until(lambda: len(cluster.requests("DescribeCluster")) > 4)
        assert not creating.done()
        cluster.lag(2, is_behind=False)
        await creating
        assert len(cluster.topics["t"].partitions) == 4
        (asked,) = cluster.requests("CreatePartitions")[0].topics
        assert [one.partition for one in asked.assignments] == [2, 3]
        with pytest.raises(errors.KafkaError, match="no increase") as refused:
            await a.create_partitions("t", 4)
        assert refused.value.code == common_pb2.INVALID_PARTITIONS
        await a.create_partitions("t", 9, validate_only=True)
        assert len(cluster.topics["t"].partitions) == 4
        with pytest.raises(errors.KafkaError) as unknown:
            await a.create_partitions("u", 4)
        assert unknown.value.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION


async def test_refused_topic_is_named_and_the_others_are_made() -> None:
    cluster = await started()
    await cluster.create("old")
    async with admin(cluster) as a:
        results = await a.create_topics([NewTopic("old"), NewTopic("new")])
        assert list(results) == ["old", "new"]
        assert isinstance(results["old"], errors.TopicAlreadyExistsError)
        assert isinstance(results["new"], CreatedTopic)
        assert await a.list_topics() == ["new", "old"]
        with pytest.raises(errors.TopicAlreadyExistsError, match="'old' already exists"):
            require_all(results)
        with pytest.raises(errors.TopicAlreadyExistsError):
            await a.create_topic("old")


async def test_of_topics_created_those_that_are_not_usable_in_time_say_so() -> None:
    cluster = await started()
    await cluster.create("old")
    lose_3_once_created(cluster)
    wanted = [NewTopic("late", assignments=[[3]]), NewTopic("good", assignments=[[1]])]
    async with admin(cluster, api_timeout_ms=30_000) as a:
        results = await a.create_topics([*wanted, NewTopic("old")])
    late, good, old = (results[name] for name in ("late", "good", "old"))
    assert isinstance(late, errors.RequestTimedOutError)
    assert "late-0 has no leader" in late.message
    assert isinstance(good, CreatedTopic)
    assert isinstance(old, errors.TopicAlreadyExistsError)


async def test_a_topic_created_that_nobody_can_be_asked_about_may_not_be_usable() -> None:
    cluster = await started()
    gone = errors.UnreachableError("gone")
    cluster.mishaps.append(Mishap("Metadata", error=gone, times=1_000))
    async with admin(cluster) as a:
        created = (await a.create_topics([NewTopic("t")]))["t"]
    assert isinstance(created, errors.RequestTimedOutError)
    assert created.is_outcome_unknown
    assert "is the cluster running" in created.message
    assert list(cluster.topics) == ["t"]


async def test_of_several_topics_each_is_deleted_or_says_why_not() -> None:
    cluster = await started()
    await cluster.create("a")
    await cluster.create("b")
    async with admin(cluster) as a:
        results = await a.delete_topics(["a", "nosuch", "b", "a"])
        assert list(results) == ["a", "nosuch", "b"]
        assert (results["a"], results["b"]) == (None, None)
        assert isinstance(results["nosuch"], errors.UnknownTopicOrPartitionError)
        assert await a.list_topics() == []


async def test_what_was_answered_is_told_although_the_rest_was_given_up() -> None:
    """The first deletion is answered for its first topic, then no controller leads any more."""
    cluster = await started()
    await cluster.create("a")

    def spoil(method: str, answer: Any) -> None:
        for result in answer.topics if method == "DeleteTopics" else ():
            if result.name != "a":
                result.error.code = common_pb2.NOT_CONTROLLER

    cluster.spoil = spoil
    async with admin(cluster, api_timeout_ms=30) as a:
        results = await a.delete_topics(["a", "b"])
        assert results["a"] is None
        assert isinstance(results["b"], errors.NotControllerError)
        with pytest.raises(errors.NotControllerError):  # nothing was answered: it failed as a whole
            await a.delete_topics(["b", "c"])


async def test_create_after_a_lost_answer_is_not_refused_as_existing() -> None:
    cluster = await started()
    error = errors.CallFailedError("broke")
    cluster.mishaps.append(Mishap("CreateTopics", error=error, is_after_work=True))
    async with admin(cluster) as a:
        assert (await a.create_topic("t")).name == "t"


@pytest.mark.parametrize("method", ["CreateTopics", "DeleteTopics"])
async def test_a_change_of_unknown_outcome_is_asked_for_again_under_the_same_id(
    method: str,
) -> None:
    """Somebody else undoes it in between: it is not done again."""
    cluster = await started()
    if method == "DeleteTopics":
        await cluster.create("t")
    cluster.mishaps.append(
        Mishap(method, error=errors.CallFailedError("broke"), is_after_work=True, times=2)
    )
    is_undone = asyncio.Event()

    async def undo() -> None:
        await (cluster.delete("t") if method == "CreateTopics" else cluster.create("t"))
        is_undone.set()

    def begin_to_undo(_method: str) -> None:
        cluster.before_answer = lambda _: None
        cluster.gates = dict.fromkeys(ADDRESSES.values(), is_undone)
        cluster.beside(undo())

    cluster.before_answer = begin_to_undo
    async with admin(cluster, api_timeout_ms=30_000) as a:
        if method == "DeleteTopics":
            await a.delete_topic("t")
        else:
            with pytest.raises(errors.KafkaError, match="has no leader"):
                await a.create_topic("t")
    assert ("t" in cluster.topics) is (method == "DeleteTopics")
    ids = {request.command_id for request in cluster.requests(method)}
    assert len(ids) == 1
    assert len(ids.pop()) == 16


class HalfAnswering(RealCluster):
    """The first creation stops after its first topic."""

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        if method is not CREATE_TOPICS or self.requests(method.name):
            return await super().call(address, method, request, timeout_ms=timeout_ms)
        first = CreateTopicsRequest()
        first.CopyFrom(request)
        del first.topics[1:]
        response = await super().call(address, method, first, timeout_ms=timeout_ms)
        for topic in request.topics[1:]:
            response.topics.add(name=topic.name).error.code = common_pb2.NOT_CONTROLLER
        return response


async def test_what_is_left_of_a_change_is_another_command() -> None:
    """Under the old id it would be answered as the whole was, for ever."""
    cluster = await start_all(HalfAnswering())
    async with admin(cluster, api_timeout_ms=2_000) as a:
        created = require_all(await a.create_topics([NewTopic("a"), NewTopic("b")]))
        assert list(created) == ["a", "b"]
        await a.create_topic("c")
    assert list(cluster.topics) == ["a", "b", "c"]
    assert len({request.command_id for request in cluster.requests("CreateTopics")}) == 3


async def test_a_topic_that_exists_is_refused_also_after_an_unknown_outcome() -> None:
    cluster = await started()
    await cluster.create("t")
    error = errors.CallFailedError("broke")
    cluster.mishaps.append(Mishap("CreateTopics", error=error, is_after_work=True))
    async with admin(cluster) as a:
        with pytest.raises(errors.KafkaError, match="already exists"):
            await a.create_topic("t")


async def test_changes_are_retried_while_no_controller_leads() -> None:
    cluster = await started()
    await cluster.create("t")
    for method in ("CreateTopics", "DeleteTopics"):
        cluster.mishaps.append(Mishap(method, code=common_pb2.NOT_CONTROLLER, times=2))
    async with admin(cluster) as a:
        await a.create_topic("u")
        await a.delete_topic("t")
        assert await a.list_topics() == ["u"]


async def test_deleting_what_is_not_there_is_refused() -> None:
    async with admin(await started()) as a:
        with pytest.raises(errors.UnknownTopicOrPartitionError):
            await a.delete_topic("t")


async def test_descriptions_say_what_is_unknown() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    await cluster.move("t", 0, leader_id=None)
    async with admin(cluster) as a:
        described = await a.describe_topics(["t", "no"])
        topic = described["t"]
        assert isinstance(topic, TopicDescription)
        assert (topic.partitions[0].leader, topic.partitions[0].high_watermark) == (None, None)
        assert (topic.partitions[1].leader, topic.partitions[1].high_watermark) == (2, 0)
        assert isinstance(described["no"], errors.UnknownTopicOrPartitionError)
        assert await a.describe_topic("t") == topic
        with pytest.raises(errors.UnknownTopicOrPartitionError, match="'no' does not exist"):
            await a.describe_topic("no")


async def test_cluster_shows_fenced_brokers() -> None:
    cluster = await started()
    cluster.kill(3)
    await cluster.fenced(3)
    async with admin(cluster) as a:
        described = await a.describe_cluster()
    assert [b.is_fenced for b in described.brokers] == [False, False, True]
    assert described.controller_id == CONTROLLER_ID


async def test_offsets_of_partitions_are_asked_of_their_leaders() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    async with admin(cluster) as a:
        offsets = require_all(await a.list_offsets([("t", p) for p in range(3)], at="latest"))
    assert [listed.offset for listed in offsets.values()] == [0, 0, 0]
    asked = {address for address, method, _ in cluster.calls if method == "ListOffsets"}
    assert asked == set(ADDRESSES.values())


async def test_partitions_that_do_not_exist_are_named_and_the_others_answered() -> None:
    cluster = await started()
    await cluster.create("t")
    async with admin(cluster) as a:
        offsets = await a.list_offsets([("t", 0), ("t", 9), ("no", 0), ("no", 1)], at="latest")
        low_watermarks = await a.delete_records({("t", 9): 0, ("t", 0): -1})
    assert list(offsets) == [("t", 0), ("t", 9), ("no", 0), ("no", 1)]
    assert offsets[TopicPartition("t", 0)] == ListedOffset(0, None, 0)
    for answer in (*list(offsets.values())[1:], low_watermarks[TopicPartition("t", 9)]):
        assert isinstance(answer, errors.UnknownTopicOrPartitionError)
    assert low_watermarks[TopicPartition("t", 0)] == 0


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("earliest", 0),
        ("latest", 3),
        ("max_timestamp", 1),
        (2_000, 1),
        (1_001, 1),
        (3_001, -1),
        (datetime.fromtimestamp(1, UTC), 0),
        (datetime.fromtimestamp(1, UTC) + timedelta(microseconds=1), 1),
        (datetime.fromtimestamp(2, timezone(timedelta(hours=5))), 1),
    ],
)
async def test_offsets_are_found_by_time(at: At, expected: int) -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    for timestamp_ms in (1_000, 3_000, 2_000):
        await state.append(encode_batch([Record(0, timestamp_ms, None, b"v")]))
    async with admin(cluster) as a:
        offsets = require_all(await a.list_offsets([("t", 0)], at=at))
    assert offsets[TopicPartition("t", 0)].offset == expected


@pytest.mark.parametrize("at", [datetime(2026, 11, 21), "newest"])  # noqa: DTZ001  # the case
async def test_a_time_without_a_zone_and_an_unknown_word_are_refused(at: At) -> None:
    async with admin(LoopPeers({})) as a:
        with pytest.raises(ValueError, match=r"time zone|max_timestamp"):
            await a.list_offsets([("t", 0)], at=at)


async def test_records_are_deleted_at_the_leaders_even_when_these_change() -> None:
    cluster = await started()
    for state in (await cluster.create("t", partitions=2)).partitions:
        await state.append(encoded([b"a", b"b", b"c"]))
    async with admin(cluster) as a:
        await a.list_offsets([("t", 0)], at="latest")
        await cluster.move("t", 0, leader_id=3)
        cluster.mishaps.append(Mishap("DeleteRecords", code=common_pb2.REQUEST_TIMED_OUT))
        low_watermarks = await a.delete_records({("t", 0): 2, ("t", 1): -1})
    assert low_watermarks == {("t", 0): 2, ("t", 1): 3}


async def test_the_leader_that_an_error_names_is_asked_next() -> None:
    cluster = await started()
    await cluster.create("t")
    async with admin(cluster) as a:
        await a.list_offsets([("t", 0)], at="latest")
        await cluster.move("t", 0, leader_id=3)
        cluster.mishaps.append(Mishap("Metadata", error=errors.CallFailedError("x"), times=1000))
        assert await a.delete_records({("t", 0): 0}) == {("t", 0): 0}


@pytest.mark.parametrize("times", [0, 1])
async def test_of_several_partitions_each_is_emptied_or_says_why_not(times: int) -> None:
    """Those that refuse are asked once; the others until they answer."""
    cluster = await started()
    for state in (await cluster.create("t", partitions=2)).partitions:
        await state.append(encoded([b"a", b"b", b"c"]))
    cluster.mishaps.append(Mishap("DeleteRecords", code=common_pb2.POLICY_VIOLATION))
    for _ in range(times):
        cluster.mishaps.append(Mishap("DeleteRecords", code=common_pb2.REQUEST_TIMED_OUT))
    async with admin(cluster) as a:
        results = await a.delete_records({("t", 0): 2, ("t", 1): -1})
    refused = [one for one in results.values() if isinstance(one, errors.PolicyViolationError)]
    assert len(refused) == 1
    assert len(results) == 2
    assert {one for one in results.values() if isinstance(one, int)} <= {2, 3}
    assert len(cluster.requests("DeleteRecords")) == 2 + times


async def test_partitions_whose_leaders_stay_silent_say_so_each() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    cluster.mishaps.append(Mishap("DeleteRecords", code=common_pb2.REQUEST_TIMED_OUT, times=1_000))
    async with admin(cluster, api_timeout_ms=30) as a:
        await a.list_topics()
        await cluster.move("t", 1, leader_id=None)
        results = await a.delete_records({("t", 0): -1, ("t", 1): -1})
    timed_out, leaderless = results.values()
    assert isinstance(timed_out, errors.RequestTimedOutError)
    assert isinstance(leaderless, errors.LeaderNotAvailableError)
    assert "t-1" in leaderless.message


async def test_unreachable_cluster_is_said_at_once() -> None:
    cluster = await started()
    cluster.cut_off.update(ADDRESSES.values())
    async with admin(cluster) as a:
        with pytest.raises(errors.UnreachableError, match="is the cluster running"):
            await a.list_topics()
        with pytest.raises(errors.UnreachableError):
            await a.create_topic("t")
