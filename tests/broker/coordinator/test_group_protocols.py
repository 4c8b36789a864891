"""Groups of both protocols in one partition: one at a time, and what their offsets know of them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from tests.broker.coordinator.classic_groups import DELAY_MS, request
from tests.broker.coordinator.consumer_groups import joining
from tests.broker.coordinator.test_group_shard import CONFIG, MINUTE_MS, Shards

from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.classic_messages import (
    ClassicStep,
    HeartbeatRequest,
    JoinAnswer,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import LEAVING
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, encode
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import TopicPartition
from tidelog.core.errors import KafkaError, code_name

ORDERS_SUBSCRIPTION = b"\x00\x01\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff"


class BothProtocols(Shards):
    """A shard with members of both protocols; `answers` has those of joins and syncs."""

    def __init__(self) -> None:
        super().__init__(replace(CONFIG, group_min_session_timeout_ms=1_000))
        self.answers: dict[int, object] = {}
        self.tickets = 0

    def apply(self, step: ClassicStep) -> None:
        self.append(step.records)
        self.answers.update(step.answers)

    def classic_join(
        self, group_id: str = "g", instance_id: str | None = None, member_id: str = ""
    ) -> int:
        """Send a join of a consumer, with the id that it is given; the ticket."""
        self.tickets += 1
        ticket = self.tickets
        join = request(member_id, instance_id, metadata=ORDERS_SUBSCRIPTION)
        try:
            step = self.shard.join(
                group_id, join, ticket=ticket, fresh_id=f"id-{ticket}", now=self.now
            )
        except MemberIdGivenError as given:
            return self.classic_join(group_id, instance_id, given.member_id)
        self.apply(step)
        return ticket

    def after(self, ms: int, group_id: str = "g") -> None:
        self.now_ms += ms
        self.apply(self.shard.classic.expire(group_id, self.now))

    def classic_settled(self, group_id: str = "g") -> JoinAnswer:
        """Have a member join a group alone, and get its assignment."""
        ticket = self.classic_join(group_id)
        self.after(DELAY_MS, group_id)
        joined = self.answers[ticket]
        assert isinstance(joined, JoinAnswer)
        sync = SyncRequest(
            joined.member_id, joined.generation, assignments={joined.member_id: b"a"}
        )
        self.apply(self.shard.classic.sync(group_id, sync, ticket=0, now=self.now))
        return joined

    def classic_leave(self, joined: JoinAnswer, group_id: str = "g") -> None:
        leave = LeaveRequest((LeavingMember(joined.member_id),))
        self.apply(self.shard.classic.leave(group_id, leave, self.now).step)

    def refusal(self, group_id: str = "g") -> str:
        """Name the error of a join of the classic protocol."""
        with pytest.raises(KafkaError) as refused:
            self.classic_join(group_id)
        return code_name(refused.value.code)

    def heartbeat_refusal(self) -> str:
        """Name the error of a join of the consumer protocol."""
        with pytest.raises(KafkaError) as refused:
            self.ask(joining())
        return code_name(refused.value.code)


@pytest.fixture
def shards() -> BothProtocols:
    return BothProtocols()


def kinds(records: list[CoordinatorRecord]) -> list[str]:
    """Kinds of records; of tombstones in upper case."""
    names = [one.key.WhichOneof("kind") or "" for one in records]
    return [
        name.upper() if one.value is None else name
        for name, one in zip(names, records, strict=True)
    ]


def state_of(shard: GroupShard) -> dict[str, object]:
    """What the log says of each group."""
    consumers = {
        name: (live.state.state, live.state.members) for name, live in shard.groups.items()
    }
    return {**consumers, **{name: one.state.recorded for name, one in shard.classic.by_id.items()}}


# One protocol at a time


def test_a_member_of_the_other_protocol_is_refused(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    before = len(shards.log)
    assert shards.heartbeat_refusal() == "INCONSISTENT_GROUP_PROTOCOL"
    shards.ask(joining(), "c")
    assert shards.refusal("c") == "INCONSISTENT_GROUP_PROTOCOL"
    assert kinds(shards.log[before:]) == ["member", "group"]
    assert list(shards.shard.groups) == ["c"]
    shards.shard.classic.heartbeat("g", HeartbeatRequest(joined.member_id, 1), shards.now)


def test_members_that_wait_for_a_first_generation_hold_their_group(shards: BothProtocols) -> None:
    shards.classic_join()
    assert shards.log == []
    assert shards.heartbeat_refusal() == "INCONSISTENT_GROUP_PROTOCOL"


def test_an_empty_group_becomes_one_of_the_other_protocol_and_back(shards: BothProtocols) -> None:
    shards.classic_leave(shards.classic_settled())
    before, generation = len(shards.log), shards.shard.classic.by_id["g"].state.generation
    epoch = shards.ask(joining()).epoch
    assert kinds(shards.log[before:]) == ["CLASSIC_GROUP", "member", "group"]
    assert shards.shard.groups["g"].state.state.epoch > generation
    assert not shards.shard.classic.by_id
    shards.ask(Heartbeat("a", LEAVING))
    last = shards.shard.groups["g"].state.state.epoch
    before = len(shards.log)
    ticket = shards.classic_join()
    assert kinds(shards.log[before:]) == ["GROUP", "classic_group"]
    assert not shards.shard.groups
    shards.after(DELAY_MS)
    joined = shards.answers[ticket]
    assert isinstance(joined, JoinAnswer)
    assert joined.generation > last >= epoch


def test_an_id_that_was_given_changes_nothing(shards: BothProtocols) -> None:
    shards.ask(joining())
    shards.ask(Heartbeat("a", LEAVING))
    before = len(shards.log)
    join = request(metadata=ORDERS_SUBSCRIPTION)
    with pytest.raises(MemberIdGivenError):
        shards.shard.join("g", join, ticket=1, fresh_id="id", now=shards.now)
    assert len(shards.log) == before
    shards.ask(joining("b"))
    assert kinds(shards.log[before:]) == ["member", "group"]
    with pytest.raises(KafkaError) as refused:
        shards.classic_join(member_id="id")
    assert code_name(refused.value.code) == "INCONSISTENT_GROUP_PROTOCOL"
    shards.after(60_000)
    assert not shards.shard.classic.by_id


def test_a_group_that_nobody_joined_is_forgotten(shards: BothProtocols) -> None:
    with pytest.raises(MemberIdGivenError):
        shards.shard.join("g", request(), ticket=1, fresh_id="id", now=shards.now)
    assert shards.shard.exists("g")
    shards.after(10_000)
    assert not shards.shard.exists("g")
    assert shards.log == []


def test_an_empty_wait_for_members_records_nothing_beside_the_other_protocol(
    shards: BothProtocols,
) -> None:
    ticket = shards.classic_join()
    leave = LeaveRequest((LeavingMember(f"id-{ticket - 1}"),))
    assert shards.shard.classic.leave("g", leave, shards.now).results == [None]
    shards.ask(joining())
    shards.after(DELAY_MS)
    assert kinds(shards.log) == ["member", "group"]


def test_strangers_to_a_group_that_does_not_exist(shards: BothProtocols) -> None:
    for call in (
        lambda: shards.classic_join(member_id="x"),
        lambda: shards.shard.classic.sync("g", SyncRequest("x", 1), ticket=1, now=shards.now),
        lambda: shards.shard.classic.heartbeat("g", HeartbeatRequest("x", 1), shards.now),
    ):
        with pytest.raises(KafkaError) as refused:
            call()
        assert code_name(refused.value.code) == "UNKNOWN_MEMBER_ID"
    leave = shards.shard.classic.leave("g", LeaveRequest((LeavingMember("x"),)), shards.now)
    assert [code_name(one.code) for one in leave.results if one] == ["UNKNOWN_MEMBER_ID"]
    assert not shards.shard.exists("g")


def test_groups_of_both_protocols_are_counted_together(shards: BothProtocols) -> None:
    shards.classic_settled("a")
    shards.ask(joining(), "b")
    shards.classic_join("c")
    assert shards.refusal("d") == "GROUP_MAX_SIZE_REACHED"
    assert shards.shard.group_ids == ["a", "b", "c"]
    assert sum(one.member_count for one in shards.shard.memberships) == 3


# Offsets


def test_members_commit_in_their_generation_alone(shards: BothProtocols) -> None:
    assert shards.commit(0) == ["NONE"]
    joined = shards.classic_settled()
    assert shards.commit(0) == ["UNKNOWN_MEMBER_ID"]
    own = Committer(joined.member_id, joined.generation)
    assert shards.commit(0, committer=own, offset=9) == ["NONE"]
    assert shards.commit(0, committer=own._replace(epoch=0)) == ["ILLEGAL_GENERATION"]
    assert shards.commit(0, committer=own._replace(epoch=2)) == ["ILLEGAL_GENERATION"]
    assert shards.commit(0, committer=own._replace(member_id="x")) == ["UNKNOWN_MEMBER_ID"]
    assert shards.commit(0, committer=own._replace(instance_id="x")) == ["UNKNOWN_MEMBER_ID"]
    assert shards.offset(0) == 9
    fetched = shards.shard.fetch("g", own, [TopicPartition("orders", b"", 0)])
    assert fetched[0].committed.offset == 9
    shards.classic_leave(joined)
    assert shards.commit(0) == ["NONE"]


def test_a_commit_renews_a_session(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    own = Committer(joined.member_id, joined.generation)
    for _ in range(3):
        shards.after(9_000)
        assert shards.commit(0, committer=own) == ["NONE"]
    shards.after(10_000)
    assert shards.commit(0, committer=own) == ["UNKNOWN_MEMBER_ID"]


def test_offsets_of_subscribed_topics_are_kept(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    shards.commit(0, committer=Committer(joined.member_id, 1))
    orders = [TopicPartition("orders", b"", 0)]
    refused = shards.shard.delete_offsets("g", orders).results[0].error
    assert refused is not None
    assert code_name(refused.code) == "GROUP_SUBSCRIBED_TO_TOPIC"
    shards.now_ms += 11 * MINUTE_MS
    assert shards.shard.retain("g", shards.now) == []
    tides = [TopicPartition("tides", b"", 0)]
    other = shards.shard.delete_offsets("g", tides).results[0].error
    assert other is not None
    assert code_name(other.code) == "UNKNOWN_TOPIC_OR_PARTITION"
    shards.classic_leave(joined)
    shards.append(shards.shard.delete_offsets("g", orders).records)
    assert shards.offset(0) == -1


def test_nobody_knows_what_members_of_another_kind_read(shards: BothProtocols) -> None:
    shards.tickets += 1
    join = replace(request(), protocol_type="connect", knows_required_id=False)
    shards.apply(shards.shard.join("g", join, ticket=1, fresh_id="id", now=shards.now))
    with pytest.raises(KafkaError) as refused:
        shards.shard.delete_offsets("g", [TopicPartition("orders", b"", 0)])
    assert code_name(refused.value.code) == "NON_EMPTY_GROUP"


def test_an_empty_classic_group_and_its_offsets_expire(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    shards.commit(0, committer=Committer(joined.member_id, 1))
    shards.now_ms += 11 * MINUTE_MS
    shards.classic_leave(joined)
    shards.now_ms += 10 * MINUTE_MS - 1
    assert shards.shard.retain("g", shards.now) == []
    shards.now_ms += 1
    records = shards.shard.retain("g", shards.now)
    assert kinds(records) == ["OFFSET_COMMIT", "CLASSIC_GROUP"]
    shards.append(records)
    assert shards.shard.group_ids == []


def test_a_classic_group_is_deleted_when_it_is_empty(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    with pytest.raises(KafkaError) as refused:
        shards.shard.delete_group("g")
    assert code_name(refused.value.code) == "NON_EMPTY_GROUP"
    shards.classic_leave(joined)
    shards.commit(0)
    shards.append(shards.shard.delete_group("g"))
    assert shards.shard.group_ids == []
    assert shards.loaded(shards.log, leader_epoch=2).group_ids == []


# An append that fails


def test_a_group_begins_again_when_a_step_was_not_appended(shards: BothProtocols) -> None:
    first = shards.classic_settled()
    ticket = shards.classic_join()
    again = request(first.member_id, metadata=ORDERS_SUBSCRIPTION)
    step = shards.shard.join("g", again, ticket=9, fresh_id="", now=shards.now)
    assert len(step.answers) == 2  # of a generation that is nowhere
    assert shards.shard.classic.restart("g", shards.now) == []
    shards.shard.classic.heartbeat("g", HeartbeatRequest(first.member_id, 1), shards.now)
    group = shards.shard.classic.by_id["g"].state
    assert list(group.members) == [first.member_id]
    assert ticket not in shards.answers


def test_those_who_wait_are_named_when_a_group_begins_again(shards: BothProtocols) -> None:
    ticket = shards.classic_join()
    assert shards.shard.classic.restart("g", shards.now) == [ticket]
    assert not shards.shard.exists("g")


def test_a_conversion_that_was_not_appended_forgets_no_generation(shards: BothProtocols) -> None:
    shards.classic_leave(shards.classic_settled())
    before = shards.shard.classic.by_id["g"].state.generation
    shards.shard.heartbeat("g", joining(), shards.now)  # its append fails
    assert isinstance(shards.shard.group("g"), LiveClassicGroup)
    shards.append(shards.shard.retain("g", shards.now))
    assert shards.commit(0) == ["NONE"]
    joined = shards.classic_settled()
    assert joined.generation > before


# Loading


def story(shards: BothProtocols) -> None:
    """A group of one protocol, the other and the first again, and another one."""
    shards.classic_leave(shards.classic_settled())
    shards.ask(joining())
    shards.ask(Heartbeat("a", LEAVING))
    shards.classic_settled()
    shards.ask(joining(), "c")
    shards.ask(Heartbeat("a", LEAVING), "c")
    shards.classic_settled("c")
    shards.classic_settled("e")


def test_any_compacted_subset_of_the_log_loads_to_the_same_state(shards: BothProtocols) -> None:
    story(shards)
    expected = state_of(shards.shard)
    newest = {encode(one).key: number for number, one in enumerate(shards.log)}
    older = [number for number in range(len(shards.log)) if number not in newest.values()]
    assert len(older) >= 8
    for kept in (
        *itertools.combinations(older, len(older)),
        *itertools.combinations(older, 0),
        *itertools.combinations(older, 1),
        *itertools.combinations(older, 2),
        *itertools.combinations(older, len(older) - 1),
    ):
        subset = [one for number, one in enumerate(shards.log)
                  if number in kept or number in newest.values()]  # fmt: skip
        assert state_of(shards.loaded(subset, leader_epoch=2)) == expected
    final = [shards.log[number] for number in sorted(newest.values())]
    final = [one for one in final if one.value is not None]
    again = shards.loaded(final, leader_epoch=2)
    assert state_of(again) == expected  # its tombstones are old enough to go


def test_members_of_a_loaded_group_have_a_full_session(shards: BothProtocols) -> None:
    joined = shards.classic_settled()
    again = shards.loaded(shards.log, leader_epoch=2)
    begin_ms = 10**9
    again.classic.after_load("g", Moment(begin_ms, begin_ms))
    assert again.classic.next_deadline_ms("g") == begin_ms + 10_000
    late = Moment(begin_ms + 9_999, begin_ms)
    assert again.classic.expire("g", late).records == []
    again.classic.heartbeat("g", HeartbeatRequest(joined.member_id, joined.generation), late)
