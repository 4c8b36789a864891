"""The bytes of a partition's groups: counted as they come and go, and no more than allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.broker.coordinator.classic_groups import request
from tests.broker.coordinator.consumer_groups import ImageOfTest, joining, staying
from tests.broker.coordinator.test_group_protocols import BothProtocols
from tests.broker.coordinator.test_group_shard import CONFIG, Shards

from tidelog.broker.coordinator.classic_messages import JoinRequest
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import LEAVING
from tidelog.broker.coordinator.coordinator_records import encode
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.member_bytes import (
    GROWTH_BYTES_FREE,
    MEMBER_COST_BYTES,
    NodeMembers,
)
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import OFFSET_BYTES, CommittedOffset, TopicPartition
from tidelog.core.errors import GroupMaxSizeReachedError, KafkaError, code_name

ROOM = replace(CONFIG, groups_max=1_000, group_offsets_max=1_000)


def refusal(shards: Shards, heartbeat: Heartbeat, group_id: str = "g") -> str:
    with pytest.raises(KafkaError) as refused:
        shards.ask(heartbeat, group_id)
    assert "group.partition.state.bytes" in str(refused.value)
    return code_name(refused.value.code)


def commit(shards: Shards, number: int, metadata: str = "") -> str:
    asked = [(TopicPartition("orders", b"", number), CommittedOffset(7, metadata=metadata))]
    decision = shards.shard.commit("offsets", Committer(), asked, shards.now)
    shards.append(decision.records)
    (result,) = decision.results
    return "NONE" if result.error is None else code_name(result.error.code)


def fill(shards: Shards) -> int:
    """Have no room left; as many bytes as there are."""
    size = shards.shard.state_bytes
    object.__setattr__(shards.config, "group_partition_state_bytes", size)
    return size


def test_bytes_are_those_of_the_records_more_or_less_and_the_same_after_a_load() -> None:
    shards = Shards(ROOM)
    assert shards.shard.state_bytes == 0
    shards.settled()
    shards.ask(joining("b"))
    shards.assign()
    shards.ask(replace(joining("c"), topics=frozenset(f"topic-{n}" for n in range(100))), "h")
    for number in range(4):
        commit(shards, number, metadata="m" * 100)
    newest = {encode(one).key: encode(one).value for one in shards.log}
    in_log = sum(len(key) + len(value or b"") for key, value in newest.items())
    assert in_log / 2 < shards.shard.state_bytes < 2 * in_log
    again = shards.loaded(shards.log, leader_epoch=2)
    assert again.state_bytes == shards.shard.state_bytes
    compacted = [one for one in shards.log if encode(one).value == newest[encode(one).key]]
    assert shards.loaded(compacted, leader_epoch=3).state_bytes == shards.shard.state_bytes


def test_what_goes_takes_its_bytes_along() -> None:
    shards = Shards(ROOM)
    commit(shards, 0, "x" * 50)
    commit(shards, 0, "x")
    assert shards.shard.state_bytes == OFFSET_BYTES + len("offsets") + len("orders") + 1
    shards.append(shards.shard.delete_group("offsets"))
    assert shards.shard.state_bytes == 0
    shards.settled()
    shards.ask(joining("b"))
    for member_id in ("b", "a"):
        shards.ask(Heartbeat(member_id, LEAVING))
    shards.append(shards.shard.delete_group("g"))
    assert shards.shard.state_bytes == 0
    assert shards.shard._bytes._by_group == {}


def test_a_full_partition_takes_no_newcomers_and_lets_members_go_on() -> None:
    shards = Shards(replace(ROOM))
    reply = shards.settled()
    size = fill(shards)
    assert refusal(shards, joining("b")) == "GROUP_MAX_SIZE_REACHED"
    assert refusal(shards, joining("b"), "another") == "GROUP_MAX_SIZE_REACHED"
    other = replace(staying(reply, 0, 1, 2, 3), topics=frozenset({"tides"}), pattern="")
    assert refusal(shards, other) == "GROUP_MAX_SIZE_REACHED"
    assert refusal(shards, replace(other, topics=frozenset({"orders"}), pattern="t.*")) == (
        "GROUP_MAX_SIZE_REACHED"
    )
    assert shards.shard.state_bytes == size
    same = replace(staying(reply, 0, 1, 2, 3), topics=frozenset({"orders"}), pattern="")
    assert shards.ask(same).epoch == reply.epoch
    assert shards.ask(joining("a")).member_id == "a"  # it joins again
    shards.ask(Heartbeat("a", LEAVING))
    assert shards.shard.groups["g"].state.members == {}
    shards.ask(joining("b"))  # there is room again


def test_a_static_member_comes_back_to_a_full_partition() -> None:
    shards = Shards(replace(ROOM))
    shards.ask(joining("a", instance_id="desk"))
    shards.ask(Heartbeat("a", -2, instance_id="desk"))
    fill(shards)
    assert shards.ask(joining("again", instance_id="desk")).member_id == "again"
    assert refusal(shards, joining("b", instance_id="chair")) == "GROUP_MAX_SIZE_REACHED"


def test_a_full_partition_renews_offsets_and_takes_no_further_ones() -> None:
    shards = Shards(replace(ROOM))
    assert commit(shards, 0, "here") == "NONE"
    fill(shards)
    assert commit(shards, 0, "them") == "NONE"
    assert commit(shards, 0, "longer") == "INVALID_COMMIT_OFFSET_SIZE"
    assert commit(shards, 1) == "INVALID_COMMIT_OFFSET_SIZE"
    assert shards.shard.fetch_all("offsets", Committer(), after=("", -1), limit=9)[0].committed == (
        CommittedOffset(7, metadata="them", committed_ms=shards.now_ms)
    )
    assert commit(shards, 0, "") == "NONE"
    assert commit(shards, 0, "ther") == "NONE"


def test_offsets_of_one_request_share_the_room() -> None:
    shards = Shards(replace(ROOM))
    commit(shards, 0)
    one = shards.shard.state_bytes
    object.__setattr__(shards.config, "group_partition_state_bytes", 3 * one)
    asked = [(TopicPartition("orders", b"", number), CommittedOffset(7)) for number in range(4)]
    decision = shards.shard.commit("offsets", Committer(), asked, shards.now)
    assert [result.error is None for result in decision.results] == [True, True, True, False]


def test_a_full_partition_takes_no_newcomers_of_the_classic_protocol() -> None:
    shards = BothProtocols()
    object.__setattr__(shards, "config", replace(shards.config))
    shards.shard = shards.loaded([], leader_epoch=1)
    shards.classic_join("c", "desk")
    assert shards.shard.state_bytes > 0
    fill(shards)
    with pytest.raises(KafkaError, match=r"group\.partition\.state\.bytes") as refused:
        shards.classic_join("c", "chair")
    assert code_name(refused.value.code) == "GROUP_MAX_SIZE_REACHED"
    with pytest.raises(KafkaError, match=r"group\.partition\.state\.bytes"):
        shards.classic_join("d")
    step = shards.shard.join(
        "c", request("", "desk"), ticket=99, fresh_id="new", now=shards.now
    )  # the same member, started again
    shards.apply(step)


def test_groups_with_offsets_alone_are_counted() -> None:
    shards = Shards()  # of three groups at most
    for group_id in ("a", "b", "c"):
        assert shards.commit(0, group_id=group_id) == ["NONE"]
    assert shards.commit(0, group_id="d") == ["GROUP_MAX_SIZE_REACHED"]
    with pytest.raises(KafkaError, match="3 groups, its maximum"):
        shards.ask(joining(), "e")
    assert shards.commit(1, group_id="a") == ["NONE"]
    shards.ask(joining(), "a")


def large(*names: str, host: str = "here", metadata: bytes = bytes(MEMBER_COST_BYTES)) -> Any:
    """A join with as many protocols."""
    return replace(request("", None, *names, metadata=metadata), host=host, knows_required_id=False)


class Joins:
    """Joins of one partition, of a node with so much room for members."""

    def __init__(self, bytes_max: int, *, partition_bytes_max: int = 1 << 30) -> None:
        self.node = NodeMembers(bytes_max)
        self.config = replace(ROOM, group_partition_state_bytes=partition_bytes_max)
        self.tickets = 0
        self.now = Moment(0, 0)
        self.shard = self.begin(0)

    def begin(self, partition: int) -> GroupShard:
        return GroupShard(
            config=self.config,
            assignors={},
            topics=ImageOfTest(),
            leader_epoch=1,
            members_bytes=self.node.begin(partition),
        )

    def join(self, asked: JoinRequest, group_id: str = "g") -> bool:
        """Tell if the join is taken; its member waits then."""
        self.tickets += 1
        ticket, fresh_id = self.tickets, f"id-{self.tickets}"
        try:
            self.shard.join(group_id, asked, ticket=ticket, fresh_id=fresh_id, now=self.now)
        except GroupMaxSizeReachedError:
            return False
        return True


def test_a_classic_member_counts_with_all_of_its_protocols() -> None:
    joins = Joins(1 << 30)
    assert joins.join(large("a"))
    one = joins.node.held_bytes
    assert one == joins.shard.state_bytes == joins.shard.bytes_of("g")
    assert joins.join(large(*(f"{number:02}" for number in range(32))), "h")
    assert joins.node.held_bytes - one > 32 * MEMBER_COST_BYTES
    assert joins.shard.state_bytes == joins.node.held_bytes


def test_joins_of_an_address_leave_half_of_the_room_of_the_node_to_others() -> None:
    joins = Joins(40 * MEMBER_COST_BYTES)
    taken = sum(joins.join(large("a"), f"g{number}") for number in range(100))
    assert 1 < taken <= 10
    assert joins.join(large("a", host="there"), "other")
    assert joins.node.held_bytes <= 40 * MEMBER_COST_BYTES
    assert not joins.join(large(*"abcdefgh"), "large")


def test_a_partition_takes_no_join_that_is_larger_than_its_room() -> None:
    joins = Joins(1 << 30, partition_bytes_max=8 * MEMBER_COST_BYTES)
    assert not joins.join(large(*"abcdefgh"))
    assert joins.join(large(*"abc"))
    assert not joins.join(large(*"abc"), "h")


def test_the_bytes_of_members_go_with_them_with_their_group_and_with_their_partition() -> None:
    joins = Joins(1 << 30)
    assert joins.join(large("a"))
    assert joins.join(large("a"), "h")
    joins.shard.classic.cancel("g", 1, joins.now)
    joins.shard.classic.expire("g", joins.now)
    assert joins.node.held_bytes == joins.shard.bytes_of("h")
    joins.shard.classic.restart("h", joins.now)
    assert joins.node.held_bytes == joins.shard.state_bytes == 0
    assert joins.join(large("a"))
    held = joins.node.held_bytes
    before, joins.shard = joins.shard, joins.begin(0)
    assert joins.node.held_bytes == 0, "it is loaded anew"
    before.classic.restart("g", joins.now)
    assert joins.node.held_bytes == 0, "of what was given back nothing is given back again"
    assert joins.join(large("a"))
    assert joins.node.held_bytes == held
    joins.node.end(0)
    assert joins.node.held_bytes == 0


def test_a_member_that_is_there_may_grow_a_little_where_there_is_no_room_and_no_more() -> None:
    joins = Joins(1 << 30, partition_bytes_max=2 * MEMBER_COST_BYTES)
    small = replace(large("range", metadata=b"m"), instance_id="desk")
    assert joins.join(small)
    joins.shard.classic.cancel("g", 1, joins.now)
    grown = replace(large("range", metadata=bytes(GROWTH_BYTES_FREE)), instance_id="desk")
    assert joins.join(grown)
    joins.shard.classic.cancel("g", 2, joins.now)
    larger = replace(large("range", metadata=bytes(3 * GROWTH_BYTES_FREE)), instance_id="desk")
    assert not joins.join(larger)


def test_members_of_the_consumer_protocol_count_in_the_room_of_the_node_too() -> None:
    joins = Joins(8 * MEMBER_COST_BYTES)
    topics = frozenset(f"topic-{number:0100}" for number in range(30))
    asked = replace(joining("a"), topics=topics, host="here")
    with pytest.raises(GroupMaxSizeReachedError, match=r"group\.members\.max\.bytes"):
        joins.shard.heartbeat("g", asked, joins.now)
    decision = joins.shard.heartbeat("g", replace(asked, topics=frozenset({"t"})), joins.now)
    for record in decision.records:
        joins.shard.replay(record)
    assert MEMBER_COST_BYTES < joins.node.held_bytes < 2 * MEMBER_COST_BYTES
    left = joins.shard.heartbeat("g", Heartbeat("a", LEAVING), joins.now)
    for record in left.records:
        joins.shard.replay(record)
    assert joins.node.held_bytes == 0
