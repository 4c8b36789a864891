"""What a cluster in a test costs: `python -m tests.benchmarks.local_cluster_bench`.

    [--runs N] [--json]             pytest runs of their own, each in a new process
    churn --clusters 200 [--json]   clusters one after the other in one process
    churn --side-by-side 20 [--brokers 1] [--json]

A line a figure: its aim, [median, least, most] of the runs, and whether the median meets it; the
load average before and after stands beside, since a busy machine has other figures. `churn` has the
exit code 1 when a cluster fails, or when a thread, descriptor, port or folder is left.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.local_cluster_churn import one_after_the_other, side_by_side
from tests.benchmarks.measures import Figure, spread

SENDS = 1_000
AIMS: Mapping[str, tuple[str, float]] = {
    "first_test_s": ("<=", 1.5),
    "next_cluster_s": ("<=", 0.5),
    "its_end_s": ("<=", 0.3),
    "memory_mib": ("<=", 45.0),
    "sends_per_s": (">=", 250.0),
    "plugin_ms": ("<=", 5.0),
}
CONFTEST = """
import json, os, sys, pytest

FIGURES = {}


def resident_mib():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    FIGURES[f"{item.name} {call.when}"] = call.duration
    return (yield)


def pytest_sessionfinish():
    with open(os.environ["FIGURES"], "w") as file:
        json.dump(FIGURES, file)
"""
TESTS = f"""
import time
from conftest import FIGURES, resident_mib


def test_first(tidelog_fresh_cluster):
    from tidelog.client.sync import Producer

    tidelog_fresh_cluster.create_topic("t")
    with Producer(tidelog_fresh_cluster.bootstrap) as producer:
        producer.send("t", value=b"a record")
    FIGURES["resident_mib"] = resident_mib()


def test_next(tidelog_fresh_cluster):
    from tidelog.client.sync import Producer

    tidelog_fresh_cluster.create_topic("t", partitions=1)
    with Producer(tidelog_fresh_cluster.bootstrap) as producer:
        producer.send("t", value=b"the first one")
        began_s = time.perf_counter()
        for _ in range({SENDS}):
            producer.send("t", value=b"a record of a hundred bytes".ljust(100))
        FIGURES["sends_per_s"] = {SENDS} / (time.perf_counter() - began_s)
"""
BARE = """
from conftest import FIGURES, resident_mib


def test_first():
    FIGURES["resident_mib"] = resident_mib()
"""
IMPORT = """
import pytest, time
began_s = time.perf_counter()
import tidelog.testing.plugin
print((time.perf_counter() - began_s) * 1000)
"""


class Run(NamedTuple):
    """A process that ended, and what its tests noted."""

    wall_s: float
    cpu_s: float
    noted: Mapping[str, float]


def local_cluster_figures(runs: int) -> Iterator[Figure]:
    """All of them, of so many runs each; whoever is compared takes turns."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        ours = _folder(Path(name) / "ours", TESTS)
        bare = _folder(Path(name) / "bare", BARE)
        pytest_run(ours)  # compiles what is not compiled yet
        pytest_run(bare)
        own, without, imports = [], [], []
        with_plugin = []
        for _ in range(runs):
            own.append(pytest_run(ours))
            without.append(pytest_run(bare, "-p", "no:tidelog"))
            with_plugin.append(pytest_run(bare))
            imports.append(import_ms(bare))
    bare_mib = statistics.median(run.noted["resident_mib"] for run in without)
    found: dict[str, Sequence[float]] = {
        "first_test_s": [_both(run, "test_first", "setup", "call") for run in own],
        "next_cluster_s": [_both(run, "test_next", "setup") for run in own],
        "its_end_s": [_both(run, "test_next", "teardown") for run in own],
        "memory_mib": [run.noted["resident_mib"] - bare_mib for run in own],
        "sends_per_s": [run.noted["sends_per_s"] for run in own],
        "plugin_ms": imports,
        "whole_pytest_run_s": [run.wall_s for run in own],
        "bare_pytest_run_s": [run.wall_s for run in with_plugin],
        "plugin_cpu_of_the_run_ms": [
            (one.cpu_s - other.cpu_s) * 1000
            for one, other in zip(with_plugin, without, strict=True)
        ],
    }
    loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    for figure, values in found.items():
        yield {"row": figure, **_judged(figure, values), "runs": runs, "load": loads}


def pytest_run(folder: Path, *options: str) -> Run:
    """Run pytest in the folder. Raises `RuntimeError` when a test fails."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    figures, out = folder / "figures.json", folder / "out"
    run = process_run(words, folder, out, {"FIGURES": str(figures)})
    return run._replace(noted=json.loads(figures.read_text()))


def import_ms(folder: Path) -> float:
    """Import the plugin in a process that has pytest."""
    out = folder / "out"
    process_run(["-c", IMPORT], folder, out, {})
    return float(out.read_text())


def process_run(words: Sequence[str], folder: Path, out: Path, variables: Mapping[str, str]) -> Run:
    """Run Python with its bytecode cached, as an installed package has it."""
    kept = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    began_s = time.perf_counter()
    pid = os.posix_spawn(
        "/usr/bin/env",
        ["env", "-C", str(folder), sys.executable, *words],
        {**kept, **variables},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, str(out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    _, status, used = os.wait4(pid, 0)
    wall_s = time.perf_counter() - began_s
    if status:
        raise RuntimeError(f"status {status}: {out.read_text()}")
    return Run(wall_s, used.ru_utime + used.ru_stime, {})


def _folder(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8"
    )
    return folder


def _both(run: Run, test: str, *phases: str) -> float:
    return sum(run.noted[f"{test} {phase}"] for phase in phases)


def _judged(figure: str, values: Sequence[float]) -> Figure:
    measure = spread(values)
    if figure not in AIMS:
        return {"aim": None, "measured": measure, "met": None}
    relation, aim = AIMS[figure]
    met = measure[0] <= aim if relation == "<=" else measure[0] >= aim
    return {"aim": f"{relation} {aim:g}", "measured": measure, "met": met}


def _print(figures: Iterable[Figure], *, as_json: bool) -> bool:
    """Print a line each; True when nothing failed."""
    is_right = True
    for figure in figures:
        is_right = is_right and not figure.get("failures")
        if as_json:
            line = json.dumps(figure)
        else:
            line = "  ".join(f"{key} {value}" for key, value in figure.items())
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return is_right


def main() -> int:
    """Print a line a figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=["figures", "churn"], default="figures")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--clusters", type=int, default=0)
    parser.add_argument("--side-by-side", type=int, default=0)
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.part == "figures":
        return 0 if _print(local_cluster_figures(options.runs), as_json=options.json) else 1
    done: list[Figure] = []
    if options.clusters or not options.side_by_side:
        done.append(one_after_the_other(options.clusters or 200))
    if options.side_by_side:
        done.append(side_by_side(options.side_by_side, options.brokers))
    return 0 if _print(done, as_json=options.json) else 1


if __name__ == "__main__":
    sys.exit(main())
