"""A standalone Spark cluster of real processes on loopback, and a Python without this package.

    python tests/spark_cluster.py --folder /tmp/spark -- \
        python -m pytest -k executors_of_a_cluster tests/spark/test_pipeline_job.py

runs a command beside a master and two workers, which TIDELOG_SPARK_MASTER names to it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from tidelog.chaos.socket_stage.ports import quiet_ports

MASTER_VARIABLE = "TIDELOG_SPARK_MASTER"
START_TIMEOUT_S, POLL_S = 180, 0.1
HAS_NO_TIDELOG = "import sys; from importlib.util import find_spec; sys.exit(bool(find_spec('{}')))"


def bare_environment() -> dict[str, str]:
    """For processes of Spark: nothing in it leads to the checkout."""
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    return {**kept, "SPARK_LOCAL_IP": "127.0.0.1"}


def python_without_the_package(folder: Path) -> str:
    """An interpreter with the packages of this one, but not what its `.pth` files add: tidelog."""
    venv.create(folder, symlinks=True)
    inside = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(inside, "others.pth").write_text(sysconfig.get_path("purelib"))
    python = f"{folder}/bin/python"
    subprocess.run([python, "-c", HAS_NO_TIDELOG.format("tidelog")], env={}, check=True)
    return python


@contextmanager
def standalone(folder: Path, *, workers: int) -> Iterator[str]:
    """The URL of a master whose workers, of one core each, have registered."""
    (port,) = quiet_ports(1)
    url = f"spark://127.0.0.1:{port}"
    address = ("--host", "127.0.0.1", "--webui-port", "0")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        log = folder / "master.log"
        stack.enter_context(_process(log, "master.Master", *address, "--port", str(port)))
        for number in range(workers):
            work = folder / f"worker-{number}"
            limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
            stack.enter_context(
                _process(folder / f"{work}.log", "worker.Worker", *address, *limits, url)
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while log.read_text().count("Registering worker") < workers:
            if time.monotonic() > deadline:
                raise TimeoutError(log.read_text())
            time.sleep(POLL_S)
        yield url


@contextmanager
def _process(log: Path, main: str, *arguments: str) -> Iterator[None]:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    home = Path(spark.origin).parent
    with log.open("w") as output:
        process = subprocess.Popen(
            [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{main}", *arguments],
            env={**bare_environment(), "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"},
            stdout=output,
            stderr=output,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def main() -> int:
    """The exit code of the command; 1 where an executor did not get the package."""
    parser = argparse.ArgumentParser(description="run a command beside a standalone Spark cluster")
    parser.add_argument("--folder", type=Path, required=True, help="for logs and workers")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    with standalone(asked.folder, workers=asked.workers) as url:
        env = {**os.environ, MASTER_VARIABLE: url}
        code = subprocess.run(asked.command, env=env, check=False).returncode
    executors = list(asked.folder.glob("worker-*/app-*/*"))
    shipped = [one for one in executors if (one / "tidelog.zip").exists()]
    sys.stdout.write(f"{len(executors)} executors, {len(shipped)} of them were sent the package\n")
    return code or int(len(shipped) < asked.workers)


if __name__ == "__main__":
    sys.exit(main())
