"""How the benchmark hears its peer: JSON lines among others, failures, and turns in a session."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.fake_peer import fake_peer

from tidelog.benchmarks import session as sessions
from tidelog.benchmarks.efforts import EFFORTS
from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.peer import Peer, parse, run_program
from tidelog.benchmarks.plan import Group, Kind, groups, warm_up
from tidelog.benchmarks.rows import Row
from tidelog.benchmarks.session import BenchSession


def test_figures_are_read_from_among_other_lines() -> None:
    lines = [
        "starting",
        '{"figure": "a", "median": 2, "runs": [1, 2, 3], "unit": "s"}',
        '{"figure": "b"}',
        '{"runs": [1]}',
        "[1, 2]",
        "7",
        '{"figure": "a", "runs": [4]}',
        '{"figure": "c", "runs": ["x"]}',
    ]
    assert parse(lines) == {"a": [1, 2, 3, 4]}


def test_a_peer_is_a_command_line(tmp_path: Path) -> None:
    peer = Peer.of(fake_peer(tmp_path))
    assert peer.run("perf", "--sizes", "100", "--clients", "java")["produce.java.100B"] == [7]
    with pytest.raises(ValueError, match="empty"):
        Peer.of("  ")


def test_why_a_peer_failed_is_its_last_word(tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match="exit code 3: no jars"):
        Peer.of(fake_peer(tmp_path)).run("break")
    with pytest.raises(RunFailedError, match="No such file"):
        Peer.of(str(tmp_path / "missing")).up()


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    done = tmp_path / "cleaned-up"
    program = (
        "import signal, sys, time, pathlib\n"
        f"def end(*_): pathlib.Path({str(done)!r}).touch(); sys.exit(1)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(RunFailedError, match="longer than 1 s"):
        run_program([sys.executable, "-c", program], timeout_s=1)
    assert done.exists()


class _Cluster:
    bootstrap = "127.0.0.1:1"
    kafka_bootstrap = "127.0.0.1:2,127.0.0.1:3"
    pids: list[int] = [7, 8]  # noqa: RUF012


def _group(name: str, *peer: str) -> Group:
    return Group(name, Kind.LOAD, [Row(name, "s", f"{name}.o", "produce.java.100B")], {}, peer)


def _session(tmp_path: Path, runs: int, *found: Group) -> BenchSession:
    return BenchSession(replace(EFFORTS["full"], runs=runs), found, Peer.of(fake_peer(tmp_path)))


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Our turns, without a cluster."""
    reported: list[str] = []

    def load(self: BenchSession, _cluster: object, job: object) -> dict[str, float]:
        reported.append("ours")
        return {"a.o": 14.0}

    def run(self: Peer, *arguments: str) -> dict[str, list[float]]:
        reported.append("peer")
        if "break" in arguments:
            raise RunFailedError("no jars")
        return {"produce.java.100B": [7.0], "another group's": [1.0], "loaded": [3.0, 4.0]}

    monkeypatch.setattr(BenchSession, "_load", load)
    monkeypatch.setattr(sessions, "run_worker", lambda *_: {"a.o": 1.0})
    monkeypatch.setattr(Peer, "run", run)
    return reported


def test_turns_alternate_and_the_warm_up_does_not_count(tmp_path: Path, turns: list[str]) -> None:
    session = _session(tmp_path, 2, _group("a", "perf"))
    session.measure_loads(_Cluster(), _group("warm-up", "perf"))
    assert turns == ["peer", "ours", "peer", "ours", "peer"]
    (result,) = session.results()
    assert result.ours is not None
    assert (result.ours.runs, result.ratio, session.errors) == (2, 2.0, {})


def test_a_turn_counts_for_its_own_rows_and_for_memory(tmp_path: Path, turns: list[str]) -> None:
    other = Group("other", Kind.LOAD, [Row("other", "s", "other.o", "another group's")])
    memory = Group("memory", Kind.MEMORY, [Row("loaded", "MB", "m", "loaded", is_worst=True)])
    session = _session(tmp_path, 1, _group("a", "perf"), other, memory)
    session.measure_loads(_Cluster(), _group("warm-up", "perf"))
    assert session.kafka == {"produce.java.100B": [7.0], "loaded": [3.0, 4.0]}


def test_a_turn_that_fails_is_its_rows_trouble_only(tmp_path: Path, turns: list[str]) -> None:
    session = _session(tmp_path, 1, _group("b", "break"), _group("a", "perf"))
    session.measure_loads(_Cluster(), _group("warm-up", "perf"))
    broken, good = session.results()
    assert broken.as_json() == {**broken.as_json(), "error": "peer: no jars"}
    assert (good.ratio, good.errors) == (2.0, ())


def test_a_peer_that_does_not_start_leaves_its_column_empty(
    tmp_path: Path, turns: list[str]
) -> None:
    session = _session(tmp_path, 1, _group("a", "perf"))
    session.no_peer("no jars")
    session.measure_loads(_Cluster(), _group("warm-up", "perf"))
    assert turns == ["ours"]
    (result,) = session.results()
    assert result.kafka is None
    assert result.errors == ("peer: no jars",)


@pytest.mark.parametrize(("a_turn_s", "shortest"), [(0.0, 1.0), (20.0, 1 / 4)])
def test_a_quick_session_that_falls_behind_gets_shorter_but_leaves_no_row_out(
    tmp_path: Path, turns: list[str], a_turn_s: float, shortest: float
) -> None:
    quick = EFFORTS["quick"]
    session = BenchSession(
        quick,
        groups(quick)[1:],
        Peer.of(fake_peer(tmp_path)),
        clock=lambda: a_turn_s * len(turns),
    )
    rows = len(session.results())
    session.measure_loads(_Cluster(), warm_up(quick))
    assert len(session.results()) == rows
    assert session.effort.scale == quick.scale * shortest


def test_kafkas_clients_are_the_peers_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def run(self: Peer, *arguments: str) -> dict[str, list[float]]:
        asked.append(arguments)
        rate = 6.0 if "--bootstrap" in arguments else 4.0
        return {"produce.java.100B": [rate], "another": [1.0]}

    monkeypatch.setattr(Peer, "run", run)
    monkeypatch.setattr(sessions, "run_worker", lambda *_: {})
    row = Row("wire: a", "MiB/s", "wire.produce.java.100B", "produce.java.100B")
    group = Group("wire: a", Kind.WIRE, [row], peer=("perf", "--sizes", "100"))
    session = _session(tmp_path, 1, group)
    session.measure_loads(_Cluster(), _group("warm-up"))
    ours = ("--bootstrap", "127.0.0.1:2,127.0.0.1:3", "--broker-pids", "7,8")
    assert asked == [(*group.peer, *ours), group.peer]
    (result,) = session.results()
    assert (result.ratio, result.errors) == (1.5, ())
    lonely = BenchSession(EFFORTS["quick"], [group], None)
    lonely.measure_loads(_Cluster(), _group("warm-up"))
    assert "the clients are the peer's" in lonely.errors["wire: a"][0]
