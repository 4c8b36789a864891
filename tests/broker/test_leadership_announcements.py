"""The core orders one announcement of each leadership, and one of its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.broker.partition_cores import Core, found

from tidelog.broker.replica.effects import (
    AnnounceLeadership,
    AnnounceLeadershipEnd,
    AssignEpoch,
    Effect,
    FailWaiters,
    RaiseHighWatermark,
)
from tidelog.broker.replica.events import LeadershipEnd, LogClosed, LogDamaged


def test_a_leadership_is_announced_when_its_epoch_is_assigned_and_before_anything_commits() -> None:
    core = Core()
    core.high_watermark = 3
    effects = core.image(isr=(1,), log_end_offset=7)
    kinds = [type(effect) for effect in effects]
    assert found(effects, AnnounceLeadership) == [AnnounceLeadership(5, 3)]
    assert kinds.index(AssignEpoch) < kinds.index(AnnounceLeadership)
    assert kinds.index(AnnounceLeadership) < kinds.index(RaiseHighWatermark)


def test_another_state_of_the_same_epoch_announces_nothing() -> None:
    core = Core()
    core.image()
    effects = core.image(isr=(1, 2), partition_epoch=11) + core.image(partition_epoch=11)
    assert found(effects, AnnounceLeadership) == []
    assert found(effects, AnnounceLeadershipEnd) == []


@pytest.mark.parametrize(
    ("happens", "end"),
    [
        (lambda core: core.image(leader_id=2, leader_epoch=6), LeadershipEnd.DEPOSED),
        (lambda core: core.image(leader_id=None, leader_epoch=6), LeadershipEnd.DEPOSED),
        (lambda core: core.image(leader_id=1, leader_epoch=6), LeadershipEnd.DEPOSED),
        (lambda core: core.handle(LogDamaged()), LeadershipEnd.OFFLINE),
        (lambda core: core.handle(LogClosed(LeadershipEnd.OFFLINE)), LeadershipEnd.OFFLINE),
        (lambda core: core.handle(LogClosed(LeadershipEnd.DELETED)), LeadershipEnd.DELETED),
        (lambda core: core.handle(LogClosed()), LeadershipEnd.CLOSED),
    ],
)
def test_the_end_is_announced_once_and_with_its_reason(
    happens: Callable[[Core], list[Effect]], end: LeadershipEnd
) -> None:
    core = Core()
    core.image()
    effects = happens(core)
    assert found(effects, AnnounceLeadershipEnd) == [AnnounceLeadershipEnd(5, end)]
    assert found(core.handle(LogClosed()), AnnounceLeadershipEnd) in (
        [],
        [AnnounceLeadershipEnd(6, LeadershipEnd.CLOSED)],
    )


def test_the_end_follows_the_answers_to_those_who_wait() -> None:
    core = Core()
    core.image()
    kinds = [type(effect) for effect in core.handle(LogClosed())]
    assert kinds.index(FailWaiters) < kinds.index(AnnounceLeadershipEnd)


def test_the_same_leader_in_a_newer_epoch_ends_the_older_leadership_first() -> None:
    core = Core()
    core.image()
    effects = core.image(leader_epoch=6, partition_epoch=11)
    announced = [
        effect
        for effect in effects
        if isinstance(effect, AnnounceLeadership | AnnounceLeadershipEnd)
    ]
    assert announced == [
        AnnounceLeadershipEnd(5, LeadershipEnd.DEPOSED),
        AnnounceLeadership(6, 0),
    ]


def test_a_follower_announces_nothing() -> None:
    core = Core()
    effects = core.image(leader_id=2) + core.handle(LogClosed())
    assert found(effects, AnnounceLeadership) == []
    assert found(effects, AnnounceLeadershipEnd) == []
