"""`tidelog bench run` where nothing can run: rows, exit codes and words, without a cluster."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tidelog.benchmarks import nodes, session
from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.own_cluster import OwnCluster
from tidelog.benchmarks.signals import ignore_interrupts, raise_on_sigterm
from tidelog.cli.main import main


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    monkeypatch.setattr(sys, "argv", ["tidelog", "bench", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.fixture(autouse=True)
def _no_peer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIDELOG_KAFKA_PEER", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_a_cluster_that_does_not_start_leaves_the_other_rows(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def start(_self: OwnCluster) -> float:
        raise RunFailedError("node 1 ended: no luck")

    measured = {"start.fresh": 1.0, "start.again": 2.0, "idle.mb": 3.0, "idle.cpu": 4.0}
    monkeypatch.setattr(session, "measure_start", lambda: measured)
    monkeypatch.setattr(OwnCluster, "start", start)
    assert _run(monkeypatch, "--quick") == 1
    rows = json.loads(capfd.readouterr().out.splitlines()[-1])["rows"]
    good = [row for row in rows if "error" not in row]
    assert [row["ours"] for row in good] == [1, 2, 3, 4]
    failed = [row for row in rows if "error" in row]
    assert len(failed) > 30
    assert {row["error"] for row in failed} == {"ours: node 1 ended: no luck"}
    assert {row["met"] for row in failed} == {None}


def test_aims_that_are_not_met_are_no_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(OwnCluster, "start", lambda _self: 1.0)
    monkeypatch.setattr(OwnCluster, "pids", [])
    monkeypatch.setattr(session, "run_worker", lambda *_: {"opaque.1048576.mb_s": 1.0})
    monkeypatch.setattr(nodes, "rss_mb", lambda _pids: 1.0)
    assert _run(monkeypatch, "--json", "--only", "opaque batches of 1 MiB") == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["rows"][0]["met"] is False


@pytest.mark.parametrize("arguments", [("--only", "no such row"), ("--peer", "'unfinished")])
def test_wrong_usage(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    assert _run(monkeypatch, *arguments) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_clean_up_is_not_interrupted(number: int) -> None:
    before = signal.getsignal(number)
    with ignore_interrupts():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_sigterm_ends_a_run_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), raise_on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
