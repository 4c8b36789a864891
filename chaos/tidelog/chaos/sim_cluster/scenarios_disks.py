"""Scenarios: disks that refuse, and everything going down at once."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.sim_cluster.scene import Scene
from tidelog.log.file_names import LOG

ROOM_BYTES_MAX = 600
OUTAGES = 2


async def f36(scene: Scene) -> None:
    """The leader's disk is full: leadership moves; with space again it works again."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    disk = scene.disk(leader)
    room_bytes = scene.random.randrange(0, ROOM_BYTES_MAX)
    scene.count("disk_full", f"node {leader}, {room_bytes} bytes left")
    disk.capacity_bytes = disk.used_bytes() + room_bytes
    await scene.another_leads(leader)
    scene.expect(scene.told_here("partition offline", leader), "its partition went offline")
    scene.expect(leader in scene.now.offline, f"which controllers know: {scene.now}")
    await scene.acknowledged_again()
    await scene.last(0.5, 2.0)
    disk.capacity_bytes = None
    if scene.happens(0.5):
        scene.kill(leader)
        await scene.last(0.0, 0.5)
        scene.world.start(leader)
    await scene.in_sync()


async def f37(scene: Scene) -> None:
    """The leader's disk fails a write or a sync: its log is out of use for good, another leads."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    action, path = scene.one_of(("write", "sync")), scene.files(leader, LOG)[-1]
    scene.count("disk_error", f"node {leader}: {action} {path}")
    scene.world.budget.note_failed_sync(leader, scene.topic, 0)
    scene.disk(leader).faults.fail(action, path, count=1)
    await scene.another_leads(leader)
    offline = scene.told_here("partition offline", leader)
    scene.expect(offline and "Input/output" in str(offline[0].fields), "EIO took it offline")
    await scene.acknowledged_again()
    await scene.last(1.0, 2.0)
    replica = scene.replica(leader)
    scene.expect(replica is not None and replica.is_failed, "it is not tried again")
    scene.disk(leader).faults.heal()
    scene.kill(leader)
    scene.world.start(leader)
    await scene.in_sync()


async def f39(scene: Scene) -> None:
    """All machines lose power at once: with flush.messages=1 nothing acknowledged is lost."""
    await scene.last(1.0, 2.0)
    config = scene.world.config
    # At one moment; while no controller runs the budget cannot tell who may.
    nodes = [*scene.shuffled(config.broker_ids), *scene.shuffled(config.controller_ids)]
    for node_id in nodes:
        scene.count("power_cut", f"node {node_id}")
        scene.expect(scene.cut_power(node_id), f"node {node_id} lost power")
    before = len(scene.lines)
    for node_id in scene.shuffled(nodes):
        await scene.last(0.0, 0.5)
        scene.world.start(node_id)
    await scene.comes(lambda: scene.world.image.offset > 0, "the metadata is there")
    await scene.comes(
        lambda: _lossy_starts(scene, before) >= set(config.broker_ids), "starts that tell of it"
    )
    await scene.in_sync()
    await scene.acknowledged_again()


def _has_grown(scene: Scene, offset: int) -> bool:
    return scene.world.image.offset > offset


def _lossy_starts(scene: Scene, before: int) -> set[int]:
    """Who started since then, and said that its machine lost power."""
    starts = [line for line in scene.lines[before:] if line.event == "broker starts"]
    return {line.node_id for line in starts if line.fields["start_loss"] != "NOTHING"}


async def f61(scene: Scene) -> None:
    """All nodes are killed at once and return in any order: nothing is lost, all is ready again."""
    for _ in range(OUTAGES):
        await scene.last(0.5, 1.5)
        offset = scene.world.image.offset
        nodes = scene.shuffled(scene.world.config.node_ids)
        for node_id in nodes:
            scene.count("kill", f"node {node_id}")
            scene.kill(node_id)
        scene.expect(not any(map(scene.world.is_up, nodes)), "all are down")
        for node_id in nodes:
            await scene.last(0.0, 1.0)
            scene.world.start(node_id)
        await scene.comes(partial(_has_grown, scene, offset), "the metadata grows")
        await scene.in_sync()
        await scene.acknowledged_again()
