"""A driver for tests: a stream that copies a topic on a cluster's executors, exactly once.

    python -m tests.spark.executor_stream BOOTSTRAP FOLDER ROWS MASTER

It copies topic `rows` into topic `copied` and ends; FOLDER/copied has its checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.exactly_once_streams import copying
from tests.spark.spark_steps import Steps, stepped_source

from tidelog.spark.session import session


def main() -> None:
    bootstrap, folder, rows, master = sys.argv[1:]
    spark = session("executors", master=master)
    spark.dataSource.register(stepped_source(Steps(folder)))
    writer = copying(spark, bootstrap, Path(folder), "copied", rows=int(rows))
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
