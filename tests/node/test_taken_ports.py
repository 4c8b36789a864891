"""A node is not started on ports of another process: each of its listeners is looked at."""

from __future__ import annotations

import itertools
import socket
import time
from pathlib import Path

import pytest

from tidelog.net.quiet_ports import quiet_ports
from tidelog.node.config import parse_config
from tidelog.node.local_cluster import process
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.node.local_cluster.process import refuse_taken_port

TEXT = """
node.id = 1
cluster.id = "abc"
log.dirs = "/data"
listeners = "OUTSIDE://127.0.0.1:{0},INSIDE://127.0.0.1:{1},KAFKA://127.0.0.1:{3}"
inter.broker.listener.name = "INSIDE"
http.port = {2}
controller.quorum.voters = "1@127.0.0.1:{1}"
"""


@pytest.mark.parametrize(
    ("taken", "option"),
    [(0, "--ports"), (1, "--ports"), (2, "--http-ports"), (3, "--kafka-ports")],
)
def test_the_port_of_each_listener_and_of_http_is_named_when_it_is_taken(
    tmp_path: Path, taken: int, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = itertools.count(0.0, process.ENDING_TIMEOUT_S / 2)
    monkeypatch.setattr(time, "monotonic", lambda: next(passed_s))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    ports = quiet_ports(4)
    plan = NodePlan(config=parse_config(TEXT.format(*ports)), folder=tmp_path)
    refuse_taken_port(plan)
    with (
        socket.create_server(("127.0.0.1", ports[taken])),
        pytest.raises(LocalClusterError, match=f"port {ports[taken]} of node 1 is.* {option}$"),
    ):
        refuse_taken_port(plan)


def test_a_node_that_is_ending_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = quiet_ports(4)
    plan = NodePlan(config=parse_config(TEXT.format(*ports)), folder=tmp_path)
    ending = socket.create_server(("127.0.0.1", ports[1]))
    monkeypatch.setattr(time, "sleep", lambda _: ending.close())
    refuse_taken_port(plan)
