"""What is known of a run that broke off: why it did, and not what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.chaos.chaos_sends import send

from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.chaos.sockets.clients import SocketClients
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.evidence import ANOMALIES_MAX, Evidence
from tidelog.chaos.sockets.verdict import FAILED, verdict_of
from tidelog.chaos.sockets.work_plan import work_of
from tidelog.chaos.topology import Topology
from tidelog.core.chance import SeededRandom
from tidelog.history.history_file import HistoryWriter


class FakeCluster:
    """Stands still."""

    topology = Topology()
    now_s = 7.0


@pytest.fixture
def clients(tmp_path: Path) -> SocketClients:
    return SocketClients(
        cluster=cast("SocketCluster", FakeCluster()),
        work=work_of(SCENARIOS["F62"]),
        random=SeededRandom(1),
        on_note=lambda _: None,
        writer=HistoryWriter(tmp_path / "history.jsonl"),
    )


@pytest.fixture
def evidence(clients: SocketClients) -> Evidence:
    return Evidence(clients.cluster, clients, is_damage_expected=False)


@pytest.mark.parametrize(
    ("is_read", "verdict", "kinds", "lost"),
    [(True, "violation", {"unseen"}, 2), (False, "inconclusive", {FAILED}, 0)],
)
def test_what_nobody_read_is_lost_only_where_everything_was_read(
    evidence: Evidence,
    clients: SocketClients,
    *,
    is_read: bool,
    verdict: str,
    kinds: set[str],
    lost: int,
) -> None:
    clients.history.sends += [send(1), send(2)]

    evidence.judge_history(is_read=is_read)

    assert {anomaly.kind for anomaly in evidence.anomalies} == kinds
    assert verdict_of(evidence.anomalies) == verdict
    assert evidence.tally.lost == lost
    assert evidence.tally.acknowledged == 2


def test_why_a_run_broke_off_is_kept_whatever_was_found_before(evidence: Evidence) -> None:
    for number in range(ANOMALIES_MAX + 5):
        evidence.report("I3", str(number))
    evidence.report(FAILED, "the machine")

    assert len(evidence.anomalies) == ANOMALIES_MAX + 1
    assert evidence.anomalies[-1].kind == FAILED
