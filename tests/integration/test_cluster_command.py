"""`tidelog cluster` on real processes: what it starts, finds again, stops, and refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.local_cluster import LocalCluster

pytestmark = pytest.mark.process


def _files_below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _open_to_others(folder: Path) -> list[str]:
    """What somebody else on the machine may look into; a file in a closed folder is closed."""
    below = [folder, *folder.glob("*")]
    return [str(path) for path in below if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]


def _assert_one_line_of_error(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_starts_what_is_missing_and_stops_as_one(cluster: LocalCluster) -> None:
    first = cluster.start()
    assert first.returncode == 0, first.stderr
    assert all(address in first.stdout for address in cluster.addresses)
    before = cluster.pids()
    assert set(before) == {1, 2, 3}
    assert _open_to_others(cluster.folder) == []

    cluster.kill(2)
    status = cluster.cluster("status", "--json")
    assert status.returncode == 0
    assert json.loads(status.stdout)["nodes"][1] == {
        "node_id": 2,
        "pid": None,
        "address": cluster.addresses[1],
        "listeners": [{"name": "PLAINTEXT", "protocol": "grpc", "address": cluster.addresses[1]}],
        "http_port": cluster.ports[4],
        "roles": ["broker", "controller"],
        "alive": False,
    }

    second = cluster.start()
    assert second.returncode == 0, second.stderr
    assert second.stdout.count("already runs") == 2
    after = cluster.pids()
    assert (after[1], after[3]) == (before[1], before[3])
    assert after[2] not in {None, before[2]}

    stopped = cluster.stop()
    assert stopped.returncode == 0, stopped.stderr
    assert cluster.pids() == {1: None, 2: None, 3: None}
    for log in cluster.folder.glob("node-*.log"):
        assert "Traceback" not in log.read_text()
    for pid in after.values():
        assert pid is not None
        assert not Path(f"/proc/{pid}/exe").exists()

    again = cluster.start()
    assert again.returncode == 0, again.stderr


def test_one_node_on_ports_of_its_choice(cluster: LocalCluster) -> None:
    started = cluster.cluster("start", "--nodes", "1", "--ports", "0", "--http-ports", "0")
    assert started.returncode == 0, started.stderr
    status = json.loads(cluster.cluster("status", "--json").stdout)
    assert status["bootstrap"] in started.stdout
    (node,) = status["nodes"]
    assert node["http_port"] > 0
    made = cluster.run("topics", "create", "t", "--bootstrap", status["bootstrap"])
    assert made.returncode == 0, made.stderr


def test_listeners_of_kafka_are_named_when_ready_and_in_the_status(cluster: LocalCluster) -> None:
    options = ("--nodes", "1", "--ports", "0", "--http-ports", "0", "--kafka-ports", "0")
    started = cluster.cluster("start", *options)
    assert started.returncode == 0, started.stderr
    (node,) = json.loads(cluster.cluster("status", "--json").stdout)["nodes"]
    of_grpc, of_kafka = node["listeners"]
    assert of_grpc == {"name": "GRPC", "protocol": "grpc", "address": node["address"]}
    assert (of_kafka["name"], of_kafka["protocol"]) == ("KAFKA", "kafka")
    assert f"bootstrap.servers={of_kafka['address']}" in started.stdout
    assert of_kafka["address"] in cluster.cluster("status").stdout
    host, _, port = of_kafka["address"].rpartition(":")
    for _ in range(2):
        with socket.create_connection((host, int(port)), timeout=60) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert caller.recv(1) == b""
    assert (cluster.folder / "node-1.log").read_text().count("connection closed; further") == 1
    with socket.create_connection((host, int(port)), timeout=60) as caller:
        caller.sendall(b"\0\0")
        assert cluster.stop().returncode == 0, "an open connection keeps no node from its end"
        assert caller.recv(1) == b""
    _assert_one_line_of_error(
        cluster.cluster("start", "--kafka-ports", "none"), "leave --kafka-ports out"
    )


def test_two_starts_at_once_start_three_nodes(cluster: LocalCluster) -> None:
    command = [str(Path(sys.executable).with_name("tidelog")), "cluster", "start"]
    command += ["--data-dir", str(cluster.folder), "--ports", ",".join(map(str, cluster.ports[:3]))]
    command += ["--http-ports", ",".join(map(str, cluster.ports[3:])), "--kafka-ports", "none"]
    starts = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [start.communicate(timeout=600)[0] for start in starts]
    assert [start.returncode for start in starts] == [0, 0]
    assert sorted(output.count("already runs") for output in outputs) == [0, 3]


@pytest.mark.parametrize("index", [1, 4], ids=["gRPC", "HTTP"])
def test_taken_port_is_named_and_nothing_starts(cluster: LocalCluster, index: int) -> None:
    port = cluster.ports[index]
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        _assert_one_line_of_error(cluster.start(), str(port), "ss -ltnp")
    assert set(cluster.pids().values()) == {None}


def test_foreign_folder_stays_untouched(cluster: LocalCluster) -> None:
    foreign = cluster.folder / "node-1" / "precious.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    _assert_one_line_of_error(cluster.start(), str(cluster.folder), "move it away")
    assert _files_below(cluster.folder) == {foreign: b"mine"}


@pytest.mark.turns(3)
def test_engine_is_kept_checked_and_changed_over_the_same_data(cluster: LocalCluster) -> None:
    started = cluster.start("--engine", "pysyncobj")
    assert started.returncode == 0, started.stderr
    paths = [cluster.folder / f"node-{node_id}.toml" for node_id in (1, 2, 3)]
    assert all('"controller.quorum.engine" = "pysyncobj"' in path.read_text() for path in paths)
    made = cluster.run("topics", "create", "kept", "--partitions", "3", "--replication-factor", "3")
    assert made.returncode == 0, made.stderr
    assert cluster.stop().returncode == 0
    _assert_one_line_of_error(
        cluster.start("--engine", "tidelog"), "controller.quorum.engine", "leave --engine out"
    )

    paths[2].write_text(paths[2].read_text().replace("pysyncobj", "tidelog"))
    _assert_one_line_of_error(
        cluster.start(), "controller.quorum.engine", "node 1 pysyncobj", "node 3 tidelog"
    )
    assert set(cluster.pids().values()) == {None}

    for path in paths:
        path.write_text(path.read_text().replace("pysyncobj", "tidelog"))
    again = cluster.start()
    assert again.returncode == 0, again.stderr
    assert "kept" in cluster.run("topics", "list").stdout


@pytest.mark.turns(3)
def test_node_folder_of_another_cluster_is_refused(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    assert cluster.stop().returncode == 0
    properties = cluster.folder / "node-2" / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=another-"))
    before = _files_below(cluster.folder)
    _assert_one_line_of_error(cluster.start(), "meta.properties", "cluster.id")
    assert _files_below(cluster.folder) == before
    assert set(cluster.pids().values()) == {None}


def test_half_written_node_folder_is_refused(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    assert cluster.stop().returncode == 0
    (cluster.folder / "node-3" / "meta.properties").unlink()
    _assert_one_line_of_error(cluster.start(), "node-3", "move it away")
    assert set(cluster.pids().values()) == {None}


def test_node_that_ends_at_start_is_quoted_and_the_others_are_stopped(
    cluster: LocalCluster,
) -> None:
    assert cluster.start().returncode == 0
    assert cluster.stop().returncode == 0
    metadata_folder = cluster.folder / "node-2" / "__cluster_metadata-0"
    shutil.rmtree(metadata_folder)
    metadata_folder.write_text("not a folder")
    _assert_one_line_of_error(cluster.start(), "node 2 ended", "__cluster_metadata-0")
    assert set(cluster.pids().values()) == {None}


def test_stop_never_signals_a_stranger_with_a_recorded_pid(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    assert cluster.stop().returncode == 0
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (cluster.folder / "node-1.pid").write_text(f"{stranger.pid}\n")
        assert cluster.pids()[1] is None
        assert cluster.stop().returncode == 0
        assert stranger.poll() is None
        os.kill(stranger.pid, signal.SIGKILL)
