"""The bytes of a partition's groups: counted as they come and go, and no more than allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.coordinator.classic_groups import request
from tests.broker.coordinator.consumer_groups import joining, staying
from tests.broker.coordinator.test_group_protocols import BothProtocols
from tests.broker.coordinator.test_group_shard import CONFIG, Shards

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import LEAVING
from tidelog.broker.coordinator.coordinator_records import encode
from tidelog.broker.coordinator.offsets import OFFSET_BYTES, CommittedOffset, TopicPartition
from tidelog.core.errors import KafkaError, code_name

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
