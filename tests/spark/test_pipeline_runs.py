"""The log of runs: a run is all or nothing, whenever the job or the power goes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.core.env import Disk
from tidelog.core.system import SystemDisk
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import PowerCutError
from tidelog.spark.pipeline.plan import Gap, PipelineError, Progress, Span
from tidelog.spark.pipeline.runs import Run, RunLog

OUT = "/out"
STEPS_MAX = 200
FIRST = Run(
    number=1,
    began_at="2026-11-22T12:00:00+00:00",
    topic_ids={"t": "0a" * 16},
    spans={"t": {0: Span(0, 5), 1: Span(2, 4)}},
    read=7,
    written=5,
    repeated=1,
    quarantined={"the value is not JSON": 1},
    gaps=(Gap("t", 1, 0, 2),),
    seconds=1.5,
)
SECOND = replace(FIRST, number=2, spans={"t": {0: Span(5, 6), 2: Span(0, 3)}})


def put(disk: Disk, path: str, data: bytes) -> None:
    """As Spark writes: no sync."""
    disk.make_directory(path.rsplit("/", 1)[0])
    file = disk.open(path, create=True)
    file.write_at(0, data)
    file.close()


def content(disk: Disk, path: str) -> bytes:
    file = disk.open(path)
    try:
        return bytes(file.read_at(0, disk.size(path)))
    finally:
        file.close()


def below(folder: str) -> tuple[list[str], list[str]]:
    """The one file that `run` puts there, and its folders."""
    return [f"{folder}/part"], [folder]


async def opened(disk: Disk) -> RunLog:
    log = RunLog(disk, OUT, below=below)
    await log.open()
    return log


async def stage(disk: Disk, log: RunLog) -> None:
    put(disk, f"{log.staging('records')}/part", b"run %d" % log.next_number)


async def test_runs_add_up_to_how_far_each_partition_was_read() -> None:
    disk = SimDisk(random.Random(1), 0.0)
    log = await opened(disk)
    for run in (FIRST, SECOND):
        await stage(disk, log)
        await log.commit(run)

    again = await opened(disk)
    assert again.runs == log.runs == [FIRST, SECOND]
    assert again.next_number == 3
    assert again.progress == {"t": Progress(bytes.fromhex("0a" * 16), {0: 6, 1: 4, 2: 3})}
    assert disk.list(f"{OUT}/records") == ["run=1", "run=2"]


async def test_what_was_staged_and_not_committed_is_never_read() -> None:
    disk = SimDisk(random.Random(1), 0.0)
    await stage(disk, await opened(disk))

    log = await opened(disk)
    assert log.runs == []
    assert log.next_number == 1
    assert disk.list(f"{OUT}/records") == []
    assert not disk.exists(log.staging("records"))


async def test_a_run_is_there_whole_or_not_at_all_whenever_power_goes() -> None:
    """Committed and readable in full, or as before, so that the next run covers the same."""
    outcomes = set()
    for step in range(1, STEPS_MAX):
        disk = SimDisk(random.Random(step), 0.0)
        log = await opened(disk)
        await stage(disk, log)
        await log.commit(FIRST)
        await stage(disk, log)
        disk.crash_at(step)
        has_ended = True
        try:
            await log.commit(SECOND)
        except PowerCutError:
            has_ended = False
        disk.crash()
        runs = (await opened(disk)).runs
        assert runs in ([FIRST], [FIRST, SECOND])
        assert len(runs) == 2 or not has_ended, "it was told to be committed"
        readable = [f"{OUT}/records/run={run.number}/part" for run in runs]
        assert [content(disk, path) for path in readable] == [b"run 1", b"run 2"][: len(runs)]
        assert disk.list(f"{OUT}/records") == [f"run={run.number}" for run in runs]
        outcomes.add(len(runs))
        if has_ended:
            break
    assert has_ended
    assert outcomes == {1, 2}


async def test_a_file_that_is_no_run_is_refused_by_name() -> None:
    disk = SimDisk(random.Random(1), 0.0)
    await opened(disk)
    put(disk, f"{OUT}/_runs/00000001.json", b'{"format": 1}')

    with pytest.raises(PipelineError, match=r"/out/_runs/00000001\.json is no run"):
        await opened(disk)


async def test_what_spark_wrote_is_found_and_synced(tmp_path: Path) -> None:
    disk = SystemDisk()
    log = RunLog(disk, str(tmp_path))
    await log.open()
    put(disk, f"{log.staging('records')}/day=1/part-0", b"x")
    await log.commit(FIRST)
    disk.close()

    assert (tmp_path / "records/run=1/day=1/part-0").read_bytes() == b"x"
    assert not (tmp_path / "records/_staged-1").exists()
