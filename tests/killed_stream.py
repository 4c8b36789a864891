"""A driver for tests: counts words of text files as a stream into a topic, and may be killed.

    python tests/killed_stream.py BOOTSTRAP FOLDER [before|after BATCH]

Reads FOLDER/words, a file a batch, until all are read, and writes each word's count so far, as
"word:count", to topic `counts`. `before`: the JVM is killed with SIGKILL when all tasks of that
batch are done and its marker is not stored; `after`: when it is, and Spark does not know.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import functions as f
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from tidelog.spark import TidelogDataSource
from tidelog.spark.session import local_session
from tidelog.spark.sink import StreamWriter
from tidelog.spark.sink_options import parse_sink_options


class KilledSource(TidelogDataSource):
    """The source under test, with a writer that kills its JVM in the middle of a commit."""

    @classmethod
    def name(cls) -> str:
        return "killed"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        return KilledWriter(parse_sink_options(self.options), schema=schema)


class KilledWriter(StreamWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        if os.environ["KILLED_AT"] == f"before {batch_id}":
            kill_jvm()
        super().commit(messages, batch_id)
        if os.environ["KILLED_AT"] == f"after {batch_id}":
            kill_jvm()


def kill_jvm() -> None:
    """The nearest ancestor that is Java; this process, one of Spark's workers, ends with it.

    Leaves FOLDER/killed, which says that it came so far.
    """
    Path(os.environ["KILLED_NOTE"]).write_text(os.environ["KILLED_AT"])
    pid = os.getppid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(pid, signal.SIGKILL)
    signal.pause()


def main() -> None:
    bootstrap, folder, *killed_at = sys.argv[1:]
    os.environ["KILLED_AT"] = " ".join(killed_at) or "never"
    os.environ["KILLED_NOTE"] = f"{folder}/killed"
    spark = local_session("killed stream")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.dataSource.register(KilledSource)
    words = spark.readStream.option("maxFilesPerTrigger", 1).text(f"{folder}/words")
    counts = words.groupBy("value").count()
    query = (
        counts.select(f.concat_ws(":", "value", "count").alias("value"))
        .writeStream.format("killed")
        .outputMode("complete")
        .option("bootstrap.servers", bootstrap)
        .option("topic", "counts")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
