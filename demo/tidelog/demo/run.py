"""The demo, step by step: load with a crash, Spark's summary, the comparison, the report.

Owns the order of the steps and the verdict; each step is in a module of its own.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import Progress

from tidelog.demo import cluster, load, report, spark_job
from tidelog.demo.flights import FlightRecords, as_records, is_equal, read_flights, summarise
from tidelog.demo.load import Acknowledgements


class _Loaded(NamedTuple):
    bootstrap: str
    acknowledgements: Acknowledgements


def run(output: Path) -> bool:
    """Run the demo; its last line on stdout is one JSON object. True: none lost, summary equal."""
    console = Console(stderr=True)
    flights = read_flights()
    topic = time.strftime("flights-%Y%m%d%H%M%S")
    bootstrap, acknowledgements = asyncio.run(_load(topic, as_records(flights), console))
    if acknowledgements.first_error is not None:
        console.print(f"not every record was acknowledged: {acknowledgements.first_error}")
    output.mkdir(parents=True, exist_ok=True)
    with console.status(f"Spark reads {topic}"):
        job = spark_job.run_job(bootstrap=bootstrap, topic=topic, output=output)
    summary = pd.read_parquet(output / "summary")
    lost = acknowledgements.rows.difference(pd.read_parquet(output / "rows")["row"])
    equal = is_equal(summary, summarise(flights))
    Console().print(report.table(summary))
    report.draw_chart(summary, output / "flights.png")
    console.print(
        f"Spark read {job.read:,} records in {job.seconds:.1f} s; its summary (Parquet) is in "
        f"{output}/summary, the chart is {output}/flights.png"
    )
    result = {
        "sent": len(flights),
        "acknowledged": len(acknowledgements.rows),
        "read": job.read,
        "duplicates": job.read - job.distinct,
        "lost": len(lost),
        "failover_seconds": acknowledgements.failover_seconds,
        "equal": equal,
    }
    print(json.dumps(result))  # noqa: T201  # the demo's result
    return equal and not lost


async def _load(topic: str, records: FlightRecords, console: Console) -> _Loaded:
    await cluster.start()
    bootstrap = await cluster.bootstrap()
    await load.create_topic(bootstrap, topic)
    console.print(f"sending {len(records.values):,} flights to {topic} at {bootstrap}")
    with Progress(console=console, disable=not console.is_terminal) as progress:
        return _Loaded(bootstrap, await load.load(bootstrap, topic, records, progress=progress))
