"""The log of the pipeline's runs, which makes a run all or nothing.

    records/run=3/…        Parquet, in folders by the columns of --partition-by
    quarantine/run=3/…     Parquet: records that could not be parsed, with the reason
    _runs/00000003.json    the offsets of run 3; this file commits the run
    records/_staged-3/…    the output of a run before its commit; Spark ignores such folders

A run is written, then committed by its file in `_runs`, and only then renamed to its final folder.
A job that dies before the commit leaves nothing visible, and the next run covers the same offsets.
If it dies after the commit, the next run finishes it. One job runs at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tidelog.core.env import Disk, make_directory_durably, write_atomically
from tidelog.spark.pipeline.plan import Gap, PipelineError, Progress, Span

FORMAT = 1
Below = Callable[[str], tuple[list[str], list[str]]]
TABLES = ("records", "quarantine")
RUNS, STAGED = "_runs", "_staged-"


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a run; `spans` by topic and partition."""

    number: int
    began_at: str
    """ISO 8601, UTC."""
    topic_ids: Mapping[str, str]
    """Topic ids in hexadecimal."""
    spans: Mapping[str, Mapping[int, Span]]
    read: int = 0
    """The number of records read."""
    written: int = 0
    repeated: int = 0
    """The number of repeats dropped."""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """The number of bad records by reason."""
    gaps: tuple[Gap, ...] = ()
    seconds: float = 0.0


def paths_below(folder: str) -> tuple[list[str], list[str]]:
    """The files, and all folders with `folder` itself: Spark writes them without the disk port."""
    paths = [Path(folder), *Path(folder).rglob("*")]
    return (
        [str(path) for path in paths if not path.is_dir()],
        [str(path) for path in paths if path.is_dir()],
    )


class RunLog:
    """The runs of an output folder. Errors: `StorageError`; `PipelineError` for an invalid file."""

    def __init__(self, disk: Disk, folder: str, *, below: Below = paths_below) -> None:
        self._disk = disk
        self._folder = folder
        self._below = below
        self._runs: list[Run] = []

    async def open(self) -> None:
        """Read all runs, finish committed ones, and remove the output of uncommitted ones."""
        for name in (RUNS, *TABLES):
            await make_directory_durably(self._disk, f"{self._folder}/{name}")
        names = self._disk.list(f"{self._folder}/{RUNS}")
        numbers = [int(name[:-5]) for name in names if name.endswith(".json")]
        self._runs = [self._read(number) for number in sorted(numbers)]
        for number in numbers:
            await self._publish(number)
        for table in TABLES:
            for name in self._disk.list(f"{self._folder}/{table}"):
                if name.startswith(STAGED):
                    self._disk.remove_tree(f"{self._folder}/{table}/{name}")

    @property
    def runs(self) -> list[Run]:
        """The committed runs, in order."""
        return list(self._runs)

    @property
    def next_number(self) -> int:
        """The number of the next run."""
        return self._runs[-1].number + 1 if self._runs else 1

    @property
    def progress(self) -> dict[str, Progress]:
        """The progress of all runs, by topic."""
        found: dict[str, Progress] = {}
        for run in self._runs:
            for topic, spans in run.spans.items():
                before = found[topic].next_offsets if topic in found else {}
                ends = {partition: span.end for partition, span in spans.items()}
                found[topic] = Progress(bytes.fromhex(run.topic_ids[topic]), {**before, **ends})
        return found

    def staging(self, table: str) -> str:
        """The folder to which the next run writes a table."""
        return self._staging_path(table, self.next_number)

    async def commit(self, run: Run) -> None:
        """Sync the staged files, then commit the run, then make it visible to readers."""
        for table in TABLES:
            await self._sync(self._staging_path(table, run.number))
        await write_atomically(self._disk, self._path(run.number), _encode(run))
        self._runs.append(run)
        await self._publish(run.number)

    async def _publish(self, number: int) -> None:
        for table in TABLES:
            source, folder = self._staging_path(table, number), f"{self._folder}/{table}"
            if self._disk.exists(source):
                self._disk.rename(source, f"{folder}/run={number}")
                await self._disk.sync_directory(folder)

    async def _sync(self, staged: str) -> None:
        if not self._disk.exists(staged):
            return
        files, folders = self._below(staged)
        for path in files:
            file = self._disk.open(path)
            try:
                await file.sync()
            finally:
                file.close()
        for path in folders:
            await self._disk.sync_directory(path)
        await self._disk.sync_directory(staged.rsplit("/", 1)[0])

    def _staging_path(self, table: str, number: int) -> str:
        return f"{self._folder}/{table}/{STAGED}{number}"

    def _path(self, number: int) -> str:
        return f"{self._folder}/{RUNS}/{number:08}.json"

    def _read(self, number: int) -> Run:
        path = self._path(number)
        file = self._disk.open(path)
        try:
            return _decode(bytes(file.read_at(0, self._disk.size(path))))
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"{path} is no run of this pipeline: {error}") from None
        finally:
            file.close()


def _encode(run: Run) -> bytes:
    return (json.dumps({"format": FORMAT, **asdict(run)}, indent=1) + "\n").encode()


def _decode(data: bytes) -> Run:
    values = json.loads(data)
    if values.pop("format") != FORMAT:
        raise ValueError("another format")
    spans = {
        topic: {int(partition): Span(*span) for partition, span in partitions.items()}
        for topic, partitions in values.pop("spans").items()
    }
    gaps = tuple(Gap(*gap) for gap in values.pop("gaps"))
    return Run(spans=spans, gaps=gaps, **values)
