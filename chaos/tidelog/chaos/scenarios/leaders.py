"""Stories: leaders and followers that end, and how few replicas may be left."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import EVERY_CLIENT, SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import Counts, ScenarioRun
from tidelog.history.history import History
from tidelog.v1 import common_pb2

KILLS = 3
PAUSED_S = 10.0
COMMITTED_ALONE_MIN = 5


@scenario("F01", Needs(has_separate_controllers=False, clients=EVERY_CLIENT))
async def leader_killed(run: ScenarioRun) -> None:
    """The leader is killed under load, thrice: another leads soon, and writes go on."""
    for _ in range(KILLS):
        await run.last(0.3, 1.0)
        leader = run.leader
        await run.kill(leader)
        await run.another_leads(leader)
        await run.acknowledged_again()
        await run.start(leader)
        await run.in_sync()


@scenario("F02", Needs(has_separate_controllers=False))
async def leader_stopped(run: ScenarioRun) -> None:
    """The leader stops in order: it hands leadership over before it ends, and marks a clean end."""
    await run.last(0.5, 1.5)
    leader = run.leader
    await run.stop(leader)
    run.promise(not run.is_led_by(leader), "leadership moved first")
    run.promise(run.files(leader, ".clean"), "a clean shutdown")
    await run.acknowledged_again()
    await run.start(leader)
    await run.in_sync()


@scenario("F03", Needs(has_separate_controllers=False, clients=EVERY_CLIENT))
async def leader_paused(run: ScenarioRun) -> None:
    """The leader is paused for 10 s and goes on as a zombie: no answer or write of it counts."""
    await run.last(0.5, 1.5)
    leader = run.leader
    epoch = run.epoch(leader)
    await run.pause(leader)
    await run.last(PAUSED_S, PAUSED_S)
    run.expect(run.now.leader_epoch > epoch, "another epoch while it was paused")
    run.expect(run.epoch(leader) == epoch, "it believes to lead when it goes on")
    await run.resume(leader)
    await run.must_come(lambda: run.epoch(leader) > epoch, "it hears of the newer epoch")
    await run.in_sync()


@scenario("F07", Needs(has_separate_controllers=False))
async def follower_restarts(run: ScenarioRun) -> None:
    """A follower is killed and returns, again and again: each time the ISR shrinks, then grows."""
    _, (follower, _) = run.cast()
    for _ in run.rounds(reduced=4, full=50):
        await run.last(0.2, 0.6)
        await run.kill(follower)
        await run.must_come(
            partial(run.is_out, follower), "the ISR shrank", within_s=run.failover_s
        )
        await run.acknowledged_again()
        await run.start(follower)
        await run.in_sync()


@scenario("F11")
async def too_few_in_sync(run: ScenarioRun) -> None:
    """Two of three replicas are gone: writes are refused, nothing is committed, all returns."""
    await run.last(0.5, 1.5)
    leader, followers = run.cast()
    await run.kill(*followers)
    await run.comes(partial(run.isr_is, leader), "the leader is alone")
    high_watermark = run.high_watermark(leader)
    await run.must_come(
        lambda: run.count_answers(common_pb2.NOT_ENOUGH_REPLICAS, by=leader), "NOT_ENOUGH_REPLICAS"
    )
    run.promise(run.high_watermark(leader) == high_watermark, "nothing was committed")
    await run.start(*followers)
    await run.in_sync()
    await run.acknowledged_again()


@scenario("F19", Needs(is_lossy=True))
async def unclean_election(run: ScenarioRun) -> None:
    """An unclean election loses what only the old leader had, and the reported count is exact."""
    await run.last(0.5, 1.5)
    leader, followers = run.cast()
    await run.kill(*followers)
    await run.comes(partial(run.isr_is, leader), "the leader is alone")
    alone = run.high_watermark(leader) + COMMITTED_ALONE_MIN
    await run.comes(lambda: run.high_watermark(leader) > alone, "it alone commits")
    await run.hush()
    killed_s = run.now_s
    await run.kill(leader)
    await run.start(*followers)
    await run.another_leads(leader)
    await run.start(leader)
    await run.in_sync()
    # All that it had was acknowledged: producers were at rest, and it was alone in the ISR.
    truncated = run.count_truncated(leader)
    run.expect(truncated > 0, "records were truncated")
    run.facts["records truncated"] = str(truncated)
    await run.last(1.0, 1.0)
    run.load.is_held = False
    run.at_the_end(partial(_is_exact, truncated, killed_s))


def _is_exact(
    truncated: int, killed_s: float, history: History, counts: Counts
) -> tuple[bool, str]:
    """Compare count and losses; later losses are of acks=1, when the preferred leader returns."""
    final = {
        offset: value for poll in history.polls if poll.is_final for offset, value in poll.records
    }
    before = [
        one for one in history.sends if one.outcome == "ok" and (one.ended_s or 0) <= killed_s
    ]
    lost = sum(one.offset is not None and final.get(one.offset) != one.value for one in before)
    is_right = truncated == lost <= counts["lost_unclean"]
    is_reported = any(poll.is_rewound for poll in history.polls)
    return (
        is_right and is_reported,
        f"{truncated} reported, {lost} lost; reported to consumers: {is_reported}",
    )


@scenario("F20", Needs(runs_on=SIM_ONLY, is_flushed=False))
async def last_replica_standing(run: ScenarioRun) -> None:
    """The last replica standing loses power: an eligible one leads, nothing is lost (KIP-966)."""
    leader, (first, second) = run.cast()
    for node_id in (first, second):
        await run.last(0.2, 0.8)
        await run.kill(node_id)
        await run.comes(partial(run.is_out, node_id), "the ISR shrank")
    run.promise(run.now.elr == (second,), f"{second} is eligible: {run.now}")
    await run.cut_power(leader)
    await run.start(leader)
    await run.last(run.session_s, run.session_s + 1.0)
    run.promise(run.now.leader_id is None, f"nobody is elected yet: {run.now}")
    await run.start(first, second)
    await run.must_come(partial(run.is_led_by, second), "the eligible one was elected")
    await run.in_sync()
