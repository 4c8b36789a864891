"""Who is in sync: shrinking, expanding, and proposals whose outcome is not known."""

from __future__ import annotations

import pytest
from tests.broker.partition_cores import BROKER_EPOCHS, LAG_MS_MAX, Core, found

from tidelog.broker.replica.effects import NoteIsrChange, ProposeIsr
from tidelog.broker.replica.events import FollowersFenced, Ticked
from tidelog.v1 import common_pb2

DECIDED_AGAINST = {common_pb2.INELIGIBLE_REPLICA, common_pb2.INVALID_REQUEST}


def two_in_sync() -> Core:
    """1 leads, 2 is in sync, 3 is not; ten records, all committed."""
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 10)
    assert core.high_watermark == 10
    return core


def test_a_follower_that_lags_too_long_is_proposed_out_of_the_isr() -> None:
    core = two_in_sync()
    core.append(11)
    core.now_ms += LAG_MS_MAX
    assert not found(core.handle(Ticked()), ProposeIsr)
    core.now_ms += 1
    assert found(core.handle(Ticked()), ProposeIsr)
    assert core.proposed() == [1]


def test_a_silent_follower_that_holds_everything_stays_in_the_isr() -> None:
    core = two_in_sync()
    core.now_ms += 100 * LAG_MS_MAX
    assert core.handle(Ticked()) == []


def test_a_silent_follower_is_late_from_the_next_append_on() -> None:
    core = two_in_sync()
    core.now_ms += 100 * LAG_MS_MAX
    core.append(11)
    core.now_ms += LAG_MS_MAX
    assert not found(core.handle(Ticked()), ProposeIsr), "it had no reason to fetch before"
    core.append(12)
    core.now_ms += 1
    assert found(core.handle(Ticked()), ProposeIsr), "and no further append excuses it"


def test_a_follower_that_keeps_up_with_steady_traffic_stays_in_the_isr() -> None:
    core = two_in_sync()
    for end in range(11, 40):
        core.append(end)
        core.now_ms += LAG_MS_MAX // 2
        core.follower_fetch(2, end - 1)
        assert not found(core.handle(Ticked()), ProposeIsr)


def test_a_follower_that_fetches_but_falls_behind_leaves_the_isr() -> None:
    core = two_in_sync()
    for step in range(1, 5):
        core.append(10 + 10 * step)
        core.follower_fetch(2, 10 + step)
        core.now_ms += LAG_MS_MAX // 2
    assert found(core.handle(Ticked()), ProposeIsr)


def test_a_new_leader_gives_every_isr_member_the_full_lag_to_appear() -> None:
    core = Core()
    core.image(isr=(1, 2), log_end_offset=10)
    core.now_ms += LAG_MS_MAX
    assert core.handle(Ticked()) == []
    core.now_ms += 1
    assert found(core.handle(Ticked()), ProposeIsr)


def test_the_high_watermark_waits_for_whom_a_pending_shrink_puts_out() -> None:
    core = two_in_sync()
    core.append(11)
    core.now_ms += LAG_MS_MAX + 1
    core.handle(Ticked())
    assert core.high_watermark == 10
    effects = core.isr_answer(isr=(1,))
    assert found(effects, NoteIsrChange) == [NoteIsrChange((1, 2), (1,))]
    assert core.high_watermark == 11


def test_the_high_watermark_waits_for_whom_a_pending_expansion_takes_in() -> None:
    core = two_in_sync()
    assert found(core.follower_fetch(3, 10), ProposeIsr)
    assert core.proposed() == [1, 2, 3]
    core.now_ms += 2 * LAG_MS_MAX
    core.append(11)
    core.follower_fetch(2, 11)
    core.now_ms += 2 * LAG_MS_MAX
    core.handle(Ticked())
    assert core.high_watermark == 10
    core.isr_answer(isr=(1, 2, 3))
    assert core.high_watermark == 10
    core.follower_fetch(3, 11)
    assert core.high_watermark == 11


def test_an_unknown_outcome_keeps_the_maximal_isr_and_asks_again() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.now_ms += 2 * LAG_MS_MAX
    effects = core.isr_answer(common_pb2.REQUEST_TIMED_OUT)
    assert effects == [ProposeIsr()]
    assert core.proposed() == [1, 2, 3]
    core.append(11)
    core.follower_fetch(2, 11)
    assert core.high_watermark == 10


@pytest.mark.parametrize("code", sorted(DECIDED_AGAINST), ids=common_pb2.ErrorCode.Name)
def test_a_decision_against_a_proposal_ends_it(code: common_pb2.ErrorCode) -> None:
    """For good: the controller refuses its earlier attempts, see `metadata/test_attempts.py`."""
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.append(11)
    core.follower_fetch(2, 11)
    core.now_ms += LAG_MS_MAX + 1
    assert core.high_watermark == 10
    core.isr_answer(code)
    assert core.proposed() is None
    assert core.high_watermark == 11


@pytest.mark.parametrize(
    "code",
    sorted(set(common_pb2.ErrorCode.values()) - {0} - DECIDED_AGAINST),
    ids=common_pb2.ErrorCode.Name,
)
def test_no_other_error_ends_a_proposal(code: common_pb2.ErrorCode) -> None:
    """None says what became of this attempt and of those before it."""
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.now_ms += LAG_MS_MAX + 1
    core.append(11)
    core.follower_fetch(2, 11)
    core.isr_answer(code)
    assert core.proposed() == [1, 2, 3]
    assert core.high_watermark == 10


def test_a_refused_version_waits_for_the_image_which_ends_the_proposal() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.isr_answer(common_pb2.INVALID_UPDATE_VERSION)
    assert core.proposed() == [1, 2, 3]
    core.image(isr=(1,), partition_epoch=11, log_end_offset=10)
    assert core.proposed() is None
    assert core.leader.isr.committed == (1,)


def test_an_image_no_newer_than_the_isr_keeps_the_proposal() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.image(isr=(1, 2), partition_epoch=10, log_end_offset=10)
    assert core.proposed() == [1, 2, 3]


def test_an_answer_to_an_earlier_proposal_is_ignored() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.image(isr=(1, 2), partition_epoch=11, log_end_offset=10)
    core.follower_fetch(3, 10)
    core.isr_answer(isr=(1, 2, 3), partition_epoch=12, asked_partition_epoch=10)
    assert core.proposed() == [1, 2, 3]
    core.isr_answer(isr=(1, 2, 3), partition_epoch=12, asked_partition_epoch=11)
    assert core.leader.isr.committed == (1, 2, 3)


def test_only_one_proposal_is_open_at_a_time() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.append(11)
    core.now_ms += 2 * LAG_MS_MAX
    assert not found(core.handle(Ticked()), ProposeIsr)
    assert core.proposed() == [1, 2, 3]


def test_who_is_below_the_high_watermark_does_not_join() -> None:
    core = two_in_sync()
    assert not found(core.follower_fetch(3, 9), ProposeIsr)
    assert core.proposed() is None


def test_who_has_not_passed_the_start_of_the_epoch_does_not_join() -> None:
    """The new leader's high watermark may be behind what its predecessor acknowledged (KIP-320)."""
    core = Core()
    core.image(isr=(1, 2), log_end_offset=10)
    assert core.high_watermark == 0
    assert not found(core.follower_fetch(3, 9), ProposeIsr)
    assert found(core.follower_fetch(3, 10), ProposeIsr)


def test_who_is_fenced_or_of_another_incarnation_does_not_join() -> None:
    core = two_in_sync()
    assert not found(core.follower_fetch(3, 10, is_eligible=False), ProposeIsr)
    assert found(core.follower_fetch(3, 10), ProposeIsr)


def test_a_proposal_names_the_incarnation_that_fetched() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10, broker_epoch=77)
    assert core.leader.proposal() == [(1, -1), (2, BROKER_EPOCHS[2]), (3, 77)]


def test_a_proposal_goes_on_naming_the_incarnation_that_caught_up() -> None:
    """The next one may have lost what that one held: the controller must refuse it (KIP-903)."""
    core = two_in_sync()
    core.follower_fetch(3, 10, broker_epoch=77)
    core.follower_fetch(3, 2, broker_epoch=78)
    assert core.leader.proposal() == [(1, -1), (2, BROKER_EPOCHS[2]), (3, 77)]
    core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    core.follower_fetch(3, 10, broker_epoch=78)
    assert core.leader.proposal() == [(1, -1), (2, BROKER_EPOCHS[2]), (3, 78)]


def test_under_load_the_high_watermark_waits_for_who_is_about_to_join() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    core.append(11)
    core.follower_fetch(2, 11)
    assert core.high_watermark == 10
    assert found(core.follower_fetch(3, 10), ProposeIsr)
    core.isr_answer(isr=(1, 2, 3))
    core.follower_fetch(3, 11)
    assert core.high_watermark == 11


def test_who_vanishes_before_joining_holds_the_high_watermark_no_longer_than_the_lag() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    core.append(11)
    core.follower_fetch(2, 11)
    core.now_ms += LAG_MS_MAX + 1
    core.follower_fetch(2, 11)
    core.handle(Ticked())
    assert core.high_watermark == 11


def test_who_is_fenced_before_joining_holds_nothing_back_at_once() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    core.append(11)
    core.follower_fetch(2, 11)
    assert core.high_watermark == 10
    core.handle(FollowersFenced(frozenset({3})))
    assert core.high_watermark == 11


def test_who_is_fenced_counts_while_it_is_in_the_isr() -> None:
    core = two_in_sync()
    core.append(11)
    core.handle(FollowersFenced(frozenset({2})))
    assert core.high_watermark == 10


def test_who_was_put_out_holds_nothing_back_until_it_fetches_again() -> None:
    """A dead broker was caught up a moment ago: outside the ISR it is not about to join."""
    core = two_in_sync()
    core.append(11)
    core.image(isr=(1,), partition_epoch=11, log_end_offset=11)
    assert core.high_watermark == 11
    core.append(12)
    assert core.high_watermark == 12
    core.follower_fetch(2, 11)
    core.append(13)
    assert core.high_watermark == 12


def test_nothing_is_committed_while_the_controller_names_eligible_replicas() -> None:
    """Its answer may come before the image with the larger min.insync.replicas (KIP-966)."""
    core = two_in_sync()
    core.append(11)
    core.now_ms += LAG_MS_MAX + 1
    core.handle(Ticked())
    core.isr_answer(isr=(1,), elr=(2,))
    assert core.high_watermark == 10
    core.image(isr=(1, 2), partition_epoch=12, log_end_offset=11)
    core.follower_fetch(2, 11)
    assert core.high_watermark == 11


def test_nothing_is_committed_while_the_image_names_eligible_replicas() -> None:
    core = Core()
    core.image(isr=(1,), elr=(2,), log_end_offset=10)
    assert core.high_watermark == 0
    core.image(isr=(1,), partition_epoch=11, log_end_offset=10)
    assert core.high_watermark == 10


def test_a_proposal_says_why() -> None:
    core = two_in_sync()
    core.follower_fetch(3, 10)
    assert core.leader.isr.cause == "replica 3 caught up at offset 10"
    core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    core.append(11)
    core.now_ms += LAG_MS_MAX + 1
    assert found(core.handle(Ticked()), ProposeIsr)
    assert core.leader.isr.cause == f"replica 2 not caught up for {LAG_MS_MAX} ms"
