"""Scenarios: files that are not what was written."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.sim_cluster.budget import Flip
from tidelog.chaos.sim_cluster.scene import Scene
from tidelog.log.batch import HEADER_BYTES
from tidelog.log.checkpoints import (
    CHECKPOINT_FILE,
    CLEAN_FILE,
    METADATA_FILE,
    decode_checkpoint,
    decode_topic_id,
)
from tidelog.log.file_names import INDEX, LOG, SNAPSHOT, TIME_INDEX

TORN_TRIES_MAX = 8
HEALED_S_MAX = 20.0
MADE_AGAIN = (INDEX, TIME_INDEX, SNAPSHOT)
"""What is made again out of the log."""
SEGMENTS_MIN = 4
FILE_BYTES_MAX = 1 << 20


def torn_starts(scene: Scene) -> int:
    """How often a start of the story's replicas cut off what the power had torn."""
    opened = scene.told("log opened", directory=scene.folder)
    return sum(int(line.fields["truncated_bytes"]) > 0 for line in opened)


async def f32(scene: Scene) -> None:
    """The power goes and tears the last write: the longest valid prefix stays, all else returns."""
    for _ in range(TORN_TRIES_MAX):
        await scene.last(0.5, 1.5)
        victim = scene.one_of(scene.now.replicas)
        scene.count("power_cut", f"node {victim}")
        scene.expect(scene.cut_power(victim), "the power went")
        scene.world.start(victim)
        await scene.comes(partial(scene.is_open, victim), "the log opened")
        await scene.comes(lambda: not list(scene.world.budget.outstanding()), "in sync again")
        if torn_starts(scene):
            break
    scene.expect(torn_starts(scene), "a torn write was cut off")
    scene.expect(not scene.told_here("log damaged"), "which is no damage")


async def f33(scene: Scene) -> None:
    """A bit flips in a committed batch, of a follower, of the leader: not served, and healed."""
    leader, (follower, _) = scene.cast()
    await scene.comes(lambda: scene.high_watermark(follower) > 0, "something is committed")
    for victim in (follower, leader):
        await scene.last(0.5, 1.5)
        flip_a_payload(scene, victim)
        await scene.comes(
            partial(scene.told_here, "log damaged", victim),
            f"node {victim} found its log damaged",
        )
        await scene.comes(
            partial(has_healed, scene, victim),
            f"node {victim} healed",
        )
        await scene.in_sync()
    scene.expect(not scene.told_here("log damaged", scene.others(leader, follower)[-1]), "no other")


def has_healed(scene: Scene, victim: int) -> bool:
    """Whether nothing that was flipped is still wrong."""
    return not scene.world.budget.has_damage(victim, scene.topic, 0)


def flip_a_payload(scene: Scene, victim: int) -> None:
    """In the first batch of its log."""
    path, byte = scene.files(victim, LOG)[0], HEADER_BYTES + 9
    scene.expect(scene.disk(victim).length(path) > byte, "a batch to damage")
    scene.expect(scene.world.budget.may_damage(victim, scene.topic, 0), "the budget has room")
    scene.count("bit_flip", f"node {victim} {path} byte {byte}")
    scene.disk(victim).flip(path, byte, scene.random.randrange(0, 8))
    flip = Flip(path, byte, scene.disk(victim).look(path, byte, 1))
    scene.world.budget.note_flip(victim, scene.topic, 0, flip)


async def f34(scene: Scene) -> None:
    """Each kind of file beside the log is lost, then damaged: it is made again from the log."""
    leader, (victim, _) = scene.cast()
    await scene.comes(lambda: len(scene.files(victim, SNAPSHOT)) > 1, "snapshots")
    beside, known = (*MADE_AGAIN, METADATA_FILE), (CHECKPOINT_FILE,)
    for kinds, is_lost in (
        (beside, True),
        ((*beside, CLEAN_FILE), False),
        (known, True),
        (known, False),
    ):
        await scene.last(0.5, 1.0)
        await _end(scene, victim, is_clean=kinds is not known)
        paths = [path for kind in kinds for path in scene.files(victim, kind)]
        scene.expect(all(scene.files(victim, kind) for kind in kinds), f"files of {kinds}: {paths}")
        for path in paths:
            _spoil(scene, victim, path, is_lost=is_lost)
        scene.world.start(victim)
        await scene.in_sync()
        await _is_made_again(scene, victim, paths)
    scene.expect(not scene.told_here("log damaged"), "the log itself was whole")
    await scene.stop(leader)
    await scene.acknowledged_again()


async def _is_made_again(scene: Scene, victim: int, spoilt: list[str]) -> None:
    """What only a start reads. Wrong indexes may stay: look-ups do not believe them (I26)."""
    disk = scene.disk(victim)

    def is_well(path: str) -> bool:
        content = disk.look(path, 0, FILE_BYTES_MAX)
        if path.endswith(METADATA_FILE):
            return decode_topic_id(content) is not None
        return decode_checkpoint(content) is not None

    judged = [path for path in spoilt if path.endswith((METADATA_FILE, CHECKPOINT_FILE))]
    await scene.comes(lambda: all(map(is_well, judged)), f"{judged} made again")


async def _end(scene: Scene, victim: int, *, is_clean: bool) -> None:
    if is_clean:
        await scene.stop(victim)
    else:
        scene.kill(victim)
        await scene.comes(lambda: victim not in scene.now.isr, "it left the ISR")


def _spoil(scene: Scene, victim: int, path: str, *, is_lost: bool) -> None:
    """Lose the file, or flip a bit of it."""
    disk = scene.disk(victim)
    scene.count("lost_file" if is_lost else "bit_flip", f"node {victim} {path}")
    if is_lost:
        disk.vanish(path)
    else:
        disk.flip(path, scene.random.randrange(0, disk.length(path)), scene.random.randrange(0, 8))


async def f35(scene: Scene) -> None:
    """A segment in the middle is missing at a start: it is told, and fetched, without a gap."""
    _, (victim, _) = scene.cast()
    await scene.comes(lambda: len(scene.files(victim, LOG)) >= SEGMENTS_MIN, "segments")
    scene.kill(victim)
    scene.expect(scene.world.budget.may_damage(victim, scene.topic, 0), "the budget has room")
    path = scene.one_of(scene.files(victim, LOG)[1:-2])
    scene.count("lost_file", f"node {victim} {path}")
    scene.disk(victim).vanish(path)
    scene.world.budget.note_damage(victim, scene.topic, 0)
    scene.world.start(victim)
    await scene.comes(lambda: bool(scene.told_here("log damaged", victim)), "damage was told")
    scene.workload.is_held = True  # Where fetches are small it may never catch up else.
    await scene.comes(
        lambda: scene.is_in_sync(victim) and victim not in scene.now.damaged, "it healed"
    )
    scene.workload.is_held = False
    await scene.in_sync()
