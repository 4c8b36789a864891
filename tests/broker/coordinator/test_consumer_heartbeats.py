"""The consumer protocol, rule by rule: who gets what, who is fenced, who is removed, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    GRACE_MS,
    ORDERS,
    REBALANCE_MS,
    SESSION_MS,
    SIZE_MAX,
    TIDES,
    Coordinator,
    joining,
    orders,
    pushed,
    refusal,
    staying,
)

from tidelog.broker.coordinator.consumer_group import REBALANCES_KEPT
from tidelog.broker.coordinator.consumer_heartbeats import ID_CHARACTERS_MAX, Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import AWAY, LEAVING, NOTHING, Member, to_value
from tidelog.broker.coordinator.consumer_sessions import ENDED_KEPT, ConsumerSessions
from tidelog.broker.coordinator.subscribed_topics import topics_hash

ALL = orders(0, 1, 2, 3)


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


@pytest.fixture
def owner(coordinator: Coordinator) -> Reply:
    """The reply that made member `a` own all of `orders`."""
    coordinator.ask(joining())
    coordinator.assign(a=ALL)
    return pushed(coordinator, "a")


# Joining and moving


def test_the_first_member_gets_an_epoch_at_once_and_its_partitions_with_the_assignment(
    coordinator: Coordinator,
) -> None:
    reply = coordinator.ask(joining())
    assert (reply.epoch, reply.assignment) == (1, NOTHING)
    assert coordinator.group.needs_assignment
    coordinator.assign(a=ALL)
    assert not coordinator.group.needs_assignment
    assert pushed(coordinator, "a")[1:3] == (2, ALL)
    assert coordinator.push("a") is None


def test_a_partition_is_given_when_its_last_owner_has_let_go(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.ask(joining("b"))
    coordinator.assign(a=orders(0, 1), b=orders(2, 3))
    asked = pushed(coordinator, "a")
    assert (asked.epoch, asked.assignment) == (owner.epoch, orders(0, 1))
    assert pushed(coordinator, "b").assignment == NOTHING  # its epoch is the assignment's
    assert coordinator.push("b") is None
    confirmed = coordinator.ask(staying(asked, 0, 1))
    assert confirmed.epoch == coordinator.group.state.epoch
    assert pushed(coordinator, "b").assignment == orders(2, 3)


def test_a_member_that_still_has_a_part_confirms_nothing(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.ask(joining("b"))
    coordinator.assign(a=orders(0, 1), b=orders(2, 3))
    asked = pushed(coordinator, "a")
    coordinator.ask(staying(asked, 0, 1, 2))
    coordinator.ask(Heartbeat("a", asked.epoch, version=asked.version))
    assert coordinator.group.members["a"].revoking == orders(2, 3)
    assert pushed(coordinator, "b").assignment == NOTHING


def test_a_request_of_before_the_assignment_was_known_confirms_nothing(
    coordinator: Coordinator,
) -> None:
    """Written while `a` did not know of partition 2; then it got it, then was to let go of it."""
    first = coordinator.ask(joining())
    coordinator.ask(joining("b"))
    coordinator.assign(a=orders(0, 1))
    known = pushed(coordinator, "a")
    coordinator.append(coordinator.group.assign(known.epoch, "uniform", {"a": orders(0, 1, 2)}))
    pushed(coordinator, "a")
    coordinator.append(coordinator.group.assign(known.epoch, "uniform", {"a": orders(0, 1)}))
    pushed(coordinator, "a")
    coordinator.ask(staying(known, 0, 1))
    assert coordinator.group.members["a"].revoking == orders(2)
    assert first.version < known.version


def test_requests_that_were_under_way_do_not_keep_a_confirmation_from_counting(
    coordinator: Coordinator, owner: Reply
) -> None:
    """Three that were written before `a` knew what it is to let go of; the fourth knows."""
    coordinator.assign(a=orders(0, 1))
    asked = pushed(coordinator, "a")
    answers = [coordinator.ask(staying(owner, 0, 1, 2, 3)) for _ in range(3)]
    assert [(one.assignment, one.version) for one in answers] == 3 * [(orders(0, 1), asked.version)]
    assert coordinator.group.members["a"].revoking == orders(2, 3)
    coordinator.ask(staying(asked, 0, 1))
    assert coordinator.group.members["a"].revoking == NOTHING


def test_one_that_joins_again_gets_its_assignment_under_another_number(
    coordinator: Coordinator, owner: Reply
) -> None:
    again = coordinator.ask(joining())
    assert (again.assignment, again.version) == (ALL, owner.version + 1)


def test_an_assignment_that_came_back_has_another_number_than_before(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.assign(a=orders(0, 1, 2))
    less = pushed(coordinator, "a")
    coordinator.ask(staying(less, 0, 1, 2))
    coordinator.assign(a=ALL)
    back = pushed(coordinator, "a")
    assert back.assignment == owner.assignment
    assert owner.version < less.version < back.version


def test_the_loss_is_confirmed_only_after_a_new_coordinator_asked_for_it_again(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.assign(a=orders(0))
    asked = pushed(coordinator, "a")
    coordinator.load()
    again = coordinator.ask(staying(asked, 0))
    assert coordinator.group.members["a"].revoking == orders(1, 2, 3)
    coordinator.ask(staying(again, 0))
    assert coordinator.group.members["a"].revoking == NOTHING
    assert owner.version < asked.version < again.version


def test_a_reply_repeats_the_assignment_only_when_it_may_be_news(
    coordinator: Coordinator, owner: Reply
) -> None:
    assert coordinator.ask(staying(owner, 0)).assignment is None
    assert coordinator.ask(Heartbeat("a", owner.epoch)).assignment == ALL


def test_a_push_that_was_lost_is_repeated_by_the_next_answer(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.assign(a=orders(0))
    pushed(coordinator, "a")
    request = Heartbeat("a", owner.epoch, version=owner.version)
    assert coordinator.ask(request).assignment == orders(0)


def test_epochs_and_state_survive_a_load(coordinator: Coordinator, owner: Reply) -> None:
    coordinator.ask(joining("b", "desk"))
    coordinator.assign(a=orders(0), b=orders(1))
    pushed(coordinator, "a")
    before = (coordinator.group.state, coordinator.group.members)
    coordinator.load()
    assert before == (coordinator.group.state, coordinator.group.members)
    assert coordinator.group.holder((ORDERS, 1)) == owner.member_id
    static = coordinator.group.instance("desk")
    assert static is not None
    assert static.member_id == "b"


def test_records_of_former_holders_take_nothing_from_the_next(coordinator: Coordinator) -> None:
    """Compaction may leave an old record of one member before a record of the next holder."""
    group = coordinator.group
    had = Member("a", instance_id="desk", assigned=orders(0))
    for member_id, member in (
        ("a", had),
        ("b", replace(had, member_id="b")),
        ("a", replace(had, assigned=NOTHING, instance_id=None)),
    ):
        group.replay_member(member_id, to_value(member))
    assert group.holder((ORDERS, 0)) == "b"
    group.replay_member("a", None)
    static = group.instance("desk")
    assert static is not None
    assert static.member_id == "b"


# Epochs


def test_wrong_epochs_are_fenced(coordinator: Coordinator, owner: Reply) -> None:
    for epoch in (owner.epoch + 1, owner.epoch - 2 or 99):
        assert refusal(coordinator, Heartbeat("a", epoch)) == "FENCED_MEMBER_EPOCH"


def test_a_lost_answer_may_be_asked_for_again(coordinator: Coordinator) -> None:
    joined = coordinator.ask(joining())
    coordinator.assign(a=ALL)
    lost = pushed(coordinator, "a")
    again = coordinator.ask(staying(joined))
    assert again[1:3] == lost[1:3]


def test_one_that_is_behind_is_not_moved_on(coordinator: Coordinator) -> None:
    joined = coordinator.ask(joining())
    coordinator.assign(a=orders(0))
    pushed(coordinator, "a")
    coordinator.ask(joining("b"))
    coordinator.assign(a=ALL)
    assert coordinator.ask(staying(joined)).epoch == 2
    assert coordinator.ask(staying(joined)).epoch == 2


def test_one_that_is_behind_and_owns_what_it_may_not_is_fenced(
    coordinator: Coordinator, owner: Reply
) -> None:
    beyond = Heartbeat("a", owner.epoch - 1, owned=ALL | {(TIDES, 0)})
    assert refusal(coordinator, beyond) == "FENCED_MEMBER_EPOCH"
    assert refusal(coordinator, Heartbeat("a", owner.epoch - 1)) == "FENCED_MEMBER_EPOCH"


def test_one_that_joins_again_gets_its_partitions_again_at_an_epoch_of_its_own(
    coordinator: Coordinator, owner: Reply
) -> None:
    """At the old epoch a commit of before would be an owner's, which has read again."""
    coordinator.assign(a=orders(0))
    before = pushed(coordinator, "a")
    again = coordinator.ask(joining())
    assert (again.assignment, again.epoch) == (orders(0), coordinator.group.state.epoch)
    assert again.epoch > before.epoch
    assert coordinator.group.members["a"].revoking == NOTHING
    assert owner.assignment == ALL
    assert "joined again" in coordinator.group.state.rebalances[-1].cause


def test_its_epoch_does_not_fall_with_an_assignment_that_was_being_made(
    coordinator: Coordinator, owner: Reply
) -> None:
    again = coordinator.ask(joining())
    coordinator.append(coordinator.group.assign(owner.epoch, "uniform", {"a": orders(0)}))
    assert coordinator.push("a") is None
    coordinator.assign(a=ALL)
    assert coordinator.ask(staying(again, 0, 1, 2, 3)).epoch == again.epoch


def test_a_join_that_comes_late_takes_nothing_from_the_member(
    coordinator: Coordinator, owner: Reply
) -> None:
    """A new coordinator does not know that it is late: the member goes on at the next epoch."""
    coordinator.load()
    late = coordinator.ask(joining())
    assert late.epoch > owner.epoch
    answer = coordinator.ask(staying(owner, 0, 1, 2, 3))
    assert answer.epoch == late.epoch
    assert coordinator.group.members["a"].assigned == ALL


def test_a_join_of_one_that_holds_nothing_begins_no_epoch(coordinator: Coordinator) -> None:
    first = coordinator.ask(joining())
    for _ in range(3):
        assert coordinator.ask(joining()).epoch == first.epoch


# Late requests


def test_a_late_request_changes_nothing(coordinator: Coordinator) -> None:
    coordinator.ask(joining(sequence=1))
    changed = Heartbeat("a", 1, topics=frozenset({"tides"}), sequence=3)
    coordinator.ask(changed)
    before = list(coordinator.log)
    coordinator.ask(replace(changed, topics=frozenset({"orders"}), sequence=2))
    coordinator.ask(replace(changed, topics=frozenset({"orders"})))
    coordinator.ask(Heartbeat("a", 1, sequence=0))
    coordinator.ask(Heartbeat("a", LEAVING, sequence=2))
    assert coordinator.log == before
    assert coordinator.group.members["a"].topics == {"tides"}


def test_a_late_join_does_not_bring_back_one_that_left(coordinator: Coordinator) -> None:
    coordinator.ask(joining(sequence=1))
    coordinator.ask(Heartbeat("a", LEAVING, sequence=3))
    assert refusal(coordinator, joining(sequence=2)) == "UNKNOWN_MEMBER_ID"
    assert coordinator.ask(joining(sequence=4)).assignment == NOTHING


def test_only_so_many_that_left_are_remembered() -> None:
    sessions = ConsumerSessions(
        session_timeout_ms=SESSION_MS, disconnect_grace_ms=GRACE_MS, first_version=0
    )
    for number in range(ENDED_KEPT + 1):
        sessions.note_request(f"{number}", 0, 7, now_ms=0)
        sessions.end(f"{number}")
    assert not sessions.is_late("0", 7)
    assert sessions.is_late("1", 7)
    assert sessions.is_late(f"{ENDED_KEPT}", 7)


# Leaving, silence, slowness


def test_one_that_leaves_frees_its_partitions_at_once(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.ask(joining("b"))
    coordinator.ask(Heartbeat("a", LEAVING))
    coordinator.assign(b=ALL)
    assert pushed(coordinator, "b").assignment == ALL
    assert owner.member_id not in coordinator.group.members


def test_one_that_is_silent_for_a_session_is_removed_and_not_before(
    coordinator: Coordinator, owner: Reply
) -> None:
    epoch = coordinator.group.state.epoch
    coordinator.pass_ms(SESSION_MS - 1)
    assert "a" in coordinator.group.members
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}
    assert coordinator.group.state.epoch == epoch + 1
    assert refusal(coordinator, staying(owner, 0)) == "UNKNOWN_MEMBER_ID"


def test_a_heartbeat_renews_the_session_and_a_push_does_not(
    coordinator: Coordinator, owner: Reply
) -> None:
    coordinator.pass_ms(SESSION_MS - 1)
    coordinator.ask(Heartbeat("a", owner.epoch))
    coordinator.pass_ms(SESSION_MS - 1)
    coordinator.assign(a=orders(0))
    pushed(coordinator, "a")
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}


def test_everyone_has_a_full_session_after_a_load(coordinator: Coordinator, owner: Reply) -> None:
    coordinator.pass_ms(SESSION_MS - 1)
    coordinator.load()
    coordinator.pass_ms(0)
    coordinator.pass_ms(SESSION_MS - 1)
    assert owner.member_id in coordinator.group.members
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}


def test_one_with_nothing_to_let_go_of_is_never_late(
    coordinator: Coordinator, owner: Reply
) -> None:
    for _ in range(REBALANCE_MS // 10_000 + 1):
        coordinator.pass_ms(10_000)
        coordinator.ask(staying(owner, 0, 1, 2, 3))


@pytest.fixture
def stuck(coordinator: Coordinator, owner: Reply) -> Heartbeat:
    """The request of member `a`, which does not let go of partition 1 and whose time is over."""
    coordinator.assign(a=orders(0))
    request = staying(pushed(coordinator, "a"), 0, 1)
    coordinator.pass_ms(0)
    for _ in range(REBALANCE_MS // 10_000 - 1):
        coordinator.ask(request)
        coordinator.pass_ms(10_000)
    coordinator.ask(request)
    coordinator.pass_ms(10_000)
    assert owner.member_id in coordinator.group.members
    return request


def test_one_that_does_not_let_go_in_time_is_fenced_and_then_removed(
    coordinator: Coordinator, stuck: Heartbeat
) -> None:
    assert refusal(coordinator, stuck) == "FENCED_MEMBER_EPOCH"
    coordinator.pass_ms(SESSION_MS - 10_001)
    assert refusal(coordinator, stuck) == "FENCED_MEMBER_EPOCH"
    assert coordinator.group.holder((ORDERS, 0)) == "a"  # as it may read on
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}
    assert "did not let go" in coordinator.group.state.rebalances[-1].cause


def test_one_that_was_fenced_may_join_again(coordinator: Coordinator, stuck: Heartbeat) -> None:
    again = coordinator.ask(joining())
    assert again.assignment == orders(0)
    coordinator.pass_ms(SESSION_MS - 1)
    assert coordinator.ask(staying(again, 0)).epoch == again.epoch
    assert refusal(coordinator, replace(stuck, epoch=again.epoch + 1)) == "FENCED_MEMBER_EPOCH"
    assert coordinator.group.holder((ORDERS, 1)) is None


# Group epochs


@pytest.mark.parametrize(
    "change",
    [
        Heartbeat("a", 2, topics=frozenset({"tides"})),
        Heartbeat("a", 2, assignor="range"),
        Heartbeat("a", 2, rack_id="west"),
    ],
)
def test_a_change_of_a_member_begins_a_group_epoch_once(
    coordinator: Coordinator, owner: Reply, change: Heartbeat
) -> None:
    epoch = coordinator.group.state.epoch
    for _ in range(2):
        coordinator.ask(change)
    assert (owner.epoch, coordinator.group.state.epoch) == (epoch, epoch + 1)
    assert "a" in coordinator.group.state.rebalances[-1].cause


def test_topics_that_change_are_noticed_by_their_hash(coordinator: Coordinator) -> None:
    coordinator.ask(joining())
    group, topics = coordinator.group, coordinator.topics
    hashes = [group.state.topics_hash]
    topics.counts[ORDERS] = 5
    hashes.append(topics_hash(group.subscribed(topics), topics))
    topics.ids["orders"] = topics.ids.pop("tides")
    hashes.append(topics_hash(group.subscribed(topics), topics))
    del topics.ids["orders"]
    hashes.append(topics_hash(group.subscribed(topics), topics))
    assert len(set(hashes)) == 4
    coordinator.append(group.begin("a topic has gone", 5, topics))
    assert group.state.topics_hash == hashes[-1]
    assert group.needs_assignment


def test_epochs_do_not_fall_when_the_last_member_leaves_and_only_ten_causes_are_kept(
    coordinator: Coordinator,
) -> None:
    for _ in range(REBALANCES_KEPT):
        coordinator.ask(joining())
        coordinator.ask(Heartbeat("a", LEAVING))
    state = coordinator.group.state
    assert state.epoch == 1 + 2 * REBALANCES_KEPT
    assert [one.epoch for one in state.rebalances] == list(range(12, 22))


def test_an_assignment_that_was_made_for_an_earlier_epoch_asks_for_another(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining())
    epoch = coordinator.group.state.epoch
    coordinator.ask(joining("b"))
    coordinator.append(coordinator.group.assign(epoch, "uniform", {"a": ALL, "gone": ALL}))
    assert coordinator.group.needs_assignment
    assert pushed(coordinator, "a").assignment == ALL
    assert set(coordinator.group.members) == {"a", "b"}


def test_most_members_choose_the_assignor(coordinator: Coordinator) -> None:
    assert coordinator.group.wanted_assignor("uniform") == "uniform"
    for member_id, assignor in (("a", "range"), ("b", "uniform"), ("c", "uniform"), ("d", "")):
        coordinator.ask(replace(joining(member_id), assignor=assignor))
    assert coordinator.group.wanted_assignor("range") == "uniform"
    coordinator.ask(Heartbeat("c", LEAVING))
    assert coordinator.group.wanted_assignor("none") == "range"


# Bad input


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (replace(joining(), member_id=""), "INVALID_REQUEST"),
        (replace(joining(), member_id="m" * (ID_CHARACTERS_MAX + 1)), "INVALID_REQUEST"),
        (joining("a", ""), "INVALID_REQUEST"),
        (replace(joining(), rebalance_timeout_ms=0), "INVALID_REQUEST"),
        (replace(joining(), rebalance_timeout_ms=None), "INVALID_REQUEST"),
        (replace(joining(), topics=None), "INVALID_REQUEST"),
        (replace(joining(), owned=orders(0)), "INVALID_REQUEST"),
        (replace(joining(), epoch=-3), "INVALID_REQUEST"),
        (replace(joining(), epoch=AWAY), "INVALID_REQUEST"),
        (replace(joining(), assignor="nosuch"), "UNSUPPORTED_ASSIGNOR"),
        (Heartbeat("a", 1), "UNKNOWN_MEMBER_ID"),
        (Heartbeat("a", LEAVING), "UNKNOWN_MEMBER_ID"),
    ],
)
def test_bad_input_is_refused(coordinator: Coordinator, request_: Heartbeat, code: str) -> None:
    assert refusal(coordinator, request_) == code


def test_a_group_has_only_so_many_members(coordinator: Coordinator) -> None:
    for number in range(SIZE_MAX):
        coordinator.ask(joining(f"{number}"))
    assert refusal(coordinator, joining("a")) == "GROUP_MAX_SIZE_REACHED"
    coordinator.ask(joining("0"))
