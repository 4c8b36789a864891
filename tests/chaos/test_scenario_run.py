"""The words of stories: what is reported as what, and what is told of faults."""

from __future__ import annotations

from functools import partial

import pytest
from tests.chaos.fake_cluster_port import FakeClusterPort
from tests.virtual_loop import run_virtual

from tidelog.chaos.story import scenario_run
from tidelog.chaos.story.cluster_port import Answer, LogLine, ReplicaView
from tidelog.chaos.story.scenario_run import (
    PROMISE,
    UNOBSERVED,
    ScenarioRun,
    StoryOver,
    UnsupportedFaultError,
)
from tidelog.history.history import History


@pytest.fixture
def cluster() -> FakeClusterPort:
    return FakeClusterPort()


@pytest.fixture
def run(cluster: FakeClusterPort, monkeypatch: pytest.MonkeyPatch) -> ScenarioRun:
    monkeypatch.setattr(scenario_run, "POLL_S", 0.0)
    return ScenarioRun(cluster.as_port())


def test_what_must_be_seen_and_is_not_proves_nothing(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    run.expect(is_seen=True, what="it is there")
    with pytest.raises(StoryOver):
        run.expect(is_seen=False, what="it bit")

    assert cluster.reports == [(UNOBSERVED, "it bit")]


def test_what_is_promised_and_does_not_hold_is_another_report(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    run.promise(is_kept=True, what="it is so")
    with pytest.raises(StoryOver):
        run.promise(is_kept=False, what="it holds")

    assert cluster.reports == [(PROMISE, "it holds")]


def test_waits_end_with_the_report_of_their_kind(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    async def run_story() -> None:
        with pytest.raises(StoryOver):
            await run.comes(lambda: False, "the fault", within_s=3.0)
        with pytest.raises(StoryOver):
            await run.must_come(lambda: False, "the claim", within_s=3.0)

    run_virtual(run_story())

    assert cluster.reports == [(UNOBSERVED, "the fault"), (PROMISE, "the claim")]


def test_what_was_seen_before_a_wait_does_not_end_it(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    before_s = cluster.now_s

    async def run_story() -> bool:
        return await run.until(lambda: cluster.now_s == before_s, within_s=3.0)

    assert not run_virtual(run_story())


@pytest.mark.parametrize(("patience", "is_seen"), [(1.0, False), (3.0, True)])
def test_a_patient_cluster_waits_longer(
    run: ScenarioRun, cluster: FakeClusterPort, patience: float, *, is_seen: bool
) -> None:
    cluster.patience = patience
    late_s = cluster.now_s + 8.0

    assert run_virtual(run.until(lambda: cluster.now_s >= late_s, within_s=4.0)) is is_seen


def test_the_longest_wait_since_a_fault_is_a_fact(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    def is_later(at_s: float) -> bool:
        return cluster.now_s >= at_s

    async def run_story() -> None:
        for waits_s in (5.0, 2.0):
            await run.kill(1)
            at_s = cluster.now_s + waits_s - 1.0
            await run.must_come(partial(is_later, at_s), "another leads")
            await run.start(1)

    run_virtual(run_story())

    assert run.facts == {"another leads": "5.00 s"}


def test_rounds_are_those_of_the_catalogue_when_asked_for(cluster: FakeClusterPort) -> None:
    reduced = ScenarioRun(cluster.as_port()).rounds(reduced=2, full=9)
    cluster.is_full = True

    assert (len(reduced), len(ScenarioRun(cluster.as_port()).rounds(reduced=2, full=9))) == (2, 9)


def test_a_start_tells_that_a_kill_is_over(run: ScenarioRun, cluster: FakeClusterPort) -> None:
    async def run_story() -> None:
        await run.kill(2)
        await run.kill(2)
        await run.start(2)

    run_virtual(run_story())

    assert [one for one in cluster.reported if one[1] == "kill"] == [
        ("begins", "kill", "node 2"),
        ("is over", "kill", "node 2"),
    ]


def test_cuts_are_told_by_who_does_not_hear_whom(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    async def run_story() -> None:
        both, one_way = run.between([1], [2, 3]), [(2, "clients")]
        await run.cut([*both, *one_way])
        await run.mend(both)

    run_virtual(run_story())

    assert cluster.reported[0] == ("begins", "cut", "1 ↮ 2, 3; 2 ↛ clients")
    assert cluster.cuts == [(2, "clients")]


def test_a_flip_that_changes_nothing_is_told(run: ScenarioRun, cluster: FakeClusterPort) -> None:
    cluster.contents["log"] = bytes(10)
    run_virtual(run.flip(1, "log", 3))
    cluster.is_flipping = False
    with pytest.raises(StoryOver):
        run_virtual(run.flip(1, "log", 3))

    assert cluster.contents["log"][3] != 0
    assert [kind for kind, _ in cluster.reports] == [UNOBSERVED]


def test_last_words_are_judged_with_the_history_and_do_not_end_anything(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    run.at_the_end(lambda history, counts: (len(history.sends) == counts["sends"], "sends"))
    run.conclude(History(), {"sends": 0})
    run.conclude(History(), {"sends": 1})

    assert cluster.reports == [(PROMISE, "sends")]


def test_answers_are_counted_by_code_node_time_and_acks(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    cluster.answers = [Answer(1.0, 4, 0, -1), Answer(2.0, 4, 0, 1), Answer(3.0, 5, 6, -1)]

    assert run.count_answers(0) == 2
    assert run.count_answers(0, 6, since_s=2.0) == 2
    assert run.count_answers(0, by=4, acks=-1) == 1
    assert run.count_answers(6, by=4) == 0


def test_truncated_records_are_summed_for_one_node_and_the_storys_partition(
    run: ScenarioRun, cluster: FakeClusterPort
) -> None:
    cluster.lines = [
        LogLine(4, 1.0, "truncated", {"partition": "steady-0", "records": 3}),
        LogLine(4, 2.0, "truncated", {"partition": "steady-0", "records": 4}),
        LogLine(4, 2.0, "truncated", {"partition": "other-0", "records": 8}),
        LogLine(5, 2.0, "truncated", {"partition": "steady-0", "records": 16}),
    ]

    assert run.count_truncated(4) == 7


def test_who_is_down_has_neither_role_nor_end(run: ScenarioRun, cluster: FakeClusterPort) -> None:
    cluster.replicas[4] = ReplicaView(True, 3, 10, 8)

    assert (run.end(4), run.epoch(4), run.is_leading(4)) == (10, 3, True)
    assert (run.end(5), run.epoch(5), run.is_leading(5)) == (-1, -1, False)


def test_no_state_of_an_unknown_partition_and_no_waiting_for_it(run: ScenarioRun) -> None:
    assert not run.is_led_by(1)
    assert not run.is_out(1)
    with pytest.raises(LookupError, match="steady-0"):
        _ = run.now


def test_power_is_cut_where_machines_are_simulated_only(run: ScenarioRun) -> None:
    with pytest.raises(UnsupportedFaultError):
        run_virtual(run.cut_power(1))
