"""The log of the pipeline's runs, and what makes a run all or nothing.

    records/run=3/…        Parquet, in folders of the columns it is partitioned by
    quarantine/run=3/…     Parquet: records that could not be read, with the reason
    _runs/00000003.json    what run 3 covered; where there is one the run is committed
    records/_staged-3/…    where a run writes; Spark reads no folders that begin so

A run is written, then committed by its file in `_runs`, and only then renamed to what is read. A
job that dies before the commit leaves nothing that anyone reads, and the next run covers the same
offsets; one that dies after it is finished by the next. One job at a time.
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
    """What a run did; `spans` by topic and partition."""

    number: int
    began_at: str
    """ISO 8601, UTC."""
    topic_ids: Mapping[str, str]
    """In hexadecimal."""
    spans: Mapping[str, Mapping[int, Span]]
    read: int = 0
    """Records."""
    written: int = 0
    repeated: int = 0
    """Left out, since they were there twice."""
    quarantined: Mapping[str, int] = field(default_factory=dict)
    """By reason."""
    gaps: tuple[Gap, ...] = ()
    seconds: float = 0.0


def paths_below(folder: str) -> tuple[list[str], list[str]]:
    """Files, and folders with this one: Spark wrote them past the disk's port."""
    paths = [Path(folder), *Path(folder).rglob("*")]
    return (
        [str(path) for path in paths if not path.is_dir()],
        [str(path) for path in paths if path.is_dir()],
    )


class RunLog:
    """Of one output folder. Errors: `StorageError`; `PipelineError` for a file that is no run."""

    def __init__(self, disk: Disk, folder: str, *, below: Below = paths_below) -> None:
        self._disk = disk
        self._folder = folder
        self._below = below
        self._runs: list[Run] = []

    async def open(self) -> None:
        """Read all runs, finish what a run that was committed left, clear what another one left."""
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
        """All that are committed, the first one first."""
        return list(self._runs)

    @property
    def next_number(self) -> int:
        """Of the run to come."""
        return self._runs[-1].number + 1 if self._runs else 1

    @property
    def progress(self) -> dict[str, Progress]:
        """How far all runs together have come, by topic."""
        found: dict[str, Progress] = {}
        for run in self._runs:
            for topic, spans in run.spans.items():
                before = found[topic].next_offsets if topic in found else {}
                ends = {partition: span.end for partition, span in spans.items()}
                found[topic] = Progress(bytes.fromhex(run.topic_ids[topic]), {**before, **ends})
        return found

    def staging(self, table: str) -> str:
        """Where the run to come writes a table."""
        return self._staged(table, self.next_number)

    async def commit(self, run: Run) -> None:
        """What is staged is on stable storage; then the run is committed, then it can be read."""
        for table in TABLES:
            await self._sync(self._staged(table, run.number))
        await write_atomically(self._disk, self._path(run.number), _encode(run))
        self._runs.append(run)
        await self._publish(run.number)

    async def _publish(self, number: int) -> None:
        for table in TABLES:
            source, folder = self._staged(table, number), f"{self._folder}/{table}"
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

    def _staged(self, table: str, number: int) -> str:
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
