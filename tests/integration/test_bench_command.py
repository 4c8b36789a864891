"""`tidelog bench run` for real, as short as it can be: its last line, and that nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.integration.fake_peer import fake_peer

from tidelog.benchmarks.efforts import Effort
from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.nodes import rss_mb
from tidelog.benchmarks.own_cluster import OwnCluster
from tidelog.benchmarks.plan import Kind, groups
from tidelog.benchmarks.session import run_worker
from tidelog.benchmarks.worker import LOADS

pytestmark = pytest.mark.process

ONLY = "produce 1 KiB, none, acks=all, tuned"
TIDELOG = "import sys; from tidelog.cli.main import main; sys.argv[0] = 'tidelog'; main()"


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", TIDELOG, "bench", "run", "--quick", *arguments]


def _env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(tmp_path)}


def _leftovers(tmp_path: Path) -> list[str]:
    """Folders of clusters, and processes that name one."""
    found = [str(path) for path in tmp_path.glob("tidelog-bench-*")]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().decode()
        except OSError:
            continue
        if str(tmp_path / "tidelog-bench-") in line:
            found.append(line)
    return found


@pytest.mark.turns(3)
def test_the_last_line_is_the_rows_beside_the_peers(tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = subprocess.run(
        _command("--only", ONLY, "--json", "--peer", fake_peer(tmp_path), "--report", str(report)),
        capture_output=True, text=True, timeout=600, env=_env(tmp_path), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    rate, cpu = json.loads(line)["rows"]
    assert list(rate) == ["figure", "ours", "kafka", "unit", "ratio", "aim", "met"]
    assert (rate["figure"], rate["unit"], rate["met"]) == (ONLY, "MiB/s", True)
    assert rate["ratio"] == pytest.approx(rate["ours"] / 0.001, rel=0.001)
    assert (cpu["unit"], cpu["met"]) == ("s/GiB", True)
    arguments = (tmp_path / "told").read_text().split("\n")
    assert [call.split(" ")[0] for call in arguments] == ["up", "perf", "perf", "down", ""]
    assert ONLY in (report / "bench.md").read_text()
    assert (report / "bench.svg").exists()
    assert _leftovers(tmp_path) == []


@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_all_that_was_started(tmp_path: Path) -> None:
    process = subprocess.Popen(
        _command("--only", ONLY, "--peer", fake_peer(tmp_path)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_env(tmp_path),
    )  # fmt: skip
    deadline_s = time.monotonic() + 120
    while not list(tmp_path.glob("tidelog-bench-*/data/node-3.pid")):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert output.strip() == ""
    assert (tmp_path / "told").read_text().endswith("down\n")
    assert _leftovers(tmp_path) == []


@pytest.mark.turns(3)
def test_a_peer_that_does_not_run_is_told_and_ours_is_measured(tmp_path: Path) -> None:
    done = subprocess.run(
        _command("--only", ONLY, "--json", "--peer", str(tmp_path / "no-such-peer")),
        capture_output=True, text=True, timeout=600, env=_env(tmp_path), check=False,
    )  # fmt: skip
    assert done.returncode == 1
    rate, _ = json.loads(done.stdout)["rows"]
    assert rate["ours"] > 0
    assert (rate["kafka"], rate["met"]) == (None, None)
    assert "No such file" in rate["error"]


@pytest.mark.turns(3)
def test_every_load_gives_the_measures_its_rows_are_made_of() -> None:
    tiny = Effort("tiny", 1, 0.01, 0.01, 12 << 20, 0.2, 30)
    loads = [group for group in groups(tiny) if group.kind is Kind.LOAD]
    of_each = {str(group.job["load"]): group for group in reversed(loads)}
    assert set(of_each) == set(LOADS)
    with OwnCluster() as cluster:
        assert cluster.start() > 0
        for group in of_each.values():
            hurried = {"settle_s": 0} if "settle_s" in group.job else {}
            figures = run_worker(cluster, {**group.job, **hurried})
            assert all(value > 0 for value in figures.values()), figures
            assert {row.ours for row in group.rows} <= set(figures)
        assert rss_mb(cluster.pids) > 10
        cluster.stop()
        with pytest.raises(RunFailedError, match="has ended"):
            run_worker(cluster, loads[0].job)
        assert cluster.start() > 0
