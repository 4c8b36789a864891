"""A cluster of real processes for tests: free ports, its own folder, driven by the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tidelog.core.config_sources import without_variables
from tidelog.net.quiet_ports import quiet_ports
from tidelog.node.config import NODE_KEYS

COMMAND_TIMEOUT_S = 600


class LocalCluster:
    """Nodes below `folder`, once `start` was called; `stop` leaves none of them behind."""

    def __init__(
        self,
        folder: Path,
        *,
        nodes: int = 3,
        has_kafka: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`variables` of the environment configure its nodes."""
        self.folder = folder
        self._nodes = nodes
        self._variables = variables or {}
        self.ports = quiet_ports(nodes * (3 if has_kafka else 2))

    @property
    def addresses(self) -> list[str]:
        """The gRPC listeners, host:port."""
        return [f"127.0.0.1:{port}" for port in self.ports[: self._nodes]]

    @property
    def bootstrap(self) -> str:
        """The same, comma-separated."""
        return ",".join(self.addresses)

    @property
    def kafka_bootstrap(self) -> str:
        """Addresses of the listeners of Kafka's protocol, comma-separated."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports[2 * self._nodes :])

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run `tidelog` with these arguments against this cluster, whatever its exit code."""
        return subprocess.run(
            [str(Path(sys.executable).with_name("tidelog")), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            env={
                **without_variables(NODE_KEYS, os.environ),
                **self._variables,
                "TIDELOG_BOOTSTRAP": self.bootstrap,
            },
            check=False,
        )

    def cluster(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `tidelog cluster …` on this cluster's folder."""
        return self.run("cluster", *arguments, "--data-dir", str(self.folder))

    def start(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Start what does not run; the answer says whether it worked."""
        count = self._nodes
        ports, http_ports = self.ports[:count], self.ports[count : 2 * count]
        kafka_ports = self.ports[2 * count :]
        return self.cluster(
            *("start", "--ports", ",".join(map(str, ports))),
            *("--http-ports", ",".join(map(str, http_ports))),
            *("--kafka-ports", ",".join(map(str, kafka_ports)) or "none"),
            *options,
        )

    def stop(self) -> subprocess.CompletedProcess[str]:
        """Stop all nodes as one."""
        return self.cluster("stop")

    def pids(self) -> dict[int, int | None]:
        """Node id to process id, None for a dead one, as `cluster status --json` says."""
        nodes = json.loads(self.cluster("status", "--json").stdout)["nodes"]
        return {node["node_id"]: node["pid"] for node in nodes}

    def kill(self, node_id: int) -> None:
        """kill -9 a running node."""
        pid = self.pids()[node_id]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
