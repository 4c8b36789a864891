"""Stories: files that are not what was written."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Scene
from tidelog.log.checkpoints import (
    CHECKPOINT_FILE,
    CLEAN_FILE,
    METADATA_FILE,
    decode_checkpoint,
    decode_topic_id,
)
from tidelog.log.file_names import INDEX, LOG, SNAPSHOT, TIME_INDEX
from tidelog.records.batch import HEADER_BYTES

TORN_TRIES_MAX = 8
MADE_AGAIN = (INDEX, TIME_INDEX, SNAPSHOT)
"""Files that are rebuilt from the log."""
SPOILT_MAX = 5
"""Files damaged per kind."""
SEGMENTS_MIN = 4


@scenario("F32", Needs(runs_on=SIM_ONLY, is_flushed=False))
async def torn_write(scene: Scene) -> None:
    """The power goes and tears the last write: the longest valid prefix stays, all else returns."""
    for _ in range(TORN_TRIES_MAX):
        await scene.last(0.5, 1.5)
        victim = scene.one_of(scene.now.replicas)
        await scene.cut_power(victim)
        await scene.start(victim)
        await scene.must_come(partial(scene.is_open, victim), "the log opened")
        await scene.must_come(scene.machines.has_recovered, "in sync again")
        if _torn_starts(scene):
            break
    scene.expect(_torn_starts(scene), "a torn write was cut off")
    scene.promise(not scene.logged_here("log damaged"), "which is no damage")


def _torn_starts(scene: Scene) -> int:
    """Starts of the story's replicas that truncated a torn write."""
    opened = [
        line
        for line in scene.logged("log opened")
        if str(line.fields["directory"]).endswith(f"/{scene.topic}-0")
    ]
    return sum(int(line.fields["truncated_bytes"]) > 0 for line in opened)


@scenario("F33", Needs(is_damaging=True))
async def bit_flip_in_log(scene: Scene) -> None:
    """A bit flips in a committed batch, of a follower, of the leader: not served, and healed."""
    leader, (follower, bystander) = scene.cast()
    await scene.comes(lambda: scene.high_watermark(follower) > 0, "something is committed")
    for victim in (follower, leader):
        await scene.last(0.5, 1.5)
        path, byte = scene.files(victim, LOG)[0], HEADER_BYTES + 9
        scene.expect(scene.length(victim, path) > byte, "a batch to damage")
        whole = scene.content(victim, path)[byte]
        await scene.flip(victim, path, byte)
        await scene.must_come(
            partial(scene.logged_here, "log damaged", victim), "a replica found its log damaged"
        )
        await scene.must_come(
            partial(_has_healed, scene, victim, path, byte, whole), "a replica healed"
        )
        await scene.in_sync()
    scene.promise(not scene.logged_here("log damaged", bystander), "no other")


def _has_healed(scene: Scene, victim: int, path: str, byte: int, whole: int) -> bool:
    is_right = scene.content(victim, path)[byte : byte + 1] == bytes([whole])
    return is_right and scene.is_in_sync(victim) and victim not in scene.now.damaged


@scenario("F34", Needs(segment_bytes=1500, is_damaging=True))
async def spoilt_files(scene: Scene) -> None:
    """Each kind of file beside the log is lost, then damaged: it is rebuilt from the log."""
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
        scene.expect(all(scene.files(victim, kind) for kind in kinds), f"files of {kinds}")
        paths = [path for kind in kinds for path in _some(scene, scene.files(victim, kind))]
        for path in paths:
            await _spoil(scene, victim, path, is_lost=is_lost)
        await scene.start(victim)
        await scene.in_sync()
        await scene.must_come(partial(_are_read_again, scene, victim, paths), "files made again")
    scene.promise(not scene.logged_here("log damaged"), "the log itself was whole")
    await scene.stop(leader)
    await scene.acknowledged_again()
    await scene.start(leader)


def _some(scene: Scene, paths: list[str]) -> list[str]:
    return scene.shuffled(paths)[:SPOILT_MAX]


async def _end(scene: Scene, victim: int, *, is_clean: bool) -> None:
    if is_clean:
        await scene.stop(victim)
    else:
        await scene.kill(victim)
        await scene.comes(partial(scene.is_out, victim), "it left the ISR")


async def _spoil(scene: Scene, victim: int, path: str, *, is_lost: bool) -> None:
    if is_lost:
        await scene.vanish(victim, path)
    else:
        await scene.flip(victim, path, scene.random.randrange(0, scene.length(victim, path)))


def _are_read_again(scene: Scene, victim: int, spoilt: list[str]) -> bool:
    """Files that only a start reads. Wrong indexes may stay: look-ups do not believe them (I26)."""
    topic_ids = [path for path in spoilt if path.endswith(METADATA_FILE)]
    checkpoints = [path for path in spoilt if path.endswith(CHECKPOINT_FILE)]
    return all(decode_topic_id(scene.content(victim, path)) for path in topic_ids) and all(
        decode_checkpoint(scene.content(victim, path)) for path in checkpoints
    )


@scenario("F35", Needs(runs_on=SIM_ONLY, segment_bytes=800, is_damaging=True))
async def missing_segment(scene: Scene) -> None:
    """A segment in the middle is missing at a start: it is reported, and fetched, without a gap."""
    _, (victim, _) = scene.cast()
    await scene.comes(lambda: len(scene.files(victim, LOG)) >= SEGMENTS_MIN, "segments")
    await scene.kill(victim)
    await scene.vanish(victim, scene.one_of(scene.files(victim, LOG)[1:-2]))
    await scene.start(victim)
    await scene.must_come(partial(scene.logged_here, "log damaged", victim), "damage was told")
    scene.load.is_held = True  # Where fetches are small it may never catch up else.
    await scene.must_come(
        lambda: scene.is_in_sync(victim) and victim not in scene.now.damaged, "it healed"
    )
    scene.load.is_held = False
    await scene.in_sync()
