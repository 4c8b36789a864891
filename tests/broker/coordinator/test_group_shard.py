"""State of one partition of `__consumer_offsets`: who commits, what is deleted, what loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    ORDERS,
    SESSION_MS,
    ImageOfTest,
    joining,
    orders,
    staying,
)

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import AWAY, LEAVING
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode, encode
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import CommittedOffset, TopicPartition
from tidelog.core.errors import KafkaError, StaleMemberEpochError, code_name

CONFIG = GroupConfig(groups_max=3, group_offsets_max=3, offsets_retention_minutes=10)
MINUTE_MS = 60_000


class Shards:
    """A shard that appends and replays at once; `log` has every record."""

    def __init__(self, config: GroupConfig = CONFIG) -> None:
        self.config = config
        self.topics = ImageOfTest()
        self.now_ms = 1_000_000
        self.log: list[CoordinatorRecord] = []
        self.shard = self.loaded(self.log, leader_epoch=1)

    @property
    def now(self) -> Moment:
        return Moment(self.now_ms, self.now_ms)

    def loaded(self, log: Iterable[CoordinatorRecord], *, leader_epoch: int) -> GroupShard:
        """Load another shard from records."""
        shard = GroupShard(
            config=self.config,
            assignors=assignors_of(["uniform"]),
            topics=self.topics,
            leader_epoch=leader_epoch,
        )
        for record in log:
            again = decode(*encode(record))
            assert again is not None
            shard.replay(again)
        return shard

    def append(self, records: list[CoordinatorRecord]) -> None:
        self.log += records
        for record in records:
            self.shard.replay(record)

    def ask(self, request: Heartbeat, group_id: str = "g") -> Reply:
        decision = self.shard.heartbeat(group_id, request, self.now)
        self.append(decision.records)
        return decision.reply

    def commit(
        self,
        *numbers: int,
        committer: Committer | None = None,
        group_id: str = "g",
        offset: int = 7,
    ) -> list[str]:
        """Commit an offset of partitions of orders; the errors' names."""
        offsets = [(TopicPartition("orders", b"", one), CommittedOffset(offset)) for one in numbers]
        by_whom = committer or Committer()
        try:
            decision = self.shard.commit(group_id, by_whom, offsets, self.now)
        except KafkaError as error:
            return [code_name(error.code)]
        self.append(decision.records)
        return [
            "NONE" if one.error is None else code_name(one.error.code) for one in decision.results
        ]

    def offset(self, number: int, group_id: str = "g") -> int:
        asked = [TopicPartition("orders", b"", number)]
        return self.shard.fetch(group_id, Committer(), asked)[0].committed.offset

    def assign(self, group_id: str = "g") -> None:
        live = self.shard.groups[group_id]
        target = self.shard.target_of(live)
        while not target.is_done:
            self.append(target.next_slice())

    def settled(self, member_id: str = "a") -> Reply:
        """Have a member join alone and own all of orders."""
        self.ask(joining(member_id))
        self.assign()
        reply = self.ask(replace(joining(member_id), sequence=0))
        return self.ask(staying(reply, 0, 1, 2, 3))


@pytest.fixture
def shards() -> Shards:
    return Shards()


# Who may commit


def test_nobody_commits_while_the_group_is_empty(shards: Shards) -> None:
    assert shards.commit(0) == ["NONE"]
    shards.ask(joining())
    assert shards.commit(0) == ["UNKNOWN_MEMBER_ID"]
    shards.ask(Heartbeat("a", LEAVING))
    assert shards.commit(0, offset=9) == ["NONE"]
    assert shards.offset(0) == 9


def test_a_member_commits_at_its_epoch_alone(shards: Shards) -> None:
    epoch = shards.settled().epoch
    assert shards.commit(0, committer=Committer("a", epoch)) == ["NONE"]
    assert shards.commit(0, committer=Committer("a", epoch - 1)) == ["STALE_MEMBER_EPOCH"]
    assert shards.commit(0, committer=Committer("a", epoch + 1)) == ["STALE_MEMBER_EPOCH"]
    assert shards.commit(0, committer=Committer("b", epoch)) == ["UNKNOWN_MEMBER_ID"]
    assert shards.commit(0, committer=Committer("", epoch)) == ["UNKNOWN_MEMBER_ID"]
    assert shards.commit(0, committer=Committer("a", -1)) == ["STALE_MEMBER_EPOCH"]


def test_a_member_does_not_commit_for_another(shards: Shards) -> None:
    epoch = shards.settled().epoch
    shards.append(
        shards.shard.groups["g"].state.change(
            replace(
                shards.shard.groups["g"].state.members["a"],
                member_id="b",
                assigned=orders(1),
            ),
            None,
            0,
            shards.topics,
        )
    )
    both = Committer("a", epoch)
    assert shards.commit(0, 1, committer=both) == ["NONE", "STALE_MEMBER_EPOCH"]


def test_a_commit_that_a_later_one_has_overtaken_is_refused(shards: Shards) -> None:
    epoch = shards.settled().epoch
    assert shards.commit(0, committer=Committer("a", epoch, None, 2), offset=9) == ["NONE"]
    late = Committer("a", epoch, None, 1)
    assert shards.commit(0, committer=late, offset=8) == ["STALE_MEMBER_EPOCH"]
    assert shards.offset(0) == 9
    part = Committer("a", epoch, None, 2)
    assert shards.commit(1, committer=part) == ["NONE"]  # another part of the same request


def test_a_commit_of_before_a_member_joined_again_is_refused(shards: Shards) -> None:
    """What it committed then is of partitions that it had lost."""
    before = shards.settled().epoch
    epoch = shards.ask(joining(sequence=5)).epoch
    for late in (Committer("a", before, None, 4), Committer("a", epoch, None, 4)):
        assert shards.commit(0, committer=late) == ["STALE_MEMBER_EPOCH"]
    assert shards.commit(0, committer=Committer("a", epoch, None, 6)) == ["NONE"]
    with pytest.raises(StaleMemberEpochError):
        shards.shard.check_committer("g", Committer("a", before), shards.now, is_transactional=True)


def test_one_that_came_back_is_not_dismissed_by_a_coordinator_that_reads_of_its_removal(
    shards: Shards,
) -> None:
    shards.settled()
    shards.ask(Heartbeat("a", LEAVING))
    epoch = shards.settled().epoch
    later = shards.loaded(shards.log, leader_epoch=2)
    reply = later.heartbeat("g", Heartbeat("a", epoch), shards.now).reply
    assert reply.epoch == epoch
    live = later.groups["g"]
    assert live.sessions.take_dismissed(live.state.members) == []


def test_a_fenced_member_does_not_commit(shards: Shards) -> None:
    epoch = shards.settled().epoch
    shards.shard.groups["g"].sessions.fence("a")
    assert shards.commit(0, committer=Committer("a", epoch)) == ["FENCED_MEMBER_EPOCH"]


def test_a_static_member_that_was_replaced_does_not_commit(shards: Shards) -> None:
    shards.ask(joining("a", "desk"))
    shards.ask(Heartbeat("a", AWAY, instance_id="desk"))
    epoch = shards.ask(joining("b", "desk")).epoch
    old = Committer("a", epoch, "desk")
    assert shards.commit(0, committer=old) == ["FENCED_INSTANCE_ID"]
    assert shards.commit(0, committer=Committer("b", epoch, "desk")) == ["NONE"]


# Bounds


def test_a_coordinator_has_only_so_many_groups(shards: Shards) -> None:
    for group_id in ("a", "b", "c"):
        shards.ask(joining(), group_id)
    with pytest.raises(KafkaError, match="3 groups, its maximum") as refused:
        shards.ask(joining(), "d")
    assert code_name(refused.value.code) == "GROUP_MAX_SIZE_REACHED"
    assert shards.commit(0, group_id="d") == ["GROUP_MAX_SIZE_REACHED"]
    assert shards.shard.group_ids == ["a", "b", "c"]
    shards.ask(joining("b"), "a")


def test_a_group_has_only_so_many_offsets(shards: Shards) -> None:
    assert shards.commit(0, 1, 2, 3) == ["NONE", "NONE", "NONE", "INVALID_REQUEST"]
    assert shards.commit(0, 1) == ["NONE", "NONE"]  # those that are there are replaced
    assert shards.commit(3) == ["INVALID_REQUEST"]


# Deletion


def test_a_group_is_deleted_with_its_offsets(shards: Shards) -> None:
    shards.settled()
    shards.commit(0, committer=Committer("a", shards.shard.groups["g"].state.members["a"].epoch))
    with pytest.raises(KafkaError, match="1 members"):
        shards.shard.delete_group("g")
    shards.ask(Heartbeat("a", LEAVING))
    records = shards.shard.delete_group("g")
    assert records[-1].key.WhichOneof("kind") == "group"
    shards.append(records)
    assert shards.shard.group_ids == []
    with pytest.raises(KafkaError, match="does not exist"):
        shards.shard.delete_group("g")


def test_offsets_of_a_subscribed_topic_are_not_deleted(shards: Shards) -> None:
    epoch = shards.settled().epoch
    shards.commit(0, committer=Committer("a", epoch))
    asked = [TopicPartition("orders", b"", 0)]
    refused = shards.shard.delete_offsets("g", asked).results[0].error
    assert refused is not None
    assert code_name(refused.code) == "GROUP_SUBSCRIBED_TO_TOPIC"
    shards.ask(Heartbeat("a", LEAVING))
    shards.append(shards.shard.delete_offsets("g", asked).records)
    assert shards.offset(0) == -1
    with pytest.raises(KafkaError, match="does not exist"):
        shards.shard.delete_offsets("nobody", asked)


def test_offsets_expire_but_not_while_the_group_is_subscribed(shards: Shards) -> None:
    epoch = shards.settled().epoch
    shards.commit(0, committer=Committer("a", epoch))
    shards.now_ms += 11 * MINUTE_MS
    shards.append(shards.shard.retain("g", shards.now))
    assert shards.offset(0) == 7
    shards.ask(Heartbeat("a", LEAVING))
    shards.now_ms += 9 * MINUTE_MS
    shards.append(shards.shard.retain("g", shards.now))
    assert shards.offset(0) == 7  # its time counts from the end of the last member
    shards.now_ms += MINUTE_MS
    shards.append(shards.shard.retain("g", shards.now))
    assert shards.offset(0) == -1
    assert shards.shard.group_ids == []


def test_an_empty_group_is_kept_as_long_as_an_offset(shards: Shards) -> None:
    shards.ask(joining())
    shards.ask(Heartbeat("a", LEAVING))
    shards.now_ms += 10 * MINUTE_MS - 1
    assert shards.shard.retain("g", shards.now) == []
    shards.now_ms += 1
    shards.append(shards.shard.retain("g", shards.now))
    assert shards.shard.group_ids == []


def test_offsets_of_deleted_topics_are_forgotten(shards: Shards) -> None:
    shards.commit(0, 1)
    del shards.topics.ids["orders"]
    shards.append(shards.shard.forget_topics("g"))
    assert not shards.shard.exists("g")


# Topics


def test_a_group_follows_the_partitions_of_its_topics(shards: Shards) -> None:
    shards.settled()
    live = shards.shard.groups["g"]
    assert shards.shard.follow_topics(live, shards.now) == []
    shards.topics.counts[ORDERS] = 5
    shards.append(shards.shard.follow_topics(live, shards.now))
    assert live.state.needs_assignment
    assert shards.shard.follow_topics(live, shards.now) == []
    first, second = object(), object()
    looks = [shards.shard.have_topics_changed(seen) for seen in (first, first, second)]
    assert looks == [True, False, True]


def test_a_group_whose_first_records_were_not_appended_is_not_there(shards: Shards) -> None:
    """In-sync replicas may be missing: then nothing is appended, and nothing may be listed."""
    join = Heartbeat("a", 0, rebalance_timeout_ms=1, topics=frozenset({"orders"}))
    assert shards.shard.heartbeat("g", join, shards.now).records
    assert shards.shard.group_ids == []
    assert shards.ask(join).version
    assert shards.shard.groups["g"].sessions.version("a")


# Loading


def test_a_loaded_shard_is_the_one_in_memory(shards: Shards) -> None:
    shards.settled()
    shards.commit(0, group_id="other")
    again = shards.loaded(shards.log, leader_epoch=2)
    assert again.groups["g"].state.members == shards.shard.groups["g"].state.members
    assert again.groups["g"].state.state == shards.shard.groups["g"].state.state
    assert again.group_ids == shards.shard.group_ids
    # A full session for all, and no version that a member may have seen before.
    assert again.expire(again.groups["g"], Moment(10**9, 10**9)) == []
    assert len(again.expire(again.groups["g"], Moment(10**9 + SESSION_MS, 10**9))) == 2
    asked = Heartbeat("a", 0, rebalance_timeout_ms=1, topics=frozenset({"orders"}))
    offered = again.heartbeat("g", asked, Moment(10**9, 10**9)).reply.version
    assert offered > shards.shard.groups["g"].sessions.version("a")


def test_a_tombstone_that_compaction_left_makes_no_group(shards: Shards) -> None:
    shards.ask(joining())
    shards.ask(Heartbeat("a", LEAVING))
    shards.append(shards.shard.delete_group("g"))
    tombstones = [one for one in shards.log if one.value is None]
    assert {one.key.WhichOneof("kind") for one in tombstones} == {"member", "group"}
    for subset in (tombstones, tombstones[:1], tombstones[::-1]):
        assert shards.loaded(subset, leader_epoch=2).group_ids == []
