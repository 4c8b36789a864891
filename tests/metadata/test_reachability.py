"""What a dial proves about a broker, and how rarely one is dialled that gives no rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.metadata.broker_endpoints import reached_at

from tidelog.metadata.brokers import FenceDeadBroker
from tidelog.metadata.decision import Checked
from tidelog.metadata.image import BrokerImage
from tidelog.metadata.reachability import Damping, Verdict, verdict_on
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.v1 import common_pb2

if TYPE_CHECKING:
    from tests.metadata.conftest import World

MINUTE_MS = 60_000
BROKER = BrokerImage(
    broker_id=1,
    incarnation_id=b"a" * 16,
    broker_epoch=7,
    endpoints=reached_at("h:1"),
    rack="",
    is_fenced=False,
)


@pytest.mark.parametrize(
    ("dialled", "verdict", "is_dead"),
    [
        (Dialled(DialOutcome.REFUSED), Verdict.DEAD_REFUSED, True),
        (Dialled(DialOutcome.ANSWERED, b"b" * 16), Verdict.DEAD_REPLACED, True),
        (Dialled(DialOutcome.ANSWERED, b""), Verdict.DEAD_REPLACED, True),
        (Dialled(DialOutcome.ANSWERED, b"a" * 16), Verdict.ALIVE, False),
        (Dialled(DialOutcome.SILENT), Verdict.UNKNOWN, False),
    ],
)
def test_refusal_and_another_incarnation_are_proof_and_silence_is_none(
    dialled: Dialled, verdict: Verdict, is_dead: bool
) -> None:
    assert verdict_on(BROKER, dialled) is verdict
    assert verdict.is_dead is is_dead


def damping() -> Damping:
    return Damping(vain_ms=50, vain_ms_max=1000, fenced_ms=1000, fenced_ms_max=30_000)


def test_a_broker_that_was_never_dialled_is_dialled_at_once() -> None:
    assert damping().wait_ms(1, now_ms=0) == 0


@pytest.mark.parametrize(
    ("is_fenced", "first_ms", "max_ms"), [(True, 1000, 30_000), (False, 50, 1000)]
)
def test_the_wait_doubles_each_time_up_to_its_limit(
    is_fenced: bool, first_ms: int, max_ms: int
) -> None:
    damped, now_ms, waits = damping(), 5 * MINUTE_MS, []
    for _ in range(9):
        damped.note(1, now_ms, is_fenced=is_fenced)
        waits.append(damped.wait_ms(1, now_ms))
        now_ms += waits[-1]
        assert damped.wait_ms(1, now_ms) == 0
    assert waits == [min(first_ms * 2**n, max_ms) for n in range(9)]
    assert damped.wait_ms(2, now_ms) == 0, "others are not held to it"


def test_a_broker_that_was_calm_for_long_is_as_good_as_new() -> None:
    damped, now_ms = damping(), 5 * MINUTE_MS
    for _ in range(3):
        damped.note(1, now_ms, is_fenced=True)
    damped.note(1, now_ms + 8 * 4000, is_fenced=True)
    assert damped.wait_ms(1, now_ms + 8 * 4000) == 1000


def test_a_broker_that_flaps_for_an_hour_is_fenced_by_dials_a_bounded_number_of_times() -> None:
    damped, fenced = damping(), 0
    for now_ms in range(MINUTE_MS, 61 * MINUTE_MS, 100):
        if damped.wait_ms(1, now_ms) == 0:
            damped.note(1, now_ms, is_fenced=True)
            fenced += 1
    assert fenced <= 60 * 2 + 10


def test_vain_dials_do_not_lift_the_wait_after_a_fencing() -> None:
    damped = damping()
    damped.note(1, MINUTE_MS, is_fenced=True)
    damped.note(1, MINUTE_MS, is_fenced=False)
    assert damped.wait_ms(1, MINUTE_MS) == 1000


# What the controller makes of it


def test_a_dead_broker_leaves_leaderships_and_isrs_in_the_batch_that_fences_it(
    world: World,
) -> None:
    world.start(1, 2, 3)
    world.create("t", partitions=3)
    led = {world.partition("t", number).leader_id for number in range(3)}
    assert led == {1, 2, 3}
    before = world.image.offset
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    assert world.image.offset == before + 2, "one batch"
    assert not world.image.is_alive(1)
    for number in range(3):
        partition = world.partition("t", number)
        assert partition.leader_id in (2, 3)
        assert 1 not in partition.isr


def test_an_incarnation_that_registered_since_the_dial_is_not_fenced(world: World) -> None:
    world.start(1, 2, 3)
    dialled_epoch = world.epoch(1)
    world.do(FenceDeadBroker(1, dialled_epoch, "found dead"))
    assert not world.register(1, incarnation=2).error.code
    assert not world.beat(1).is_fenced
    world.do(FenceDeadBroker(1, dialled_epoch, "found dead"))
    assert world.image.is_alive(1)


def test_a_dead_broker_that_is_fenced_or_unknown_changes_nothing(world: World) -> None:
    world.start(1, 2)
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    before = world.image
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    world.do(FenceDeadBroker(9, 1, "found dead"))
    assert world.image is before


def test_nobody_is_fenced_while_the_cluster_is_about_to_stop(world: World) -> None:
    world.start(1, 2)
    world.controller.hold(world.now_ms + 1000)
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    assert world.image.is_alive(1)
    world.now_ms += 1000
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    assert not world.image.is_alive(1)


def test_an_isr_is_not_left_to_brokers_that_are_only_presumed_alive(world: World) -> None:
    """After a power cut they may start anew, without what the dead one has."""
    world.start(1, 2, 3)
    world.create("t")
    leader_id = world.partition("t").leader_id
    assert leader_id is not None
    others = [one for one in (1, 2, 3) if one != leader_id]
    world.activate()
    dead = FenceDeadBroker(leader_id, world.epoch(leader_id), "found dead")
    refused = world.do(dead)
    assert isinstance(refused, Checked)
    assert refused.error.code == common_pb2.BROKER_NOT_AVAILABLE
    assert world.image.is_alive(leader_id)
    world.controller.hear(others[0], world.epoch(others[0]) + 1, world.image, world.now_ms)
    world.do(dead)
    assert world.image.is_alive(leader_id), "another incarnation was heard of"
    world.controller.hear(others[0], world.epoch(others[0]), world.image, world.now_ms)
    world.do(dead)
    assert not world.image.is_alive(leader_id)
    assert world.partition("t").isr == tuple(
        sorted(others, key=world.partition("t").replicas.index)
    )


def test_the_last_of_an_isr_is_fenced_and_stays_eligible(world: World) -> None:
    world.start(1)
    world.create("t", replication_factor=1)
    world.activate()
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    assert (world.partition("t").leader_id, world.partition("t").elr) == (None, (1,))


def test_a_successor_registers_as_soon_as_its_predecessor_is_found_dead(world: World) -> None:
    world.start(1)
    assert world.register(1, incarnation=2).error.code
    world.do(FenceDeadBroker(1, world.epoch(1), "found dead"))
    assert not world.register(1, incarnation=2).error.code
