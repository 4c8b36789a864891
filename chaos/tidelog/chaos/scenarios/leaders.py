"""Stories: leaders and followers that end, and how few replicas may be left."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Counts, Scene
from tidelog.history.history import History
from tidelog.v1 import common_pb2

KILLS = 3
PAUSED_S = 10.0
COMMITTED_ALONE_MIN = 5


@scenario("F01", Needs(has_separate_controllers=False))
async def leader_killed(scene: Scene) -> None:
    """The leader is killed under load, thrice: another leads soon, and writes go on."""
    for _ in range(KILLS):
        await scene.last(0.3, 1.0)
        leader = scene.leader
        await scene.kill(leader)
        await scene.another_leads(leader)
        await scene.acknowledged_again()
        await scene.start(leader)
        await scene.in_sync()


@scenario("F02", Needs(has_separate_controllers=False))
async def leader_stopped(scene: Scene) -> None:
    """The leader stops in order: it hands leadership over before it ends, and marks a clean end."""
    await scene.last(0.5, 1.5)
    leader = scene.leader
    await scene.stop(leader)
    scene.promise(not scene.is_led_by(leader), "leadership moved first")
    scene.promise(scene.files(leader, ".clean"), "a clean shutdown")
    await scene.acknowledged_again()
    await scene.start(leader)
    await scene.in_sync()


@scenario("F03", Needs(has_separate_controllers=False))
async def leader_paused(scene: Scene) -> None:
    """The leader is paused for 10 s and goes on as a zombie: no answer or write of it counts."""
    await scene.last(0.5, 1.5)
    leader = scene.leader
    epoch = scene.epoch(leader)
    await scene.pause(leader)
    await scene.last(PAUSED_S, PAUSED_S)
    scene.expect(scene.now.leader_epoch > epoch, "another epoch while it was paused")
    scene.expect(scene.epoch(leader) == epoch, "it believes to lead when it goes on")
    await scene.resume(leader)
    await scene.must_come(lambda: scene.epoch(leader) > epoch, "it hears of the newer epoch")
    await scene.in_sync()


@scenario("F07", Needs(has_separate_controllers=False))
async def follower_restarts(scene: Scene) -> None:
    """A follower is killed and returns, again and again: each time the ISR shrinks, then grows."""
    _, (follower, _) = scene.cast()
    for _ in scene.rounds(reduced=4, full=50):
        await scene.last(0.2, 0.6)
        await scene.kill(follower)
        await scene.must_come(
            partial(scene.is_out, follower), "the ISR shrank", within_s=scene.failover_s
        )
        await scene.acknowledged_again()
        await scene.start(follower)
        await scene.in_sync()


@scenario("F11")
async def too_few_in_sync(scene: Scene) -> None:
    """Two of three replicas are gone: writes are refused, nothing is committed, all returns."""
    await scene.last(0.5, 1.5)
    leader, followers = scene.cast()
    await scene.kill(*followers)
    await scene.comes(partial(scene.isr_is, leader), "the leader is alone")
    high_watermark = scene.high_watermark(leader)
    await scene.must_come(
        lambda: scene.answered(common_pb2.NOT_ENOUGH_REPLICAS, by=leader), "NOT_ENOUGH_REPLICAS"
    )
    scene.promise(scene.high_watermark(leader) == high_watermark, "nothing was committed")
    await scene.start(*followers)
    await scene.in_sync()
    await scene.acknowledged_again()


@scenario("F19", Needs(is_lossy=True))
async def unclean_election(scene: Scene) -> None:
    """An unclean election loses what only the old leader had, and the reported count is exact."""
    await scene.last(0.5, 1.5)
    leader, followers = scene.cast()
    await scene.kill(*followers)
    await scene.comes(partial(scene.isr_is, leader), "the leader is alone")
    alone = scene.high_watermark(leader) + COMMITTED_ALONE_MIN
    await scene.comes(lambda: scene.high_watermark(leader) > alone, "it alone commits")
    await scene.hush()
    killed_s = scene.now_s
    await scene.kill(leader)
    await scene.start(*followers)
    await scene.another_leads(leader)
    await scene.start(leader)
    await scene.in_sync()
    # All that it had was acknowledged: producers were at rest, and it was alone in the ISR.
    told = scene.truncated(leader)
    scene.expect(told > 0, "records were truncated")
    scene.facts["records truncated"] = str(told)
    await scene.last(1.0, 1.0)
    scene.load.is_held = False
    scene.at_the_end(partial(_is_exact, told, killed_s))


def _is_exact(told: int, killed_s: float, history: History, counts: Counts) -> tuple[bool, str]:
    """Compare count and losses; later losses are of acks=1, when the preferred leader returns."""
    final = {
        offset: value for poll in history.polls if poll.is_final for offset, value in poll.records
    }
    before = [
        one for one in history.sends if one.outcome == "ok" and (one.ended_s or 0) <= killed_s
    ]
    lost = sum(one.offset is not None and final.get(one.offset) != one.value for one in before)
    is_right = told == lost <= counts["lost_unclean"]
    is_told = any(poll.is_rewound for poll in history.polls)
    return is_right and is_told, f"{told} told, {lost} lost; consumers were told: {is_told}"


@scenario("F20", Needs(runs_on=SIM_ONLY, is_flushed=False))
async def last_replica_standing(scene: Scene) -> None:
    """The last replica standing loses power: an eligible one leads, nothing is lost (KIP-966)."""
    leader, (first, second) = scene.cast()
    for node_id in (first, second):
        await scene.last(0.2, 0.8)
        await scene.kill(node_id)
        await scene.comes(partial(scene.is_out, node_id), "the ISR shrank")
    scene.promise(scene.now.elr == (second,), f"{second} is eligible: {scene.now}")
    await scene.cut_power(leader)
    await scene.start(leader)
    await scene.last(scene.session_s, scene.session_s + 1.0)
    scene.promise(scene.now.leader_id is None, f"nobody is elected yet: {scene.now}")
    await scene.start(first, second)
    await scene.must_come(partial(scene.is_led_by, second), "the eligible one was elected")
    await scene.in_sync()
