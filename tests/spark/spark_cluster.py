"""A standalone Spark cluster of real processes on loopback, and a Python without this package."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tidelog.net.quiet_ports import quiet_ports

START_TIMEOUT_S, POLL_S = 180, 0.1
LOOPBACK = "127.0.0.1"
HAS_NO_TIDELOG = "import importlib.util as u, sys; sys.exit(u.find_spec('tidelog') is not None)"


class Standalone(NamedTuple):
    """The URL of a master, and the process ids of its workers."""

    url: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The process ids of those that the workers have started."""
        threads = [one for pid in self.workers for one in Path(f"/proc/{pid}/task").iterdir()]
        return [int(pid) for one in threads for pid in (one / "children").read_text().split()]


def bare_environment() -> dict[str, str]:
    """For processes of Spark: nothing in it leads to the checkout."""
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return {**kept, "SPARK_LOCAL_IP": LOOPBACK}


def driver_environment(python: str, *, cores: int, **more: str) -> dict[str, str]:
    """For a driver whose workers run on `python`; it waits until all cores are there.

    `more`: other settings of Spark.
    """
    settings = {
        "spark.cores.max": f"{cores}",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{START_TIMEOUT_S}s",
        **more,
    }
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    named = {"PYSPARK_PYTHON": python, "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell"}
    return {**bare_environment(), **named}


def python_without_the_package(folder: Path) -> str:
    """An interpreter with the packages of this one, but not what its `.pth` files add: tidelog."""
    venv.create(folder, symlinks=True)
    inside = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(inside, "others.pth").write_text(sysconfig.get_path("purelib"))
    python = f"{folder}/bin/python"
    subprocess.run([python, "-c", HAS_NO_TIDELOG], env={}, check=True)
    return python


@contextmanager
def standalone(folder: Path, *, workers: int) -> Iterator[Standalone]:
    """A master whose workers, of one core each, have registered.

    Each worker has a loopback address of its own: speculation runs no task twice on one host.
    Executors work in `folder`/worker-N/APPLICATION/EXECUTOR.
    """
    (port,) = quiet_ports(1)
    url = f"spark://127.0.0.1:{port}"
    ports = ("--webui-port", "0")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        log = folder / "master.log"
        address = ("--host", LOOPBACK, "--port", str(port), *ports)
        stack.enter_context(_process(log, "master.Master", *address))
        pids = []
        for number in range(workers):
            work = folder / f"worker-{number}"
            host = f"127.0.0.{number + 1}"
            limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
            asked = ("--host", host, *ports, *limits, url)
            worker = _process(work.with_suffix(".log"), "worker.Worker", *asked, host=host)
            pids.append(stack.enter_context(worker))
        deadline = time.monotonic() + START_TIMEOUT_S
        while log.read_text().count("Registering worker") < workers:
            if time.monotonic() > deadline:
                raise TimeoutError(log.read_text())
            time.sleep(POLL_S)
        yield Standalone(url, tuple(pids))


def executors_with(file_name: str, folder: Path) -> int:
    """How many executors below `folder` were sent this file."""
    return len(list(folder.glob(f"worker-*/*/*/{file_name}")))


@contextmanager
def _process(log: Path, main: str, *arguments: str, host: str = LOOPBACK) -> Iterator[int]:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    home = Path(spark.origin).parent
    with log.open("w") as output:
        process = subprocess.Popen(
            [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{main}", *arguments],
            env={
                **bare_environment(),
                "SPARK_LOCAL_IP": host,
                "SPARK_HOME": str(home),
                "SPARK_DAEMON_MEMORY": "256m",
            },
            stdout=output,
            stderr=output,
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()
