"""Stories: files that are not what was written."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
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
async def torn_write(run: ScenarioRun) -> None:
    """The power goes and tears the last write: the longest valid prefix stays, all else returns."""
    for _ in range(TORN_TRIES_MAX):
        await run.last(0.5, 1.5)
        victim = run.one_of(run.now.replicas)
        await run.cut_power(victim)
        await run.start(victim)
        await run.must_come(partial(run.is_open, victim), "the log opened")
        await run.must_come(run.machines.has_recovered, "in sync again")
        if _torn_starts(run):
            break
    run.expect(_torn_starts(run), "a torn write was cut off")
    run.promise(not run.logged_here("log damaged"), "which is no damage")


def _torn_starts(run: ScenarioRun) -> int:
    """Starts of the story's replicas that truncated a torn write."""
    opened = [
        line
        for line in run.find_log_lines("log opened")
        if str(line.fields["directory"]).endswith(f"/{run.topic}-0")
    ]
    return sum(int(line.fields["truncated_bytes"]) > 0 for line in opened)


@scenario("F33", Needs(is_damaging=True))
async def bit_flip_in_log(run: ScenarioRun) -> None:
    """A bit flips in a committed batch, of a follower, of the leader: not served, and healed."""
    leader, (follower, bystander) = run.cast()
    await run.comes(lambda: run.high_watermark(follower) > 0, "something is committed")
    for victim in (follower, leader):
        await run.last(0.5, 1.5)
        path, byte = run.files(victim, LOG)[0], HEADER_BYTES + 9
        run.expect(run.length(victim, path) > byte, "a batch to damage")
        whole = run.content(victim, path)[byte]
        await run.flip(victim, path, byte)
        await run.must_come(
            partial(run.logged_here, "log damaged", victim), "a replica found its log damaged"
        )
        await run.must_come(
            partial(_has_healed, run, victim, path, byte, whole), "a replica healed"
        )
        await run.in_sync()
    run.promise(not run.logged_here("log damaged", bystander), "no other")


def _has_healed(run: ScenarioRun, victim: int, path: str, byte: int, whole: int) -> bool:
    is_right = run.content(victim, path)[byte : byte + 1] == bytes([whole])
    return is_right and run.is_in_sync(victim) and victim not in run.now.damaged


@scenario("F34", Needs(segment_bytes=1500, is_damaging=True))
async def spoilt_files(run: ScenarioRun) -> None:
    """Each kind of file beside the log is lost, then damaged: it is rebuilt from the log."""
    leader, (victim, _) = run.cast()
    await run.comes(lambda: len(run.files(victim, SNAPSHOT)) > 1, "snapshots")
    beside, known = (*MADE_AGAIN, METADATA_FILE), (CHECKPOINT_FILE,)
    for kinds, is_lost in (
        (beside, True),
        ((*beside, CLEAN_FILE), False),
        (known, True),
        (known, False),
    ):
        await run.last(0.5, 1.0)
        await _end(run, victim, is_clean=kinds is not known)
        run.expect(all(run.files(victim, kind) for kind in kinds), f"files of {kinds}")
        paths = [path for kind in kinds for path in _some(run, run.files(victim, kind))]
        for path in paths:
            await _spoil(run, victim, path, is_lost=is_lost)
        await run.start(victim)
        await run.in_sync()
        await run.must_come(partial(_are_read_again, run, victim, paths), "files made again")
    run.promise(not run.logged_here("log damaged"), "the log itself was whole")
    await run.stop(leader)
    await run.acknowledged_again()
    await run.start(leader)


def _some(run: ScenarioRun, paths: list[str]) -> list[str]:
    return run.shuffled(paths)[:SPOILT_MAX]


async def _end(run: ScenarioRun, victim: int, *, is_clean: bool) -> None:
    if is_clean:
        await run.stop(victim)
    else:
        await run.kill(victim)
        await run.comes(partial(run.is_out, victim), "it left the ISR")


async def _spoil(run: ScenarioRun, victim: int, path: str, *, is_lost: bool) -> None:
    if is_lost:
        await run.vanish(victim, path)
    else:
        await run.flip(victim, path, run.random.randrange(0, run.length(victim, path)))


def _are_read_again(run: ScenarioRun, victim: int, spoilt: list[str]) -> bool:
    """Files that only a start reads. Wrong indexes may stay: look-ups do not believe them (I26)."""
    topic_ids = [path for path in spoilt if path.endswith(METADATA_FILE)]
    checkpoints = [path for path in spoilt if path.endswith(CHECKPOINT_FILE)]
    return all(decode_topic_id(run.content(victim, path)) for path in topic_ids) and all(
        decode_checkpoint(run.content(victim, path)) for path in checkpoints
    )


@scenario("F35", Needs(runs_on=SIM_ONLY, segment_bytes=800, is_damaging=True))
async def missing_segment(run: ScenarioRun) -> None:
    """A segment in the middle is missing at a start: it is reported, and fetched, without a gap."""
    _, (victim, _) = run.cast()
    await run.comes(lambda: len(run.files(victim, LOG)) >= SEGMENTS_MIN, "segments")
    await run.kill(victim)
    await run.vanish(victim, run.one_of(run.files(victim, LOG)[1:-2]))
    await run.start(victim)
    await run.must_come(partial(run.logged_here, "log damaged", victim), "damage was told")
    run.load.is_held = True  # Where fetches are small it may never catch up else.
    await run.must_come(
        lambda: run.is_in_sync(victim) and victim not in run.now.damaged, "it healed"
    )
    run.load.is_held = False
    await run.in_sync()
