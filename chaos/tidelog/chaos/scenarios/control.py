"""The story in which nothing happens: what is noticed here is wrong without any fault."""

from __future__ import annotations

from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Scene


@scenario("control", Needs(runs_on=SOCKETS_ONLY))
async def no_fault(scene: Scene) -> None:
    """Nothing strikes: everything is acknowledged, read, and the same everywhere."""
    before = scene.now
    await scene.last(scene.cluster.load_s, scene.cluster.load_s)
    scene.promise(scene.now == before, "leader, ISR and epochs stay as they are")
    await scene.acknowledged_again()
