"""Stories: who still hears whom. Controllers are nodes of their own."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.flap import Flap
from tidelog.chaos.faults.reach import both_ways
from tidelog.chaos.story.scenario import scenario
from tidelog.chaos.story.scene import ON_THE_WAY_S, Scene
from tidelog.history.history import ACKS_ALL
from tidelog.v1 import common_pb2


@scenario("F04")
async def leader_cut_from_followers(scene: Scene) -> None:
    """The leader is cut from its followers, not from controllers and clients: it cannot commit."""
    await scene.last(0.5, 1.5)
    leader, followers = scene.cast()
    paths = scene.between([leader], followers)
    await scene.cut(paths)
    await scene.comes(partial(scene.isr_is, leader), "the ISR shrank to the leader")
    high_watermark = scene.high_watermark(leader)
    await scene.must_come(
        lambda: scene.answered(common_pb2.NOT_ENOUGH_REPLICAS, by=leader), "NOT_ENOUGH_REPLICAS"
    )
    scene.promise(scene.high_watermark(leader) == high_watermark, "the high watermark stands still")
    await scene.mend(paths)
    await scene.in_sync()
    await scene.acknowledged_again()


@scenario("F05")
async def leader_cut_from_controllers(scene: Scene) -> None:
    """The leader is cut from controllers only: fenced, it acknowledges nothing of the old epoch."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    paths = scene.between([leader], scene.cluster.controller_ids)
    await scene.cut(paths)
    await scene.comes(partial(scene.is_fenced, leader), "it is fenced")
    await scene.another_leads(leader)
    await _acknowledges_nothing(scene, leader)
    await scene.acknowledged_again()
    await scene.mend(paths)
    await scene.in_sync()


@scenario("F06")
async def split_with_clients(scene: Scene) -> None:
    """Clients and the old leader are on the minority's side: nothing is acknowledged there."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    paths = scene.between([leader, *scene.clients], scene.others(leader))
    await scene.cut(paths)
    await scene.comes(partial(scene.is_fenced, leader), "it is fenced")
    await scene.another_leads(leader)
    since_s = scene.now_s + ON_THE_WAY_S
    await _acknowledges_nothing(scene, leader)
    sends = [one for one in scene.cluster.history.sends if (one.ended_s or 0.0) >= since_s]
    acknowledged = [one for one in sends if (one.outcome, one.acks) == ("ok", ACKS_ALL)]
    scene.promise(not acknowledged, "nothing was acknowledged to anybody")
    await scene.mend(paths)
    await scene.in_sync()
    await scene.acknowledged_again()


async def _acknowledges_nothing(scene: Scene, leader: int) -> None:
    """For some time from now on, though it believes to lead."""
    since_s, end = scene.now_s + ON_THE_WAY_S, scene.end(leader)
    await scene.last(2.0, 3.0)
    scene.expect(scene.epoch(leader) < scene.now.leader_epoch, "it knows of no newer epoch")
    scene.expect(scene.end(leader) >= end, "it goes on as a leader")
    answered = scene.answered(common_pb2.NONE, by=leader, since_s=since_s, acks=ACKS_ALL)
    scene.promise(not answered, f"node {leader} acknowledged {answered} times in the old epoch")


@scenario("F08")
async def slow_follower(scene: Scene) -> None:
    """A follower gets its answers late: it leaves the ISR alone, writes go on, and it returns."""
    await scene.last(0.5, 1.5)
    leader, (follower, _) = scene.cast()
    paths = [(leader, follower)]
    await scene.delay(paths)
    await scene.comes(partial(scene.is_out, follower), "it left the ISR")
    scene.promise(not scene.is_fenced(follower), "it is not fenced")
    await scene.acknowledged_again()
    await scene.hasten(paths)
    await scene.in_sync()


@scenario("F09")
async def flapping_link(scene: Scene) -> None:
    """A link flaps: no new epoch, and the ISR changes no more often than the lag allows."""
    leader, (follower, _) = scene.cast()
    began_s, before = scene.now_s, scene.now
    link = Cut(both_ways([leader], [follower]))
    times, seed = len(scene.rounds(reduced=12, full=100)), scene.random.randrange(0, 2**32)
    await Flap(link, times=times, down_s=0.8, up_s=0.2, seed=seed).inject(scene)
    await scene.in_sync()
    windows = 1 + (scene.now_s - began_s) / scene.lag_s
    changes = scene.now.partition_epoch - before.partition_epoch
    scene.expect(scene.logged("fetch failed", follower), "fetches failed")
    scene.promise(changes <= 2 * windows, f"{changes} changes of the ISR in {windows:.1f} windows")
    scene.promise(scene.now.leader_epoch == before.leader_epoch, "the leader's epoch stands")


@scenario("F10")
async def isr_expansion_race(scene: Scene) -> None:
    """A follower dies while its return to the ISR is decided: nothing is committed past it."""
    leader, (follower, _) = scene.cast()
    paths = scene.between([leader], [follower])
    before = scene.image.brokers[follower].broker_epoch
    await scene.kill(follower)
    await scene.comes(partial(scene.is_out, follower), "it left the ISR")
    await scene.cut(paths)
    await scene.start(follower)
    await scene.comes(partial(_lives_again, scene, follower, before), "it is registered again")
    await scene.last(ON_THE_WAY_S, ON_THE_WAY_S)
    undecided = scene.cluster.controller_ids
    await scene.pause(*undecided)
    await scene.mend(paths)
    await scene.comes(lambda: follower in scene.proposed_isr(leader), "its return is proposed")
    await scene.kill(follower)
    scene.expect(follower in scene.proposed_isr(leader), "it died before it was decided")
    await scene.last(ON_THE_WAY_S, ON_THE_WAY_S)
    high_watermark = scene.high_watermark(leader)
    await scene.last(ON_THE_WAY_S, ON_THE_WAY_S)
    scene.promise(scene.high_watermark(leader) == high_watermark, "nothing is committed past it")
    await scene.resume(*undecided)
    await scene.last(scene.session_s + 1.0, scene.failover_s)
    await scene.must_come(partial(scene.is_out, follower), "it is out of the ISR")
    await scene.acknowledged_again()
    await scene.start(follower)
    await scene.in_sync()


def _lives_again(scene: Scene, node_id: int, broker_epoch: int) -> bool:
    is_another = scene.image.brokers[node_id].broker_epoch > broker_epoch
    return is_another and scene.image.is_alive(node_id)
