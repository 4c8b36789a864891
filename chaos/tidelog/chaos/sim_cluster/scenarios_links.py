"""Scenarios: who still hears whom. Controllers are nodes of their own."""

from __future__ import annotations

from tidelog.broker.partition.leader import ACKS_ALL
from tidelog.chaos.sim_cluster.scene import ON_THE_WAY_S, Scene
from tidelog.v1 import common_pb2

FLAPS = 12


async def f04(scene: Scene) -> None:
    """The leader is cut from its followers, not from controllers and clients: it cannot commit."""
    await scene.last(0.5, 1.5)
    leader, followers = scene.cast()
    links = scene.links_between([leader], followers)
    scene.count("cut from followers", f"node {leader}")
    scene.cut_now(links)
    await scene.comes(lambda: scene.isr_is(leader), "the ISR shrank to the leader")
    high_watermark = scene.high_watermark(leader)
    await scene.comes(
        lambda: scene.answered(common_pb2.NOT_ENOUGH_REPLICAS, by=leader) > 0,
        "NOT_ENOUGH_REPLICAS",
    )
    scene.expect(scene.high_watermark(leader) == high_watermark, "the high watermark stands still")
    scene.mend(links)
    await scene.in_sync()
    await scene.acknowledged_again()


async def f05(scene: Scene) -> None:
    """The leader is cut from controllers only: fenced, it acknowledges nothing of the old epoch."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    links = scene.links_between([leader], scene.world.config.controller_ids)
    scene.count("cut from controllers", f"node {leader}")
    scene.cut_now(links)
    await scene.another_leads(leader)
    scene.expect(not scene.world.image.is_alive(leader), "it is fenced")
    await _acknowledges_nothing(scene, leader)
    await scene.acknowledged_again()
    scene.mend(links)
    await scene.in_sync()


async def f06(scene: Scene) -> None:
    """Clients and the old leader are on the minority's side: nothing is acknowledged there."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    others = scene.others(leader)
    links = scene.links_between([leader], others)
    hosts = [(host, scene.host(one)) for host in scene.world.client_hosts for one in others]
    links += hosts + [link[::-1] for link in hosts]
    scene.count("split", f"node {leader} and all clients")
    scene.cut_now(links)
    await scene.another_leads(leader)
    before = len(scene.world.history.sends)
    since_s = scene.now_s + ON_THE_WAY_S
    await _acknowledges_nothing(scene, leader)
    acknowledged = scene.world.history.sends[before:]
    is_none = all(
        s.outcome != "ok" or s.acks != ACKS_ALL or (s.ended_s or 0) < since_s for s in acknowledged
    )
    scene.expect(is_none, "nothing was acknowledged to anybody")
    scene.mend(links)
    await scene.in_sync()
    await scene.acknowledged_again()


async def _acknowledges_nothing(scene: Scene, leader: int) -> None:
    """For some time from now on, though it believes to lead."""
    since_s = scene.now_s + ON_THE_WAY_S
    high_watermark = scene.epoch(leader), scene.end(leader)
    await scene.last(2.0, 3.0)
    scene.expect(scene.epoch(leader) < scene.now.leader_epoch, "it knows of no newer epoch")
    scene.expect(scene.end(leader) >= high_watermark[1], "it goes on as a leader")
    answered = scene.answered(common_pb2.NONE, by=leader, since_s=since_s, acks=ACKS_ALL)
    scene.expect(not answered, f"node {leader} acknowledged {answered} times in the old epoch")


async def f08(scene: Scene) -> None:
    """A follower gets its answers late: it leaves the ISR alone, writes go on, and it returns."""
    await scene.last(0.5, 1.5)
    leader, (follower, _) = scene.cast()
    link = scene.host(leader), scene.host(follower)
    network = scene.world.cluster.network
    scene.count("slow follower", f"node {follower}")
    network.clog(*link)
    await scene.comes(lambda: follower not in scene.now.isr, "it left the ISR")
    scene.expect(scene.world.image.is_alive(follower), "it is not fenced")
    await scene.acknowledged_again()
    network.unclog(*link)
    await scene.in_sync()


async def f09(scene: Scene) -> None:
    """A link flaps: no new epoch, and the ISR changes no more often than the lag allows."""
    leader, (follower, _) = scene.cast()
    links = scene.links_between([leader], [follower])
    began_s, before = scene.now_s, scene.now
    for _ in range(FLAPS):
        scene.count("cut", f"{leader} and {follower}")
        await scene.cut(links, 0.1, 1.0)
        await scene.last(0.05, 0.5)
    await scene.in_sync()
    windows = 1 + (scene.now_s - began_s) / scene.lag_s
    changes = scene.now.partition_epoch - before.partition_epoch
    scene.expect(changes <= 2 * windows, f"{changes} changes of the ISR in {windows:.1f} windows")
    scene.expect(scene.now.leader_epoch == before.leader_epoch, "the leader's epoch stands")
    failed = scene.told("fetch failed", follower)
    scene.expect(failed, "fetches failed")


async def f10(scene: Scene) -> None:
    """A follower dies while its return to the ISR is decided: nothing is committed past it."""
    leader, (follower, _) = scene.cast()
    scene.kill(follower)
    await scene.comes(lambda: follower not in scene.now.isr, "it left the ISR")
    for node_id in scene.world.config.controller_ids:
        scene.disk(node_id).slow_down(0.05)
    scene.world.start(follower)
    await scene.comes(lambda: follower in scene.proposed_isr(leader), "its return is proposed")
    scene.count("kill", f"node {follower}")
    scene.kill(follower)
    scene.expect(follower in scene.proposed_isr(leader), "it died before it was decided")
    await scene.last(scene.session_s + 1.0, scene.failover_s)
    await scene.comes(lambda: follower not in scene.now.isr, "it is out of the ISR")
    await scene.acknowledged_again()
    scene.world.start(follower)
    await scene.in_sync()
