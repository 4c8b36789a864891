"""A process that puts one load on a cluster: `python -m tidelog.benchmarks.worker JSON`.

Loads run in processes of their own, as the peer's do: no load inherits the memory of another, and a
load that fails or hangs affects its own rows only. stdout is one JSON object of figures.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.load_consume import consume
from tidelog.benchmarks.load_latency import latency
from tidelog.benchmarks.load_opaque import opaque
from tidelog.benchmarks.load_produce import produce, single
from tidelog.benchmarks.loaded_cluster import Figures, LoadedCluster
from tidelog.core.errors import TidelogError

LOADS: dict[str, Callable[..., Awaitable[Figures]]] = {
    "produce": produce,
    "single": single,
    "opaque": opaque,
    "consume": consume,
    "latency": latency,
}


def main() -> None:
    """Run the load that the argument names."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    cluster = LoadedCluster(job.pop("bootstrap"), job.pop("pids"))
    try:
        figures = asyncio.run(_run(job.pop("load"), cluster, job))
    except (TidelogError, RunFailedError, ExceptionGroup) as error:
        sys.exit(_first(error))
    sys.stdout.write(json.dumps(figures) + "\n")


async def _run(load: str, cluster: LoadedCluster, arguments: dict[str, Any]) -> Figures:
    return await LOADS[load](cluster, **arguments)


def _first(error: BaseException) -> str:
    """The first error of a group, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
