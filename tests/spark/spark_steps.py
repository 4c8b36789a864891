"""Steps at which tests kill one of Spark's Python workers, or hold it: the source, with steps.

An order is a file that a test leaves and the first process to reach the step takes away: nothing is
timed, and nothing happens twice. A process that is to die kills itself with SIGKILL, since nobody
else could choose the moment; held ones wait until they are released.

    read-begin, read-middle, read-end       of a task: before its rows, after some, after all
    write-begin, write-middle, write-end    the same, after all of them are acknowledged
    commit-N, committed-N                   of batch N of a stream: before its marker, after it
    marked-N, sent-N, ended-N               written exactly once: the marker is in its transaction,
                                            the call to end all is on its way, it is answered

each after the topic's name and a dot.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql.datasource import InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.net.transport import Transport
from tidelog.spark import TidelogDataSource, sink
from tidelog.spark.batch_reader import BatchReader, RangePartition
from tidelog.spark.planner import parse_options
from tidelog.spark.sink import BatchWriter, StreamWriter
from tidelog.spark.sink_options import SinkOptions, parse_sink_options
from tidelog.spark.source import columns_of
from tidelog.spark.stream_options import StreamOptions
from tidelog.spark.stream_reader import StreamReader
from tidelog.spark.task_results import TaskResult
from tidelog.spark.transactional_writes import Driver

Rows = Iterator[pa.RecordBatch]
READ = ("read-begin", "read-middle", "read-end")
_POLL_S = 0.05
_SENT_S = 0.002
"""Time after which a call is on its way, and its answer perhaps back."""


class Steps(NamedTuple):
    """Orders in a folder, for tests and for the processes that carry them out."""

    folder: str

    def kill(self, *steps: str) -> None:
        """Whoever first reaches one of these dies there."""
        for step in steps:
            self._file(step, "killed").unlink(missing_ok=True)
            self._file(step, "kill").touch()

    def hold(self, *steps: str) -> None:
        """Whoever first reaches one of these waits there."""
        for step in steps:
            self._file(step, "hold").touch()

    def release(self, *steps: str) -> None:
        """Let them go on, and whoever comes there later."""
        for step in steps:
            self._file(step, "hold").unlink(missing_ok=True)
            self._file(step, "held").unlink(missing_ok=True)

    def were_killed(self, *steps: str) -> bool:
        """Whether somebody died at each of these."""
        return all(self._file(step, "killed").exists() for step in steps)

    def are_held(self, *steps: str) -> bool:
        """Whether somebody waits at each of these."""
        return all(self._file(step, "held").exists() for step in steps)

    def ancestors(self, step: str) -> list[int]:
        """Process ids of the one that is held at this step, of its parent, and so on."""
        found = [int(self._file(step, "held").read_text())]
        while found[-1] > 1:
            of_parent = Path(f"/proc/{found[-1]}/stat").read_text().rpartition(")")[2].split()[1]
            found.append(int(of_parent))
        return found

    def reached(self, step: str) -> None:
        """Carry out what was ordered for this step, if nobody did before."""
        if self._taken(step, "kill", "killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._taken(step, "hold", "taken"):
            taken = self._file(step, "taken")
            taken.write_text(str(os.getpid()))
            taken.rename(self._file(step, "held"))
            while self._file(step, "held").exists():
                time.sleep(_POLL_S)

    def passing(self, topic: str | None, name: str, rows: Rows) -> Rows:
        """The rows, with the steps before them and after some of them."""
        self.reached(f"{topic}.{name}-begin")
        for some in rows:
            yield some
            self.reached(f"{topic}.{name}-middle")

    def _taken(self, step: str, order: str, done: str) -> bool:
        try:
            self._file(step, order).rename(self._file(step, done))
        except FileNotFoundError:
            return False
        return True

    def _file(self, step: str, kind: str) -> Path:
        return Path(self.folder, f"{step}.{kind}")


def stepped_source(steps: Steps) -> type[TidelogDataSource]:
    """The source under test, to be registered in its place."""
    # Spark's workers get these classes as they are: they may not be able to import this file.
    register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # PySpark's
    return type("Stepped", (_Source,), {"steps": steps})


class _Source(TidelogDataSource):
    steps: Steps

    def reader(self, schema: StructType) -> _Batches:
        reader = _Batches(parse_options(self.options), columns=columns_of(schema))
        reader.steps = self.steps
        return reader

    def streamReader(self, schema: StructType) -> _Stream:  # noqa: N802
        reader = _Stream(StreamOptions.parse(self.options), columns=columns_of(schema))
        reader.steps = self.steps
        return reader

    def writer(self, schema: StructType, overwrite: bool) -> _Writer:
        options = parse_sink_options(self.options)
        writer = _Writer(options, schema=schema, overwrite=overwrite)
        writer.steps, writer.topic = self.steps, options.topic
        return writer

    def streamWriter(self, schema: StructType, overwrite: bool) -> _StreamWriter:  # noqa: N802
        options = parse_sink_options(self.options)
        writer = _StreamWriter(options, schema=schema)
        writer.steps, writer.topic = self.steps, options.topic
        return writer


class _Batches(BatchReader):
    steps: Steps

    def read(self, partition: InputPartition) -> Rows:
        return _read(self.steps, partition, super().read(partition))


class _Stream(StreamReader):
    steps: Steps

    def read(self, partition: InputPartition) -> Rows:
        return _read(self.steps, partition, super().read(partition))


class _Writer(BatchWriter):
    steps: Steps
    topic: str | None

    def write(self, iterator: Rows) -> TaskResult:
        result = super().write(self.steps.passing(self.topic, "write", iterator))
        self.steps.reached(f"{self.topic}.write-end")
        return result


class _StreamWriter(StreamWriter):
    steps: Steps
    topic: str | None

    def write(self, iterator: Rows) -> TaskResult:
        result = super().write(self.steps.passing(self.topic, "write", iterator))
        self.steps.reached(f"{self.topic}.write-end")
        return result

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        self.steps.reached(f"{self.topic}.commit-{batch_id}")
        sink.driver_of = partial(_stepped_driver, self.steps, f"{self.topic}.{{}}-{batch_id}")
        super().commit(messages, batch_id)
        self.steps.reached(f"{self.topic}.committed-{batch_id}")


def _stepped_driver(steps: Steps, step: str, options: SinkOptions, group: str) -> Driver:
    class Stepped(Driver):
        async def _end(self, transport: Transport, members: Sequence[TransactionMember]) -> None:
            if not members:
                return await super()._end(transport, members)
            steps.reached(step.format("marked"))
            ending = asyncio.create_task(super()._end(transport, members))
            await asyncio.sleep(_SENT_S)
            steps.reached(step.format("sent"))
            await ending
            steps.reached(step.format("ended"))
            return None

    return Stepped(options.bootstrap, group)


def _read(steps: Steps, partition: InputPartition, rows: Rows) -> Rows:
    if isinstance(partition, RangePartition):
        topic = partition.wanted.topic
        yield from steps.passing(topic, "read", rows)
        steps.reached(f"{topic}.read-end")
