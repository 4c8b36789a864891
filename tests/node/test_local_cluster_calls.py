"""Questions of the cluster command to nodes that accept a connection and never answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.node.local_cluster import calls
from tidelog.node.local_cluster.plan import NodePlan, load_or_create


@pytest.fixture
def silent_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def plans(silent_port: int, tmp_path: Path) -> list[NodePlan]:
    return load_or_create(tmp_path, ports=[silent_port], http_ports=[0])


def test_a_node_that_does_not_answer_has_no_status(
    plans: list[NodePlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "STATUS_TIMEOUT_MS", 50)
    assert calls.statuses(plans) == [None]


def test_a_node_that_does_not_answer_does_not_hold_up_a_stop(
    plans: list[NodePlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "PREPARE_STOP_TIMEOUT_MS", 50)
    calls.prepare_stop(plans)
