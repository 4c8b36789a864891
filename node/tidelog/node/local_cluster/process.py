"""The processes of a cluster's nodes: start, find and end them, and no other process.

A process belongs to a node only if its command line names the node's configuration file. The pid
file alone proves nothing: the system may have reused the recorded pid for another process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tidelog.core.output_file import open_output
from tidelog.core.system import ALLOCATOR
from tidelog.net.listeners import grpc_listeners
from tidelog.node import last_words as words
from tidelog.node.local_cluster.errors import TakenPortError
from tidelog.node.local_cluster.plan import NodePlan, write_private

ENDING_TIMEOUT_S = 2.0
"""Maximum time in which the system takes a killed process's ports away, after its lock."""
POLL_S = 0.05
NODE_PACKAGES = ("aiohttp", "grpc_health", "grpc_reflection", "prometheus_client", "pysyncobj")
"""Modules that a node imports beyond those of the client: the extra `server`."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process that this command started, and the position in the node's log where it began."""

    process: subprocess.Popen[bytes]
    log_position: int


@contextlib.contextmanager
def only_command(folder: Path) -> Iterator[None]:
    """Lock the folder: commands that start or stop nodes run one after the other."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def running_pid(plan: NodePlan) -> int | None:
    """The process id of the node; None when it does not run."""
    try:
        pid = int(plan.pid_path.read_text())
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(plan.config_path) in arguments else None


def require_node_packages() -> None:
    """Check that a node could start. Errors: `ModuleNotFoundError` for a package that is missing.

    Without it, each node would end with its own traceback in its own log.
    """
    for name in NODE_PACKAGES:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def start(plan: NodePlan, environment: Mapping[str, str] | None = None) -> Started:
    """Start the node in the background, independent of this command and of the terminal.

    Its environment is this process's, and `environment`.
    """
    require_node_packages()
    files = ["--config", str(plan.config_path), "--log", str(plan.log_path)]
    command = [sys.executable, "-m", "tidelog.node", *files]
    with os.fdopen(open_output(plan.log_path), "ab") as log:
        position = log.tell()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=plan.folder,
            env={**ALLOCATOR, **os.environ, **(environment or {})},
            start_new_session=True,
        )
    write_private(plan.pid_path, f"{process.pid}\n")
    return Started(process, position)


def stop(plans: Sequence[NodePlan], *, timeout_s: float) -> list[NodePlan]:
    """End the nodes by SIGTERM; those that still run after `timeout_s` are killed and returned."""
    deadline_s = time.monotonic() + timeout_s
    for plan in plans:
        _signal(plan, signal.SIGTERM)
    running = list(plans)
    while running and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
        running = [plan for plan in running if running_pid(plan) is not None]
    for plan in running:
        _signal(plan, signal.SIGKILL)
    return running


def _signal(plan: NodePlan, number: signal.Signals) -> None:
    pid = running_pid(plan)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def last_words(plan: NodePlan, started: Started) -> str:
    """The reason why a started node ended, from its log."""
    return words.last_words(plan.log_path, since=started.log_position)


def refuse_taken_port(plan: NodePlan) -> None:
    """Raise `TakenPortError` when another process listens on one of the node's ports.

    Waits for a node that is just ending: its lock goes before its ports. To be called before the
    node starts, since gRPC may share a port silently.
    """
    deadline_s = time.monotonic() + ENDING_TIMEOUT_S
    while (error := taken_port(plan)) is not None:
        if time.monotonic() >= deadline_s:
            raise error
        time.sleep(POLL_S)


def taken_port(plan: NodePlan) -> TakenPortError | None:
    """The error about a port of the node that another process listens on now."""
    listeners = plan.config.listeners
    bound = [
        (*_host_and_port(one.bind), "--kafka-ports" if one.is_kafka else "--ports")
        for one in listeners
    ]
    if plan.config.http_port:
        host, _ = _host_and_port(grpc_listeners(listeners)[0].bind)
        bound.append((host, plan.config.http_port, "--http-ports"))
    for host, number, option in bound:
        if _is_taken(host, number):
            return TakenPortError(
                f"port {number} of node {plan.node_id} is taken: `ss -ltnp 'sport = :{number}'`"
                f" shows the process; end it, or start a new --data-dir with other {option}"
            )
    return None


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _is_taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Connections in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
