"""The words of stories: what is reported as what, and what is told of faults."""

from __future__ import annotations

from functools import partial

import pytest
from tests.chaos.fake_cluster_port import FakeClusterPort
from tests.virtual_loop import run_virtual

from tidelog.chaos.story import scene as scenes
from tidelog.chaos.story.cluster_port import Answer, LogLine, ReplicaView
from tidelog.chaos.story.scene import (
    PROMISE,
    UNOBSERVED,
    Scene,
    StoryOver,
    UnsupportedFaultError,
)
from tidelog.history.history import History


@pytest.fixture
def cluster() -> FakeClusterPort:
    return FakeClusterPort()


@pytest.fixture
def scene(cluster: FakeClusterPort, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(scenes, "POLL_S", 0.0)
    return Scene(cluster.as_port())


def test_what_must_be_seen_and_is_not_proves_nothing(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    scene.expect(is_seen=True, what="it is there")
    with pytest.raises(StoryOver):
        scene.expect(is_seen=False, what="it bit")

    assert cluster.reports == [(UNOBSERVED, "it bit")]


def test_what_is_promised_and_does_not_hold_is_another_report(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    scene.promise(is_kept=True, what="it is so")
    with pytest.raises(StoryOver):
        scene.promise(is_kept=False, what="it holds")

    assert cluster.reports == [(PROMISE, "it holds")]


def test_waits_end_with_the_report_of_their_kind(scene: Scene, cluster: FakeClusterPort) -> None:
    async def tell() -> None:
        with pytest.raises(StoryOver):
            await scene.comes(lambda: False, "the fault", within_s=3.0)
        with pytest.raises(StoryOver):
            await scene.must_come(lambda: False, "the claim", within_s=3.0)

    run_virtual(tell())

    assert cluster.reports == [(UNOBSERVED, "the fault"), (PROMISE, "the claim")]


def test_what_was_seen_before_a_wait_does_not_end_it(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    before_s = cluster.now_s

    async def tell() -> bool:
        return await scene.until(lambda: cluster.now_s == before_s, within_s=3.0)

    assert not run_virtual(tell())


@pytest.mark.parametrize(("patience", "is_seen"), [(1.0, False), (3.0, True)])
def test_a_patient_cluster_waits_longer(
    scene: Scene, cluster: FakeClusterPort, patience: float, *, is_seen: bool
) -> None:
    cluster.patience = patience
    late_s = cluster.now_s + 8.0

    assert run_virtual(scene.until(lambda: cluster.now_s >= late_s, within_s=4.0)) is is_seen


def test_the_longest_wait_since_a_fault_is_a_fact(scene: Scene, cluster: FakeClusterPort) -> None:
    def is_later(at_s: float) -> bool:
        return cluster.now_s >= at_s

    async def tell() -> None:
        for waits_s in (5.0, 2.0):
            await scene.kill(1)
            at_s = cluster.now_s + waits_s - 1.0
            await scene.must_come(partial(is_later, at_s), "another leads")
            await scene.start(1)

    run_virtual(tell())

    assert scene.facts == {"another leads": "5.00 s"}


def test_rounds_are_those_of_the_catalogue_when_asked_for(cluster: FakeClusterPort) -> None:
    reduced = Scene(cluster.as_port()).rounds(reduced=2, full=9)
    cluster.is_full = True

    assert (len(reduced), len(Scene(cluster.as_port()).rounds(reduced=2, full=9))) == (2, 9)


def test_a_start_tells_that_a_kill_is_over(scene: Scene, cluster: FakeClusterPort) -> None:
    async def tell() -> None:
        await scene.kill(2)
        await scene.kill(2)
        await scene.start(2)

    run_virtual(tell())

    assert [one for one in cluster.told if one[1] == "kill"] == [
        ("begins", "kill", "node 2"),
        ("is over", "kill", "node 2"),
    ]


def test_cuts_are_told_by_who_does_not_hear_whom(scene: Scene, cluster: FakeClusterPort) -> None:
    async def tell() -> None:
        both, one_way = scene.between([1], [2, 3]), [(2, "clients")]
        await scene.cut([*both, *one_way])
        await scene.mend(both)

    run_virtual(tell())

    assert cluster.told[0] == ("begins", "cut", "1 ↮ 2, 3; 2 ↛ clients")
    assert cluster.cuts == [(2, "clients")]


def test_a_flip_that_changes_nothing_is_told(scene: Scene, cluster: FakeClusterPort) -> None:
    cluster.contents["log"] = bytes(10)
    run_virtual(scene.flip(1, "log", 3))
    cluster.is_flipping = False
    with pytest.raises(StoryOver):
        run_virtual(scene.flip(1, "log", 3))

    assert cluster.contents["log"][3] != 0
    assert [kind for kind, _ in cluster.reports] == [UNOBSERVED]


def test_last_words_are_judged_with_the_history_and_do_not_end_anything(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    scene.at_the_end(lambda history, counts: (len(history.sends) == counts["sends"], "sends"))
    scene.conclude(History(), {"sends": 0})
    scene.conclude(History(), {"sends": 1})

    assert cluster.reports == [(PROMISE, "sends")]


def test_answers_are_counted_by_code_node_time_and_acks(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    cluster.answers = [Answer(1.0, 4, 0, -1), Answer(2.0, 4, 0, 1), Answer(3.0, 5, 6, -1)]

    assert scene.answered(0) == 2
    assert scene.answered(0, 6, since_s=2.0) == 2
    assert scene.answered(0, by=4, acks=-1) == 1
    assert scene.answered(6, by=4) == 0


def test_truncated_records_are_summed_for_one_node_and_the_storys_partition(
    scene: Scene, cluster: FakeClusterPort
) -> None:
    cluster.lines = [
        LogLine(4, 1.0, "truncated", {"partition": "steady-0", "records": 3}),
        LogLine(4, 2.0, "truncated", {"partition": "steady-0", "records": 4}),
        LogLine(4, 2.0, "truncated", {"partition": "other-0", "records": 8}),
        LogLine(5, 2.0, "truncated", {"partition": "steady-0", "records": 16}),
    ]

    assert scene.truncated(4) == 7


def test_who_is_down_has_neither_role_nor_end(scene: Scene, cluster: FakeClusterPort) -> None:
    cluster.replicas[4] = ReplicaView(True, 3, 10, 8)

    assert (scene.end(4), scene.epoch(4), scene.is_leading(4)) == (10, 3, True)
    assert (scene.end(5), scene.epoch(5), scene.is_leading(5)) == (-1, -1, False)


def test_no_state_of_an_unknown_partition_and_no_waiting_for_it(scene: Scene) -> None:
    assert not scene.is_led_by(1)
    assert not scene.is_out(1)
    with pytest.raises(LookupError, match="steady-0"):
        _ = scene.now


def test_power_is_cut_where_machines_are_simulated_only(scene: Scene) -> None:
    with pytest.raises(UnsupportedFaultError):
        run_virtual(scene.cut_power(1))
