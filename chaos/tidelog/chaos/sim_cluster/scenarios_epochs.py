"""Scenarios: logs that part from each other, and become one again by leader epochs alone."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.sim_cluster.scene import Scene

ELECTIONS = 5


async def a_tail(scene: Scene) -> int:
    """The leader gets a tail nobody else has, and dies; who it was. Another leads."""
    leader, followers = scene.cast()
    links = scene.links_between([leader], followers)
    scene.count("cut from followers", f"node {leader}")
    scene.cut_now(links)
    most = max(scene.end(one) for one in followers)
    await scene.comes(
        lambda: scene.end(leader) > max(scene.end(one) for one in followers) >= most,
        "a tail",
        within_s=scene.lag_s,
    )
    scene.count("kill", f"node {leader}")
    scene.kill(leader)
    scene.mend(links)
    await scene.another_leads(leader)
    return leader


def was_cut(scene: Scene, node_id: int) -> bool:
    """Whether its log was, at an epoch's end."""
    return any(int(line.fields["records"]) > 0 for line in scene.told_here("truncated", node_id))


async def f12(scene: Scene) -> None:
    """A leader with a tail nobody has dies and returns: the tail goes, the prefix stays."""
    await scene.last(0.5, 1.5)
    leader = await a_tail(scene)
    await scene.acknowledged_again()
    scene.world.start(leader)
    await scene.comes(lambda: was_cut(scene, leader), "the tail was truncated")
    await scene.in_sync()


async def f13(scene: Scene) -> None:
    """A follower that had not heard of the high watermark restarts and leads: it kept it all.

    KIP-101, scenario 1.
    """
    leader, (first, second) = scene.cast()
    scene.kill(second)
    await scene.comes(lambda: second not in scene.now.isr, "two are in sync")
    await scene.comes(
        lambda: scene.end(first) > scene.high_watermark(first) >= 0, "it has more than it knows of"
    )
    end = scene.end(first)
    for node_id in (first, leader):
        scene.count("kill", f"node {node_id}")
        scene.kill(node_id)
    scene.world.start(first)
    await scene.comes(lambda: scene.is_led_by(first), "the restarted one leads")
    await scene.comes(lambda: bool(scene.told_here("leading", first)), "and knows it")
    began = int(scene.told_here("leading", first)[-1].fields["start_offset"])
    scene.expect(began >= end, f"it begins at {began}, it had {end}")
    for node_id in (leader, second):
        scene.world.start(node_id)
    await scene.in_sync()


async def f14(scene: Scene) -> None:
    """Two leaders die, one with a tail, one without power; a third leads: one lineage is left.

    KIP-101, scenario 2.
    """
    await scene.last(0.5, 1.0)
    first = await a_tail(scene)
    await scene.acknowledged_again()
    second = scene.leader(scene.topic)
    scene.count("power_cut", f"node {second}")
    scene.expect(scene.cut_power(second), "the second lost power")
    third = await scene.another_leads(second)
    for node_id in scene.shuffled([first, second]):
        scene.world.start(node_id)
        await scene.last(0.0, 0.5)
    await scene.comes(lambda: was_cut(scene, first), "the first one's tail was truncated")
    await scene.in_sync()
    scene.expect(len({first, second, third}) == 3, "three leaders")


async def f15(scene: Scene) -> None:
    """Unclean leaders follow each other, each alone with its log: no divergence stays (KIP-279)."""
    replicas = scene.now.replicas
    scene.workload.is_held = True
    for node_id in replicas:
        scene.kill(node_id)
    for node_id in (*replicas, replicas[0]):
        scene.count("unclean", f"node {node_id} alone")
        scene.world.start(node_id)
        await scene.comes(partial(scene.is_led_by, node_id), "it leads alone")
        scene.workload.is_held = False
        end = scene.end(node_id)
        await scene.comes(partial(scene.ends_after, node_id, end + 3), "it writes")
        scene.kill(node_id)
    for node_id in scene.shuffled(replicas):
        scene.world.start(node_id)
    await scene.in_sync()
    unclean = scene.told("leader elected that may lack committed records")
    scene.expect(len(unclean) >= len(replicas) - 1, f"{len(unclean)} unclean elections")
    scene.expect(any(was_cut(scene, one) for one in replicas), "a tail was truncated")


async def f16(scene: Scene) -> None:
    """A follower misses an epoch after which the same leader returns: it notices (KAFKA-7164)."""
    await scene.last(0.3, 1.0)
    leader, (deaf, other) = scene.cast()
    epoch = scene.epoch(deaf)
    links = scene.links_between([deaf], scene.others(deaf))
    scene.count("cut from metadata", f"node {deaf}")
    scene.cut_now(links)
    await scene.comes(lambda: deaf not in scene.now.isr, "it left the ISR")
    await scene.stop(leader)
    scene.expect(scene.is_led_by(other), "the other one leads meanwhile")
    scene.world.start(leader)
    await scene.comes(lambda: scene.isr_is(leader, other), "the old leader is in sync")
    await scene.stop(other)
    scene.expect(scene.is_led_by(leader), "the old leader leads again")
    scene.expect(scene.epoch(deaf) == epoch, "it heard of nothing")
    scene.mend(links)
    scene.world.start(other)
    await scene.comes(lambda: scene.epoch(deaf) >= epoch + 2, "it follows in the newest epoch")
    await scene.in_sync()


def _are_alike(scene: Scene) -> bool:
    return len({scene.end(one) for one in scene.now.replicas}) == 1


async def f17(scene: Scene) -> None:
    """Five elections without a write between them: followers are in sync at once (KAFKA-10706)."""
    await scene.last(0.3, 1.0)
    await scene.hush()
    await scene.comes(partial(_are_alike, scene), "all hold the same")
    epoch, end = scene.now.leader_epoch, scene.end(scene.leader(scene.topic))
    for _ in range(ELECTIONS):
        leader = scene.leader(scene.topic)
        scene.count("stop", f"node {leader}")
        await scene.stop(leader)
        await scene.another_leads(leader)
        scene.world.start(leader)
        await scene.comes(
            lambda: len(scene.now.isr) == len(scene.now.replicas),
            f"in sync again: {scene.now}",
            within_s=scene.failover_s,
        )
    scene.expect(scene.now.leader_epoch >= epoch + ELECTIONS, "an epoch an election")
    ends = {scene.end(one) for one in scene.now.replicas}
    scene.expect(ends == {end}, f"nobody wrote: {ends}, {end}")
    scene.workload.is_held = False
    await scene.acknowledged_again()


async def f18(scene: Scene) -> None:
    """A tail is cut though answers bring no records: nothing above it is ever taken as committed.

    KAFKA-14704, KAFKA-15510.
    """
    await scene.last(0.5, 1.0)
    leader = await a_tail(scene)
    await scene.hush()
    now_leader = scene.leader(scene.topic)
    others = [one for one in scene.now.replicas if one != leader]
    await scene.comes(lambda: len({scene.end(one) for one in others}) == 1, "both hold the same")
    end = scene.end(now_leader)
    scene.world.start(leader)
    await scene.comes(lambda: was_cut(scene, leader), "the tail was truncated")
    await scene.in_sync()
    scene.expect(scene.end(leader) == scene.end(now_leader) == end, "no record came")
    scene.expect(scene.high_watermark(leader) <= end, "its high watermark is not above")
    scene.workload.is_held = False
    await scene.acknowledged_again()
