"""Stories: disks that refuse, and everything going down at once."""

from __future__ import annotations

from functools import partial
from typing import Literal

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Scene
from tidelog.log.file_names import LOG

ROOM_BYTES_MAX = 600
FAILING: tuple[Literal["write", "sync"], ...] = ("write", "sync")


@scenario("F36", Needs(disk_bytes=16 << 20, is_damaging=True))
async def disk_full(scene: Scene) -> None:
    """The leader's disk is full: leadership moves; with space again it works again."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    await scene.fill(leader, room_bytes=scene.random.randrange(0, ROOM_BYTES_MAX))
    await scene.comes(partial(scene.logged_here, "partition offline", leader), "it went offline")
    await scene.another_leads(leader)
    scene.promise(leader in scene.now.offline, f"controllers know: {scene.now}")
    await scene.acknowledged_again()
    await scene.last(0.5, 2.0)
    await scene.make_room(leader)
    if scene.happens(0.5):
        await scene.kill(leader)
        await scene.last(0.0, 0.5)
        await scene.start(leader)
    await scene.in_sync()


@scenario("F37", Needs(runs_on=SIM_ONLY, is_flushed=True))
async def disk_error(scene: Scene) -> None:
    """The leader's disk fails a write or a sync: its log is out of use for good, another leads."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    action, path = scene.one_of(FAILING), scene.files(leader, LOG)[-1]
    scene.strike("disk_error", f"node {leader}: {action} {path}", leader)
    await scene.machines.fail_next(leader, action, path)
    await scene.comes(partial(scene.logged_here, "partition offline", leader), "it went offline")
    offline = scene.logged_here("partition offline", leader)
    scene.expect("Input/output" in str(offline[0].fields), "EIO took it offline")
    await scene.another_leads(leader)
    await scene.acknowledged_again()
    await scene.last(1.0, 2.0)
    replica = scene.cluster.replica(leader)
    scene.promise(replica is not None and replica.is_failed, "it is not tried again")
    await scene.machines.mend_disk(leader)
    await scene.kill(leader)
    await scene.start(leader)
    await scene.in_sync()


@scenario("F39", Needs(runs_on=SIM_ONLY, is_flushed=True))
async def power_outage(scene: Scene) -> None:
    """Every machine loses power at once: with flush.messages=1 no acknowledged record is lost."""
    await scene.last(1.0, 2.0)
    brokers, controllers = scene.cluster.broker_ids, scene.cluster.controller_ids
    # At one moment; while no controller runs the budget cannot tell who may.
    nodes = [*scene.shuffled(brokers), *scene.shuffled(controllers)]
    for node_id in nodes:
        await scene.cut_power(node_id)
    before = len(scene.cluster.lines)
    for node_id in scene.shuffled(nodes):
        await scene.last(0.0, 0.5)
        await scene.start(node_id)
    await scene.must_come(lambda: scene.image.offset > 0, "the metadata is there")
    await scene.comes(
        lambda: _lossy_starts(scene, before) >= set(brokers), "starts that tell of it"
    )
    await scene.in_sync()
    await scene.acknowledged_again()


def _lossy_starts(scene: Scene, before: int) -> set[int]:
    """Nodes that started since then, and reported that their machine lost power."""
    starts = [line for line in scene.cluster.lines[before:] if line.event == "broker starts"]
    return {line.node_id for line in starts if line.fields["start_loss"] != "NOTHING"}


@scenario("F61", Needs(has_separate_controllers=False))
async def total_outage(scene: Scene) -> None:
    """The nodes are killed at once and return in any order: nothing is lost, all is ready again."""
    for _ in scene.rounds(reduced=2, full=100):
        await scene.last(0.5, 1.5)
        offset = scene.image.offset
        nodes = scene.shuffled(scene.cluster.node_ids)
        await scene.kill(*nodes)
        scene.expect(not any(map(scene.is_up, nodes)), "all are down")
        for node_id in nodes:
            await scene.last(0.0, 1.0)
            await scene.start(node_id)
        await scene.must_come(partial(_has_grown, scene, offset), "the metadata grows")
        await scene.in_sync()
        await scene.acknowledged_again()


def _has_grown(scene: Scene, offset: int) -> bool:
    return scene.image.offset > offset
