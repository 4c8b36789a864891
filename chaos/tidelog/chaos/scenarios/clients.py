"""Stories: clients whose picture of the cluster is an old one."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scene import Scene
from tidelog.history.history import ACKS_ALL
from tidelog.v1 import common_pb2

EPOCHS_MISSED = 3
REDIRECTED_S_MAX = 2.0
RECREATIONS = 2
NO_SUCH_TOPIC = (
    common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
    common_pb2.UNKNOWN_TOPIC_ID,
    common_pb2.INCONSISTENT_TOPIC_ID,
)


@scenario("F63")
async def stale_metadata(scene: Scene) -> None:
    """Producers wake with metadata three epochs old: they are refused, redirected, and go on."""
    await scene.last(0.5, 1.5)
    await scene.hush()
    first, epoch = scene.leader, scene.now.leader_epoch
    await _miss_epochs(scene, first)
    await scene.comes(lambda: scene.epoch(first) == scene.now.leader_epoch, "the first one follows")
    scene.expect(scene.now.leader_epoch >= epoch + EPOCHS_MISSED, "three epochs")
    scene.expect(not scene.is_leading(first), "another one leads")
    woken_s = scene.now_s
    scene.load.is_held = False
    await scene.comes(
        lambda: scene.answered(common_pb2.NOT_LEADER_OR_FOLLOWER, by=first, since_s=woken_s),
        "refused by who led three epochs ago",
    )
    await scene.must_come(
        lambda: scene.answered(common_pb2.NONE, since_s=woken_s, acks=ACKS_ALL),
        "redirected",
        within_s=REDIRECTED_S_MAX,
    )
    await scene.in_sync()


async def _miss_epochs(scene: Scene, first: int) -> None:
    """Stop leaders in turn; `first` returns last, and so does not lead."""
    gone = first
    for _ in range(EPOCHS_MISSED):
        await scene.stop(gone)
        leader = await scene.another_leads(gone)
        if gone != first:
            await scene.start(gone)
            await scene.comes(partial(scene.is_in_sync, gone), "in sync again")
        gone = leader
    await scene.start(first)


@scenario("F64", Needs(is_recreated=True, has_separate_controllers=False))
async def topic_recreated(scene: Scene) -> None:
    """A topic is deleted under its producers and created again: nothing old is in the new one."""
    for _ in range(RECREATIONS):
        await scene.last(1.0, 2.0)
        topic_id, ended_s = scene.image.topics[scene.topic].topic_id, scene.now_s
        scene.expect(max(map(scene.end, scene.now.replicas)) > 0, "it holds something")
        scene.strike("recreate", scene.topic)
        await scene.load.recreate(scene.topic)
        scene.expect(
            scene.answered(*NO_SUCH_TOPIC, since_s=ended_s),
            "producers of the old one were refused",
        )
        await scene.must_come(partial(_is_another_life, scene, topic_id), "another topic id")
        await scene.acknowledged_again()


def _is_another_life(scene: Scene, topic_id: bytes) -> bool:
    """True if the topic is there under another id."""
    found = scene.image.topics.get(scene.topic)
    return found is not None and found.topic_id != topic_id
